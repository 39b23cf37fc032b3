//! The command before it runs: which files the kernel will execute for it, and what keeps each from another allocator.
//!
//! A script stands for its interpreter, and `#!/usr/bin/env NAME` for two programs in a row. What a running program
//! executes later cannot be known here.

use crate::{MallocError, Obstacle, store};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use underpin_elf::{
    AllocatorKind, Details, Elf, FileSource, Identity, Language, LibcKind, LibcPlacement, Machine, ScriptLine,
};
use underpin_sys::find_program;

/// A command, looked at before it runs.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file to execute: a program or a script.
    pub file: PathBuf,
    /// The programs that will be executed for it, in order. More than one only for `#!/usr/bin/env NAME`.
    pub stages: Vec<Stage>,
}

/// One program that will be executed.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its file.
    pub path: PathBuf,
    /// Its C library, as far as the file shows.
    pub library: CLibrary,
    /// Its loader; `None` if it is statically linked.
    pub loader: Option<PathBuf>,
    /// Which machine it is for.
    pub machine: Machine,
    /// It defines `malloc` for every object in the process.
    pub defines_malloc: bool,
    /// It imports `malloc` or another of its family, so that another object can serve what calls them.
    imports_malloc: bool,
    go: bool,
    /// Name and evidence of an allocator inside it that is not a C library's.
    own_allocator: Option<(String, String)>,
    privileges: Option<String>,
}

/// The C library of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CLibrary {
    /// glibc.
    Glibc,
    /// musl.
    Musl,
    /// Another, or none.
    Other,
}

/// How many `#!` lines the kernel follows (`BINPRM_MAX_RECURSION` and its check in `fs/exec.c`).
const MOST_SCRIPTS: usize = 5;

impl Program {
    /// Finds a command as a shell would and looks at what will be executed for it. `path` is the value of PATH.
    ///
    /// # Errors
    /// If there is no such command, or one of its files cannot be executed.
    pub fn find(command: &OsStr, path: Option<&OsStr>) -> Result<Program, MallocError> {
        let file = find_program(command, path)?;
        let mut stages = Vec::new();
        let mut current = file.clone();
        for _ in 0..MOST_SCRIPTS {
            let head = head(&current)?;
            let Some(line) = ScriptLine::read(&head) else {
                stages.push(Stage::read(&current)?);
                return Ok(Program { file, stages });
            };
            let interpreter = PathBuf::from(text(line.interpreter));
            current = match line.through_env() {
                Some(name) => {
                    stages.push(Stage::read(&interpreter)?);
                    find_program(&text(name), path)?
                }
                None => interpreter,
            };
        }
        let reason = "a `#!` line leads to another script too many times".to_owned();
        Err(MallocError::Object { path: file, reason })
    }
}

fn text(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

/// What the kernel reads to find out what a file is.
fn head(path: &Path) -> Result<Vec<u8>, MallocError> {
    let mut head = Vec::with_capacity(ScriptLine::HEAD);
    let read = File::open(path).and_then(|file| file.take(ScriptLine::HEAD as u64).read_to_end(&mut head));
    read.map_err(|error| unreadable(path, error))?;
    Ok(head)
}

fn unreadable(path: &Path, error: io::Error) -> MallocError {
    MallocError::Read { path: path.to_owned(), error }
}

impl Stage {
    fn read(path: &Path) -> Result<Stage, MallocError> {
        let damaged = |error| MallocError::Damaged { path: path.to_owned(), error };
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        let source = FileSource::new(file).map_err(|error| unreadable(path, error))?;
        let elf = Elf::read(&source).map_err(damaged)?;
        let details = Details::read(&source, &elf).map_err(damaged)?;
        let identity = &details.identity;
        Ok(Stage {
            path: path.to_owned(),
            library: library(identity),
            loader: elf.interpreter.as_ref().map(|path| PathBuf::from(text(path))),
            machine: elf.ident.machine,
            defines_malloc: identity.exports_malloc,
            imports_malloc: !identity.allocation_imported.is_empty(),
            go: is_go(identity),
            own_allocator: own_allocator(identity),
            privileges: privileges(path).map_err(|error| unreadable(path, error))?,
        })
    }

    /// What keeps this program from an allocator that is preloaded, if anything does.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.go && !(self.loader.is_some() && self.imports_malloc) {
            return Some(Obstacle::Go);
        }
        if self.loader.is_none() {
            return Some(Obstacle::Static);
        }
        if let Some(gained) = &self.privileges {
            return Some(Obstacle::Privileged(gained.clone()));
        }
        let own = self.own_allocator.clone();
        if self.defines_malloc {
            return Some(Obstacle::DefinesMalloc(own.map(|(name, _)| name)));
        }
        own.filter(|_| !self.imports_malloc).map(|(name, evidence)| Obstacle::OwnAllocator { name, evidence })
    }

    /// What an allocator that is preloaded leaves alone in this program, in a sentence; `None` if it takes everything.
    #[must_use]
    pub fn remainder(&self) -> Option<String> {
        if self.obstacle().is_some() {
            return None;
        }
        let (name, evidence) = match &self.own_allocator {
            Some((name, evidence)) => (name.as_str(), format!(" ({evidence})")),
            None if self.go => ("Go's own runtime", String::new()),
            None => return None,
        };
        Some(format!(
            "only what calls malloc in {} is served by it: {name} is linked into the program{evidence} and goes on serving \
             what calls that",
            self.path.display()
        ))
    }

    /// What keeps glibc's tunables from this program, if anything does.
    #[must_use]
    pub fn tunables_obstacle(&self) -> Option<Obstacle> {
        match self.library {
            CLibrary::Glibc => self.privileges.clone().map(Obstacle::Privileged),
            _ if self.go => Some(Obstacle::Go),
            CLibrary::Musl => Some(Obstacle::NotGlibc("musl".to_owned())),
            CLibrary::Other => Some(Obstacle::NotGlibc("no C library that is known".to_owned())),
        }
    }
}

