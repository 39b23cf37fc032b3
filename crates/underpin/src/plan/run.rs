//! The plan of a run on another allocator: the command found and examined, the object written out, the environment.

use crate::cli::RunArgs;
use std::ffi::OsString;
use underpin_malloc::{Inherit, Malloc, MallocError, Prepared, Program, Statistics, Store, Watch, prepare};
use underpin_sys::{RawPid, Replace};

/// What to do.
#[derive(Debug)]
pub enum RunPlan {
    /// Show the built-in allocators.
    List {
        /// JSON instead of a screen.
        json: bool,
    },
    /// Become a command.
    Become(Box<Become>),
    /// Refuse.
    Refuse(MallocError),
}

/// A command on another allocator.
#[derive(Debug)]
pub struct Become {
    /// The program to become.
    pub replace: Replace,
    /// What checks the process.
    pub watch: Watch,
    /// What to print beforehand.
    pub remarks: Vec<String>,
}

impl RunPlan {
    /// Examines the command and writes the object out; nothing of the command runs.
    pub fn new(args: RunArgs) -> RunPlan {
        match args.malloc.as_ref().map(|allocator| Become::new(allocator, &args)) {
            None => RunPlan::List { json: args.json },
            Some(Ok(plan)) => RunPlan::Become(Box::new(plan)),
            Some(Err(error)) => RunPlan::Refuse(error),
        }
    }
}

impl Become {
    fn new(allocator: &Malloc, args: &RunArgs) -> Result<Become, MallocError> {
        let command = args.command.first().map(OsString::as_os_str).unwrap_or_default();
        let program = Program::find(command, std::env::var_os("PATH").as_deref())?;
        let prepared = prepare(allocator, &program, &Store::usual_places(), |name| std::env::var_os(name))?;
        let inherit = if args.follow { Inherit::Follow } else { Inherit::Once };
        let pid = std::process::id() as RawPid;
        let changes = prepared.changes(pid, inherit, args.report, |name| std::env::var_os(name));
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        for (name, value) in changes {
            environment.retain(|(present, _)| *present != name);
            environment.extend(value.map(|value| (name, value)));
        }
        Ok(Become {
            replace: Replace { program: program.file, arguments: args.command.clone(), environment },
            watch: prepared.watch(),
            remarks: remarks(&prepared, args),
        })
    }
}

fn remarks(prepared: &Prepared, args: &RunArgs) -> Vec<String> {
    let mut remarks = prepared.remainders();
    if args.verbose {
        remarks.push(format!("malloc is that of {}", prepared.description));
    }
    if args.report && prepared.statistics == Statistics::None {
        remarks.push(format!("{} keeps no statistics that could be printed at exit", name(&prepared.label)));
    }
    remarks
}

fn name(label: &str) -> &str {
    match label.split(':').next() {
        Some("system") | None => "this C library's allocator",
        Some(name) => name,
    }
}
