//! `_dl_map_object`: where a name is looked for, in which order, and the result at each place.

use super::paths::{PathList, Status, Tag};
use super::verify::Usability;
use super::{CacheState, Engine, MAIN, Map, MapId, match_loaded};
use crate::cache::CacheView;
use crate::calls::CallName;
use crate::closure::{FatalReason, Found, ObjectId, RecognisedBy, RejectRule, Try, TryResult};
use crate::files::FileFacts;
use bstr::{BStr, BString, ByteSlice};
use std::sync::Arc;

/// The outcome of a request.
pub(super) enum Answer {
    Mapped(MapId, Found),
    Missing,
    Fatal(BString, FatalReason),
}

/// A file that was opened and passed `open_verify`.
pub(super) struct Candidate {
    pub path: BString,
    pub found: Found,
    pub facts: Arc<FileFacts>,
}

/// The result of one place of the search.
enum Step {
    /// Go on with the next place.
    Next,
    Taken(Candidate),
    Fatal(BString, FatalReason),
}

/// One place of the search.
type Place<E> = fn(&mut E, MapId, &BStr, bool, &mut Vec<Try>) -> Step;

impl Engine<'_> {
    /// Finds and maps `name` for `requester`.
    pub(super) fn map_object(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Answer {
        if let Some((map, identity)) = match_loaded(&mut self.maps, &self.chain, &self.known, name) {
            return Answer::Mapped(map, Found::AlreadyLoaded { identity });
        }
        let step = if name.contains(&b'/') {
            self.open_directly(requester, name, tries)
        } else {
            self.search(requester, name, preload, tries)
        };
        match step {
            // Under LD_TRACE_LOADED_OBJECTS the loader goes on with a placeholder, which no later request matches.
            Step::Next => Answer::Missing,
            Step::Fatal(path, reason) => Answer::Fatal(path, reason),
            Step::Taken(candidate) => self.map_candidate(requester, name, candidate),
        }
    }

    fn open_directly(&mut self, requester: MapId, name: &BStr, tries: &mut Vec<Try>) -> Step {
        match self.expand(name, requester) {
            None => Step::Next,
            Some(path) => self.attempt(path, Found::Direct, tries).0,
        }
    }

    fn search(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        let places: [Place<Self>; 5] = [
            Self::search_rpaths,
            Self::search_library_path,
            Self::search_runpath,
            Self::search_cache,
            Self::search_default,
        ];
        for place in places {
            match place(self, requester, name, preload, tries) {
                Step::Next => {}
                end => return end,
            }
        }
        Step::Next
    }

    /// DT_RPATH of the requester and of the objects that asked for it, upward, then of the main program. An object with
    /// DT_RUNPATH has no DT_RPATH but does not stop the climb.
    fn search_rpaths(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        if self.maps[requester].dynamic().is_some_and(|dynamic| dynamic.runpath.is_some()) {
            return Step::Next;
        }
        let mut saw_main = false;
        let mut next = Some(requester);
        while let Some(map) = next {
            if self.cache_path(map, Tag::Rpath) {
                match self.search_own_path(map, Tag::Rpath, name, preload, tries) {
                    Step::Next => saw_main |= map == MAIN,
                    end => return end,
                }
            }
            next = self.maps[map].loader;
        }
        if !saw_main && self.cache_path(MAIN, Tag::Rpath) {
            return self.search_own_path(MAIN, Tag::Rpath, name, preload, tries);
        }
        Step::Next
    }

    fn search_runpath(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        if self.cache_path(requester, Tag::Runpath) {
            return self.search_own_path(requester, Tag::Runpath, name, preload, tries);
        }
        Step::Next
    }

    fn search_own_path(&mut self, map: MapId, tag: Tag, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        let of = ObjectId(map);
        let (list, found) = match tag {
            Tag::Rpath => (self.maps[map].rpath.clone(), Found::Rpath { of }),
            Tag::Runpath => (self.maps[map].runpath.clone(), Found::Runpath { of }),
        };
        let PathList::List(list) = list else { return Step::Next };
        let (step, any) = self.open_path(&list, name, &found, preload, tries);
        if !any && matches!(step, Step::Next) {
            // A list without a single existing directory is dropped for good (dl-load.c, end of open_path).
            match tag {
                Tag::Rpath => self.maps[map].rpath = self.maps[map].rpath.clone().dropped(),
                Tag::Runpath => self.maps[map].runpath = self.maps[map].runpath.clone().dropped(),
            }
        }
        step
    }

    fn search_library_path(&mut self, _: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        let PathList::List(list) = self.library_path.clone() else { return Step::Next };
        self.open_path(&list, name, &Found::LibraryPath, preload, tries).0
    }

    fn search_default(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        if self.maps[requester].no_default_lib() {
            return Step::Next;
        }
        let PathList::List(list) = self.system.clone() else { return Step::Next };
        self.open_path(&list, name, &Found::DefaultDirectory, preload, tries).0
    }

    fn search_cache(&mut self, requester: MapId, name: &BStr, preload: bool, tries: &mut Vec<Try>) -> Step {
        if preload && self.secure {
            return Step::Next;
        }
        self.load_cache();
        let path = match &self.cache {
            CacheState::Loaded(cache) => cache.lookup(name).map(BString::from),
            // No loader reads ld.so.conf: what ldconfig has not put into the cache is not found.
            CacheState::Unread | CacheState::Unusable => return Step::Next,
        };
        let Some(path) = path else { return Step::Next };
        let system = self.loader.system_directories.iter().any(|directory| path.starts_with(directory.as_slice()));
        if system && self.maps[requester].no_default_lib() {
            let result = TryResult::Rejected { rule: RejectRule::NoDefaultLib };
            tries.push(Try { path, source: Found::Cache, result });
            return Step::Next;
        }
        self.attempt(path, Found::Cache, tries).0
    }

    /// Reads the cache on first use.
    fn load_cache(&mut self) {
        if !matches!(self.cache, CacheState::Unread) {
            return;
        }
        let Some(path) = self.loader.configuration.clone() else {
            self.cache = CacheState::Unusable;
            return;
        };
        let bytes = self.read_whole_file(path.as_ref());
        self.cache = match bytes.map(|bytes| CacheView::new(bytes, &self.ident, self.loader, self.environment)) {
            Some(Ok(cache)) => CacheState::Loaded(cache),
            refused => {
                if refused.is_some() {
                    self.calls.push(CallName::Munmap, &path, false);
                }
                CacheState::Unusable
            }
        };
    }

    /// `open_path`: every subdirectory of every directory. Also returns whether any directory exists.
    fn open_path(
        &mut self,
        list: &[usize],
        name: &BStr,
        found: &Found,
        preload: bool,
        tries: &mut Vec<Try>,
    ) -> (Step, bool) {
        let mut any = false;
        for &directory in list {
            let (step, here, stop) = self.open_in(directory, name, found, preload, tries);
            any |= here;
            if stop || !matches!(step, Step::Next) {
                return (step, any || stop);
            }
        }
        (Step::Next, any)
    }

    /// One directory with its subdirectories: the answer, whether any of them exists, whether the list ends here.
    fn open_in(
        &mut self,
        directory: usize,
        name: &BStr,
        found: &Found,
        preload: bool,
        tries: &mut Vec<Try>,
    ) -> (Step, bool, bool) {
        let plain = self.loader.subdirectories.len() - 1;
        let (mut here, mut stop) = (false, false);
        for sub in 0..=plain {
            let missing = self.directories.all[directory].status[sub] == Status::Missing;
            // Most of the subdirectories are missing on most systems: no path is built for them.
            if missing && sub != plain {
                continue;
            }
            let base: BString = {
                let directory = &self.directories.all[directory];
                [directory.name.as_slice(), self.loader.subdirectories[sub].as_slice()].concat().into()
            };
            let path: BString = [base.as_slice(), name].concat().into();
            if missing {
                tries.push(Try { path, source: found.clone(), result: TryResult::DirectoryMissing });
                continue;
            }
            let (step, error) = self.attempt(path, found.clone(), tries);
            match step {
                Step::Fatal(..) => return (step, true, true),
                Step::Taken(candidate) => {
                    self.directories.all[directory].status[sub] = Status::Existing;
                    if preload && self.secure && !candidate.facts.meta.set_user_id {
                        if let Some(last) = tries.last_mut() {
                            last.result = TryResult::Rejected { rule: RejectRule::NotSetUserId };
                        }
                        here = true;
                        continue;
                    }
                    return (Step::Taken(candidate), true, false);
                }
                Step::Next => {
                    if self.directories.all[directory].status[sub] == Status::Unknown {
                        self.learn_status(directory, sub, base.as_ref());
                    }
                    here |= self.directories.all[directory].status[sub] == Status::Existing;
                    stop = error == Ends::List;
                }
            }
        }
        (Step::Next, here, stop && here)
    }

    /// A first miss is followed by a stat of the directory.
    fn learn_status(&mut self, directory: usize, sub: usize, base: &BStr) {
        // Since 2.38 the path keeps its last slash.
        let whole = self.loader.at_least(38) || base.len() <= 1;
        let cut = if whole { base.as_bytes() } else { &base[..base.len() - 1] };
        let answer = self.files.stat(cut.as_bstr());
        self.call_stat(cut.as_bstr(), answer.is_err());
        let exists = answer.is_ok_and(|meta| meta.kind == crate::root::FileKind::Directory);
        self.directories.all[directory].status[sub] = if exists { Status::Existing } else { Status::Missing };
    }

    /// `open_verify` at one path, with its outcome noted.
    fn attempt(&mut self, path: BString, found: Found, tries: &mut Vec<Try>) -> (Step, Ends) {
        let verdict = self.open_verify(path.as_ref());
        let (result, step, ends) = match verdict {
            Usability::Usable(facts) => {
                let candidate = Candidate { path: path.clone(), found: found.clone(), facts };
                (TryResult::Taken, Step::Taken(candidate), Ends::Nothing)
            }
            Usability::Skip(result) => {
                let ends = match &result {
                    TryResult::Failed { .. } => Ends::List,
                    _ => Ends::Nothing,
                };
                (result, Step::Next, ends)
            }
            Usability::Fatal(reason) => {
                (TryResult::Fatal { reason: reason.clone() }, Step::Fatal(path.clone(), reason), Ends::List)
            }
        };
        tries.push(Try { path, source: found, result });
        (step, ends)
    }

    /// `_dl_map_object_from_fd`: the inode check, then the mapping.
    fn map_candidate(&mut self, requester: MapId, name: &BStr, candidate: Candidate) -> Answer {
        self.call_fstat(candidate.path.as_ref());
        let id = candidate.facts.meta.id;
        let known = self.chain.iter().copied().find(|&map| self.maps[map].id == Some(id));
        if let Some(map) = known {
            self.calls.push(CallName::Close, &candidate.path, false);
            if !self.maps[map].names.iter().any(|known| known.as_bstr() == name) {
                self.maps[map].names.push(name.into());
                self.known.learn_alias(name, map);
            }
            return Answer::Mapped(map, Found::AlreadyLoaded { identity: RecognisedBy::Inode });
        }
        if let Err(reason) = self.map_segments(&candidate) {
            return Answer::Fatal(candidate.path, reason);
        }
        self.maps.push(Map {
            origin: None,
            names: vec![name.into()],
            soname_added: false,
            id: Some(id),
            loader: Some(requester),
            rpath: PathList::Unread,
            runpath: PathList::Unread,
            found: candidate.found.clone(),
            path: candidate.path,
            facts: Some(candidate.facts),
        });
        let id = self.maps.len() - 1;
        self.known.learn_map(id, &self.maps[id]);
        self.chain.push(id);
        Answer::Mapped(self.maps.len() - 1, candidate.found)
    }
}

/// Whether an error of open(2) ends the list of directories at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Nothing,
    List,
}
