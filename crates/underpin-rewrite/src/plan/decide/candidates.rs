//! Which object each name of each file resolves to, over all programs, and the one spelling of each object.

use super::facts::{Catalogue, directory_of, file_name};
use super::view::{Abi, RequestKind, Served, View};
use crate::plan::model::{Choice, Decision, EdgeNote, Exclusion, LeftAlone};
use crate::plan::policy::Policy;
use bstr::{BStr, BString, ByteSlice};
use std::collections::{BTreeMap, HashMap, HashSet};
use underpin_resolve::FileId;

/// The most programs that a disagreement names.
const NAMED: usize = 4;

/// An object to bind to. An object whose search path is relative to `$ORIGIN` is a different one in each directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::plan) struct ObjectKey {
    pub id: FileId,
    directory: Option<FileId>,
}

/// What one program loads by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Candidate {
    Object { key: ObjectKey, variant: Option<BString> },
    Not(LeftAlone),
}

/// The views that agree on a candidate.
struct Agreement {
    candidate: Candidate,
    /// Ascending, each once: [`Candidates::add`] only looks at the last one.
    views: Vec<usize>,
}

/// The outcome for a name.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Resolution {
    pub decision: Decision,
    /// The object that the decision is about; `None` if the name is left alone.
    pub key: Option<ObjectKey>,
    pub notes: Vec<EdgeNote>,
    pub programs: usize,
}

/// An object to bind to, with its one spelling.
pub(in crate::plan) struct Bindable {
    pub path: BString,
    pub soname: Option<BString>,
    pub build_id: Option<String>,
    pub size: u64,
    pub modified: i64,
}

/// A name of a file.
pub(in crate::plan) type Name = (FileId, BString);

/// The candidates for every name, of all views.
pub(in crate::plan) struct Candidates<'a> {
    views: &'a [View],
    policy: &'a Policy,
    /// Per name of a file of the scope: at least one agreement, no two with equal candidates.
    agreements: HashMap<Name, Vec<Agreement>>,
    /// The objects to bind to. One key has one spelling in a whole plan.
    pub objects: HashMap<ObjectKey, Bindable>,
    /// For each name by which objects are known: the objects, each with a view that contains it.
    bearers: HashMap<(Abi, BString), Vec<(FileId, usize)>>,
}

