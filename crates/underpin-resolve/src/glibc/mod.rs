//! glibc's loader as a model: `dl_main`, `_dl_map_object_deps`, `_dl_map_object` and what they call.
//!
//! The state mirrors the loader's own (link maps, their names, directories with a status per subdirectory), because
//! the order in which these change decides what is found. Where the real loader would stop at a missing object this
//! model goes on as the loader does under LD_TRACE_LOADED_OBJECTS, so that all misses are seen at once.

mod mapping;
mod order;
mod paths;
mod search;
mod verify;

use crate::cache::CacheView;
use crate::calls::{CallName, Calls, has_calls_without_at};
use crate::closure::{Edge, EdgeKind, Found, ObjectId, Outcome, RecognisedBy, Try};
use crate::environment::Environment;
use crate::files::{FileFacts, Files};
use crate::hash::HashMap;
use crate::loader::{Loader, usual_loader};
use crate::resolution::{Depth, Mapped, Program, Resolution};
use crate::root::FileId;
use bstr::{BStr, BString, ByteSlice};
use paths::{Directories, PathList};
use std::sync::Arc;
use underpin_elf::{Ident, Machine};

/// Index into [`Engine::maps`].
pub(super) type MapId = usize;
/// The main program's map.
pub(super) const MAIN: MapId = 0;
/// The loader's own map (`_dl_rtld_map`).
pub(super) const RTLD: MapId = 1;

/// A `struct link_map`, as far as the search looks at it.
pub(super) struct Map {
    /// `l_name`.
    path: BString,
    /// `l_libname`: every string under which it was asked for.
    names: Vec<BString>,
    /// `l_soname_added`.
    soname_added: bool,
    id: Option<FileId>,
    /// `l_loader`.
    loader: Option<MapId>,
    facts: Option<Arc<FileFacts>>,
    /// `l_origin`; for the main program only once it was requested.
    origin: Option<BString>,
    rpath: PathList,
    runpath: PathList,
    found: Found,
}

impl Map {
    fn dynamic(&self) -> Option<&underpin_elf::Dynamic> {
        self.facts.as_ref()?.elf.as_ref().ok()?.dynamic.as_ref()
    }

    fn soname(&self) -> Option<&BString> {
        self.dynamic()?.soname.as_ref()
    }

    fn no_default_lib(&self) -> bool {
        self.dynamic().is_some_and(|dynamic| dynamic.flags.no_default_lib())
    }
}

/// What the loader knows about its cache.
pub(super) enum CacheState {
    /// Not looked at yet.
    Unread,
    /// Not there, or not usable.
    Unusable,
    /// Mapped.
    Loaded(CacheView),
}

/// Why the loader would stop at once.
pub(super) struct Stop;

/// The loader's state.
pub(super) struct Engine<'a> {
    files: &'a Files<'a>,
    loader: &'a Loader,
    environment: &'a Environment,
    ident: Ident,
    secure: bool,
    /// The path behind /proc/self/exe, or the path given to `ld.so PROG` for a library.
    executable: BString,
    maps: Vec<Map>,
    /// The chain of link maps (`_ns_loaded` and `l_next`).
    chain: Vec<MapId>,
    known: KnownNames,
    directories: Directories,
    system: PathList,
    library_path: PathList,
    cache: CacheState,
    stack_executable: bool,
    calls: Calls,
    edges: Vec<Edge>,
}

/// The object that Linux maps into every 64-bit process of x86-64 and aarch64 (vdso(7)).
const VDSO: &str = "linux-vdso.so.1";

/// Resolves a program by glibc's rules.
pub(crate) fn resolve(
    files: &Files<'_>,
    loader: &Loader,
    environment: &Environment,
    program: &Program,
    depth: Depth,
) -> Resolution {
    let mut engine = Engine::new(files, loader, environment, program);
    engine.init_paths();
    let preloads = engine.preload();
    let search_list = match engine.load_dependencies(&preloads) {
        Ok(list) => list,
        Err(Stop) => engine.chain.iter().copied().filter(|&map| map != RTLD).collect(),
    };
    engine.place_loader(&search_list);
    engine.relocate();
    engine.finish(depth)
}

