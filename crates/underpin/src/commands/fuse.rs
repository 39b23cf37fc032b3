//! `underpin bind --fuse`: the libraries of a program merged into one file beside it, which the program names first.
//!
//! The file and its links are written first, into a new folder that nothing names. The program is replaced last, and only
//! after the real loader has bound every reference of the copy as it does in the original; then folders that nothing names
//! any more are removed. Ended at any point, the program is the old one or the new one, and starts.

use crate::exit::Exit;
use crate::fusion::{Merger, Place};
use crate::plan::{Action, BindRequest};
use crate::screen::Screen;
use bstr::BStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_report::document::fuse::{FuseDocument, FuseOutcome, FuseProgram, FuseShared, Fusion};
use underpin_report::{Raw, text};

/// With fewer libraries a start gains nothing that can be measured: docs/bench/fuse.md.
const WORTH: usize = 10;

/// Fuses each of the named programs, or shows what that would do.
///
/// # Errors
/// If the result cannot be written.
pub fn run(request: &BindRequest, screen: &mut Screen) -> anyhow::Result<Exit> {
    let one = |path: &std::path::PathBuf| {
        let refused = |error: anyhow::Error| FuseOutcome::Refused { reason: format!("{error:#}") };
        FuseProgram { path: raw(path), outcome: one(path, request).unwrap_or_else(refused) }
    };
    let document = FuseDocument::new(request.action == Action::Show, request.paths.iter().map(one).collect());
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

fn one(path: &Path, request: &BindRequest) -> anyhow::Result<FuseOutcome> {
    anyhow::ensure!(!path.is_dir(), "a folder: `--fuse` takes programs");
    let path = fs::canonicalize(path)?;
    let merger = Merger::of(&path, &request.environment, &request.policy, Place::next_of(&path)?, WORTH)?;
    let merger = match merger {
        Ok(merger) => merger,
        Err(members) => return Ok(FuseOutcome::LeftAlone { members, worth: WORTH }),
    };
    let compared = match request.action {
        Action::CarryOut => Some(merger.carry_out(&request.keep)?),
        Action::Show | Action::Reserve | Action::PrintPolicy => None,
    };
    let shared = merger.shared.iter().map(|(path, reason)| FuseShared { path: path.into(), reason: reason.clone() });
    Ok(FuseOutcome::Merged(Box::new(Fusion {
        file: raw(merger.file()),
        bytes: merger.bytes(),
        members: merger.merged.iter().map(|member| (&member.path).into()).collect(),
        member_bytes: merger.merged.iter().map(|member| member.size).sum(),
        shared: shared.collect(),
        references: merger.references.0,
        bound: merger.references.1,
        compared,
    })))
}

fn raw(path: &Path) -> Raw {
    BStr::new(path.as_os_str().as_bytes()).into()
}
