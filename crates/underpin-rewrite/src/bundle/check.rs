//! Asks the bundle's own loader what it maps: every object must come from the bundle, in the order of the plan.
//!
//! glibc's loader lists and stops if LD_TRACE_LOADED_OBJECTS is set; the bundle is started for that the way a user
//! starts it, launcher included. musl's lists when it is called with `--list`. The program itself never runs.

use super::model::{BundlePlan, Form, IncludedBecause, Separate, file_name};
use super::{BundleError, hooks};
use crate::files::{Bindings, Disagreement};
use bstr::{BString, ByteSlice, ByteVec};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use underpin_elf::Machine;
use underpin_resolve::LoaderKind;
use underpin_sys::{QUESTION_LIMIT, answer};

/// The outcome of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum BundleCheck {
    /// The loader maps the objects of the bundle, and nothing else.
    Agrees {
        /// How many.
        objects: usize,
    },
    /// The loader could not be asked.
    NotAsked {
        /// Why.
        reason: String,
    },
}

/// Asks the loader of a bundle whose program is at `entry`.
///
/// # Errors
/// [`BundleError::Judge`]: it maps something else, or fails.
pub fn check(plan: &BundlePlan, entry: &Path) -> Result<BundleCheck, BundleError> {
    if Some(plan.launcher.machine()) != Machine::host() {
        return Ok(BundleCheck::NotAsked { reason: "it is for another machine than this one".to_owned() });
    }
    match (plan.loader, plan.form) {
        (LoaderKind::Musl, Form::File) => Ok(BundleCheck::NotAsked {
            reason: "musl's loader lists no program whose libraries are in its own file".to_owned(),
        }),
        (LoaderKind::Musl, Form::Directory) => musl(plan, entry),
        _ => glibc(plan, entry),
    }
}

/// Runs a command without variables and returns the lines that it prints.
fn lines(command: &mut Command) -> Result<Vec<BString>, BundleError> {
    let output = asked(command, QUESTION_LIMIT)?;
    if !output.status.success() {
        let (shown, said) = (command.get_program().to_string_lossy(), output.stderr.to_str_lossy());
        return Err(BundleError::Judge(format!("{shown} ended with {}: {}", output.status, said.trim())));
    }
    Ok(output.stdout.lines().map(BString::from).collect())
}

/// What a loader answers. That it never ends is another sentence than that it cannot be started.
fn asked(command: &mut Command, limit: Duration) -> Result<Output, BundleError> {
    answer(command, limit).map_err(|error| match error.kind() {
        // The error names the program and the limit.
        io::ErrorKind::TimedOut | io::ErrorKind::FileTooLarge => BundleError::NoAnswer(error.to_string()),
        _ => BundleError::Judge(format!("{} cannot be started: {error}", command.get_program().to_string_lossy())),
    })
}

/// The path in a line `name => path (0x...)` or `path (0x...)`; `None` for the kernel's vdso.
fn path_in(line: &BString) -> Option<PathBuf> {
    let text = line.trim();
    let text = text.rsplit_once_str(" (0x").map_or(text, |(text, _)| text);
    let path = text.rsplit_once_str(" => ").map_or(text, |(_, path)| path);
    path.contains(&b'/').then(|| path.to_vec().into_path_buf().unwrap_or_default())
}

/// Asks the loaders of a bundle and of the same with separate libraries what they bind each reference to: the merged library
/// has to stand for each of its members.
///
/// # Errors
/// [`BundleError::Judge`]: a reference is bound to something else.
pub(super) fn compare(separate: &Separate, entry: &Path, merged: &Path) -> Result<(), BundleError> {
    let ask = |entry: &Path| -> Result<Bindings, BundleError> {
        let variables = [("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes"), ("LD_BIND_NOW", "1")];
        let mut command = Command::new(entry);
        let output = asked(command.env_clear().envs(variables).env("LD_DEBUG", "bindings"), QUESTION_LIMIT)?;
        Ok(Bindings::of_names(entry, &output.stdout, &output.stderr))
    };
    let (before, after) = (ask(entry)?, ask(merged)?);
    let path = |name: &BString| PathBuf::from(name.to_os_str_lossy().into_owned());
    let members = separate.members.iter().map(path).collect();
    let computed = separate.bindings.iter().map(|(from, symbol, to)| ((path(from), symbol.clone()), path(to)));
    let wrong = |error: Disagreement| {
        BundleError::Judge(format!("with its libraries merged, {error}; --no-fuse keeps each library separate"))
    };
    before.confirm(computed).map_err(wrong)?;
    after.same_as_merged(&before, &members, &path(&separate.name)).map_err(wrong)?;
    Ok(())
}

