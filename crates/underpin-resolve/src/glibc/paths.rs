//! Search paths: directories with their remembered status, and the lists made of them (`fillin_rpath`).

use super::{CacheState, Engine, MAIN, MapId};
use crate::calls::CallName;
use crate::closure::{Found, ObjectId, SearchDirectory};
use crate::hash::HashMap;
use crate::resolution::DeadDirectory;
use crate::tokens::{TokenValues, contains_token, directory_of, substitute};
use crate::unique::Unique;
use bstr::{BStr, BString, ByteSlice};

/// What the loader remembers of one directory and subdirectory (`enum r_dir_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Unknown,
    Missing,
    Existing,
}

/// One directory (`struct r_search_path_elem`), shared by every list that names it with the same string.
pub(super) struct Directory {
    /// With a trailing slash; empty for the current directory.
    pub name: BString,
    /// One for each hardware-capability subdirectory.
    pub status: Vec<Status>,
}

/// All directories known to the process (`dl_all_dirs`).
pub(super) struct Directories {
    pub all: Vec<Directory>,
    index: HashMap<BString, usize>,
    subdirectories: usize,
}

/// `struct r_search_path_struct`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathList {
    /// Not parsed yet.
    Unread,
    /// Nothing to search (`dirs == -1`).
    Nothing,
    /// Indices of directories, in order.
    List(Vec<usize>),
    /// None of these directories exists: the loader forgot the list.
    Dropped(Vec<usize>),
}

impl PathList {
    /// Whether a search goes through it.
    pub fn is_searched(&self) -> bool {
        matches!(self, PathList::List(_))
    }

    /// Forgets the list, as far as searches are concerned.
    pub fn dropped(self) -> PathList {
        match self {
            PathList::List(list) => PathList::Dropped(list),
            other => other,
        }
    }

    /// What the path names, searched or not.
    fn named(&self) -> &[usize] {
        match self {
            PathList::List(list) | PathList::Dropped(list) => list,
            PathList::Unread | PathList::Nothing => &[],
        }
    }
}

impl Directories {
    pub fn new(subdirectories: usize) -> Directories {
        Directories { all: Vec::new(), index: HashMap::default(), subdirectories }
    }

    pub fn system(&mut self, names: &[BString]) -> PathList {
        let list: Vec<usize> = names.iter().map(|name| self.intern(name.clone())).collect();
        if list.is_empty() { PathList::Nothing } else { PathList::List(list) }
    }

