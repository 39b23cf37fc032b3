//! `underpin unbind`: restores the original of every bound file in the given paths.

use super::bind::{every_name, exit, scope};
use crate::exit::Exit;
use crate::fusion;
use crate::input::path;
use crate::plan::UnbindPlan;
use crate::progress::Progress;
use crate::screen::{self, Screen};
use rayon::prelude::*;
use std::path::PathBuf;
use underpin_report::units::count;
use underpin_report::{UnbindDocument, text};
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::files::{self, Job, Jobs, Status, Times};

/// Restores the files, or shows what would be restored.
///
/// # Errors
/// If nothing that could be bound was named, or the result cannot be written.
pub fn run(plan: UnbindPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let scope = scope(&HostRoot::new(), &plan.paths)?;
    let files: Vec<PathBuf> = scope.files.iter().map(|file| path(&file.path)).collect();
    let outlooks: Vec<(PathBuf, Result<(), String>)> =
        files::status_all(&files).into_par_iter().filter_map(|(path, status)| outlook(path, &status)).collect();
    let keeps_times = plan.keep.times == Times::Kept;
    let (document, summary) = if plan.dry_run {
        (UnbindDocument::planned(&outlooks, keeps_times), None)
    } else {
        let (bound, hopeless): (Vec<_>, Vec<_>) = outlooks.into_iter().partition(|(_, outlook)| outlook.is_ok());
        let bound: Vec<PathBuf> = bound.into_iter().map(|(path, _)| path).collect();
        let farms = files::farms_of(&bound);
        let fused = fusion::Fusions::of(&bound);
        let jobs = bound.into_iter().map(Job::unbind).collect();
        let scope = every_name(&scope);
        let jobs =
            Jobs { scope, keep: plan.keep, fused: fused.programs(), ..Jobs::new(jobs, Environment::inherited()) };
        let summary = files::run_all(&jobs, &Progress::parts());
        fused.remove_unused();
        fusion::Fusions::remove_left(&files);
        files::remove_unused(&farms).iter().for_each(|error| screen::note(error));
        (UnbindDocument::new(&summary, &hopeless, keeps_times), Some(summary))
    };
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::unbind(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit(&document.totals, summary.as_ref(), plan.paths.len() == 1 && plan.paths[0].is_file()))
}

/// A bound file, and the reason why it cannot be restored, if there is one.
fn outlook(path: PathBuf, status: &Status) -> Option<(PathBuf, Result<(), String>)> {
    let outlook = match status {
        Status::Bound(_) | Status::Stale(..) | Status::Damaged(_) => files::undoable(&path),
        Status::Unrecorded(names) => Err(format!(
            "it names {} by absolute path and carries no record of a binding: another tool bound it or removed the \
             record; take the file from its package or build again",
            count(names.len(), "library", "libraries")
        )),
        Status::Unbound | Status::Unreadable(_) => return None,
    };
    Some((path, outlook))
}
