//! The plans of the verbs that run a command.

use crate::cli::{TraceArgs, UntilPhase};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use underpin_trace::{CallSet, Output, TraceOptions, Until};

/// What to run, how far to watch it, what to write.
#[derive(Debug)]
pub struct TracePlan {
    /// Options for the tracer.
    pub options: TraceOptions,
    /// Measure what binding gains.
    pub measure_bind: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
    /// JSON instead of a screen.
    pub json: bool,
    /// File for the page.
    pub html: Option<PathBuf>,
}

impl TracePlan {
    /// # Errors
    /// If a call of the list has no number here.
    pub fn new(args: TraceArgs) -> anyhow::Result<TracePlan> {
        let calls: CallSet = args.calls.parse()?;
        let options = TraceOptions {
            until: until(args.until),
            calls,
            output: if args.display.json { to_standard_error()? } else { Output::Inherit },
            ..TraceOptions::new(args.command)
        };
        Ok(TracePlan {
            options,
            measure_bind: args.measure_bind,
            verbosity: args.display.verbose,
            json: args.display.json,
            html: args.export_html,
        })
    }
}

/// A run for a survey: only the page goes to standard output, so the program's own output goes to standard error.
///
/// # Errors
/// If standard error cannot be duplicated.
pub fn survey_options(program: OsString, arguments: Vec<OsString>, phase: UntilPhase) -> io::Result<TraceOptions> {
    let command = std::iter::once(program).chain(arguments);
    Ok(TraceOptions { until: until(phase), output: to_standard_error()?, ..TraceOptions::new(command) })
}

fn until(phase: UntilPhase) -> Until {
    match phase {
        UntilPhase::Entry => Until::Entry,
        UntilPhase::Main => Until::Main,
        UntilPhase::Exit => Until::Exit,
    }
}

fn to_standard_error() -> io::Result<Output> {
    Ok(Output::File(File::from(io::stderr().as_fd().try_clone_to_owned()?)))
}
