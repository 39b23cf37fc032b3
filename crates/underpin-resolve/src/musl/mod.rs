//! musl's loader as a model: `load_library`, `path_open`, `fixup_rpath`, `map_library` (musl ldso/dynlink.c).
//!
//! musl uses no sonames, no cache and no machine check; a request that fails is reported and the rest is still
//! loaded, so all misses are seen. The loader itself is libc and serves the reserved names.

mod mapping;
mod search;

use crate::calls::{CallName, Calls, has_calls_without_at};
use crate::closure::{Edge, EdgeKind, FatalReason, Found, ObjectId, Outcome, RecognisedBy, Try};
use crate::environment::Environment;
use crate::files::{FileFacts, Files};
use crate::loader::Loader;
use crate::resolution::{Depth, Mapped, Program, Resolution};
use crate::root::FileId;
use bstr::{BStr, BString, ByteSlice};
use std::sync::Arc;
use underpin_elf::{DependencyTag, Ident};

const RESERVED: [&[u8]; 7] = [b"c.", b"pthread.", b"rt.", b"m.", b"dl.", b"util.", b"xnet."];
const NAME_MAX: usize = 255;

type DsoId = usize;
const APP: DsoId = 0;
const LDSO: DsoId = 1;

/// A `struct dso`.
struct Dso {
    path: BString,
    /// Set only if the name asked for was searched, not given as a path.
    short_name: Option<BString>,
    names: Vec<BString>,
    id: Option<FileId>,
    needed_by: Option<DsoId>,
    facts: Option<Arc<FileFacts>>,
    /// `fixup_rpath` has run, with this result.
    rpath: Option<Option<BString>>,
    found: Found,
}

/// The loader's state.
struct Engine<'a> {
    files: &'a Files<'a>,
    loader: &'a Loader,
    environment: &'a Environment,
    ident: Ident,
    secure: bool,
    executable: BString,
    dsos: Vec<Dso>,
    chain: Vec<DsoId>,
    system_path: Option<BString>,
    calls: Calls,
    edges: Vec<Edge>,
}

/// The result of `load_library`.
enum Answer {
    Loaded(DsoId, Found),
    Missing,
    Fatal(BString, FatalReason),
}

/// The result of one search list.
enum Step {
    Next,
    Taken(BString, Found, Arc<FileFacts>),
    /// An error that ends the whole search.
    Inhibit,
    Fatal(BString, FatalReason),
}

/// Resolves a program by musl's rules.
pub(crate) fn resolve(
    files: &Files<'_>,
    loader: &Loader,
    environment: &Environment,
    program: &Program,
    depth: Depth,
) -> Resolution {
    let mut engine = Engine::new(files, loader, environment, program);
    engine.preload();
    let mut next = 0;
    while next < engine.chain.len() {
        let dso = engine.chain[next];
        if dso != LDSO {
            engine.load_dependencies(dso);
        }
        next += 1;
    }
    engine.relocate();
    engine.finish(depth)
}

