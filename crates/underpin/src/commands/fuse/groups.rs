//! Programs of a folder that use one merged file, because they have nearly the same libraries: so its pages are in memory
//! once for all of them.
//!
//! Only what all programs of a group would merge is inside, so none loads a library that it did not load before. Programs
//! for which that file would do anything otherwise than their own (a reference bound elsewhere, constructors in another
//! order) leave the group and try one of their own; so does, alone, one of which the real loader says so.

use super::{fusion, loader, one, raw};
use crate::fusion::{GroupFile, Merger, Place, WORTH};
use crate::plan::{Action, BindRequest};
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_report::document::fuse::{FuseOutcome, FuseProgram, Fusion};
use underpin_rewrite::plan::FARMS;

/// A group has in common at least so many tenths of what its largest program would merge.
const TENTHS: usize = 9;

/// What is fused together.
pub(super) enum Task {
    /// A program with a file of its own.
    One(PathBuf),
    /// Programs with one file.
    Group(Group),
}

impl Task {
    /// Its programs.
    pub fn programs(&self) -> &[PathBuf] {
        match self {
            Task::One(program) => std::slice::from_ref(program),
            Task::Group(group) => &group.paths,
        }
    }
}

/// Programs with one file.
pub(super) struct Group {
    /// The folder in which it will be.
    folder: PathBuf,
    /// The programs, the one with the most libraries first.
    paths: Vec<PathBuf>,
    /// What each would merge, by their real paths.
    own: Vec<BTreeSet<PathBuf>>,
    /// What all would merge.
    common: BTreeSet<PathBuf>,
    /// Why they left another group.
    apart: Option<String>,
}

/// Programs below a folder, by what they would merge.
pub(super) fn grouped(folder: &Path, programs: Vec<PathBuf>, request: &BindRequest) -> Vec<Task> {
    let candidates = |path: &PathBuf| -> anyhow::Result<BTreeSet<PathBuf>> {
        Merger::candidates(&fs::canonicalize(path)?, loader(request), &request.policy)
    };
    // One that is refused has a run of its own, which says why.
    let with_candidates = |path: PathBuf| {
        let own = candidates(&path).unwrap_or_default();
        (path, own)
    };
    let mut all: Vec<(PathBuf, BTreeSet<PathBuf>)> = programs.into_iter().map(with_candidates).collect();
    all.sort_by(|(path, own), (other, others)| others.len().cmp(&own.len()).then_with(|| path.cmp(other)));
    let mut groups: Vec<Group> = Vec::new();
    for (program, own) in all {
        let fitting = groups.iter_mut().find_map(|group| {
            let common = &group.common & &own;
            (common.len() >= WORTH && common.len() * 10 >= group.own[0].len() * TENTHS).then_some((group, common))
        });
        match fitting {
            Some((group, common)) => {
                group.common = common;
                group.paths.push(program);
                group.own.push(own);
            }
            None => groups.push(Group {
                folder: folder.to_owned(),
                paths: vec![program],
                common: own.clone(),
                own: vec![own],
                apart: None,
            }),
        }
    }
    let task = |mut group: Group| match group.paths.len() {
        1 => group.paths.pop().map(Task::One),
        _ => Some(Task::Group(group)),
    };
    groups.into_iter().filter_map(task).collect()
}

/// A program that can use the file of its group.
struct User {
    path: PathBuf,
    planned: Fusion,
    done: bool,
}

impl Group {
    /// Fuses its programs, or shows what that would do.
    pub fn carry_out(&self, request: &BindRequest) -> Vec<FuseProgram> {
        if self.paths.len() < 2 {
            return self.paths.iter().map(|path| self.alone(path, request)).collect();
        }
        let (file, users, others) = match self.users(request) {
            Ok(found) => found,
            Err(error) => return self.without(&|at| at == 0, &format!("{error:#}"), request),
        };
        if let Some((_, why)) = others.first() {
            return self.without(&|at| others.iter().any(|(other, _)| *other == at), why, request);
        }
        let done = self.together(&file, &users, request);
        if request.action == Action::CarryOut && !users.iter().all(|user| user.done) {
            file.place().remove_if_unused();
        }
        done
    }

    /// The same in two groups, because some cannot use the file of the others.
    fn without(&self, leaves: &dyn Fn(usize) -> bool, why: &str, request: &BindRequest) -> Vec<FuseProgram> {
        let leave = Group { apart: Some(why.to_owned()), ..self.part(leaves) };
        // With nobody left to share with, all leave for the same reason.
        if leave.paths.len() == self.paths.len() {
            return self.paths.iter().map(|path| leave.alone(path, request)).collect();
        }
        let mut done = self.part(&|at| !leaves(at)).carry_out(request);
        done.extend(leave.carry_out(request));
        done
    }

