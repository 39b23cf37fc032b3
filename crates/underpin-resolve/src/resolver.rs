//! From a path to a [`Closure`]: opens the program, finds its loader, runs the loader's model, adds the findings.

use crate::calls::Calls;
use crate::closure::{Closure, Found, Object, SearchDirectory};
use crate::environment::Environment;
use crate::files::{FileFacts, Files};
use crate::findings;
use crate::loader::{Loader, LoaderKind, usual_loader};
use crate::resolution::{Depth, Mapped, Program, Resolution};
use crate::root::{FileKind, PathError, Root};
use crate::{glibc, musl};
use bstr::{BStr, BString, ByteSlice};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{Elf, ElfError, FileType, Ident, Machine, ScriptLine, Segment};

/// A larger file is not taken for a loader.
const LOADER_LIMIT: u64 = 64 << 20;

/// Why a file cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// open(2) fails.
    #[error("{path}: cannot open: {error}")]
    Open {
        /// The path.
        path: BString,
        /// The error's name.
        error: PathError,
    },
    /// A directory, FIFO, device or socket.
    #[error("{path}: {kind}, not a program or library")]
    NotAFile {
        /// The path.
        path: BString,
        /// What it is.
        kind: &'static str,
    },
    /// A script: its interpreter is what the kernel starts.
    #[error("{path}: a script for {interpreter}; try that program instead")]
    Script {
        /// The path.
        path: BString,
        /// The interpreter.
        interpreter: BString,
    },
    /// Not ELF, or damaged.
    #[error("{path}: {error}")]
    Elf {
        /// The path.
        path: BString,
        /// What is wrong, and where in the file.
        error: ElfError,
    },
    /// An ELF file that is neither a program nor a library.
    #[error("{path}: {kind}, which no loader loads")]
    NotLoadable {
        /// The path.
        path: BString,
        /// What it is.
        kind: &'static str,
    },
}

/// Resolves programs against one root and one environment; files looked at are remembered between calls.
pub struct Resolver<'r> {
    files: Files<'r>,
    environment: Environment,
    keep_sequence: bool,
    loaders: Mutex<HashMap<BString, Arc<Loader>>>,
}

impl<'r> Resolver<'r> {
    /// A resolver over a root, under an environment.
    #[must_use]
    pub fn new(root: &'r dyn Root, environment: Environment) -> Resolver<'r> {
        Resolver { files: Files::new(root), environment, keep_sequence: false, loaders: Mutex::default() }
    }

    /// Resolves the program or library at `path`.
    ///
    /// # Errors
    /// [`ResolveError`] if the file itself cannot be used. A dependency that is missing or broken is part of the
    /// closure, not an error.
    pub fn resolve(&self, path: &BStr, depth: Depth) -> Result<Closure, ResolveError> {
        let program = self.program(path)?;
        let loader = self.loader_of(&program);
        let resolution = self.run_model(&program, &loader, depth);
        Ok(self.assemble(&program, &loader, resolution, depth))
    }

    /// Keeps the predicted calls one by one, not only their counts.
    #[must_use]
    pub fn with_sequence(mut self, keep: bool) -> Resolver<'r> {
        self.keep_sequence = keep;
        self
    }

    fn run_model(&self, program: &Program, loader: &Loader, depth: Depth) -> Resolution {
        match loader.kind {
            LoaderKind::Glibc => glibc::resolve(&self.files, loader, &self.environment, program, depth),
            LoaderKind::Musl => musl::resolve(&self.files, loader, &self.environment, program, depth),
            LoaderKind::None => alone(program),
        }
    }

    fn assemble(&self, program: &Program, loader: &Loader, resolution: Resolution, depth: Depth) -> Closure {
        let findings = findings::collect(&self.files, loader, program, &resolution, depth);
        let Resolution { objects, edges, calls, search, .. } = resolution;
        let mut search = search.into_iter();
        let objects = objects
            .into_iter()
            .map(|mapped| self.object(mapped, program, depth, search.next().unwrap_or_default()))
            .collect();
        let (program, loader) = (program.path.clone(), loader.clone());
        Closure { program, loader, objects, edges, findings, calls }
    }

    fn object(&self, mapped: Mapped, program: &Program, depth: Depth, search: Vec<SearchDirectory>) -> Object {
        let elf = mapped.facts.as_ref().and_then(|facts| facts.elf.as_ref().ok());
        let dynamic = elf.and_then(|elf| elf.dynamic.as_ref());
        let is_program = mapped.found == Found::Program;
        let wanted = depth == Depth::Paths || depth == Depth::Findings && is_program;
        let real_path = wanted.then(|| self.files.real_path(mapped.path.as_ref()).ok()).flatten();
        let real_path = real_path.filter(|real| *real != mapped.path);
        Object {
            search,
            real_path,
            id: mapped.facts.as_ref().map(|facts| facts.meta.id),
            soname: dynamic.and_then(|dynamic| dynamic.soname.clone()),
            names: mapped.names,
            requested_by: mapped.requested_by,
            found: mapped.found,
            ident: elf.map_or(program.elf.ident, |elf| elf.ident),
            size: mapped.facts.as_ref().map_or(0, |facts| facts.meta.size),
            needed: dynamic.map(|dynamic| dynamic.needed.clone()).unwrap_or_default(),
            rpath: dynamic.and_then(|dynamic| dynamic.rpath.clone()),
            runpath: dynamic.and_then(|dynamic| dynamic.runpath.clone()),
            no_default_lib: dynamic.is_some_and(|dynamic| dynamic.flags.no_default_lib()),
            initialise_first: dynamic.is_some_and(|dynamic| dynamic.flags.initialise_first()),
            path: mapped.path,
        }
    }

