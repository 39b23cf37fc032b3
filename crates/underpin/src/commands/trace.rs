//! `underpin trace`: runs a command and shows what its start-up did.

use crate::exit::Exit;
use crate::export;
use crate::gain::Gain;
use crate::plan::TracePlan;
use crate::screen::{self, Screen};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_report::{TraceDocument, html, text};
use underpin_resolve::Environment;
use underpin_trace::{End, Session, Trace, TraceError, Until};

/// Runs the command, shows its trace, and passes on its exit status.
///
/// # Errors
/// If the trace cannot be shown or written; a command that cannot be started is reported and becomes an exit code.
pub fn run(plan: TracePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let arguments = plan.options.command.get(1..).map(<[OsString]>::to_vec).unwrap_or_default();
    let trace = match Session::new(plan.options).run() {
        Ok(trace) => trace,
        Err(error) => return Ok(refused(error)),
    };
    let mut document = document(&trace);
    let program = OsStr::from_bytes(document.program.bytes());
    if let Some(gain) = Gain::predict(Path::new(program), &Environment::inherited()) {
        let arguments = plan.measure_bind.then_some(arguments.as_slice());
        let gain = gain.measured_or_told(Path::new(program), arguments);
        document = document.with_binding(gain);
    }
    if let Some(path) = &plan.html {
        export::write(path, &html::trace(&document)?)?;
    }
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::trace(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit(&trace))
}

/// A start is shown call by call; the rest of a run, which may have hundreds of thousands of calls, by its totals.
pub fn document(trace: &Trace) -> TraceDocument {
    let document = TraceDocument::new(trace);
    if trace.until == Until::Exit { document.with_events_of_the_start(trace) } else { document.with_events(trace) }
}

/// Reports why the command did not run, with the code that env(1) would give.
pub fn refused(error: TraceError) -> Exit {
    let code = error.exit_status();
    screen::complain(&error.into());
    Exit::Command(u8::try_from(code).unwrap_or(125))
}

/// The command's own exit code, as a shell would report it.
fn exit(trace: &Trace) -> Exit {
    match trace.end {
        End::Exited(0) | End::Stopped => Exit::Fine,
        end => Exit::Command(u8::try_from(end.status()).unwrap_or(125)),
    }
}
