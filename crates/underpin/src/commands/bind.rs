//! `underpin bind`: plans first, then changes files one by one, each verified before it replaces the old one.

use super::fuse;
use crate::exit::Exit;
use crate::fusion;
use crate::input::path;
use crate::plan::{Action, BindRequest};
use crate::progress::Progress;
use crate::screen::{self, Screen};
use anyhow::bail;
use bstr::BString;
use rayon::prelude::*;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use underpin_report::document::bind::BindTotals;
use underpin_report::{BindDocument, text};
use underpin_resolve::root::lexical;
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::files::{self, BoundName, FileIdentity, Job, JobOutcome, Jobs, ObjectResult, ReplaceError};
use underpin_rewrite::files::{JobKind, JobsSummary};
use underpin_rewrite::plan::{self, BindPlan, CallSum, Decision, ObjectPlan, Planner, Policy, Scope};

/// Plans, shows or carries out.
///
/// # Errors
/// If nothing that could be bound was named, or the result cannot be written.
pub fn run(request: BindRequest, screen: &mut Screen) -> anyhow::Result<Exit> {
    if request.action == Action::PrintPolicy {
        screen.text(Policy::EXAMPLE.as_bytes());
        return Ok(Exit::Fine);
    }
    if request.fuse {
        return fuse::run(&request, screen);
    }
    let root = HostRoot::new();
    let scope = without_fused(scope(&root, &request.paths)?)?;
    let mut bindings = Planner::new(&root, request.environment.clone(), request.policy.clone()).plan(&scope);
    if request.action == Action::Reserve {
        screen.show(&text::reserve(&plan::reserve(&root, &bindings), &screen.view(request.verbosity)));
        return Ok(Exit::Fine);
    }
    let summary = match request.action {
        Action::CarryOut => Some(carry_out(&bindings, &scope, &request)),
        Action::Show | Action::Reserve | Action::PrintPolicy => None,
    };
    if summary.as_ref().is_some_and(was_refused) {
        as_it_is(&root, &request.environment, &mut bindings);
    }
    let document = BindDocument::new(&bindings, summary.as_ref());
    if request.json {
        screen.json(&document)?;
    } else {
        // Files have been changed by now, so that is printed first, whatever happens to the details.
        screen.show(&text::bind_headline(&document, &screen.view(request.verbosity)));
        screen.flush()?;
        screen.show(&text::bind_details(&document, &screen.view(request.verbosity)));
    }
    Ok(exit(&document.totals, summary.as_ref(), request.paths.len() == 1 && request.paths[0].is_file()))
}

/// The files behind the given paths; a path that cannot be used is reported on standard error.
///
/// # Errors
/// If none of them is a program or a library.
pub fn scope(root: &HostRoot, paths: &[PathBuf]) -> anyhow::Result<Scope> {
    let named: Vec<BString> = paths.iter().map(|path| path.as_os_str().as_bytes().into()).collect();
    let scope = Scope::find(root, &named);
    for skipped in &scope.skipped {
        screen::note(&format!("{}: {}", skipped.path, skipped.why));
    }
    if scope.files.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("no program and no library that names others in {}", names.join(", "));
    }
    Ok(scope)
}

/// The scope without programs that are fused: those name one file in place of their libraries.
///
/// # Errors
/// If nothing else is there.
fn without_fused(mut scope: Scope) -> anyhow::Result<Scope> {
    let fused: Vec<bool> = scope.files.par_iter().map(|file| fusion::file_of(&path(&file.path)).is_some()).collect();
    let mut fused = fused.into_iter();
    scope.files.retain(|file| {
        let fused = fused.next().unwrap_or(false);
        if fused {
            screen::note(&format!("{}: fused, and left as it is; `underpin unbind` it first", file.path));
        }
        !fused
    });
    if scope.files.is_empty() {
        bail!("every program here is fused");
    }
    Ok(scope)
}