    fn program(&self, path: &BStr) -> Result<Program, ResolveError> {
        let owned = || BString::from(path);
        let facts = self.files.open(path).map_err(|error| ResolveError::Open { path: owned(), error })?;
        let not_a_file = |kind| ResolveError::NotAFile { path: owned(), kind };
        match facts.meta.kind {
            FileKind::Regular => {}
            FileKind::Directory => return Err(not_a_file("a directory")),
            FileKind::Fifo => return Err(not_a_file("a FIFO")),
            FileKind::Other => return Err(not_a_file("a device or socket")),
        }
        if let Some(line) = ScriptLine::read(&facts.head).filter(|line| !line.interpreter.is_empty()) {
            return Err(ResolveError::Script { path: owned(), interpreter: line.interpreter.into() });
        }
        let elf = match &facts.elf {
            Ok(elf) => elf.clone(),
            Err(error) => {
                let error = ElfError { fault: error.fault.clone(), offset: error.offset };
                return Err(ResolveError::Elf { path: owned(), error });
            }
        };
        match elf.ident.file_type {
            FileType::Executable | FileType::Dynamic => {}
            FileType::Relocatable => return Err(not_loadable(path, "a relocatable object file")),
            FileType::Core => return Err(not_loadable(path, "a core dump")),
            FileType::Other(_) => return Err(not_loadable(path, "an ELF file of unknown type")),
        }
        let is_library = elf.interpreter.is_none();
        let executable = if is_library { absolute(self.files.root(), path) } else { self.real_path(path) };
        let sequence = self.keep_sequence.then(Vec::new);
        Ok(Program { path: owned(), executable, facts, elf, is_library, sequence })
    }

    fn real_path(&self, path: &BStr) -> BString {
        self.files.root().real_path(path).unwrap_or_else(|_| absolute(self.files.root(), path))
    }

    fn loader_of(&self, program: &Program) -> Arc<Loader> {
        let Some((path, assumed)) = interpreter_of(&program.elf) else { return Arc::new(Loader::none()) };
        let mut key = path.clone();
        // The float ABI and the like are part of the choice: one path, one machine, one loader.
        key.extend_from_slice(format!("\0{}\0{}", program.elf.ident.machine.0, assumed).as_bytes());
        let mut known = self.loaders.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Arc::new(self.identify(path, assumed, &program.elf.ident))).clone()
    }

    fn identify(&self, path: BString, assumed: bool, ident: &Ident) -> Loader {
        let bytes = self.files.open(path.as_ref()).ok().and_then(|facts| constants_of(&facts));
        let mut loader = match bytes {
            Some(bytes) => {
                let real = self.real_path(path.as_ref());
                Loader::identify(path.as_ref(), real.as_ref(), &bytes, ident, &self.environment)
            }
            None => Loader::absent(path.as_ref(), ident, &self.environment),
        };
        loader.assumed = assumed;
        loader
    }
}

/// The bytes of a loader that hold its strings: the segment without code if it has one, or all of it.
fn constants_of(facts: &FileFacts) -> Option<Vec<u8>> {
    let size = facts.source.len();
    if size > LOADER_LIMIT {
        return None;
    }
    let read = |offset: u64, size: u64| {
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        facts.source.read_exact_at(offset, &mut bytes).ok().map(|()| bytes)
    };
    let constant = |load: &&Segment| !load.flags.execute && !load.flags.write && load.offset.0 > 0;
    if let Some(load) = facts.elf.as_ref().ok().and_then(|elf| elf.loads().filter(constant).last())
        && let Some(bytes) = read(load.offset.0, load.file_size.min(size))
        && (bytes.find(b"ld.so.cache").is_some() || bytes.find(b"musl libc (").is_some())
    {
        return Some(bytes);
    }
    read(0, size)
}

fn not_loadable(path: &BStr, kind: &'static str) -> ResolveError {
    ResolveError::NotLoadable { path: path.into(), kind }
}

/// A static program: itself, and nothing else.
fn alone(program: &Program) -> Resolution {
    Resolution {
        objects: vec![Mapped {
            path: program.path.clone(),
            names: Vec::new(),
            requested_by: None,
            found: Found::Program,
            facts: Some(program.facts.clone()),
        }],
        edges: Vec::new(),
        calls: Calls { modelled: true, ..Calls::default() },
        dead_directories: Vec::new(),
        search: Vec::new(),
        cache: None,
    }
}

/// PT_INTERP, or for a library the usual loader of its machine; `None` for a static program.
fn interpreter_of(elf: &Elf) -> Option<(BString, bool)> {
    if let Some(path) = &elf.interpreter {
        return Some((path.clone(), false));
    }
    let dynamic = elf.dynamic.as_ref()?;
    let static_pie = dynamic.flags.pie() && dynamic.needed.is_empty();
    if elf.ident.file_type != FileType::Dynamic || static_pie {
        return None;
    }
    let for_musl = dynamic.needed.iter().any(|name| name == "libc.so" || name.starts_with(b"libc.musl-"));
    if for_musl {
        return Some((format!("/lib/ld-musl-{}.so.1", musl_architecture(&elf.ident)).into(), true));
    }
    usual_loader(&elf.ident).map(|path| (path.into(), true))
}

fn musl_architecture(ident: &Ident) -> &'static str {
    match ident.machine {
        Machine::X86_64 => "x86_64",
        Machine::I386 => "i386",
        Machine::AARCH64 => "aarch64",
        Machine::ARM => "armhf",
        Machine::RISCV => "riscv64",
        Machine::PPC64 => "powerpc64le",
        Machine::S390 => "s390x",
        _ => "unknown",
    }
}

fn absolute(root: &dyn Root, path: &BStr) -> BString {
    if path.starts_with(b"/") {
        return path.into();
    }
    [root.current_directory().as_slice(), b"/", path].concat().into()
}
