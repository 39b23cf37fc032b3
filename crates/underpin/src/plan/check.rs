//! The plan of `underpin check`.

use super::Target;
use crate::cli::CheckArgs;
use crate::object::{self, Object};
use anyhow::{Context, bail};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::Environment;
use underpin_resolve::compat::{Expectations, Number, Subject, System, SystemTable};

/// What to judge, and against what.
#[derive(Debug)]
pub struct CheckPlan {
    /// Where the program is.
    pub path: PathBuf,
    /// The program, read in full.
    pub program: Object,
    /// Its facts and those of the objects shipped with it.
    pub subject: Subject,
    /// The facts about systems.
    pub table: &'static SystemTable,
    /// The systems to judge, in the order asked for; all of the table if none was named.
    pub systems: Vec<&'static System>,
    /// Whether the user named them.
    pub chosen: bool,
    /// The newest glibc allowed.
    pub max_glibc: Option<Number>,
    /// Only a plain `yes` passes.
    pub strict: bool,
    /// What the program must satisfy.
    pub expect: Expectations,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

impl CheckPlan {
    /// # Errors
    /// If the program cannot be read, or a system or version is not known.
    pub fn new(args: CheckArgs) -> anyhow::Result<CheckPlan> {
        let table = table()?;
        let mut systems: Vec<&'static System> = Vec::new();
        for name in &args.on {
            let system = table.select(name)?;
            // Two names may mean one system (`rhel8`, `alma8`).
            if !systems.iter().any(|known| known.id == system.id) {
                systems.push(system);
            }
        }
        let max_glibc = args.max_glibc.as_deref().map(version).transpose()?;
        let path = Target::here().program(&args.program, "check")?;
        let plan = CheckPlan::of(&path, &args.with, Environment::empty())?;
        let chosen = !systems.is_empty();
        let systems = if chosen { systems } else { plan.systems };
        Ok(CheckPlan {
            systems,
            chosen,
            max_glibc,
            strict: args.strict,
            expect: args.expect.unwrap_or_default(),
            json: args.display.json,
            verbosity: args.display.verbose,
            ..plan
        })
    }

    /// The plan for one program, judged against every system of the table. Its allocator is determined in
    /// `environment`.
    ///
    /// # Errors
    /// If the program, or a folder that is shipped with it, cannot be read.
    pub fn of(path: &Path, with: &[PathBuf], environment: Environment) -> anyhow::Result<CheckPlan> {
        let table = table()?;
        let program = Object::read(path, path.as_os_str().as_bytes())?;
        let mut companions = Vec::new();
        for folder in with {
            if !folder.is_dir() {
                bail!("--with {} is not a folder", folder.display());
            }
            let found = object::companions(folder)?;
            if found.is_empty() {
                bail!("--with {} holds no shared library", folder.display());
            }
            companions.extend(found);
        }
        let mallocs = crate::mallocs::provider(path, environment).into_iter().collect();
        let subject = Subject { companions, mallocs, program: program.facts.clone() };
        let systems = table.systems.iter().collect();
        let path = path.to_owned();
        Ok(CheckPlan {
            path,
            program,
            subject,
            table,
            systems,
            chosen: false,
            max_glibc: None,
            strict: false,
            expect: Expectations::default(),
            json: false,
            verbosity: 0,
        })
    }
}

fn table() -> anyhow::Result<&'static SystemTable> {
    SystemTable::embedded().map_err(|error| anyhow::anyhow!("the table of systems in this build is wrong: {error}"))
}

fn version(text: &str) -> anyhow::Result<Number> {
    Number::parse(text)
        .with_context(|| format!("invalid version `{text}` for --max-glibc: expected a number such as 2.28"))
}