fn carry_out(bindings: &BindPlan, scope: &Scope, request: &BindRequest) -> JobsSummary {
    let rebound = bindings.objects.iter().filter(|object| object.bound_before).map(|object| path(&object.path));
    let mut farms = files::farms_of(&rebound.collect::<Vec<_>>());
    let mut lost: HashMap<PathBuf, String> = HashMap::new();
    for farm in &bindings.farms {
        let folder = PathBuf::from(&farm.directory);
        if let Err(error) = files::make_farm(farm) {
            // Links of the farm name their users by `..`.
            let user = |user| lexical(folder.join(user).as_os_str().as_bytes().into());
            lost.extend(farm.users.iter().map(|name| (path(&user(name)), error.to_string())));
        }
        farms.insert(folder);
    }
    let (hopeless, jobs): (Vec<Job>, Vec<Job>) =
        bindings.objects.iter().filter_map(job).partition(|job| lost.contains_key(&job.path));
    let jobs = Jobs {
        programs: bindings.programs.iter().map(|program| path(&program.path)).collect(),
        scope: every_name(scope),
        keep: request.keep.clone(),
        ..Jobs::new(jobs, request.environment.clone())
    };
    let mut summary = files::run_all(&jobs, &Progress::parts());
    summary.results.extend(hopeless.into_iter().map(|job| {
        let reason = lost.get(&job.path).cloned().unwrap_or_default();
        let refused = JobOutcome::Refused(ReplaceError::Farm { path: job.path.clone(), reason });
        ObjectResult { path: job.path, outcome: refused }
    }));
    files::remove_unused(&farms).iter().for_each(|error| screen::note(error));
    summary
}

/// Whether a planned change was not made.
fn was_refused(summary: &JobsSummary) -> bool {
    let refused = |outcome: &JobOutcome| {
        matches!(outcome, JobOutcome::Refused(_) | JobOutcome::Failed(_) | JobOutcome::RolledBack { .. })
    };
    summary.results.iter().any(|result| refused(&result.outcome))
}

/// The calls of programs in their present state, if what was predicted did not happen.
fn as_it_is(root: &HostRoot, environment: &Environment, bindings: &mut BindPlan) {
    let resolver = Resolver::new(root, Environment { preload: None, ..environment.clone() });
    bindings.programs.par_iter_mut().for_each(|program| {
        let now = resolver.resolve(program.path.as_ref(), Depth::Findings);
        program.after = now.ok().map(|closure| CallSum::of(&closure));
    });
}

/// Every path that leads to a file of the scope.
pub fn every_name(scope: &Scope) -> Vec<PathBuf> {
    scope.files.iter().flat_map(|file| file.hard_links.iter().chain([&file.path])).map(path).collect()
}

/// What is to be done to an object; one that is bound and no longer should be is restored.
fn job(object: &ObjectPlan) -> Option<Job> {
    let task = match &object.rewrite {
        Some(rewrite) => JobKind::Bind { rewrite: rewrite.clone(), bound: bound_names(object) },
        None if object.bound_before => JobKind::Unbind,
        None => return None,
    };
    let path = path(&object.path);
    // If it is gone by now, opening it will report that.
    let planned = FileIdentity::at(&path).ok();
    Some(Job { path, planned, task })
}

fn bound_names(object: &ObjectPlan) -> Vec<BoundName> {
    let bound = |decision: &Decision| match decision {
        Decision::Becomes { path, .. } | Decision::Already { path } => Some(path.clone()),
        Decision::LeftAlone { .. } => None,
    };
    let names = object.edges.iter().filter_map(|edge| bound(&edge.decision));
    names.map(|name| BoundName { object: PathBuf::from(&name), name }).collect()
}

/// A failure is an error of ours; a refusal of the only given file is wrong use; one refusal among many files is a
/// finding.
pub fn exit(totals: &BindTotals, summary: Option<&JobsSummary>, single: bool) -> Exit {
    for (program, reason) in summary.iter().flat_map(|summary| &summary.broken) {
        screen::note(&format!("{}: {reason}", program.display()));
    }
    let broken = summary.is_some_and(|summary| !summary.broken.is_empty());
    match totals.refused {
        _ if totals.failed > 0 || broken => Exit::Error,
        0 => Exit::Fine,
        _ if single => Exit::Error,
        _ => Exit::Finding,
    }
}
