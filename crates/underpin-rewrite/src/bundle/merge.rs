//! Libraries of a bundle merged into one (`Wish::merge`): the merged library takes their places, and every name that they
//! have in the bundle leads to it: as a link in a directory, in a file as a name that the loader's hooks know.

use super::model::{BundlePlan, Form, IncludedBecause, Item, Merged, Separate, Wish};
use super::{BundleError, hooks};
use bstr::BString;
use std::collections::{BTreeSet, HashMap};
use underpin_resolve::{Closure, EdgeKind};

/// The plan with libraries merged, if that is wished and gains something.
pub(super) fn merge(plan: BundlePlan, closure: &Closure, wish: &Wish<'_>) -> Result<BundlePlan, BundleError> {
    let Some(merge) = wish.merge.filter(|_| plan.form == Form::Directory || plan.mapped) else { return Ok(plan) };
    // What is preloaded here is not in the bundle, and would be in the scope that references are resolved in.
    if closure.edges.iter().any(|edge| matches!(edge.kind, EdgeKind::LdPreload | EdgeKind::EtcPreload)) {
        return Ok(plan);
    }
    let folder = if plan.form == Form::File { hooks::FOLDER } else { "$ORIGIN" };
    match merge(closure, folder).map_err(BundleError::Program)? {
        Some(merged) => Ok(with(plan, merged)),
        None => Ok(plan),
    }
}

fn with(separate: BundlePlan, merged: Merged) -> BundlePlan {
    let mut plan = separate.clone();
    let names: HashMap<&BString, BString> =
        separate.items.iter().filter_map(|item| Some((&item.source, item.name.clone()?))).collect();
    let is_inside =
        |item: &Item| matches!(item.reason, IncludedBecause::Needed { .. }) && merged.members.contains(&item.source);
    let members: Vec<BString> =
        separate.items.iter().filter(|item| is_inside(item)).filter_map(|item| item.name.clone()).collect();
    plan.items.retain(|item| !is_inside(item));
    let aliases: BTreeSet<BString> = members.iter().chain(&merged.names).cloned().collect();
    let place = |name: &BString| BString::from([b"lib/", name.as_slice()].concat());
    if plan.form == Form::Directory {
        plan.links.extend(aliases.iter().map(|name| (place(name), merged.name.clone())));
    }
    let reason = IncludedBecause::Merged { libraries: merged.members };
    let item = Item::file(BString::default(), place(&merged.name), reason, merged.bytes.len() as u64);
    let item = Item {
        name: Some(merged.name.clone()),
        is_soname: true,
        aliases: aliases.into_iter().collect(),
        content: Some(merged.bytes),
        ..item
    };
    // Before what stays separate, as it was computed: a definition that an earlier one hides is not among its symbols.
    let is_library = |item: &Item| matches!(item.reason, IncludedBecause::Needed { .. });
    let first = plan.items.iter().position(is_library).unwrap_or(plan.items.len());
    plan.items.insert(first, item);
    // The program has no name among them: it is the file itself.
    let name = |path: &BString| match separate.program == *path {
        true => Some(BString::default()),
        false => names.get(path).cloned(),
    };
    let bindings =
        merged.bindings.iter().filter_map(|(from, symbol, to)| Some((name(from)?, symbol.clone(), name(to)?)));
    let bindings = bindings.collect();
    plan.separate = Some(Separate { plan: Box::new(separate), name: merged.name, members, bindings });
    plan
}
