//! `underpin unbind`: every bound file below what was named becomes its original again.

use super::bind::{exit, path, scope};
use crate::exit::Exit;
use crate::plan::UnbindPlan;
use crate::screen::{Bar, Screen};
use std::path::PathBuf;
use underpin_report::{UnbindDocument, text};
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::files::{self, Job, Jobs, Status, TIME_LIMIT, Task};

/// Puts back, or shows what would be.
///
/// # Errors
/// Where nothing that could be bound was named, or the result cannot be written.
pub fn run(plan: UnbindPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let scope = scope(&HostRoot::new(), &plan.paths)?;
    let files: Vec<PathBuf> = scope.files.iter().map(|file| path(&file.path)).collect();
    let is_bound = |status: &Status| matches!(status, Status::Bound(_) | Status::Stale(..));
    let bound = files::status_all(&files).into_iter().filter(|(_, status)| is_bound(status));
    let bound: Vec<PathBuf> = bound.map(|(path, _)| path).collect();
    let (document, summary) = if plan.dry_run {
        (UnbindDocument::planned(&bound), None)
    } else {
        let jobs = Jobs {
            jobs: bound.into_iter().map(|path| Job { path, planned: None, task: Task::Unbind }).collect(),
            programs: Vec::new(),
            scope: scope.files.iter().flat_map(|file| file.hard_links.iter().chain([&file.path])).map(path).collect(),
            keep: plan.keep,
            environment: Environment::inherited(),
            threads: None,
            time_limit: TIME_LIMIT,
        };
        let summary = files::run_all(&jobs, &Bar::new());
        (UnbindDocument::new(&summary), Some(summary))
    };
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::unbind(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit(&document.totals, summary.as_ref(), plan.paths.len() == 1 && plan.paths[0].is_file()))
}
