//! Which object each name of each file stands for, over all programs, and the one spelling of each object.

use super::decision::{Choice, Decision, Exclusion, LeftAlone};
use super::exclusions;
use super::facts::{Catalogue, directory_of, file_name};
use super::model::EdgeNote;
use super::policy::Policy;
use super::view::{Abi, RequestKind, Served, View};
use bstr::{BStr, BString, ByteSlice};
use std::collections::{BTreeMap, HashMap, HashSet};
use underpin_resolve::FileId;

/// As many programs are named in a disagreement.
const NAMED: usize = 4;

/// An object to bind to. One whose search path counts from `$ORIGIN` is another one in another directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Winner {
    pub id: FileId,
    directory: Option<FileId>,
}

/// What one program says of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Vote {
    For { winner: Winner, variant: Option<BString> },
    Not(LeftAlone),
}

/// Equal votes, and the views that cast them.
struct Votes {
    vote: Vote,
    views: Vec<usize>,
}

/// What becomes of a name.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub decision: Decision,
    pub winner: Option<Winner>,
    pub notes: Vec<EdgeNote>,
    pub programs: usize,
}

/// An object to bind to, with its one spelling.
pub(super) struct Bindable {
    pub path: BString,
    pub soname: Option<BString>,
    pub build_id: Option<String>,
    pub size: u64,
    pub modified: i64,
}

/// A name of a file.
pub(super) type Name = (FileId, BString);

/// All votes of all views.
pub(super) struct Ballot<'a> {
    views: &'a [View],
    policy: &'a Policy,
    votes: HashMap<Name, Vec<Votes>>,
    pub winners: HashMap<Winner, Bindable>,
    /// Per name by which objects are known: the objects, each with a view that has it.
    bearers: HashMap<(Abi, BString), Vec<(FileId, usize)>>,
}

