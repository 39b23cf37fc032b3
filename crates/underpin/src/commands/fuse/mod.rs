//! `underpin bind --fuse`: the libraries of a program merged into one file beside it, which the program names first.
//!
//! The file and its links are written first, into a new folder that nothing names. The program is replaced last, and only
//! after the real loader has bound every reference of the copy as it does in the original; then folders that nothing names
//! any more are removed. Ended at any point, the program is the old one or the new one, and starts.

mod judge;
mod place;
mod subject;

pub use judge::{differences, same_symbols};
pub use place::{Fusions, file_of};

use crate::exit::Exit;
use crate::plan::{Action, BindRequest};
use crate::screen::Screen;
use anyhow::Context;
use bstr::{BStr, BString};
use place::Place;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use subject::Subject;
use underpin_fuse::{Fused, Refusal, note};
use underpin_report::document::fuse::{FuseDocument, FuseOutcome, FuseProgram, FuseShared, Fusion};
use underpin_report::{Raw, text};
use underpin_resolve::Environment;
use underpin_rewrite::{BoundObject, Edits, RewriteOptions, files, rewrite, undo};

/// With fewer libraries a start gains nothing that can be measured: docs/bench/fuse.md.
const WORTH: usize = 10;

/// Fuses each of the named programs, or shows what that would do.
///
/// # Errors
/// If the result cannot be written.
pub fn run(request: &BindRequest, screen: &mut Screen) -> anyhow::Result<Exit> {
    let programs = request.paths.iter().map(|path| {
        one(path, request).unwrap_or_else(|error| FuseProgram {
            path: raw(path),
            outcome: FuseOutcome::Refused { reason: format!("{error:#}") },
        })
    });
    let document = FuseDocument::new(request.action == Action::Show, programs.collect());
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

fn one(path: &Path, request: &BindRequest) -> anyhow::Result<FuseProgram> {
    anyhow::ensure!(!path.is_dir(), "a folder: `--fuse` takes programs");
    let path = fs::canonicalize(path)?;
    let environment = Environment { preload: None, ..request.environment.clone() };
    let subject = Subject::read(&path, &environment, &request.policy)?;
    let closure = subject.closure();
    let left_alone = |members| {
        let outcome = FuseOutcome::LeftAlone { members, worth: WORTH };
        Ok(FuseProgram { path: raw(&path), outcome })
    };
    let plan = match underpin_fuse::plan(&closure) {
        Err(Refusal::NothingToFuse { members }) => return left_alone(members),
        plan => plan?,
    };
    if plan.members.len() < WORTH {
        return left_alone(plan.members.len());
    }
    let place = Place::next_of(&path)?;
    let fused = underpin_fuse::fuse(&closure, &plan, &place.names())?;
    let merged = note::read(&fused.bytes).context("the list of its members cannot be read again")?;
    let shared = plan
        .kept
        .iter()
        .map(|kept| FuseShared { path: (&closure.objects[kept.object].path).into(), reason: kept.because.to_string() });
    let is_inside = |object: Option<usize>| object.is_some_and(|object| plan.members.contains(&object));
    let mut fusion = Fusion {
        members: merged.iter().map(|member| (&member.path).into()).collect(),
        shared: shared.collect(),
        references: fused.bindings.len(),
        bound: fused.bindings.iter().filter(|binding| is_inside(binding.to)).count(),
        bytes: fused.bytes.len() as u64,
        member_bytes: merged.iter().map(|member| member.size).sum(),
        file: raw(place.file()),
        compared: None,
    };
    if request.action == Action::CarryOut {
        fusion.compared = Some(carry_out(&subject, &fused, &merged, &place, request, &environment)?);
    }
    Ok(FuseProgram { path: raw(&path), outcome: FuseOutcome::Merged(Box::new(fusion)) })
}

/// Writes the file, replaces the program, and removes what the program named before. Returns how many references the loader
/// bound as before.
fn carry_out(
    subject: &Subject,
    fused: &Fused,
    merged: &[note::Merged],
    place: &Place,
    request: &BindRequest,
    environment: &Environment,
) -> anyhow::Result<usize> {
    let program = vec![subject.path.clone()];
    let (farms, fusions) = (files::farms_of(&program), Fusions::of(&program));
    place.write(fused)?;
    let compared = replace(subject, fused, merged, place, request, environment);
    if compared.is_err() {
        place.remove();
    } else {
        fusions.remove_unused();
        for error in files::remove_unused(&farms) {
            crate::screen::note(&error);
        }
    }
    compared
}

/// Replaces the program by one that names the fused file first, after the loader has bound the copy as the original.
fn replace(
    subject: &Subject,
    fused: &Fused,
    merged: &[note::Merged],
    place: &Place,
    request: &BindRequest,
    environment: &Environment,
) -> anyhow::Result<usize> {
    let file = place.file();
    let mut needed: Vec<BString> = vec![file.as_os_str().as_bytes().into()];
    needed.extend(fused.program_needs.iter().cloned());
    let edits = Edits { needed: Some(needed), ..Edits::default() };
    let options = RewriteOptions { bound: bound(merged, &fused.bytes, file)?, ..RewriteOptions::default() };
    let original = subject.original();
    let new = rewrite(original, &edits, &options)?.apply(original);
    anyhow::ensure!(undo(&new)? == *original, "the rewritten program could not be restored");
    let judge = judge::Judge::of(subject, merged, file, environment)?;
    let mut compared = 0;
    subject.held.replace(&new, &request.keep, |copy| {
        compared = judge.accepts(copy)?;
        Ok(())
    })?;
    Ok(compared)
}

/// What the record in the program tells `verify`: the fused file and its members as they are now.
fn bound(merged: &[note::Merged], bytes: &[u8], file: &Path) -> anyhow::Result<Vec<BoundObject>> {
    let text = |bytes: &BString| String::from_utf8(bytes.to_vec()).context("a library's path is not UTF-8");
    let own = FileFacts::of(file)?;
    let first = BoundObject {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: file.to_str().context("its path is not UTF-8")?.to_owned(),
        build_id: subject::build_id(bytes),
        size: own.size,
        modified: own.modified,
    };
    let members = merged.iter().map(|member| {
        let path = text(&member.path)?;
        let name = if member.soname.is_empty() { path.clone() } else { text(&member.soname)? };
        let build_id = Some(member.build_id.clone()).filter(|id| !id.is_empty());
        Ok(BoundObject { name, path, build_id, size: member.size, modified: member.modified })
    });
    std::iter::once(Ok(first)).chain(members).collect()
}

/// Size and modification time of a file.
struct FileFacts {
    size: u64,
    modified: i64,
}

impl FileFacts {
    fn of(path: &Path) -> anyhow::Result<FileFacts> {
        let identity = files::FileIdentity::at(path).with_context(|| path.display().to_string())?;
        // Nanoseconds since 1970: 64 bits last until 2262.
        Ok(FileFacts { size: identity.size, modified: i64::try_from(identity.modified).unwrap_or(0) })
    }
}

/// A path of the resolver as a path of this system, symbolic links resolved if it exists.
fn real(path: &BString) -> PathBuf {
    let path = super::bind::path(path);
    fs::canonicalize(&path).unwrap_or(path)
}

fn raw(path: &Path) -> Raw {
    BStr::new(path.as_os_str().as_bytes()).into()
}