fn library(identity: &Identity) -> CLibrary {
    match identity.libc.as_ref().map(|libc| libc.kind) {
        Some(LibcKind::Glibc) => CLibrary::Glibc,
        Some(LibcKind::Musl) => CLibrary::Musl,
        _ => CLibrary::Other,
    }
}

fn is_go(identity: &Identity) -> bool {
    let runtime = identity.libc.as_ref().is_some_and(|libc| libc.kind == LibcKind::GoRuntime);
    runtime || identity.languages.iter().any(|trace| trace.language == Language::Go)
}

/// An allocator inside the file that is not the one of a C library inside it.
fn own_allocator(identity: &Identity) -> Option<(String, String)> {
    let library_inside = identity.libc.as_ref().is_some_and(|libc| libc.placement == LibcPlacement::Inside);
    let name = |kind| match kind {
        AllocatorKind::Jemalloc => Some("jemalloc"),
        AllocatorKind::Mimalloc => Some("mimalloc"),
        AllocatorKind::Tcmalloc => Some("tcmalloc"),
        AllocatorKind::Snmalloc => Some("snmalloc"),
        AllocatorKind::PartitionAlloc => Some("PartitionAlloc"),
        AllocatorKind::Ptmalloc
        | AllocatorKind::MuslOldmalloc
        | AllocatorKind::MuslMallocng
        | AllocatorKind::MuslSimple
        | AllocatorKind::Zig
        | AllocatorKind::GoRuntime => None,
    };
    let found = identity.allocators.iter().find_map(|inside| Some((name(inside.kind)?, inside)))?;
    let evidence = found.1.evidence.first().map_or_else(|| "no more is known".to_owned(), ToString::to_string);
    (!library_inside).then(|| (found.0.to_owned(), evidence))
}

/// What a process gains by executing a file, as the kernel decides it (`cap_bprm_creds_from_file`): another user or
/// group, or capabilities if it is not root. None of it counts on a file system mounted nosuid or under
/// `no_new_privs`.
fn privileges(path: &Path) -> io::Result<Option<String>> {
    const SET_UID: u32 = 0o4000;
    const SET_GID_OF_PROGRAM: u32 = 0o2010;
    let file = fs::metadata(path)?;
    let us = fs::metadata("/proc/self")?;
    let nosuid =
        rustix::fs::statvfs(path).is_ok_and(|system| system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID));
    let status = fs::read_to_string("/proc/self/status")?;
    if nosuid || status.lines().any(|line| line.split_whitespace().eq(["NoNewPrivs:", "1"])) {
        return Ok(None);
    }
    if file.mode() & SET_UID != 0 && file.uid() != us.uid() {
        return Ok(Some(format!("set-uid, user {}", file.uid())));
    }
    if file.mode() & SET_GID_OF_PROGRAM == SET_GID_OF_PROGRAM && file.gid() != us.gid() {
        return Ok(Some(format!("set-gid, group {}", file.gid())));
    }
    let mut value = [0u8; 64];
    let capable = rustix::fs::getxattr(path, "security.capability", &mut value).is_ok_and(|length| length > 0);
    Ok((capable && store::our_id()? != 0).then(|| "file capabilities".to_owned()))
}