    /// Some of its programs, as a group.
    fn part(&self, takes: &dyn Fn(usize) -> bool) -> Group {
        let taken: Vec<usize> = (0..self.paths.len()).filter(|at| takes(*at)).collect();
        let own: Vec<BTreeSet<PathBuf>> = taken.iter().map(|&at| self.own[at].clone()).collect();
        let common = own.iter().cloned().reduce(|one, other| &one & &other).unwrap_or_default();
        let paths = taken.iter().map(|&at| self.paths[at].clone()).collect();
        Group { folder: self.folder.clone(), paths, own, common, apart: self.apart.clone() }
    }

    /// A program with a file of its own, and why.
    fn alone(&self, path: &Path, request: &BindRequest) -> FuseProgram {
        let mut outcome = one(path, request);
        if let FuseOutcome::Merged(fusion) = &mut outcome {
            fusion.apart.clone_from(&self.apart);
        }
        FuseProgram { path: raw(path), outcome }
    }

    /// The first program's merged file, the programs that can use it, and the places of those that cannot, with the reason.
    #[allow(clippy::type_complexity, reason = "it is taken apart at once")]
    fn users(&self, request: &BindRequest) -> anyhow::Result<(GroupFile, Vec<User>, Vec<(usize, String)>)> {
        let first = self.paths.first().context("no program")?;
        let file = self.file(first, request)?;
        let user = |path: &PathBuf| -> anyhow::Result<User> {
            let merger = self.merger(path, &file, request)?;
            let done = merger.is_done()?;
            Ok(User { path: path.clone(), planned: fusion(&merger, None), done })
        };
        let (mut users, mut others) = (Vec::new(), Vec::new());
        for (at, path) in self.paths.iter().enumerate() {
            match user(path) {
                Ok(user) => users.push(user),
                Err(error) => others.push((at, format!("{error:#}"))),
            }
        }
        for user in &mut users {
            let shared = self.paths.iter().filter(|path| **path != user.path);
            user.planned.shared_with = shared.map(|path| raw(path)).collect();
            user.planned.apart.clone_from(&self.apart);
        }
        Ok((file, users, others))
    }

    /// The merged file of the first program, at the place of before if what is there is the same.
    fn file(&self, first: &Path, request: &BindRequest) -> anyhow::Result<GroupFile> {
        let mut before = self.paths.iter().filter_map(|path| Place::of(path));
        if let Some(place) = before.find(|place| place.is_in(&self.folder))
            && let Ok(file) = self.merger_at(first, place, request).map(Merger::into_file)
            && file.is_written()
        {
            return Ok(file);
        }
        let place = Place::next_in(&self.folder.join(FARMS), first)?;
        self.merger_at(first, place, request).map(Merger::into_file)
    }

    fn merger_at(&self, path: &Path, place: Place, request: &BindRequest) -> anyhow::Result<Merger> {
        let path = fs::canonicalize(path)?;
        match Merger::among(&path, loader(request), &request.policy, place, &self.common)? {
            Ok(merger) => Ok(merger),
            Err(members) => bail!("{members} of its libraries could be merged with those of the group"),
        }
    }

    /// The fusion of a program with the file of the group.
    fn merger(&self, path: &Path, file: &GroupFile, request: &BindRequest) -> anyhow::Result<Merger> {
        let mut merger = self.merger_at(path, file.place().clone(), request)?;
        merger.adopt(file)?;
        Ok(merger)
    }

    /// What becomes of the programs that use one file.
    fn together(&self, file: &GroupFile, users: &[User], request: &BindRequest) -> Vec<FuseProgram> {
        let all_done = users.iter().all(|user| user.done);
        let written = match request.action {
            Action::CarryOut if !all_done => {
                let real = users.iter().filter_map(|user| fs::canonicalize(&user.path).ok());
                file.write_for(&real.collect::<Vec<_>>())
            }
            _ => Ok(()),
        };
        let outcome = |user: &User| match &written {
            Err(error) => FuseOutcome::Refused { reason: format!("{error:#}") },
            Ok(()) if user.done => {
                FuseOutcome::Unchanged { file: user.planned.file.clone(), members: user.planned.members.len() }
            }
            Ok(()) if request.action != Action::CarryOut => FuseOutcome::Merged(Box::new(user.planned.clone())),
            Ok(()) => match self.replace(user, file, request) {
                Ok(compared) => {
                    FuseOutcome::Merged(Box::new(Fusion { compared: Some(compared), ..user.planned.clone() }))
                }
                // The loader binds something otherwise: with a file of its own it may not.
                Err(_) => one(&user.path, request),
            },
        };
        users.iter().map(|user| FuseProgram { path: raw(&user.path), outcome: outcome(user) }).collect()
    }

    fn replace(&self, user: &User, file: &GroupFile, request: &BindRequest) -> anyhow::Result<usize> {
        self.merger(&user.path, file, request)?.carry_out_written(&request.keep)
    }
}
