//! What the loaders need of a file, read once: metadata, the first bytes, the ELF facts.
//!
//! Shared between the programs of one run, so that a library that a thousand programs need is opened once, and a path
//! that does not exist is asked for once. Failures are remembered as well as hits.

use crate::hash::{HashMap, HashSet};
use crate::root::{FileKind, Meta, PathError, Root};
use bstr::{BStr, BString, ByteSlice};

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use underpin_elf::{Elf, ElfError, LinkFacts, Source, VersionNeed};

/// How many bytes glibc reads of a file before it decides (`struct filebuf`, elf/dl-load.h, on 64 bit).
pub(crate) const HEAD: usize = 832;
/// What is read ahead here: enough for both loaders' first read.
const READ_AHEAD: usize = 1024;

/// What is kept of it: the ELF header, or the line with the interpreter of a script (the kernel reads as much,
/// `BINPRM_BUF_SIZE`).
const KEPT: usize = 256;
/// An ELF header of either class.
const KEPT_OF_ELF: usize = 64;

/// One file as a loader sees it.
pub(crate) struct FileFacts {
    pub meta: Meta,
    /// The first bytes.
    pub head: Vec<u8>,
    /// The loader's view; an error here need not be fatal to a loader that never gets that far.
    pub elf: Result<Elf, ElfError>,
    /// The bytes themselves, for a closer look.
    pub source: Arc<dyn Source + Send + Sync>,
    link: OnceLock<Option<LinkFacts>>,
}

/// Functions whose import means that more may be loaded at run time.
const DLOPEN: [&[u8]; 2] = [b"dlopen", b"dlmopen"];

/// glibc has dlopen in libdl.so.2, and since 2.34 in libc.so.6 under that version: only what is bound to either can import it.
/// Without any versions (musl) nothing can be said.
fn has_dlopen(need: &VersionNeed) -> bool {
    need.file.starts_with(b"libdl.so") || need.version == "GLIBC_2.34"
}

impl FileFacts {
    /// Symbol versions, read on first use; `None` if they are malformed.
    pub fn link(&self) -> Option<&LinkFacts> {
        let read = || LinkFacts::versions(&*self.source, self.elf.as_ref().ok()?).ok();
        self.link.get_or_init(read).as_ref()
    }

    /// Whether dlopen is imported; `false` if the symbols are malformed.
    pub fn imports_dlopen(&self) -> bool {
        let (Some(link), Ok(elf)) = (self.link(), &self.elf) else { return false };
        if link.version_needs.is_empty() {
            return LinkFacts::read(&*self.source, elf, &DLOPEN, |_| true).is_ok_and(|facts| !facts.imports.is_empty());
        }
        link.imports_under(&*self.source, elf, &DLOPEN, has_dlopen).unwrap_or(false)
    }
}

/// A source whose first bytes are at hand.
struct Buffered<'a> {
    head: &'a [u8],
    rest: &'a (dyn Source + Send + Sync),
}

impl Source for Buffered<'_> {
    fn len(&self) -> u64 {
        self.rest.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        match self.head.in_memory(offset, buf.len()) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.rest.read_exact_at(offset, buf),
        }
    }
}

type Answer = Result<Arc<FileFacts>, PathError>;

/// Files already looked at, by path.
pub(crate) struct Files<'r> {
    root: &'r dyn Root,
    opened: Mutex<HashMap<BString, Answer>>,
    stats: Mutex<HashMap<BString, Result<Meta, PathError>>>,
    real_directories: Mutex<HashMap<BString, Option<BString>>>,
    /// Names in directories.
    listings: Mutex<HashMap<BString, Arc<HashSet<BString>>>>,
}

impl<'r> Files<'r> {
    pub fn new(root: &'r dyn Root) -> Files<'r> {
        Files {
            root,
            opened: Mutex::default(),
            stats: Mutex::default(),
            real_directories: Mutex::default(),
            listings: Mutex::default(),
        }
    }

    pub fn root(&self) -> &'r dyn Root {
        self.root
    }

    /// The facts of the file at `path`, or the error that open(2) gives.
    pub fn open(&self, path: &BStr) -> Answer {
        if let Some(known) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return known.clone();
        }
        let answer = self.look(path);
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), answer.clone());
        answer
    }

    /// The names in a directory; empty if it cannot be read.
    pub fn names_in(&self, directory: &BStr) -> Arc<HashSet<BString>> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listings.get(directory) {
            return Arc::clone(known);
        }
        let names: Arc<HashSet<BString>> =
            Arc::new(self.root.list(directory).unwrap_or_default().into_iter().collect());
        listings.insert(directory.into(), Arc::clone(&names));
        names
    }

    /// realpath(3) of a directory, remembered.
    pub fn real_directory(&self, directory: &BStr) -> Option<BString> {
        let mut known = self.real_directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(real) = known.get(directory) {
            return real.clone();
        }
        let real = self.root.real_path(directory).ok();
        known.insert(directory.into(), real.clone());
        real
    }

    /// realpath(3) of a file, with the real paths of directories remembered: a closure is in few of them.
    pub fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        let Some(slash) = path.rfind_byte(b'/').filter(|slash| *slash > 0) else { return self.root.real_path(path) };
        let (directory, name) = (path[..slash].as_bstr(), &path.as_bytes()[slash + 1..]);
        if matches!(name, b"" | b"." | b"..") {
            return self.root.real_path(path);
        }
        let real = self.real_directory(directory).ok_or(PathError::NotFound)?;
        let whole: BString = [real.as_slice(), if real.ends_with(b"/") { b"" } else { b"/" }, name].concat().into();
        // Most links lead to a file beside them (libx.so.1 -> libx.so.1.2); anything longer is left to realpath(3).
        match self.root.read_link(whole.as_ref()) {
            None => Ok(whole),
            Some(target) if target.contains(&b'/') => self.root.real_path(path),
            Some(target) => {
                let next: BString = [&whole[..whole.len() - name.len()], &target].concat().into();
                if self.root.read_link(next.as_ref()).is_none() { Ok(next) } else { self.root.real_path(path) }
            }
        }
    }

    /// stat(2), remembered.
    pub fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        if let Some(known) = self.stats.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return *known;
        }
        let answer = self.root.stat(path);
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), answer);
        answer
    }

    fn look(&self, path: &BStr) -> Answer {
        let opened = self.root.open(path)?;
        let source = opened.source;
        let size = if opened.meta.kind == FileKind::Regular { source.len() } else { 0 };
        let mut buffer = [0; READ_AHEAD];
        let head = &mut buffer[..usize::try_from(size).unwrap_or(READ_AHEAD).min(READ_AHEAD)];
        source.read_exact_at(0, head).map_err(|error| PathError::of(&error))?;
        let elf = Elf::read(&Buffered { head, rest: &*source });
        let kept = if elf.is_ok() { KEPT_OF_ELF } else { KEPT };
        let head = head[..head.len().min(kept)].to_vec();
        Ok(Arc::new(FileFacts { meta: opened.meta, head, elf, source, link: OnceLock::new() }))
    }
}
