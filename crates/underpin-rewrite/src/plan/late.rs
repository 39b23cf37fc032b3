//! What is still searched for after the binding: names that are left alone, and those that are opened while a program
//! runs.

use super::model::ObjectPlan;
use super::search::Narrower;
use super::view::View;
use crate::SearchPathEdit;
use bstr::BString;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use underpin_resolve::{CallName, Closure, FileId, TryResult};

/// What it costs to look for a name that is opened while a program runs (dlopen, NSS, gconv), where no directory of the
/// search path holds it: the dearest of all objects that may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Late {
    /// Objects of the closure that import dlopen, the program first; the C library itself is not among them.
    pub opened_by: Vec<BString>,
    /// Directories of DT_RPATH and DT_RUNPATH that are gone through now.
    pub before: usize,
    /// Those after the binding.
    pub after: usize,
}

/// A name that is left alone, and what that costs one start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftName {
    /// As it is asked for.
    pub name: BString,
    /// Lookups that fail: each name has its share of those of a whole start, by the paths tried for it.
    pub lookups: u64,
}

/// What stays of the search for late names in one program.
pub(super) fn late(narrower: &Narrower, view: &View, objects: &HashMap<FileId, &ObjectPlan>) -> Late {
    let edit = |id: FileId| -> Option<&SearchPathEdit> { Some(&objects.get(&id)?.edits.search_path) };
    let opens = view.members.iter().filter(|member| narrower.imports_dlopen(member.id, &member.path));
    Late {
        opened_by: opens.map(|member| member.path.clone()).collect(),
        before: narrower.directories(view, &|id, path| narrower.list(id, path, None)),
        after: narrower.directories(view, &|id, path| narrower.list(id, path, edit(id))),
    }
}

/// The lookups that fail at the start, by name.
pub(super) fn left(closure: &Closure) -> Vec<LeftName> {
    let mut names: BTreeMap<&BString, u64> = BTreeMap::new();
    for edge in closure.edges.iter().filter(|edge| !edge.name.contains(&b'/')) {
        let failed = edge.tries.iter().filter(|tried| tried.result == TryResult::NotFound).count() as u64;
        if failed > 0 {
            *names.entry(&edge.name).or_default() += failed;
        }
    }
    // A try is one open; each capability directory that is not there costs a stat(2) more, which has no name.
    let opens: u64 = names.values().sum();
    let preload = closure.calls.counts.get(&CallName::Access).map_or(0, |count| count.errors);
    let all = closure.calls.total().errors.saturating_sub(preload).max(opens);
    let share = |lookups: u64| (lookups * all).div_ceil(opens.max(1));
    names.into_iter().map(|(name, lookups)| LeftName { name: name.clone(), lookups: share(lookups) }).collect()
}