fn glibc(plan: &BundlePlan, entry: &Path) -> Result<BundleCheck, BundleError> {
    let lines = lines(Command::new(entry).env_clear().env("LD_TRACE_LOADED_OBJECTS", "1"))?;
    let found: Vec<PathBuf> = lines.iter().filter_map(path_in).collect();
    if let Some(line) = lines.iter().find(|line| line.contains_str("not found")) {
        return Err(BundleError::Judge(line.trim().to_str_lossy().into_owned()));
    }
    let (loader, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| is_loader(plan, entry, path));
    let expected: Vec<&[u8]> = plan.closure().map(|item| item.place.as_slice()).collect();
    if loader.len() > 1 || found.len() != expected.len() {
        let text = format!("{} objects are mapped, {} are in the bundle: {found:?}", found.len(), expected.len());
        return Err(BundleError::Judge(text));
    }
    for (path, place) in found.iter().zip(expected) {
        let right = match plan.form {
            Form::Directory => *path == top(entry).join(place.to_path_lossy()),
            Form::File => {
                let name = Path::new(hooks::FOLDER).join(file_name(place.as_bstr()).to_path_lossy());
                *path == name || path.starts_with("/proc/self/fd/")
            }
        };
        if !right {
            return Err(BundleError::Judge(format!("{} is mapped instead of {}", path.display(), place.as_bstr())));
        }
    }
    Ok(BundleCheck::Agrees { objects: found.len() + 1 })
}

fn is_loader(plan: &BundlePlan, entry: &Path, path: &Path) -> bool {
    let Some(item) = plan.items.iter().find(|item| item.reason == IncludedBecause::Loader) else { return false };
    match plan.form {
        Form::Directory => *path == top(entry).join(item.place.to_path_lossy()),
        Form::File => *path == item.source.to_path_lossy(),
    }
}

/// The top directory of the bundle; the program is in its `bin`.
fn top(entry: &Path) -> PathBuf {
    entry.ancestors().nth(2).unwrap_or(Path::new("/")).to_owned()
}

fn musl(plan: &BundlePlan, entry: &Path) -> Result<BundleCheck, BundleError> {
    let Some(loader) = plan.items.iter().find(|item| item.reason == IncludedBecause::Loader) else {
        return Err(BundleError::Judge("there is no loader in the plan".to_owned()));
    };
    let loader = top(entry).join(loader.place.to_path_lossy());
    let lines = lines(Command::new(&loader).arg("--list").arg(entry).env_clear())?;
    let found: Vec<PathBuf> = lines.iter().filter_map(path_in).collect();
    let outside = |path: &&PathBuf| **path != loader && !resolved(path).starts_with(resolved(&top(entry)));
    if let Some(path) = found.iter().find(outside) {
        return Err(BundleError::Judge(format!("{} is mapped from outside of it", path.display())));
    }
    let libraries = found.iter().filter(|path| **path != loader).count();
    let expected = plan.closure().count();
    if libraries != expected {
        return Err(BundleError::Judge(format!("{libraries} objects are mapped, {expected} are in the bundle")));
    }
    Ok(BundleCheck::Agrees { objects: libraries + 1 })
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_without_an_answer_is_told_from_one_that_cannot_be_started() {
        let said = |command: &mut Command| asked(command, Duration::from_millis(50)).unwrap_err().to_string();
        let late = said(Command::new("sleep").arg("60"));
        assert!(late.contains("gives no answer, so the bundle was removed: sleep took longer than"), "{late}");
        let absent = said(&mut Command::new("/nowhere/program"));
        assert!(absent.contains("rejects it, so it was removed: /nowhere/program cannot be started"), "{absent}");
    }
}
