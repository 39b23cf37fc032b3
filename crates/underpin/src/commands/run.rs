//! `underpin run`: becomes a command on another allocator, with a helper that checks that it is in effect.

use crate::exit::Exit;
use crate::plan::RunPlan;
use crate::screen::{self, Screen};
use underpin_malloc::OnBoard;
use underpin_malloc::{Confirmation, MallocError, NotTaken, Watch};
use underpin_report::document::run::IncludedAllocator;
use underpin_report::{Line, Role, RunDocument, Text};
use underpin_sys::{SysError, Tracee, Watched};

/// The exit code for an error of ours, as env(1) has it.
const OURS: u8 = 125;

/// Becomes the command; returns only if that failed, or if a list was requested.
///
/// # Errors
/// If the list cannot be written; a reason why the command did not run is printed and becomes an exit code.
pub fn run(plan: RunPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let plan = match plan {
        RunPlan::List { json } => {
            if json {
                screen.json(&document())?;
            } else {
                list(screen);
            }
            return Ok(Exit::Fine);
        }
        RunPlan::Refuse(error) => return Ok(refused(error)),
        RunPlan::Become(plan) => plan,
    };
    for remark in &plan.remarks {
        screen::note(remark);
    }
    let watch = plan.watch;
    let error = plan.replace.run(|watched| look(&watch, watched));
    Ok(refused(error.into()))
}

fn refused(error: MallocError) -> Exit {
    let code = match &error {
        MallocError::Launch(error) => u8::try_from(error.exit_status()).unwrap_or(OURS),
        _ => OURS,
    };
    screen::complain(&error.into());
    Exit::Command(code)
}

/// Runs in the helper: lets the command continue, or kills it.
fn look(watch: &Watch, watched: Watched) {
    match watched {
        Watched::Traced(task) => {
            if let Err(error) = look_closely(watch, task) {
                screen::note(&format!("whether the allocator took could not be made sure of: {error}"));
            }
        }
        Watched::Untraced(pid, denied) => match watch.from_outside(pid) {
            Confirmation::NotTaken(reason) => {
                screen::note(&format!(
                    "the allocator did not take: {reason} (looked at from outside, since tracing is not permitted: {denied})"
                ));
                // If it has ended by itself there is nothing to kill.
                let _ = Tracee(pid).kill();
            }
            Confirmation::Taken | Confirmation::NoProgram => {}
        },
    }
}

fn look_closely(watch: &Watch, task: Tracee) -> Result<(), SysError> {
    match watch.follow(task)? {
        Confirmation::Taken => task.detach(0),
        Confirmation::NoProgram => Ok(()),
        Confirmation::NotTaken(reason) => {
            screen::note(&format!("the allocator did not take: {reason}"));
            if matches!(reason, NotTaken::Ended { .. }) { Ok(()) } else { task.exit_with(OURS) }
        }
    }
}

/// The built-in allocators, one a line.
fn list(screen: &mut Screen) {
    const COLUMN: usize = 22;
    let mut text = Text::new();
    for allocator in underpin_malloc::on_board() {
        let name = format!("{:<COLUMN$}", format!("{} {}", allocator.kind.name(), allocator.version));
        let line = Line::new().with(Role::Name, name);
        text.push(match allocator.object {
            Ok(object) => {
                let size = format!("{:>4} kB  ", object.bytes.len().div_ceil(1000));
                line.with(Role::Number, size).plain(allocator.settings)
            }
            Err(reason) => line.with(Role::Warn, format!("not on board: {reason}")),
        });
    }
    screen.show(&text);
}

fn document() -> RunDocument {
    let record = |allocator: &OnBoard| IncludedAllocator {
        name: allocator.kind.name().to_owned(),
        version: allocator.version.to_owned(),
        settings: allocator.settings.to_owned(),
        options: allocator.options.iter().map(|&name| name.to_owned()).collect(),
        bytes: allocator.object.ok().map(|object| object.bytes.len() as u64),
        sha256: allocator.object.ok().map(|object| object.sha256.to_owned()),
        absent: allocator.object.err().map(str::to_owned),
    };
    RunDocument::new(underpin_malloc::on_board().iter().map(record).collect())
}
