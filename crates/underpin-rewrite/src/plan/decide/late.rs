//! What is still searched for after binding: names that are left alone, and those that are opened while a program runs.

use super::search::Narrower;
use super::view::View;
use crate::edits::SearchPathEdit;
use crate::plan::model::{Late, LeftName, ObjectPlan};
use bstr::BString;
use std::collections::{BTreeMap, HashMap};
use underpin_resolve::{CallName, Closure, FileId, TryResult};

/// What remains of the search for late names in one program.
pub(in crate::plan) fn late(narrower: &Narrower, view: &View, objects: &HashMap<FileId, &ObjectPlan>) -> Late {
    let edit = |id: FileId| -> Option<&SearchPathEdit> { Some(&objects.get(&id)?.edits.search_path) };
    let opens = view.members.iter().filter(|member| narrower.imports_dlopen(member.id, &member.path));
    Late {
        opened_by: opens.map(|member| member.path.clone()).collect(),
        before: narrower.directories(view, &|id, path| narrower.list(id, path, None)),
        after: narrower.directories(view, &|id, path| narrower.list(id, path, edit(id))),
    }
}

/// The lookups that fail at the start, by name.
pub(in crate::plan) fn left(closure: &Closure) -> Vec<LeftName> {
    let mut names: BTreeMap<&BString, u64> = BTreeMap::new();
    for edge in closure.edges.iter().filter(|edge| !edge.name.contains(&b'/')) {
        let failed = edge.tries.iter().filter(|tried| tried.result == TryResult::NotFound).count() as u64;
        if failed > 0 {
            *names.entry(&edge.name).or_default() += failed;
        }
    }
    // Each try is one open; each missing capability directory costs an additional stat(2), which belongs to no name.
    let opens: u64 = names.values().sum();
    let preload = closure.calls.counts.get(&CallName::Access).map_or(0, |count| count.errors);
    let all = closure.calls.total().errors.saturating_sub(preload).max(opens);
    let share = |lookups: u64| (lookups * all).div_ceil(opens.max(1));
    names.into_iter().map(|(name, lookups)| LeftName { name: name.clone(), lookups: share(lookups) }).collect()
}