    fn intern(&mut self, name: BString) -> usize {
        if let Some(&known) = self.index.get(&name) {
            return known;
        }
        // Relative directories are never marked missing: the current directory may change.
        let status = if name.starts_with(b"/") { Status::Unknown } else { Status::Existing };
        self.all.push(Directory { name: name.clone(), status: vec![status; self.subdirectories] });
        self.index.insert(name, self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Which of an object's two paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Rpath,
    Runpath,
}

impl Engine<'_> {
    /// `_dl_init_paths`: the program's own path first, then LD_LIBRARY_PATH.
    pub(super) fn init_paths(&mut self) {
        self.cache_path(MAIN, Tag::Runpath);
        self.cache_path(MAIN, Tag::Rpath);
        if let Some(value) = self.environment.effective_library_path().filter(|_| !self.secure).cloned() {
            let list = self.fill(&value, b":;", MAIN);
            self.library_path = if list.is_empty() { PathList::Nothing } else { PathList::List(list) };
        }
    }

    /// `cache_rpath`: parses the path on first use. An object with DT_RUNPATH has no DT_RPATH
    /// (elf/get-dynamic-info.h).
    pub(super) fn cache_path(&mut self, map: MapId, tag: Tag) -> bool {
        let known = match tag {
            Tag::Rpath => &self.maps[map].rpath,
            Tag::Runpath => &self.maps[map].runpath,
        };
        if *known != PathList::Unread {
            return known.is_searched();
        }
        let text = self.maps[map].dynamic().and_then(|dynamic| match tag {
            Tag::Rpath if dynamic.runpath.is_some() => None,
            Tag::Rpath => dynamic.rpath.clone(),
            Tag::Runpath => dynamic.runpath.clone(),
        });
        let list = match text {
            Some(text) if !text.is_empty() => self.fill(&text, b":", map),
            _ => Vec::new(),
        };
        let list = if list.is_empty() { PathList::Nothing } else { PathList::List(list) };
        let found = list != PathList::Nothing;
        match tag {
            Tag::Rpath => self.maps[map].rpath = list,
            Tag::Runpath => self.maps[map].runpath = list,
        }
        found
    }

    /// `fillin_rpath`: splits, expands tokens, drops what expands to nothing, each directory once.
    fn fill(&mut self, text: &[u8], separators: &[u8], map: MapId) -> Vec<usize> {
        let mut list = Unique::default();
        for entry in text.split(|byte| separators.contains(byte)) {
            let mut name = BString::default();
            if !entry.is_empty() {
                match self.expand(entry.as_bstr(), map) {
                    Some(expanded) if !expanded.is_empty() => name = expanded,
                    _ => continue,
                }
                while name.len() > 1 && name.ends_with(b"/") {
                    name.pop();
                }
                if !name.ends_with(b"/") {
                    name.push(b'/');
                }
            }
            list.insert(self.directories.intern(name));
        }
        list.into_vec()
    }

    /// `expand_dynamic_string_token` for an object; `None` if the result must be discarded.
    pub(super) fn expand(&mut self, text: &BStr, map: MapId) -> Option<BString> {
        if !contains_token(text) {
            return Some(text.into());
        }
        self.learn_origin(map);
        let trusted = (self.secure && map == MAIN).then_some(self.loader.system_directories.as_slice());
        substitute(
            text,
            &TokenValues {
                origin: self.maps[map].origin.as_ref().map(|origin| origin.as_bstr()),
                lib: self.loader.lib_token.as_ref(),
                platform: self.loader.platform.as_ref().map(|name| name.as_bstr()),
                trusted,
                secure: self.secure,
            },
        )
    }

    /// The main program's directory comes from /proc/self/exe, a library's from the path by which it was opened.
    fn learn_origin(&mut self, map: MapId) {
        if self.maps[map].origin.is_some() {
            return;
        }
        let path = if map == MAIN {
            let name = if self.has_old_calls() && !self.loader.at_least(37) {
                CallName::Readlink
            } else {
                CallName::Readlinkat
            };
            self.calls.push(name, b"/proc/self/exe", false);
            self.executable.clone()
        } else {
            self.maps[map].path.clone()
        };
        let mut absolute = path;
        if !absolute.starts_with(b"/") {
            let mut whole = self.files.root().current_directory();
            if !whole.ends_with(b"/") {
                whole.push(b'/');
            }
            whole.extend_from_slice(&absolute);
            absolute = whole;
        }
        self.maps[map].origin = Some(directory_of(&absolute));
    }

    /// Where a request of `map` would be searched, in order, without the lists that the loader dropped.
    pub(super) fn search_order(&mut self, map: MapId, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<SearchDirectory> {
        let mut order = Vec::new();
        let has_runpath = self.maps[map].dynamic().is_some_and(|dynamic| dynamic.runpath.is_some());
        if !has_runpath {
            let mut climb = Vec::new();
            let mut next = Some(map);
            while let Some(one) = next {
                climb.push(one);
                next = self.maps[one].loader;
            }
            if !climb.contains(&MAIN) {
                climb.push(MAIN);
            }
            for one in climb {
                let list = self.maps[one].rpath.clone();
                self.list_directories(&list, &Found::Rpath { of: renumber(ObjectId(one)) }, &mut order);
            }
        }
        self.list_directories(&self.library_path, &Found::LibraryPath, &mut order);
        self.list_directories(&self.maps[map].runpath, &Found::Runpath { of: renumber(ObjectId(map)) }, &mut order);
        if let Some(cache) = &self.loader.configuration {
            let exists = match self.cache {
                CacheState::Unread => None,
                CacheState::Unusable => Some(false),
                CacheState::Loaded(_) => Some(true),
            };
            order.push(SearchDirectory { directory: cache.clone(), source: Found::Cache, exists });
        }
        if !self.maps[map].no_default_lib() {
            self.list_directories(&self.system, &Found::DefaultDirectory, &mut order);
        }
        order
    }

    fn list_directories(&self, list: &PathList, source: &Found, order: &mut Vec<SearchDirectory>) {
        let plain = self.loader.subdirectories.len() - 1;
        order.extend(list.named().iter().map(|&index| {
            let directory = &self.directories.all[index];
            let exists = match directory.status[plain] {
                Status::Unknown => None,
                Status::Missing => Some(false),
                Status::Existing => directory.name.starts_with(b"/").then_some(true),
            };
            SearchDirectory { directory: directory.name.clone(), source: source.clone(), exists }
        }));
    }

    /// Directories of rpaths and runpaths that the search found missing.
    pub(super) fn dead_directories(&self, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<DeadDirectory> {
        let mut dead = Vec::new();
        let plain = self.loader.subdirectories.len() - 1;
        let mut add = |list: &PathList, source: Found| {
            for &index in list.named() {
                let directory = &self.directories.all[index];
                let current = !directory.name.starts_with(b"/");
                if current || directory.status[plain] == Status::Missing {
                    dead.push(DeadDirectory {
                        directory: directory.name.clone(),
                        source: source.clone(),
                        depends_on_cwd: current,
                    });
                }
            }
        };
        add(&self.library_path, Found::LibraryPath);
        for &map in &self.chain {
            let of = renumber(ObjectId(map));
            add(&self.maps[map].rpath, Found::Rpath { of });
            add(&self.maps[map].runpath, Found::Runpath { of });
        }
        dead
    }
}
