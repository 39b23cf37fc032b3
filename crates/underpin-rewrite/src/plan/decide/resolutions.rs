//! Resolutions for all names of the scope, and the rule that no request may lose the object that serves it.
//!
//! glibc recognises an object that was opened by path under its soname only (`_dl_map_object`, elf/dl-load.c). If an
//! unbound object requests it by another name, binding the others would load it again.

use super::candidates::{Candidates, Name, ObjectKey, Resolution, key_of, left};
use super::facts::Catalogue;
use super::view::{RequestKind, Served, View};
use crate::plan::model::{Decision, LeftAlone};
use bstr::BString;
use std::collections::{HashMap, HashSet};
use underpin_resolve::FileId;

/// Resolutions by file and name.
pub(in crate::plan) type Resolutions = HashMap<Name, Resolution>;

/// Resolves every name that files of the scope have.
pub(in crate::plan) fn decide(
    candidates: &Candidates,
    names: &[Name],
    views: &[View],
    catalogue: &Catalogue,
) -> Resolutions {
    let resolve = |name: &Name| (name.clone(), candidates.resolve(name.0, name.1.as_ref()));
    let mut resolutions: Resolutions = names.iter().map(resolve).collect();
    leave_to_strangers(&mut resolutions, views, catalogue);
    resolutions
}

/// Leaves alone what an unbound object requests by another name than its soname.
pub(in crate::plan) fn leave_to_strangers(resolutions: &mut Resolutions, views: &[View], catalogue: &Catalogue) {
    for (key, reason) in strangers(resolutions, views, catalogue) {
        for resolution in resolutions.values_mut().filter(|resolution| resolution.key == Some(key)) {
            if matches!(resolution.decision, Decision::Becomes { .. }) {
                *resolution = left(reason.clone(), resolution.programs);
            }
        }
    }
}

/// Objects that an unbound object requests by a name that is not their soname.
fn strangers(resolutions: &Resolutions, views: &[View], catalogue: &Catalogue) -> HashMap<ObjectKey, LeftAlone> {
    let mut found = HashMap::new();
    for view in views.iter().filter(|view| !view.is_musl()) {
        let mut bound: HashSet<usize> = HashSet::new();
        let mut asked: Vec<(usize, FileId, &BString)> = Vec::new();
        for request in view.requests.iter().filter(|request| request.kind != RequestKind::Version) {
            let Served::Object(object) = request.served else { continue };
            let asker = view.members[request.asker].id;
            let resolution = resolutions.get(&(asker, request.name.clone()));
            match resolution.map(|resolution| &resolution.decision) {
                Some(Decision::Becomes { .. }) => {
                    bound.insert(object);
                }
                _ if !request.name.contains(&b'/') => asked.push((object, asker, &request.name)),
                _ => {}
            }
        }
        for (object, asker, name) in asked {
            let member = &view.members[object];
            let known = member.soname.as_ref() == Some(name);
            if known || !bound.contains(&object) {
                continue;
            }
            let asker = view.members.iter().find(|member| member.id == asker);
            let asker = asker.map(|asker| asker.path.clone()).unwrap_or_default();
            let reason = LeftAlone::OtherName { soname: member.soname.clone(), asker };
            found.entry(key_of(catalogue, member.id, member.path.as_ref())).or_insert(reason);
        }
    }
    found
}