impl<'a> Engine<'a> {
    fn new(files: &'a Files<'a>, loader: &'a Loader, environment: &'a Environment, program: &Program) -> Engine<'a> {
        let ident = program.elf.ident;
        let maps = vec![main_map(program), loader_map(files, loader, &ident)];
        let mut known = KnownNames::default();
        for (id, map) in maps.iter().enumerate() {
            known.learn_map(id, map);
        }
        let mut directories = Directories::new(loader.subdirectories.len());
        let system = directories.system(&loader.system_directories);
        let calls = Calls {
            modelled: is_modelled(&ident) && !loader.assumed,
            sequence: program.sequence.clone(),
            ..Calls::default()
        };
        Engine {
            files,
            loader,
            environment,
            ident,
            secure: environment.secure || program.facts.meta.secure_execution && !program.is_library,
            executable: program.executable.clone(),
            maps,
            chain: vec![MAIN, RTLD],
            known,
            directories,
            system,
            library_path: PathList::Nothing,
            cache: CacheState::Unread,
            stack_executable: main_stack_is_executable(&program.elf),
            calls,
            edges: Vec::new(),
        }
    }

    /// LD_PRELOAD, then /etc/ld.so.preload (elf/rtld.c `handle_preload_list`, `do_preload`).
    fn preload(&mut self) -> Vec<MapId> {
        let mut preloads = Vec::new();
        if let Some(list) = self.environment.preload.clone() {
            for name in list.split(|byte| b" :".contains(byte)).filter(|name| !name.is_empty()) {
                let unsafe_name = self.secure && name.contains(&b'/');
                if !unsafe_name {
                    self.preload_one(name.as_bstr(), EdgeKind::LdPreload, &mut preloads);
                }
            }
        }
        let path: &BStr = "/etc/ld.so.preload".into();
        let name = if self.has_old_calls() { CallName::Access } else { CallName::Faccessat };
        let readable = self.files.stat(path).is_ok();
        self.calls.push(name, path, !readable);
        if readable && let Some(text) = self.read_whole_file(path) {
            for name in preload_names(&text) {
                self.preload_one(name.as_ref(), EdgeKind::EtcPreload, &mut preloads);
            }
            self.calls.push(CallName::Munmap, path, false);
        }
        preloads
    }

    fn preload_one(&mut self, name: &BStr, kind: EdgeKind, preloads: &mut Vec<MapId>) {
        // The kernel's own object is in the list of loaded ones under its soname (elf/setup-vdso.h): nothing is searched for.
        if name == VDSO {
            let reason = "the kernel maps it into every process".to_owned();
            return self.edge(MAIN, kind, name, Outcome::Ignored { reason }, Vec::new());
        }
        let before = self.maps.len();
        let mut tries = Vec::new();
        let outcome = match self.map_object(MAIN, name, true, &mut tries) {
            search::Answer::Mapped(map, found) => {
                if self.maps.len() > before {
                    preloads.push(map);
                }
                Outcome::Loaded { object: ObjectId(map), found }
            }
            search::Answer::Missing => Outcome::Ignored { reason: "cannot open shared object file".into() },
            search::Answer::Fatal(path, reason) => {
                Outcome::Ignored { reason: format!("{path} cannot be preloaded: {reason}") }
            }
        };
        self.edge(MAIN, kind, name, outcome, tries);
    }

    pub(super) fn edge(&mut self, from: MapId, kind: EdgeKind, name: &BStr, outcome: Outcome, tries: Vec<Try>) {
        self.edges.push(Edge { from: ObjectId(from), kind, name: name.into(), outcome, tries });
    }

    /// `_dl_sysdep_read_whole_file`: open, fstat, mmap, close.
    pub(super) fn read_whole_file(&mut self, path: &BStr) -> Option<Vec<u8>> {
        const LIMIT: u64 = 64 << 20;
        let facts = self.files.open(path);
        self.call_open(path, facts.is_err());
        let facts = facts.ok()?;
        self.call_fstat(path);
        let bytes = if facts.meta.size > 0 {
            self.calls.push(CallName::Mmap, path, false);
            self.files.root().read(path, LIMIT).ok()
        } else {
            None
        };
        self.calls.push(CallName::Close, path, false);
        bytes
    }

    /// Whether the kernel's architecture still has open, stat and access, and glibc uses them.
    pub(super) fn has_old_calls(&self) -> bool {
        has_calls_without_at(self.ident.machine)
    }

    pub(super) fn call_open(&mut self, path: &BStr, failed: bool) {
        let name = if self.has_old_calls() && !self.loader.at_least(26) { CallName::Open } else { CallName::Openat };
        self.calls.push(name, path, failed);
    }

    pub(super) fn call_stat(&mut self, path: &BStr, failed: bool) {
        let name =
            if self.has_old_calls() && !self.loader.at_least(33) { CallName::Stat } else { CallName::Newfstatat };
        self.calls.push(name, path, failed);
    }

    /// fstat was newfstatat with an empty path from 2.33 to 2.38.
    pub(super) fn call_fstat(&mut self, path: &BStr) {
        let by_path = self.loader.at_least(33) && !self.loader.at_least(39);
        self.calls.push(if by_path { CallName::Newfstatat } else { CallName::Fstat }, path, false);
    }

    /// Takes `_dl_rtld_map` out of the chain and puts it back in search order where something needs it
    /// (elf/rtld.c `dl_main`).
    fn place_loader(&mut self, search_list: &[MapId]) {
        self.chain.retain(|&map| map != RTLD);
        if let Some(index) = search_list.iter().position(|&map| map == RTLD).filter(|&index| index > 0) {
            let before = search_list[index - 1];
            let at = self.chain.iter().position(|&map| map == before).unwrap_or(0);
            self.chain.insert(at + 1, RTLD);
        }
    }

    /// Turns map numbers into object numbers.
    fn finish(mut self, depth: Depth) -> Resolution {
        let order: Vec<MapId> = self.chain.clone();
        let mut number = vec![None; self.maps.len()];
        for (object, &map) in order.iter().enumerate() {
            number[map] = Some(ObjectId(object));
        }
        let renumber = |id: ObjectId| number[id.0].unwrap_or(ObjectId(0));
        let dead_directories = self.dead_directories(&renumber);
        let search = match depth {
            Depth::Load => Vec::new(),
            Depth::Findings | Depth::Paths => order.iter().map(|&map| self.search_order(map, &renumber)).collect(),
        };
        let cache = match std::mem::replace(&mut self.cache, CacheState::Unread) {
            CacheState::Loaded(cache) => Some(cache),
            CacheState::Unread | CacheState::Unusable => None,
        };
        let mut edges = self.edges;
        for edge in &mut edges {
            edge.renumber(&renumber);
        }
        let mut slots: Vec<Option<Map>> = self.maps.into_iter().map(Some).collect();
        let objects = order
            .iter()
            .filter_map(|&map| slots[map].take())
            .map(|map| Mapped {
                path: map.path,
                names: map.names.into_iter().filter(|name| !name.is_empty()).collect(),
                requested_by: map.loader.map(|id| renumber(ObjectId(id))),
                found: map.found.renumbered(&renumber),
                facts: map.facts,
            })
            .collect();
        Resolution { objects, edges, calls: self.calls, dead_directories, search, cache }
    }
}

