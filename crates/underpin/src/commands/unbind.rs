//! `underpin unbind`: every bound file below what was named becomes its original again.

use super::bind::{every_name, exit, path, scope};
use crate::exit::Exit;
use crate::plan::UnbindPlan;
use crate::screen::{self, Bar, Screen};
use bstr::ByteSlice;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, FileSource};
use underpin_report::{UnbindDocument, text};
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::files::{self, Job, Jobs, Status};

/// Puts back, or shows what would be.
///
/// # Errors
/// Where nothing that could be bound was named, or the result cannot be written.
pub fn run(plan: UnbindPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let scope = scope(&HostRoot::new(), &plan.paths)?;
    let files: Vec<PathBuf> = scope.files.iter().map(|file| path(&file.path)).collect();
    let is_bound = |status: &Status| matches!(status, Status::Bound(_) | Status::Stale(..) | Status::Damaged(_));
    let bound = files::status_all(&files).into_iter().filter(|(_, status)| is_bound(status));
    let bound: Vec<PathBuf> = bound.map(|(path, _)| path).collect();
    let (document, summary) = if plan.dry_run {
        (UnbindDocument::planned(&bound), None)
    } else {
        let farms = farms(&bound);
        let jobs = bound.into_iter().map(Job::unbind).collect();
        let scope = every_name(&scope);
        let jobs = Jobs { scope, keep: plan.keep, ..Jobs::new(jobs, Environment::inherited()) };
        let summary = files::run_all(&jobs, &Bar::new());
        remove_unused(&farms);
        (UnbindDocument::new(&summary), Some(summary))
    };
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::unbind(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit(&document.totals, summary.as_ref(), plan.paths.len() == 1 && plan.paths[0].is_file()))
}

/// Folders of links in which these files search: what `bind --farm` and `--relative` made for them.
fn farms(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    files.iter().flat_map(|file| search_path(file)).filter(|folder| files::farm_at(folder).is_some()).collect()
}

fn search_path(file: &Path) -> Vec<PathBuf> {
    let elf = File::open(file).ok().and_then(|file| Elf::read(&FileSource::new(file).ok()?).ok());
    let Some(dynamic) = elf.and_then(|elf| elf.dynamic) else { return Vec::new() };
    let folder = file.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes();
    let entries = [dynamic.rpath, dynamic.runpath].into_iter().flatten();
    let entries =
        entries.flat_map(|path| path.split_str(":").map(|entry| entry.replace("$ORIGIN", folder)).collect::<Vec<_>>());
    entries.map(|entry| PathBuf::from(OsStr::from_bytes(&entry))).collect()
}

/// A folder of links goes with the last file that searches in it.
fn remove_unused(farms: &BTreeSet<PathBuf>) {
    let is_bound = |user: &String| matches!(files::status(Path::new(user)), Status::Bound(_) | Status::Stale(..));
    for folder in farms {
        let users = files::farm_at(folder).map(|farm| farm.users).unwrap_or_default();
        if !users.iter().any(is_bound)
            && let Err(error) = files::remove_farm(folder)
        {
            screen::note(&error);
        }
    }
}