impl<'a> Engine<'a> {
    fn new(files: &'a Files<'a>, loader: &'a Loader, environment: &'a Environment, program: &Program) -> Engine<'a> {
        let dso = |path: &BString, facts, found| Dso {
            path: path.clone(),
            short_name: None,
            names: Vec::new(),
            id: None,
            needed_by: None,
            facts,
            rpath: None,
            found,
        };
        Engine {
            files,
            loader,
            environment,
            ident: program.elf.ident,
            secure: environment.secure || program.facts.meta.secure_execution && !program.is_library,
            executable: program.executable.clone(),
            dsos: vec![
                dso(&program.path, Some(program.facts.clone()), Found::Program),
                dso(&loader.path, files.open(loader.path.as_ref()).ok(), Found::Interpreter),
            ],
            chain: vec![APP],
            system_path: None,
            calls: Calls {
                modelled: program.elf.ident.class == underpin_elf::Class::Elf64 && !loader.assumed,
                sequence: program.sequence.clone(),
                ..Calls::default()
            },
            edges: Vec::new(),
        }
    }

    fn preload(&mut self) {
        let Some(list) = self.environment.preload.clone().filter(|_| !self.secure) else { return };
        for name in list.split(|byte| b" :".contains(byte)).filter(|name| !name.is_empty()) {
            self.request(APP, EdgeKind::LdPreload, name.as_bstr());
        }
    }

    fn load_dependencies(&mut self, dso: DsoId) {
        let needed: Vec<BString> = self.dsos[dso]
            .facts
            .as_ref()
            .and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref())
            .map(|dynamic| {
                let wanted = dynamic.dependencies.iter().filter(|(tag, _)| *tag == DependencyTag::Needed);
                wanted.map(|(_, name)| name.clone()).collect()
            })
            .unwrap_or_default();
        for name in needed {
            self.request(dso, EdgeKind::Needed, name.as_ref());
        }
    }

    fn request(&mut self, from: DsoId, kind: EdgeKind, name: &BStr) {
        let mut tries = Vec::new();
        let outcome = match self.load_library(from, name, &mut tries) {
            Answer::Loaded(dso, found) => {
                if !self.dsos[dso].names.iter().any(|known| known.as_bstr() == name) {
                    self.dsos[dso].names.push(name.into());
                }
                Outcome::Loaded { object: ObjectId(dso), found }
            }
            Answer::Missing => Outcome::Missing,
            Answer::Fatal(path, reason) => Outcome::Fatal { path, reason },
        };
        self.edges.push(Edge { from: ObjectId(from), kind, name: name.into(), outcome, tries });
    }

    fn load_library(&mut self, from: DsoId, name: &BStr, tries: &mut Vec<Try>) -> Answer {
        if name.is_empty() {
            return Answer::Missing;
        }
        if self.is_loader(name) {
            if !self.chain.contains(&LDSO) {
                self.chain.push(LDSO);
            }
            return Answer::Loaded(LDSO, Found::Reserved);
        }
        let direct = name.contains(&b'/');
        let step = if direct {
            self.attempt(name.into(), &Found::Direct, tries)
        } else {
            let known =
                |dso: &&DsoId| self.dsos[**dso].short_name.as_ref().is_some_and(|short| short.as_bstr() == name);
            if let Some(&dso) = self.chain.iter().skip(1).find(known) {
                return Answer::Loaded(dso, Found::AlreadyLoaded { identity: RecognisedBy::Name });
            }
            if name.len() > NAME_MAX {
                return Answer::Missing;
            }
            self.search(from, name, tries)
        };
        match step {
            Step::Next | Step::Inhibit => Answer::Missing,
            Step::Fatal(path, reason) => Answer::Fatal(path, reason),
            Step::Taken(path, found, facts) => self.map_library(from, direct, path, found, &facts),
        }
    }

    fn is_loader(&self, name: &BStr) -> bool {
        let reserved =
            name.strip_prefix(b"lib").is_some_and(|rest| RESERVED.iter().any(|start| rest.starts_with(start)));
        reserved || name == self.loader.path.as_bstr()
    }

    fn has_old_calls(&self) -> bool {
        has_calls_without_at(self.ident.machine)
    }

    /// open(2), and fcntl(2) for FD_CLOEXEC if it succeeds.
    fn call_open(&mut self, path: &BStr, failed: bool) {
        self.calls.push(if self.has_old_calls() { CallName::Open } else { CallName::Openat }, path, failed);
        if !failed {
            self.calls.push(CallName::Fcntl, path, false);
        }
    }

    fn finish(self, depth: Depth) -> Resolution {
        let mut number = vec![None; self.dsos.len()];
        for (object, &dso) in self.chain.iter().enumerate() {
            number[dso] = Some(ObjectId(object));
        }
        let renumber = |id: ObjectId| number[id.0].unwrap_or(ObjectId(0));
        let dead_directories = self.dead_directories(&renumber);
        let search = match depth {
            Depth::Load => Vec::new(),
            Depth::Findings | Depth::Paths => {
                self.chain.clone().iter().map(|&dso| self.search_order(dso, &renumber)).collect()
            }
        };
        let mut edges = self.edges;
        for edge in &mut edges {
            edge.renumber(&renumber);
        }
        let mut slots: Vec<Option<Dso>> = self.dsos.into_iter().map(Some).collect();
        let objects = self
            .chain
            .iter()
            .filter_map(|&dso| slots[dso].take())
            .map(|dso| Mapped {
                path: dso.path,
                names: dso.names,
                requested_by: dso.needed_by.map(|id| renumber(ObjectId(id))),
                found: dso.found.renumbered(&renumber),
                facts: dso.facts,
            })
            .collect();
        Resolution { objects, edges, calls: self.calls, dead_directories, search, cache: None }
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}