/// The program's own place in the list (elf/rtld.c `dl_main`): mapped by the kernel, known by the empty name.
fn main_map(program: &Program) -> Map {
    Map {
        path: program.path.clone(),
        names: vec![BString::default()],
        soname_added: false,
        id: None,
        loader: None,
        facts: Some(program.facts.clone()),
        origin: None,
        rpath: PathList::Unread,
        runpath: PathList::Unread,
        found: Found::Program,
    }
}

/// The loader's own place in the list; it never searches for anything.
fn loader_map(files: &Files, loader: &Loader, ident: &Ident) -> Map {
    let facts = files.open(loader.path.as_ref()).ok();
    let soname = facts.as_ref().and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref()?.soname.clone());
    let mut names = vec![loader.path.clone()];
    // Even if the loader's file is missing, requests for its usual name match it.
    names.extend(soname.or_else(|| usual_loader(ident).map(|path| file_name(path).into())));
    Map {
        path: loader.path.clone(),
        names,
        soname_added: true,
        id: None,
        loader: None,
        facts,
        origin: None,
        rpath: PathList::Nothing,
        runpath: PathList::Nothing,
        found: Found::Interpreter,
    }
}

/// Only x86-64 is modelled: the 32-bit ports differ in their calls by version and time_t, the other 64-bit machines in
/// the capability subdirectories of processors that are not described here.
fn is_modelled(ident: &Ident) -> bool {
    ident.machine == Machine::X86_64 && ident.class == underpin_elf::Class::Elf64
}