impl<'a> Candidates<'a> {
    /// Collects the candidates for the names of the files in `scope`.
    pub fn of(views: &'a [View], catalogue: &Catalogue, policy: &'a Policy, scope: &HashSet<FileId>) -> Candidates<'a> {
        let mut candidates =
            Candidates { views, policy, agreements: HashMap::new(), objects: HashMap::new(), bearers: HashMap::new() };
        let spellings = candidates.collect(catalogue, scope);
        for (key, paths) in spellings {
            let Some(path) = best(paths) else { continue };
            let Some(facts) = catalogue.of(key.id, path.as_ref()) else { continue };
            let bindable = Bindable {
                soname: facts.dynamic.soname.clone(),
                build_id: facts.build_id.clone(),
                size: facts.size,
                modified: facts.modified,
                path,
            };
            candidates.objects.insert(key, bindable);
        }
        candidates
    }

    /// Files that at least one program loads.
    pub fn loaded_by_programs(views: &[View]) -> HashSet<FileId> {
        views
            .iter()
            .filter(|view| view.is_program)
            .flat_map(|view| view.members.iter().map(|member| member.id))
            .collect()
    }

    fn collect(
        &mut self,
        catalogue: &Catalogue,
        scope: &HashSet<FileId>,
    ) -> HashMap<ObjectKey, BTreeMap<BString, usize>> {
        let mut spellings: HashMap<ObjectKey, BTreeMap<BString, usize>> = HashMap::new();
        let loaded = Candidates::loaded_by_programs(self.views);
        for (index, view) in self.views.iter().enumerate() {
            let keys: Vec<ObjectKey> =
                view.members.iter().map(|member| key_of(catalogue, member.id, member.path.as_ref())).collect();
            for member in &view.members[1..] {
                if view.is_program || scope.contains(&member.id) {
                    self.bear(member.soname.as_ref(), member.id, index);
                }
            }
            for request in &view.requests {
                if let Served::Object(object) = request.served {
                    let member = &view.members[object];
                    let normal = catalogue.normal(member.path.as_ref(), member.id);
                    *spellings.entry(keys[object]).or_default().entry(normal).or_default() += 1;
                    // No program has loaded what a file that no program loads would find in the system by itself.
                    if view.is_program || scope.contains(&member.id) {
                        self.bear(Some(&request.name), member.id, index);
                    }
                }
                let asker = view.members[request.asker].id;
                // If programs load a file, what it would find by itself does not matter.
                let counts = view.is_program || !loaded.contains(&asker);
                if scope.contains(&asker) && counts && request.kind != RequestKind::Filter {
                    let candidate = match &request.served {
                        Served::Object(object) => {
                            Candidate::Object { key: keys[*object], variant: request.variant.clone() }
                        }
                        Served::Not(reason) => Candidate::Not(reason.clone()),
                    };
                    self.add((asker, request.name.clone()), candidate, index);
                }
            }
        }
        spellings
    }

    fn bear(&mut self, name: Option<&BString>, id: FileId, view: usize) {
        let Some(name) = name.filter(|name| !name.contains(&b'/')) else { return };
        let machine = self.views[view].machine;
        let bearers = self.bearers.entry((machine, name.clone())).or_default();
        if !bearers.iter().any(|(known, _)| *known == id) {
            bearers.push((id, view));
        }
    }

    fn add(&mut self, name: Name, candidate: Candidate, view: usize) {
        let agreements = self.agreements.entry(name).or_default();
        match agreements.iter_mut().find(|agreement| agreement.candidate == candidate) {
            // Views come in ascending order, so a view that asks twice is the last one here.
            Some(agreement) if agreement.views.last() == Some(&view) => {}
            Some(agreement) => agreement.views.push(view),
            None => agreements.push(Agreement { candidate, views: vec![view] }),
        }
    }

    /// The outcome for one name of one file: bound only if every program that loads the file loads the same object.
    pub fn resolve(&self, file: FileId, name: &BStr) -> Resolution {
        let key = (file, BString::from(name));
        let Some(agreements) = self.agreements.get(&key) else { return left(LeftAlone::PluginMissing, 0) };
        let by_program =
            agreements.iter().any(|agreement| agreement.views.iter().any(|&view| self.views[view].is_program));
        let programs = if by_program { agreements.iter().map(|agreement| agreement.views.len()).sum() } else { 0 };
        let counted = self.counted(file, agreements, by_program);
        // A name that no candidate may be bound for stays unchanged, whether or not the programs agree.
        let reasons: Vec<Option<LeftAlone>> =
            counted.iter().map(|agreement| self.reason(name, &agreement.candidate)).collect();
        if let Some(Some(first)) = reasons.iter().find(|_| reasons.iter().all(Option::is_some)) {
            let plugin = !by_program && *first == LeftAlone::Missing;
            return left(if plugin { LeftAlone::PluginMissing } else { first.clone() }, programs);
        }
        // One object that, for example, some programs find through a capability directory: the same for all, but not to
        // be bound.
        if let Some(reason) = self.one_object(&counted, &reasons) {
            return left(reason, programs);
        }
        let [only] = counted.as_slice() else { return left(self.disagreement(&counted, by_program), programs) };
        let Candidate::Object { key, .. } = &only.candidate else { return left(LeftAlone::Missing, programs) };
        // A process that loads this plugin may have loaded another object of that name before, which then wins.
        if !by_program && let Some(conflict) = self.conflict(self.views[only.views[0]].machine, name, *key) {
            return left(conflict, programs);
        }
        self.bound(name, *key, programs)
    }

    /// The reason not to bind the one object that all candidates are, if there is one and no program misses it.
    fn one_object(&self, counted: &[&Agreement], reasons: &[Option<LeftAlone>]) -> Option<LeftAlone> {
        let object = |agreement: &&Agreement| match &agreement.candidate {
            Candidate::Object { key, .. } => Some(*key),
            Candidate::Not(_) => None,
        };
        let objects: HashSet<ObjectKey> = counted.iter().filter_map(object).collect();
        let reason = reasons.iter().flatten().next()?;
        (objects.len() == 1 && !reasons.contains(&Some(LeftAlone::Missing))).then(|| reason.clone())
    }

    /// A plugin by itself may miss what another plugin that needs it loads: that says nothing about the name.
    fn counted<'v>(&self, file: FileId, agreements: &'v [Agreement], by_program: bool) -> Vec<&'v Agreement> {
        let own_miss = |agreement: &&Agreement| {
            agreement.candidate == Candidate::Not(LeftAlone::Missing)
                && agreement.views.iter().all(|&view| self.views[view].id == file)
        };
        let counted: Vec<&Agreement> =
            agreements.iter().filter(|agreement| by_program || !own_miss(agreement)).collect();
        if counted.is_empty() { agreements.iter().collect() } else { counted }
    }

    /// Why this candidate alone would not be bound.
    fn reason(&self, name: &BStr, candidate: &Candidate) -> Option<LeftAlone> {
        let (key, variant) = match candidate {
            Candidate::Not(reason) => return Some(reason.clone()),
            Candidate::Object { key, variant } => (key, variant),
        };
        let Some(bindable) = self.objects.get(key) else { return Some(LeftAlone::Missing) };
        let path = bindable.path.as_bstr();
        if let Some(by) = self.policy.leaves_out(name, bindable.soname.as_ref().map(AsRef::as_ref), path) {
            return Some(LeftAlone::Excluded { by });
        }
        if let Some(variant) = variant.as_ref().filter(|_| self.policy.built_in.hwcaps) {
            return Some(LeftAlone::Excluded { by: Exclusion::Hwcaps { variant: variant.clone() } });
        }
        if std::str::from_utf8(path).is_err() || std::str::from_utf8(name).is_err() {
            return Some(LeftAlone::NotUtf8 { path: path.into() });
        }
        path.contains(&b'$').then(|| LeftAlone::Unwritable { path: path.into() })
    }

    fn disagreement(&self, agreements: &[&Agreement], by_program: bool) -> LeftAlone {
        let choices: Vec<Choice> = agreements
            .iter()
            .map(|agreement| Choice {
                path: match &agreement.candidate {
                    Candidate::Object { key, .. } => self.objects.get(key).map(|bindable| bindable.path.clone()),
                    Candidate::Not(_) => None,
                },
                programs: agreement.views.iter().take(NAMED).map(|&view| self.views[view].path.clone()).collect(),
                count: agreement.views.len(),
            })
            .collect();
        if by_program {
            return LeftAlone::ProgramsDisagree { choices };
        }
        let path = |index: usize| choices.get(index).and_then(|choice| choice.path.clone()).unwrap_or_default();
        let program = choices.get(1).and_then(|choice| choice.programs.first().cloned()).unwrap_or_default();
        LeftAlone::PluginConflict { own: path(0), other: path(1), program }
    }

    /// Another object of the scope that answers to the name or soname of the object that a plugin finds.
    fn conflict(&self, machine: Abi, name: &BStr, key: ObjectKey) -> Option<LeftAlone> {
        let bindable = self.objects.get(&key)?;
        let names = std::iter::once(BString::from(file_name(name))).chain(bindable.soname.clone());
        let other =
            names.filter_map(|name| self.bearers.get(&(machine, name))?.iter().find(|(id, _)| *id != key.id)).next()?;
        let view = &self.views[other.1];
        let member = view.members.iter().find(|member| member.id == other.0)?;
        let (own, other) = (bindable.path.clone(), member.path.clone());
        Some(LeftAlone::PluginConflict { own, other, program: view.path.clone() })
    }

    fn bound(&self, name: &BStr, key: ObjectKey, programs: usize) -> Resolution {
        let Some(bindable) = self.objects.get(&key) else { return left(LeftAlone::Missing, programs) };
        let path = bindable.path.to_string();
        let mut notes = Vec::new();
        let decision = if bindable.path == name {
            Decision::Already { path }
        } else {
            if name.contains(&b'/') {
                notes.push(EdgeNote::Respelled);
            } else if bindable.soname.as_ref().is_none_or(|soname| soname != name) {
                notes.push(EdgeNote::SonameDiffers { soname: bindable.soname.clone() });
            }
            Decision::Becomes { path, build_id: bindable.build_id.clone(), soname: bindable.soname.clone() }
        };
        Resolution { decision, key: Some(key), notes, programs }
    }
}

/// Nothing is bound.
pub(in crate::plan) fn left(reason: LeftAlone, programs: usize) -> Resolution {
    Resolution { decision: Decision::LeftAlone { reason }, key: None, notes: Vec::new(), programs }
}

/// The key of the object behind a path.
pub(in crate::plan) fn key_of(catalogue: &Catalogue, id: FileId, path: &BStr) -> ObjectKey {
    let uses_origin = catalogue.of(id, path).is_some_and(|facts| facts.uses_origin());
    let directory = if uses_origin { catalogue.identity(directory_of(path)) } else { None };
    ObjectKey { id, directory }
}

/// The spelling that most requests lead to; of several, the shortest, then the first.
fn best(paths: BTreeMap<BString, usize>) -> Option<BString> {
    let rank = |(path, count): &(BString, usize)| (usize::MAX - count, path.len(), path.clone());
    paths.into_iter().min_by_key(rank).map(|(path, _)| path)
}
