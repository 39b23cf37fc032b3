//! musl's loader as a model: `load_library`, `path_open`, `fixup_rpath`, `map_library` (musl ldso/dynlink.c).
//!
//! musl knows no sonames, no cache and no machine check; a request that fails is reported and the rest is still
//! loaded, so all misses are seen. The loader itself is libc and serves the reserved names.

use crate::calls::{CallName, Calls};
use crate::closure::{Edge, EdgeKind, FatalReason, Found, Identity, ObjectId, Outcome, Try, TryResult};
use crate::environment::Environment;
use crate::files::{FileFacts, Files};
use crate::loader::Loader;
use crate::resolver::{DeadDirectory, Depth, Mapped, Program, Resolution, SearchDirectory};
use crate::root::{Errno, FileId, FileKind};
use bstr::{BStr, BString, ByteSlice};
use std::sync::Arc;
use underpin_elf::{DependencyTag, Details, Elf, Ident, Machine, SegmentKind};

const RESERVED: [&[u8]; 7] = [b"c.", b"pthread.", b"rt.", b"m.", b"dl.", b"util.", b"xnet."];
const NAME_MAX: usize = 255;
/// `char buf[2*NAME_MAX+2]`: longer candidates are passed over without a call.
const PATH_BUFFER: usize = 2 * NAME_MAX + 2;
/// First read of a file, and what of it is left for program headers.
const HEAD: u64 = 960;
const HEAD_TABLE: u64 = 896;
const PAGE: u64 = 4096;

type DsoId = usize;
const APP: DsoId = 0;
const LDSO: DsoId = 1;

/// A `struct dso`.
struct Dso {
    path: BString,
    /// Set only where the name asked for was searched, not given as a path.
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

/// What `load_library` gives.
enum Answer {
    Loaded(DsoId, Found),
    Missing,
    Fatal(BString, FatalReason),
}

/// What one search list gives.
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
                return Answer::Loaded(dso, Found::AlreadyLoaded { identity: Identity::Name });
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

    fn search(&mut self, from: DsoId, name: &BStr, tries: &mut Vec<Try>) -> Step {
        if let Some(list) = self.environment.effective_library_path().filter(|_| !self.secure).cloned() {
            match self.path_open(name, &list, &Found::LibraryPath, tries) {
                Step::Next => {}
                end => return end,
            }
        }
        let mut next = Some(from);
        while let Some(dso) = next {
            if let Some(list) = self.fixup_rpath(dso) {
                let found = self.rpath_source(dso);
                match self.path_open(name, &list, &found, tries) {
                    Step::Next => {}
                    end => return end,
                }
            }
            next = self.dsos[dso].needed_by;
        }
        let (list, found) = self.system_path();
        self.path_open(name, &list, &found, tries)
    }