fn main_stack_is_executable(elf: &underpin_elf::Elf) -> bool {
    elf.segment(underpin_elf::SegmentKind::Stack).is_none_or(|stack| stack.flags.execute)
}

fn file_name(path: &BStr) -> &BStr {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().as_bstr()
}

/// The names in /etc/ld.so.preload: comments from `#` to the line's end; blanks, tabs, newlines or colons between
/// names. A carriage return is part of a name.
fn preload_names(text: &[u8]) -> Vec<BString> {
    text.split(|&byte| byte == b'\n')
        .map(|line| line.split(|&byte| byte == b'#').next().unwrap_or_default())
        .flat_map(|line| line.split(|byte| b": \t".contains(byte)))
        .filter(|name| !name.is_empty())
        .map(BString::from)
        .collect()
}

/// Every string by which some object is known: its path, the names asked for, its soname.
///
/// The loader walks its chain and compares; with hundreds of objects that is most of a resolution's work. If two
/// objects share a string, their order in the chain decides, and the chain is walked after all.
#[derive(Default)]
pub(super) struct KnownNames {
    /// `None` if several objects have the name.
    bearers: HashMap<BString, Option<MapId>>,
}

impl KnownNames {
    fn learn(&mut self, name: &BStr, map: MapId) {
        match self.bearers.get_mut(name) {
            None => {
                self.bearers.insert(name.into(), Some(map));
            }
            Some(bearer) if *bearer != Some(map) => *bearer = None,
            Some(_) => {}
        }
    }

    /// The strings of a map that was just put into the chain.
    pub(super) fn learn_map(&mut self, id: MapId, map: &Map) {
        if id != MAIN {
            self.learn(map.path.as_ref(), id);
        }
        for name in map.names.iter().chain(map.soname()) {
            self.learn(name.as_ref(), id);
        }
    }

    /// A further name of an object.
    pub(super) fn learn_alias(&mut self, name: &BStr, id: MapId) {
        self.learn(name, id);
    }
}

/// Whether and how a request matches an object already loaded (`_dl_map_object`, first loop).
pub(super) fn match_loaded(
    maps: &mut [Map],
    chain: &[MapId],
    known: &KnownNames,
    name: &BStr,
) -> Option<(MapId, RecognisedBy)> {
    let bearer = *known.bearers.get(name)?;
    let candidates = bearer.as_slice();
    for &id in if candidates.is_empty() { chain } else { candidates } {
        let map = &mut maps[id];
        if map.names.iter().any(|known| known.as_bstr() == name) || id != MAIN && map.path.as_bstr() == name {
            return Some((id, RecognisedBy::Name));
        }
        if !map.soname_added && map.soname().is_some_and(|soname| soname.as_bstr() == name) {
            map.names.push(name.into());
            map.soname_added = true;
            return Some((id, RecognisedBy::Soname));
        }
    }
    None
}
