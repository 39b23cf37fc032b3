//! What the loaders need of a file, read once: metadata, the first bytes, the ELF facts.
//!
//! Shared between the programs of one run, so that a library that a thousand programs need is opened once, and a path
//! that does not exist is asked for once. Failures are remembered as well as hits.

use crate::root::{Errno, FileKind, Meta, Root};
use bstr::{BStr, BString};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{Elf, ElfError, Source};

/// As many bytes as glibc reads of a file before it decides (`struct filebuf`, elf/dl-load.h, on 64 bit).
pub(crate) const HEAD: usize = 832;
/// What is read ahead here: enough for both loaders' first read.
const READ_AHEAD: usize = 1024;

/// One file as a loader meets it.
pub(crate) struct FileFacts {
    pub meta: Meta,
    /// The first bytes.
    pub head: Vec<u8>,
    /// The loader's view; an error here need not be fatal to a loader that never gets so far.
    pub elf: Result<Elf, ElfError>,
    /// The bytes themselves, for whoever needs to look deeper.
    pub source: Arc<dyn Source + Send + Sync>,
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
        let held = usize::try_from(offset).ok().and_then(|start| self.head.get(start..)?.get(..buf.len()));
        match held {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.rest.read_exact_at(offset, buf),
        }
    }
}

type Answer = Result<Arc<FileFacts>, Errno>;

/// Files already looked at, by path.
pub(crate) struct Files<'r> {
    root: &'r dyn Root,
    opened: Mutex<HashMap<BString, Answer>>,
    stats: Mutex<HashMap<BString, Result<Meta, Errno>>>,
}

impl<'r> Files<'r> {
    pub fn new(root: &'r dyn Root) -> Files<'r> {
        Files { root, opened: Mutex::default(), stats: Mutex::default() }
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

    /// stat(2), remembered.
    pub fn stat(&self, path: &BStr) -> Result<Meta, Errno> {
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
        let mut head = vec![0; usize::try_from(size).unwrap_or(READ_AHEAD).min(READ_AHEAD)];
        source.read_exact_at(0, &mut head).map_err(|error| Errno::of(&error))?;
        let elf = Elf::read(&Buffered { head: &head, rest: &*source });
        Ok(Arc::new(FileFacts { meta: opened.meta, head, elf, source }))
    }
}