    fn rpath_source(&self, dso: DsoId) -> Found {
        let of = ObjectId(dso);
        let dynamic = self.dsos[dso].facts.as_ref().and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref());
        match dynamic.and_then(|dynamic| dynamic.runpath.as_ref()) {
            Some(_) => Found::Runpath { of },
            None => Found::Rpath { of },
        }
    }

    /// The path of an object with `$ORIGIN` replaced; any other `$` gives it up. DT_RUNPATH wins over DT_RPATH.
    fn fixup_rpath(&mut self, dso: DsoId) -> Option<BString> {
        if let Some(known) = &self.dsos[dso].rpath {
            return known.clone();
        }
        let dynamic = self.dsos[dso].facts.as_ref().and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref());
        let written = dynamic.and_then(|dynamic| dynamic.runpath.clone().or_else(|| dynamic.rpath.clone()));
        let fixed = written.and_then(|text| self.replace_origin(dso, &text));
        self.dsos[dso].rpath = Some(fixed.clone());
        fixed
    }

    fn replace_origin(&mut self, dso: DsoId, text: &[u8]) -> Option<BString> {
        if !text.contains(&b'$') {
            return Some(text.into());
        }
        let known = |at: usize| text[at..].starts_with(b"$ORIGIN") || text[at..].starts_with(b"${ORIGIN}");
        if !text.find_iter(b"$").all(known) || dso == APP && self.secure {
            return None;
        }
        let path = if dso == APP {
            let name = if self.has_old_calls() { CallName::Readlink } else { CallName::Readlinkat };
            self.calls.push(name, b"/proc/self/exe", false);
            self.executable.clone()
        } else {
            self.dsos[dso].path.clone()
        };
        let origin: BString = match path.rfind_byte(b'/') {
            Some(slash) => path[..slash].into(),
            None => ".".into(),
        };
        if self.secure && !path.starts_with(b"/") {
            return None;
        }
        Some(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into())
    }

    /// The path file beside the loader, or what is compiled in. Unreadable (not missing) means an empty path.
    fn system_path(&mut self) -> (BString, Found) {
        let path = self.loader.configuration.clone().unwrap_or_default();
        if let Some(known) = &self.system_path {
            let found = if self.files.stat(path.as_ref()).is_ok() { Found::PathFile } else { Found::DefaultDirectory };
            return (known.clone(), found);
        }
        let opened = self.files.open(path.as_ref());
        self.call_open(path.as_ref(), opened.is_err());
        let (list, found) = match opened {
            Ok(_) => {
                self.calls.push(CallName::Fstat, &path, false);
                let text = self.files.root().read(path.as_ref(), 1 << 20).unwrap_or_default();
                self.calls.push(CallName::Read, &path, false);
                self.calls.push(CallName::Close, &path, false);
                let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
                (BString::from(text), Found::PathFile)
            }
            Err(Errno::NotFound) => (bstr::join(":", &self.loader.system_directories).into(), Found::DefaultDirectory),
            Err(_) => (BString::default(), Found::PathFile),
        };
        self.system_path = Some(list.clone());
        (list, found)
    }

    fn path_open(&mut self, name: &BStr, list: &[u8], found: &Found, tries: &mut Vec<Try>) -> Step {
        for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
            let path: BString = [directory, b"/", name].concat().into();
            if path.len() >= PATH_BUFFER {
                continue;
            }
            match self.attempt(path, found, tries) {
                Step::Next => {}
                end => return end,
            }
        }
        Step::Next
    }

    fn has_old_calls(&self) -> bool {
        matches!(self.ident.machine, Machine::X86_64 | Machine::I386 | Machine::PPC64 | Machine::S390 | Machine::ARM)
    }

    /// open(2), and fcntl(2) for FD_CLOEXEC where it succeeds.
    fn call_open(&mut self, path: &BStr, failed: bool) {
        self.calls.push(if self.has_old_calls() { CallName::Open } else { CallName::Openat }, path, failed);
        if !failed {
            self.calls.push(CallName::Fcntl, path, false);
        }
    }

    fn attempt(&mut self, path: BString, found: &Found, tries: &mut Vec<Try>) -> Step {
        let opened = self.files.open(path.as_ref());
        let fifo = opened.as_ref().is_ok_and(|facts| facts.meta.kind == FileKind::Fifo);
        if !fifo {
            self.call_open(path.as_ref(), opened.is_err());
        }
        let (result, step) = match opened {
            Ok(_) if fifo => {
                let reason = FatalReason::WouldBlock;
                (TryResult::Fatal { reason: reason.clone() }, Step::Fatal(path.clone(), reason))
            }
            Ok(facts) => (TryResult::Taken, Step::Taken(path.clone(), found.clone(), facts)),
            Err(Errno::NotFound | Errno::NotDirectory) => (TryResult::NotFound, Step::Next),
            Err(Errno::PermissionDenied) => (TryResult::PermissionDenied, Step::Next),
            Err(error @ Errno::NameTooLong) => (TryResult::Failed { error: error.to_string() }, Step::Next),
            Err(error) => (TryResult::Failed { error: error.to_string() }, Step::Inhibit),
        };
        tries.push(Try { path, source: found.clone(), result });
        step
    }

    fn map_library(
        &mut self,
        from: DsoId,
        direct: bool,
        path: BString,
        found: Found,
        facts: &Arc<FileFacts>,
    ) -> Answer {
        self.calls.push(CallName::Fstat, &path, false);
        let id = facts.meta.id;
        if let Some(&dso) = self.chain.iter().skip(1).find(|&&dso| self.dsos[dso].id == Some(id)) {
            self.calls.push(CallName::Close, &path, false);
            if self.dsos[dso].short_name.is_none() && !direct {
                self.dsos[dso].short_name = Some(base_name(&self.dsos[dso].path).into());
            }
            return Answer::Loaded(dso, Found::AlreadyLoaded { identity: Identity::Inode });
        }
        let verdict = self.map(&path, facts);
        self.calls.push(CallName::Close, &path, false);
        if let Err(reason) = verdict {
            return Answer::Fatal(path, reason);
        }
        if is_libc(facts) {
            self.calls.push(CallName::Munmap, &path, false);
            if !self.chain.contains(&LDSO) {
                self.chain.push(LDSO);
            }
            return Answer::Loaded(LDSO, Found::AlreadyLoaded { identity: Identity::Libc });
        }
        self.dsos.push(Dso {
            short_name: (!direct).then(|| base_name(&path).into()),
            names: Vec::new(),
            id: Some(id),
            needed_by: Some(from),
            facts: Some(facts.clone()),
            rpath: None,
            found: found.clone(),
            path,
        });
        self.chain.push(self.dsos.len() - 1);
        Answer::Loaded(self.dsos.len() - 1, found)
    }

    /// The calls of `map_library`, and whether it succeeds.
    fn map(&mut self, path: &BString, facts: &FileFacts) -> Result<(), FatalReason> {
        let directory = facts.meta.kind == FileKind::Directory;
        self.calls.push(CallName::Read, path, directory);
        if directory {
            return Err(FatalReason::Directory);
        }
        if facts.head.len() < 64 {
            return Err(FatalReason::TooShort);
        }
        let elf = facts.elf.as_ref().map_err(|error| FatalReason::BadHeader { detail: error.to_string() })?;
        if elf.ident.machine != self.ident.machine || elf.ident.class != self.ident.class {
            let detail = format!("made for {}; musl does not check and would crash", elf.ident.machine);
            return Err(FatalReason::BadHeader { detail });
        }
        let table = u64::from(elf.segment_entry_size) * elf.segments.len() as u64;
        if table > HEAD_TABLE || elf.segments_offset.0.saturating_add(table) > HEAD.min(facts.meta.size) {
            self.calls.push(CallName::Pread64, path, false);
        }
        if elf.segment(SegmentKind::Dynamic).is_none() {
            return Err(FatalReason::NoDynamicSection);
        }
        self.emit_mappings(path, elf);
        Ok(())
    }

    fn emit_mappings(&mut self, path: &BString, elf: &Elf) {
        let down = |address: u64| address & !(PAGE - 1);
        let up = |address: u64| down(address.saturating_add(PAGE - 1));
        let lowest = elf.loads().map(|load| load.vaddr.0).min().map(down);
        self.calls.push(CallName::Mmap, path, false);
        for load in elf.loads() {
            let end = up(load.vaddr.0.saturating_add(load.memory_size));
            if Some(down(load.vaddr.0)) != lowest {
                self.calls.push(CallName::Mmap, path, false);
            }
            let data_end = up(load.vaddr.0.saturating_add(load.file_size));
            if load.memory_size > load.file_size && load.flags.write && data_end < end {
                self.calls.push(CallName::Mmap, path, false);
            }
        }
        if elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.text_relocations) {
            self.calls.push(CallName::Mprotect, path, false);
        }
    }

    /// RELRO of every library in load order, the loader's own (which is libc) among them, the program last: musl clears
    /// `ldso.relocated` after its first pass (ldso/dynlink.c, `__dls2`).
    fn relocate(&mut self) {
        let order: Vec<DsoId> = self.chain[1..].iter().copied().chain([APP]).collect();
        for dso in order {
            let Some(facts) = self.dsos[dso].facts.clone() else { continue };
            let Ok(elf) = &facts.elf else { continue };
            let path = self.dsos[dso].path.clone();
            if let Some(relro) = elf.segments.iter().rev().find(|segment| segment.kind == SegmentKind::Relro) {
                let end = relro.vaddr.0.saturating_add(relro.memory_size);
                if relro.vaddr.0 & !(PAGE - 1) != end & !(PAGE - 1) {
                    self.calls.push(CallName::Mprotect, &path, false);
                }
            }
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

    /// Where a request of `dso` would be searched, in order.
    fn search_order(&self, dso: DsoId, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<SearchDirectory> {
        let mut order = Vec::new();
        let mut add = |list: &[u8], source: &Found| {
            for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
                let exists = Some(self.files.stat(directory.as_bstr()).is_ok());
                let directory = [directory, b"/"].concat().into();
                order.push(SearchDirectory { directory, source: source.clone(), exists });
            }
        };
        if let Some(list) = self.environment.effective_library_path().filter(|_| !self.secure) {
            add(list, &Found::LibraryPath);
        }
        let mut next = Some(dso);
        while let Some(one) = next {
            if let Some(Some(list)) = &self.dsos[one].rpath {
                add(list, &self.rpath_source(one).renumbered(renumber));
            }
            next = self.dsos[one].needed_by;
        }
        if let Some(list) = &self.system_path {
            add(list, &Found::DefaultDirectory);
        }
        order
    }

    /// musl remembers nothing of directories; the ones of rpaths are looked at afterwards.
    fn dead_directories(&self, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<DeadDirectory> {
        let mut dead = Vec::new();
        for &dso in self.chain.iter().filter(|&&dso| dso != LDSO) {
            let Some(Some(list)) = &self.dsos[dso].rpath else { continue };
            let source = self.rpath_source(dso).renumbered(renumber);
            for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
                let current = !directory.starts_with(b"/");
                let missing = self.files.stat(directory.as_bstr()).is_err();
                if current || missing {
                    let directory = directory.into();
                    dead.push(DeadDirectory { directory, source: source.clone(), depends_on_cwd: current });
                }
            }
        }
        dead
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Whether the file is a C library: it defines both `__libc_start_main` and `stdin`.
fn is_libc(facts: &FileFacts) -> bool {
    let Ok(elf) = &facts.elf else { return false };
    let soname = elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.as_ref());
    let named = soname.map_or(b"".as_slice(), |soname| base_name(soname));
    // Only a file with the symbols of a libc is worth a full read; every libc has one of these sonames or none.
    if !named.is_empty() && named.find(b"libc").is_none() && named.find(b"ld-").is_none() {
        return false;
    }
    Details::read(&*facts.source, elf).is_ok_and(|details| {
        details.export(b"__libc_start_main".into()).is_some() && details.export(b"stdin".into()).is_some()
    })
}
