//! Programs of a folder that use one merged file, because they have nearly the same libraries: so its pages are in memory
//! once for all of them.
//!
//! Only what all programs of a group would merge is inside, so none loads a library that it did not load before. A program
//! for which that file would do anything otherwise than its own (a reference bound elsewhere, constructors in another
//! order) is taken out of the group, and so is one of which the real loader says so.

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
            Task::Group(group) => &group.programs,
        }
    }
}

/// Programs with one file.
pub(super) struct Group {
    /// The folder in which it will be.
    folder: PathBuf,
    /// The libraries that all would merge, by their real paths.
    common: BTreeSet<PathBuf>,
    /// How many the first of them would merge, which are the most.
    most: usize,
    programs: Vec<PathBuf>,
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
            (common.len() >= WORTH && common.len() * 10 >= group.most * TENTHS).then_some((group, common))
        });
        match fitting {
            Some((group, common)) => {
                group.common = common;
                group.programs.push(program);
            }
            None => {
                groups.push(Group { folder: folder.to_owned(), most: own.len(), common: own, programs: vec![program] })
            }
        }
    }
    let task = |mut group: Group| match group.programs.len() {
        1 => group.programs.pop().map(Task::One),
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
        let alone = |path: &PathBuf| FuseProgram { path: raw(path), outcome: one(path, request) };
        let Ok((file, users)) = self.users(request) else { return self.programs.iter().map(alone).collect() };
        if users.len() < 2 {
            return self.programs.iter().map(alone).collect();
        }
        let mut done = self.together(&file, &users, request);
        let is_user = |path: &&PathBuf| users.iter().any(|user| user.path == **path);
        done.extend(self.programs.iter().filter(|path| !is_user(path)).map(alone));
        if request.action == Action::CarryOut && !users.iter().all(|user| user.done) {
            file.place().remove_if_unused();
        }
        done
    }

    /// The first program's merged file, and the programs that can use it, the first one included.
    fn users(&self, request: &BindRequest) -> anyhow::Result<(GroupFile, Vec<User>)> {
        let first = self.programs.first().context("no program")?;
        let file = self.file(first, request)?;
        let user = |path: &PathBuf| -> anyhow::Result<User> {
            let merger = self.merger(path, &file, request)?;
            let done = merger.is_done()?;
            Ok(User { path: path.clone(), planned: fusion(&merger, None), done })
        };
        let mut users: Vec<User> = self.programs.iter().filter_map(|path| user(path).ok()).collect();
        let names: Vec<PathBuf> = users.iter().map(|user| user.path.clone()).collect();
        for user in &mut users {
            user.planned.shared_with = names.iter().filter(|name| **name != user.path).map(|name| raw(name)).collect();
        }
        Ok((file, users))
    }

    /// The merged file of the first program, at the place of before if what is there is the same.
    fn file(&self, first: &Path, request: &BindRequest) -> anyhow::Result<GroupFile> {
        let mut before = self.programs.iter().filter_map(|path| Place::of(path));
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
