//! `underpin trace`: runs a command and tells what its start-up did.

use crate::exit::Exit;
use crate::export;
use crate::plan::TracePlan;
use crate::screen::{self, Screen};
use underpin_report::{TraceDocument, text};
use underpin_trace::{End, Session, Trace, TraceError};

/// Runs the command, shows its trace, and hands on its exit code.
///
/// # Errors
/// Where the trace cannot be shown or written; a command that cannot be started is told and becomes an exit code.
pub fn run(plan: TracePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let trace = match Session::run(plan.options) {
        Ok(trace) => trace,
        Err(error) => return Ok(refused(error)),
    };
    if plan.json {
        screen.json(&TraceDocument::new(&trace).with_events(&trace))?;
    } else {
        screen.show(&text::trace(&TraceDocument::new(&trace), &screen.view(0)));
    }
    if let Some(path) = &plan.html {
        export::write(path, &underpin_report::html::trace(&TraceDocument::new(&trace).with_events(&trace))?)?;
    }
    Ok(exit(&trace))
}

/// Tells why the command did not run, with the code that env(1) would give.
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