impl<'a> Ballot<'a> {
    /// Counts the votes for the names of the files in `scope`.
    pub fn count(views: &'a [View], catalogue: &Catalogue, policy: &'a Policy, scope: &HashSet<FileId>) -> Ballot<'a> {
        let mut ballot =
            Ballot { views, policy, votes: HashMap::new(), winners: HashMap::new(), bearers: HashMap::new() };
        let spellings = ballot.collect(catalogue, scope);
        for (winner, paths) in spellings {
            let Some(path) = best(paths) else { continue };
            let Some(facts) = catalogue.of(winner.id, path.as_ref()) else { continue };
            let bindable = Bindable {
                soname: facts.dynamic.soname.clone(),
                build_id: facts.build_id.clone(),
                size: facts.size,
                modified: facts.modified,
                path,
            };
            ballot.winners.insert(winner, bindable);
        }
        ballot
    }

    /// Files that at least one program loads.
    pub fn loaded_by_programs(views: &[View]) -> HashSet<FileId> {
        views
            .iter()
            .filter(|view| view.is_program)
            .flat_map(|view| view.members.iter().map(|member| member.id))
            .collect()
    }

    fn collect(&mut self, catalogue: &Catalogue, scope: &HashSet<FileId>) -> HashMap<Winner, BTreeMap<BString, usize>> {
        let mut spellings: HashMap<Winner, BTreeMap<BString, usize>> = HashMap::new();
        let loaded = Ballot::loaded_by_programs(self.views);
        for (index, view) in self.views.iter().enumerate() {
            let winners: Vec<Winner> =
                view.members.iter().map(|member| winner(catalogue, member.id, member.path.as_ref())).collect();
            for member in &view.members[1..] {
                if view.is_program || scope.contains(&member.id) {
                    self.bear(member.soname.as_ref(), member.id, index);
                }
            }
            for request in &view.requests {
                if let Served::Object(object) = request.served {
                    let member = &view.members[object];
                    let normal = catalogue.normal(member.path.as_ref(), member.id);
                    *spellings.entry(winners[object]).or_default().entry(normal).or_default() += 1;
                    // What a file that nobody loads would find in the system by itself, no program has loaded.
                    if view.is_program || scope.contains(&member.id) {
                        self.bear(Some(&request.name), member.id, index);
                    }
                }
                let asker = view.members[request.asker].id;
                // Where programs load a file, what it would find by itself does not matter.
                let counts = view.is_program || !loaded.contains(&asker);
                if scope.contains(&asker) && counts && request.kind != RequestKind::Filter {
                    let vote = match &request.served {
                        Served::Object(object) => {
                            Vote::For { winner: winners[*object], variant: request.variant.clone() }
                        }
                        Served::Not(reason) => Vote::Not(reason.clone()),
                    };
                    self.vote((asker, request.name.clone()), vote, index);
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

    fn vote(&mut self, name: Name, vote: Vote, view: usize) {
        let votes = self.votes.entry(name).or_default();
        match votes.iter_mut().find(|votes| votes.vote == vote) {
            Some(votes) if votes.views.last() == Some(&view) => {}
            Some(votes) => votes.views.push(view),
            None => votes.push(Votes { vote, views: vec![view] }),
        }
    }

    /// What becomes of one name of one file.
    pub fn verdict(&self, file: FileId, name: &BStr) -> Verdict {
        let key = (file, BString::from(name));
        let Some(votes) = self.votes.get(&key) else { return left(LeftAlone::PluginMissing, 0) };
        let by_program = votes.iter().any(|votes| votes.views.iter().any(|&view| self.views[view].is_program));
        let programs = if by_program { votes.iter().map(|votes| votes.views.len()).sum() } else { 0 };
        let counted = self.counted(file, votes, by_program);
        let reasons: Vec<Option<LeftAlone>> = counted.iter().map(|votes| self.reason(name, &votes.vote)).collect();
        if let Some(Some(first)) = reasons.iter().find(|_| reasons.iter().all(Option::is_some)) {
            let plugin = !by_program && *first == LeftAlone::Missing;
            return left(if plugin { LeftAlone::PluginMissing } else { first.clone() }, programs);
        }
        if let Some(reason) = self.one_object(&counted, &reasons) {
            return left(reason, programs);
        }
        let [only] = counted.as_slice() else { return left(self.disagreement(&counted, by_program), programs) };
        let Vote::For { winner, .. } = &only.vote else { return left(LeftAlone::Missing, programs) };
        if !by_program && let Some(conflict) = self.conflict(self.views[only.views[0]].machine, name, *winner) {
            return left(conflict, programs);
        }
        self.bound(name, *winner, programs)
    }

    /// Where no two votes are for different objects, and nobody misses it: the reason that speaks against it, if any.
    fn one_object(&self, counted: &[&Votes], reasons: &[Option<LeftAlone>]) -> Option<LeftAlone> {
        let object = |votes: &&Votes| match &votes.vote {
            Vote::For { winner, .. } => Some(*winner),
            Vote::Not(_) => None,
        };
        let objects: HashSet<Winner> = counted.iter().filter_map(object).collect();
        let reason = reasons.iter().flatten().next()?;
        (objects.len() == 1 && !reasons.contains(&Some(LeftAlone::Missing))).then(|| reason.clone())
    }

    /// A plugin by itself may miss what another plugin that needs it brings: that is no vote.
    fn counted<'v>(&self, file: FileId, votes: &'v [Votes], by_program: bool) -> Vec<&'v Votes> {
        let own_miss = |votes: &&Votes| {
            votes.vote == Vote::Not(LeftAlone::Missing) && votes.views.iter().all(|&view| self.views[view].id == file)
        };
        let counted: Vec<&Votes> = votes.iter().filter(|votes| by_program || !own_miss(votes)).collect();
        if counted.is_empty() { votes.iter().collect() } else { counted }
    }

    /// Why this vote alone would not bind.
    fn reason(&self, name: &BStr, vote: &Vote) -> Option<LeftAlone> {
        let (winner, variant) = match vote {
            Vote::Not(reason) => return Some(reason.clone()),
            Vote::For { winner, variant } => (winner, variant),
        };
        let Some(bindable) = self.winners.get(winner) else { return Some(LeftAlone::Missing) };
        let path = bindable.path.as_bstr();
        if let Some(by) = exclusions::covering(self.policy, name, bindable.soname.as_ref().map(AsRef::as_ref), path) {
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

    fn disagreement(&self, votes: &[&Votes], by_program: bool) -> LeftAlone {
        let choices: Vec<Choice> = votes
            .iter()
            .map(|votes| Choice {
                path: match &votes.vote {
                    Vote::For { winner, .. } => self.winners.get(winner).map(|bindable| bindable.path.clone()),
                    Vote::Not(_) => None,
                },
                programs: votes.views.iter().take(NAMED).map(|&view| self.views[view].path.clone()).collect(),
                count: votes.views.len(),
            })
            .collect();
        if by_program {
            return LeftAlone::ProgramsDisagree { choices };
        }
        let path = |index: usize| choices.get(index).and_then(|choice| choice.path.clone()).unwrap_or_default();
        let program = choices.get(1).and_then(|choice| choice.programs.first().cloned()).unwrap_or_default();
        LeftAlone::PluginConflict { own: path(0), other: path(1), program }
    }

    /// Another object of the scope that answers to the name or soname of what a plugin finds.
    fn conflict(&self, machine: Abi, name: &BStr, winner: Winner) -> Option<LeftAlone> {
        let bindable = self.winners.get(&winner)?;
        let names = std::iter::once(BString::from(file_name(name))).chain(bindable.soname.clone());
        let other = names
            .filter_map(|name| self.bearers.get(&(machine, name))?.iter().find(|(id, _)| *id != winner.id))
            .next()?;
        let view = &self.views[other.1];
        let member = view.members.iter().find(|member| member.id == other.0)?;
        let (own, other) = (bindable.path.clone(), member.path.clone());
        Some(LeftAlone::PluginConflict { own, other, program: view.path.clone() })
    }

    fn bound(&self, name: &BStr, winner: Winner, programs: usize) -> Verdict {
        let Some(bindable) = self.winners.get(&winner) else { return left(LeftAlone::Missing, programs) };
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
        Verdict { decision, winner: Some(winner), notes, programs }
    }
}

/// Nothing is bound.
pub(super) fn left(reason: LeftAlone, programs: usize) -> Verdict {
    Verdict { decision: Decision::LeftAlone { reason }, winner: None, notes: Vec::new(), programs }
}

/// The object behind a path as one to bind to.
pub(super) fn winner(catalogue: &Catalogue, id: FileId, path: &BStr) -> Winner {
    let uses_origin = catalogue.of(id, path).is_some_and(|facts| facts.uses_origin());
    let directory = if uses_origin { catalogue.identity(directory_of(path)) } else { None };
    Winner { id, directory }
}

/// The spelling that most requests lead to; the shortest, then the first, of several.
fn best(paths: BTreeMap<BString, usize>) -> Option<BString> {
    let rank = |(path, count): &(BString, usize)| (usize::MAX - count, path.len(), path.clone());
    paths.into_iter().min_by_key(rank).map(|(path, _)| path)
}
