//! From resolutions to the changes in one file.

use super::candidates::Candidates;
use super::facts::Facts;
use super::resolutions::Resolutions;
use crate::edits::{BoundObject, Edits, Rename, RewriteOptions, SearchPathEdit};
use crate::plan::model::{Decision, EdgePlan, LeftAlone, ObjectPlan, Origin};
use crate::plan::policy::Policy;
use crate::plan::scope::ScopeFile;
use bstr::BString;
use underpin_elf::DependencyTag;

/// The names of a file, in file order, each once: dependencies, then names that only versions have.
pub(in crate::plan) fn names_of(facts: &Facts) -> Vec<(BString, Origin)> {
    let mut names: Vec<(BString, Origin)> = Vec::new();
    let dependencies = facts.dynamic.dependencies.iter().map(|(tag, name)| {
        let origin = match tag {
            DependencyTag::Needed => Origin::Needed,
            DependencyTag::Filter => Origin::Filter,
            DependencyTag::Auxiliary => Origin::Auxiliary,
        };
        (name, origin)
    });
    let versions = facts.version_files.iter().filter(|file| !facts.dynamic.needed.contains(file));
    for (name, origin) in dependencies.chain(versions.map(|file| (file, Origin::VersionFile))) {
        if !names.iter().any(|known| known.0 == *name && known.1 == origin) {
            names.push((name.clone(), origin));
        }
    }
    names
}

/// One file's part of the plan, without its bytes.
pub(in crate::plan) fn object_plan(
    file: &ScopeFile,
    facts: &Facts,
    resolutions: &Resolutions,
    candidates: &Candidates,
    policy: &Policy,
    glibc_only: bool,
) -> ObjectPlan {
    let edges: Vec<EdgePlan> =
        names_of(facts).into_iter().map(|(name, origin)| edge(file, facts, resolutions, name, origin)).collect();
    let mut bound: Vec<BoundObject> = Vec::new();
    let mut renames = Vec::new();
    for edge in &edges {
        let Decision::Becomes { path, build_id, .. } = &edge.decision else { continue };
        renames.push(Rename { from: edge.name.clone(), to: path.as_str().into() });
        let resolution = resolutions.get(&(file.id, edge.name.clone()));
        let object = resolution.and_then(|resolution| candidates.objects.get(resolution.key.as_ref()?));
        bound.push(BoundObject {
            name: edge.name.to_string(),
            path: path.clone(),
            build_id: build_id.clone(),
            size: object.map_or(0, |object| object.size),
            modified: object.map_or(0, |object| object.modified),
        });
    }
    let dead = !renames.is_empty() && glibc_only && search_path_is_dead(facts, &edges);
    let search_path = if dead { SearchPathEdit::Dead } else { SearchPathEdit::Keep };
    ObjectPlan {
        path: file.path.clone(),
        hard_links: file.hard_links.clone(),
        id: file.id,
        edges,
        bound_before: false,
        edits: Edits { renames, search_path, ..Edits::default() },
        options: RewriteOptions { only: policy.strategy, bound: bound.clone(), ..RewriteOptions::default() },
        bound,
        rewrite: None,
    }
}

fn edge(file: &ScopeFile, facts: &Facts, resolutions: &Resolutions, name: BString, origin: Origin) -> EdgePlan {
    let has_versions = facts.version_files.contains(&name);
    let filter = matches!(origin, Origin::Filter | Origin::Auxiliary);
    let resolution = resolutions.get(&(file.id, name.clone())).filter(|_| !filter);
    let reason = if filter { LeftAlone::Filter } else { LeftAlone::Missing };
    let (decision, notes, programs) = match resolution {
        Some(resolution) => (resolution.decision.clone(), resolution.notes.clone(), resolution.programs),
        None => (Decision::LeftAlone { reason }, Vec::new(), 0),
    };
    EdgePlan { name, origin, has_versions, decision, programs, notes }
}

/// Whether no search uses DT_RUNPATH any more. DT_RPATH is inherited, so it is never dead.
fn search_path_is_dead(facts: &Facts, edges: &[EdgePlan]) -> bool {
    let settled = |edge: &EdgePlan| {
        matches!(
            edge.decision,
            Decision::Becomes { .. } | Decision::Already { .. } | Decision::LeftAlone { reason: LeftAlone::Loader }
        )
    };
    facts.dynamic.runpath.is_some()
        && facts.dynamic.rpath.is_none()
        && !facts.has_filters()
        && edges.iter().filter(|edge| edge.origin == Origin::Needed).all(settled)
        && !facts.searches_at_run_time()
}
