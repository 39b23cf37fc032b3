//! `underpin bind`: plans first, then changes files one by one, each verified before it takes the old one's place.

use crate::exit::Exit;
use crate::plan::{Action, BindPlan};
use crate::screen::{self, Bar, Screen};
use anyhow::bail;
use bstr::BString;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_report::document::bind::BindTotals;
use underpin_report::{BindDocument, text};
use underpin_resolve::HostRoot;
use underpin_rewrite::files::{self, BoundName, FileIdentity, Job, Jobs, Summary, Task};
use underpin_rewrite::plan::{self, Decision, ObjectPlan, Planner, Scope};

/// Plans, shows or carries out.
///
/// # Errors
/// Where nothing that could be bound was named, or the result cannot be written.
pub fn run(plan: BindPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let root = HostRoot::new();
    let scope = scope(&root, &plan.paths)?;
    let bindings = Planner::new(&root, plan.environment.clone(), plan.policy.clone()).plan(&scope);
    if plan.action == Action::Reserve {
        screen.show(&text::reserve(&plan::reserve(&root, &bindings), &screen.view(plan.verbosity)));
        return Ok(Exit::Fine);
    }
    let summary = match plan.action {
        Action::CarryOut => Some(carry_out(&bindings, &scope, &plan)?),
        Action::Show | Action::Reserve => None,
    };
    let document = BindDocument::new(&bindings, summary.as_ref());
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::bind(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit(&document.totals, summary.as_ref(), plan.paths.len() == 1 && plan.paths[0].is_file()))
}

/// The files behind what was named; what cannot be looked at is told on standard error.
///
/// # Errors
/// Where there is no program and no library among them.
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

fn carry_out(bindings: &plan::BindPlan, scope: &Scope, plan: &BindPlan) -> anyhow::Result<Summary> {
    for farm in &bindings.farms {
        files::make_farm(farm)?;
    }
    let jobs = Jobs {
        programs: bindings.programs.iter().map(|program| path(&program.path)).collect(),
        scope: every_name(scope),
        keep: plan.keep.clone(),
        ..Jobs::new(bindings.objects.iter().filter_map(job).collect(), plan.environment.clone())
    };
    Ok(files::run_all(&jobs, &Bar::new()))
}

/// Every path that leads to a file of the scope.
pub fn every_name(scope: &Scope) -> Vec<PathBuf> {
    scope.files.iter().flat_map(|file| file.hard_links.iter().chain([&file.path])).map(path).collect()
}

/// What is to be done to an object; one that was bound and is not to be any more is put back.
fn job(object: &ObjectPlan) -> Option<Job> {
    let task = match &object.rewrite {
        Some(rewrite) => Task::Bind { rewrite: rewrite.clone(), bound: bound_names(object) },
        None if object.bound_before => Task::Unbind,
        None => return None,
    };
    let path = path(&object.path);
    // Gone since: then opening it will say so.
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

/// A path of the resolver as one of this system.
pub fn path(bytes: &BString) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

/// A failure is an error of ours; the refusal of the only file that was named is wrong use; one refusal among many
/// files is told and no more.
pub fn exit(totals: &BindTotals, summary: Option<&Summary>, single: bool) -> Exit {
    for (program, reason) in summary.iter().flat_map(|summary| &summary.broken) {
        screen::note(&format!("{}: {reason}", program.display()));
    }
    let broken = summary.is_some_and(|summary| !summary.broken.is_empty());
    if totals.failed > 0 || broken || single && totals.refused > 0 { Exit::Error } else { Exit::Fine }
}
