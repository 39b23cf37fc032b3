//! A command on another allocator.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use underpin_bench::{CommandLine, Followed, Proof, Variant};
use underpin_malloc::{Confirmation, Inherit, Malloc, MallocError, Program, Store, Watch, prepare};
use underpin_sys::{RawPid, Resume, Tracee};

/// A command on an allocator: the changes of `under`, and the allocator. Its children run on it too, since the figures
/// are those of the whole tree of processes.
///
/// # Errors
/// If the command cannot run on it, or its object cannot be written out.
pub fn on_allocator(allocator: &Malloc, command: &CommandLine, under: &Variant) -> Result<Variant, MallocError> {
    let environment = under.environment(std::env::vars_os());
    let variable = |name: &OsStr| environment.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone());
    let word = under.wrapper.first().or(command.words().first()).map(OsString::as_os_str).unwrap_or_default();
    let program = Program::find(&command.from_here(word), variable(OsStr::new("PATH")).as_deref())?;
    let prepared = prepare(allocator, &program, &Store::usual_places(), |name| variable(OsStr::new(name)))?;
    for remainder in prepared.remainders() {
        crate::screen::note(&format!("{}: {remainder}", allocator.label));
    }
    let changes = prepared.changes(0, Inherit::Follow, false, variable);
    Ok(Variant {
        name: allocator.label.clone(),
        changes: under.changes.iter().cloned().chain(changes).collect(),
        proof: Some(Arc::new(Took(prepared.watch()))),
        ..under.clone()
    })
}

/// The check of the process at its entry point.
#[derive(Debug)]
struct Took(Watch);

impl Proof for Took {
    fn follow(&self, task: Tracee) -> Result<Followed, String> {
        let followed = task.resume(Resume::Continue, 0).and_then(|()| self.0.follow(task));
        match followed {
            Ok(Confirmation::Taken) => Ok(Followed::PastExec),
            Ok(Confirmation::NotTaken(reason)) => Err(reason.to_string()),
            Ok(Confirmation::NoProgram) => Err("its program was never executed".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn seen(&self, pid: RawPid) -> Result<(), String> {
        match self.0.from_outside(pid) {
            Confirmation::Taken => Ok(()),
            Confirmation::NotTaken(reason) => Err(reason.to_string()),
            Confirmation::NoProgram => Err("it ended before it could be looked at".to_owned()),
        }
    }
}
