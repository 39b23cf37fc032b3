//! Verdicts for all names of the scope, and the rule that no request may lose the object it is served by.
//!
//! glibc recognises an object that was opened by path under its soname only (`_dl_map_object`, elf/dl-load.c). Where
//! somebody who is not bound asks by another name, binding the others would have it loaded again.

use super::ballot::{Ballot, Name, Verdict, Winner, left, winner};
use super::decision::{Decision, LeftAlone};
use super::facts::Catalogue;
use super::view::{RequestKind, Served, View};
use bstr::BString;
use std::collections::{HashMap, HashSet};
use underpin_resolve::FileId;

/// Verdicts by file and name.
pub(super) type Verdicts = HashMap<Name, Verdict>;

/// Judges every name that files of the scope have.
pub(super) fn decide(ballot: &Ballot, names: &[Name], views: &[View], catalogue: &Catalogue) -> Verdicts {
    let judge = |name: &Name| (name.clone(), ballot.verdict(name.0, name.1.as_ref()));
    let mut verdicts: Verdicts = names.iter().map(judge).collect();
    leave_to_strangers(&mut verdicts, views, catalogue);
    verdicts
}

/// Leaves alone what somebody who is not bound asks for by another name than its soname.
pub(super) fn leave_to_strangers(verdicts: &mut Verdicts, views: &[View], catalogue: &Catalogue) {
    for (winner, reason) in strangers(verdicts, views, catalogue) {
        for verdict in verdicts.values_mut().filter(|verdict| verdict.winner == Some(winner)) {
            if matches!(verdict.decision, Decision::Becomes { .. }) {
                *verdict = left(reason.clone(), verdict.programs);
            }
        }
    }
}

/// Objects that somebody who is not bound asks for by a name that is not their soname.
fn strangers(verdicts: &Verdicts, views: &[View], catalogue: &Catalogue) -> HashMap<Winner, LeftAlone> {
    let mut found = HashMap::new();
    for view in views.iter().filter(|view| !view.is_musl()) {
        let mut bound: HashSet<usize> = HashSet::new();
        let mut asked: Vec<(usize, FileId, &BString)> = Vec::new();
        for request in view.requests.iter().filter(|request| request.kind != RequestKind::Version) {
            let Served::Object(object) = request.served else { continue };
            let asker = view.members[request.asker].id;
            let verdict = verdicts.get(&(asker, request.name.clone()));
            match verdict.map(|verdict| &verdict.decision) {
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
            found.entry(winner(catalogue, member.id, member.path.as_ref())).or_insert(reason);
        }
    }
    found
}
