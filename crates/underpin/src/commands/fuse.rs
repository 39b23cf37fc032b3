//! `underpin bind --fuse`: the libraries of a program merged into one file beside it, which the program names first.
//!
//! The file and its links are written first, into a new folder that nothing names. The program is replaced last, and only
//! after the real loader has bound every reference of the copy as it does in the original; then folders that nothing names
//! any more are removed. Ended at any point, the program is the old one or the new one, and starts. Programs of a folder
//! with nearly the same libraries use one file (`groups`).

mod groups;

use super::bind::scope;
use crate::exit::Exit;
use crate::fusion::{LoaderRun, Merger, Place, WORTH, modules_of};
use crate::input::path;
use crate::plan::{Action, BindRequest};
use crate::progress::Progress;
use crate::screen::Screen;
use anyhow::ensure;
use bstr::{BStr, BString};
use groups::{Task, grouped};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, FileSource};
use underpin_report::document::fuse::{FuseDocument, FuseModules, FuseOutcome, FuseProgram, FuseShared, Fusion};
use underpin_report::{Raw, text};
use underpin_resolve::HostRoot;
use underpin_rewrite::files::{JobPhase, Progress as _};

/// Fuses each of the named programs and those in the named folders, or shows what that would do.
///
/// # Errors
/// If a folder has no program, or the result cannot be written.
pub fn run(request: &BindRequest, screen: &mut Screen) -> anyhow::Result<Exit> {
    let tasks = tasks(request)?;
    let progress = Progress::parts();
    progress.begin(JobPhase::Replacing, tasks.iter().map(|task| task.programs().len()).sum());
    let mut programs = Vec::new();
    // One after the other: all libraries of a program are in memory at once.
    for task in &tasks {
        match task {
            Task::One(path) => programs.push(FuseProgram { path: raw(path), outcome: one(path, request) }),
            Task::Group(group) => programs.extend(group.carry_out(request)),
        }
        task.programs().iter().for_each(|path| progress.done(path));
    }
    let document = FuseDocument::new(request.action == Action::Show, programs);
    drop(progress);
    if request.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::fuse(&document, &screen.view(request.verbosity)));
    }
    let refused = |program: &FuseProgram| matches!(program.outcome, FuseOutcome::Refused { .. });
    Ok(match document.programs.iter().any(refused) {
        false => Exit::Fine,
        true if document.programs.len() == 1 => Exit::Error,
        true => Exit::Finding,
    })
}

/// The programs that were named, and those in folders that were named, each once.
fn tasks(request: &BindRequest) -> anyhow::Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    for named in &request.paths {
        if tasks.iter().any(|task| task.programs().contains(named)) {
            continue;
        }
        if named.is_dir() {
            let below = below(named, request.refresh)?;
            tasks.extend(grouped(&fs::canonicalize(named)?, below, request));
        } else if !request.refresh {
            tasks.push(Task::One(named.clone()));
        } else if let Some(place) = Place::of(named) {
            match place.group() {
                Some((folder, programs)) => tasks.extend(grouped(&folder, programs, request)),
                None => tasks.push(Task::One(named.clone())),
            }
        }
    }
    Ok(tasks)
}

/// The programs below a folder; only those that are fused, to refresh them.
fn below(folder: &PathBuf, refresh: bool) -> anyhow::Result<Vec<PathBuf>> {
    let scope = scope(&HostRoot::new(), std::slice::from_ref(folder))?;
    let programs = scope.files.iter().map(|file| path(&file.path)).filter(|file| names_loader(file));
    let programs: Vec<PathBuf> = programs.collect();
    ensure!(!programs.is_empty(), "no program in {}: `--fuse` takes programs", folder.display());
    Ok(programs.into_iter().filter(|program| !refresh || Place::of(program).is_some()).collect())
}

/// Whether a file is a program: what names a loader.
fn names_loader(file: &Path) -> bool {
    let elf = || Elf::read(&FileSource::new(fs::File::open(file).ok()?).ok()?).ok();
    elf().is_some_and(|elf| elf.interpreter.is_some())
}

fn loader(request: &BindRequest) -> LoaderRun<'_> {
    LoaderRun { environment: &request.environment, emulator: request.emulator.as_deref() }
}

/// What becomes of a program with a merged file of its own.
fn one(path: &Path, request: &BindRequest) -> FuseOutcome {
    let refused = |error: anyhow::Error| FuseOutcome::Refused { reason: format!("{error:#}") };
    alone(path, request).unwrap_or_else(refused)
}

fn alone(path: &Path, request: &BindRequest) -> anyhow::Result<FuseOutcome> {
    let path = fs::canonicalize(path)?;
    let modules = modules(&path, request);
    let merger = |place| match modules.as_slice() {
        [] => Merger::of(&path, loader(request), &request.policy, place, WORTH),
        modules => Merger::with_modules(&path, loader(request), &request.policy, place, modules),
    };
    // What cannot be compared is done again, and that says why it cannot be done.
    if let Some(Ok(Ok(merger))) = Place::of(&path).map(merger)
        && merger.is_done().unwrap_or(false)
    {
        return Ok(FuseOutcome::Unchanged { file: raw(merger.file()), members: merger.merged.len() });
    }
    let merger = match merger(Place::next_of(&path)?)? {
        Ok(merger) => merger,
        Err(members) => return Ok(FuseOutcome::LeftAlone { members, worth: WORTH }),
    };
    let compared = match request.action {
        Action::CarryOut => Some(merger.carry_out(&request.keep)?),
        Action::Show | Action::Reserve | Action::PrintPolicy => None,
    };
    Ok(FuseOutcome::Merged(Box::new(fusion(&merger, compared))))
}

/// The modules of a program: those that were named, or, to take its libraries as they are now, those of the last time.
fn modules(program: &Path, request: &BindRequest) -> Vec<PathBuf> {
    match Place::of(program) {
        Some(place) if request.refresh && request.modules.is_empty() => modules_of(&place),
        _ => request.modules.clone(),
    }
}

/// A fusion for the document.
fn fusion(merger: &Merger, compared: Option<usize>) -> Fusion {
    let reasons = |all: &[(BString, String)]| {
        all.iter().map(|(path, reason)| FuseShared { path: path.into(), reason: reason.clone() }).collect()
    };
    let modules = merger.modules().map(|found| FuseModules {
        modules: found.modules,
        libraries: found.libraries,
        left: reasons(found.left),
    });
    Fusion {
        file: raw(merger.file()),
        bytes: merger.bytes(),
        shared_with: Vec::new(),
        apart: None,
        members: merger.merged.iter().map(|member| (&member.path).into()).collect(),
        member_bytes: merger.merged.iter().map(|member| member.size).sum(),
        shared: reasons(&merger.shared),
        modules,
        references: merger.references.0,
        bound: merger.references.1,
        compared,
    }
}

fn raw(path: &Path) -> Raw {
    BStr::new(path.as_os_str().as_bytes()).into()
}
