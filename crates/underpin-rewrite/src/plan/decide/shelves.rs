//! What the directories of a search path hold, as a loader looking for a bare name would find it.

use super::facts::is_legacy_capability;
use bstr::{BStr, BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{Class, Elf, Endian, FileType, Machine};
use underpin_resolve::root::{FileKind, Opened};
use underpin_resolve::{FileId, PathError, Root};

/// In directories with more entries the files are listed but not opened.
const MOST_ENTRIES: usize = 2000;
/// Capability directories are nested: `tls/haswell/avx512_1/x86_64` is the deepest.
const CAPABILITY_DEPTH: usize = 4;

/// A file that would be found by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Held {
    /// An ELF file of this kind: a loader of another kind skips it (glibc) or stops (musl).
    Elf(Machine, Class, Endian),
    /// A file that is not ELF: the loader stops there, wherever it is.
    NotElf,
    /// Only the loader can tell what happens to it.
    Odd,
}

/// One directory.
#[derive(Clone, Debug, Default)]
pub(in crate::plan) struct Shelf {
    /// Files by name, with device and inode.
    pub files: BTreeMap<BString, (Held, Option<FileId>)>,
    /// Names that a capability subdirectory holds a file for: which one is taken depends on the processor.
    pub variants: BTreeSet<BString>,
    /// It exists, but cannot be listed.
    pub closed: bool,
}

/// Directories, each read once.
pub(in crate::plan) struct Shelves<'r> {
    root: &'r dyn Root,
    known: Mutex<HashMap<BString, Arc<Shelf>>>,
}

impl<'r> Shelves<'r> {
    pub fn new(root: &'r dyn Root) -> Shelves<'r> {
        Shelves { root, known: Mutex::default() }
    }

    /// What a directory holds; nothing if it does not exist.
    pub fn of(&self, directory: &BStr) -> Arc<Shelf> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(directory) {
            return Arc::clone(known);
        }
        let shelf = Arc::new(self.read(directory));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(directory.into(), Arc::clone(&shelf));
        shelf
    }

    fn read(&self, directory: &BStr) -> Shelf {
        let mut shelf = Shelf::default();
        let names = match self.root.list(directory) {
            Ok(names) => names,
            Err(error) => {
                shelf.closed = !matches!(error, PathError::NotFound | PathError::NotDirectory);
                return shelf;
            }
        };
        let many = names.len() > MOST_ENTRIES;
        for name in names {
            let path = join(directory, name.as_ref());
            if is_capability(name.as_ref()) {
                self.variants(path.as_ref(), CAPABILITY_DEPTH, &mut shelf.variants);
            }
            let held = if many { names_a_library(&name).then_some((Held::Odd, None)) } else { self.held(&path, &name) };
            if let Some(held) = held {
                shelf.files.insert(name, held);
            }
        }
        shelf
    }

    /// What a loader finds at a path; `None` for what no object would request.
    fn held(&self, path: &BString, name: &BString) -> Option<(Held, Option<FileId>)> {
        let library = names_a_library(name);
        let odd = library.then_some((Held::Odd, None));
        let opened = match self.root.open(path.as_ref()) {
            Ok(opened) => opened,
            // A dangling link is skipped like a missing name.
            Err(PathError::NotFound | PathError::NotDirectory) => return None,
            Err(_) => return odd,
        };
        if opened.meta.kind != FileKind::Regular {
            return odd;
        }
        match Elf::read(&*opened.source) {
            Ok(elf) if elf.ident.file_type == FileType::Dynamic => {
                Some((Held::Elf(elf.ident.machine, elf.ident.class, elf.ident.endian), Some(opened.meta.id)))
            }
            Err(_) if library && !is_elf(&opened) => Some((Held::NotElf, Some(opened.meta.id))),
            _ => odd,
        }
    }

    fn variants(&self, directory: &BStr, depth: usize, found: &mut BTreeSet<BString>) {
        let Ok(names) = self.root.list(directory) else { return };
        for name in names {
            let path = join(directory, name.as_ref());
            match self.root.stat(path.as_ref()).map(|meta| meta.kind) {
                Ok(FileKind::Directory) if depth > 0 => self.variants(path.as_ref(), depth - 1, found),
                Ok(_) => {
                    found.insert(name);
                }
                Err(_) => {}
            }
        }
    }
}

pub(in crate::plan) fn join(directory: &BStr, name: &BStr) -> BString {
    [directory.trim_end_with(|letter| letter == '/'), b"/", name.as_bytes()].concat().into()
}

fn is_elf(opened: &Opened) -> bool {
    let mut magic = [0; 4];
    opened.source.read_exact_at(0, &mut magic).is_ok() && &magic == b"\x7fELF"
}

fn names_a_library(name: &BString) -> bool {
    name.contains_str(".so")
}

/// Whether a directory of this name may be one that glibc searches before its parent.
fn is_capability(name: &BStr) -> bool {
    name == "glibc-hwcaps" || is_legacy_capability(name)
}
