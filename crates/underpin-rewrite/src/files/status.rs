//! What is at a path: bound, not bound, or bound to something that is no longer there.

use super::farm::{farm_at, holds_just, search_path};
use crate::bytes::{BoundObject, UndoRecord, record_of, undo};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{Dynamic, Elf, FileSource, Notes, Source};

/// The state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// An ELF file without a record.
    Unbound,
    /// Bound, and every bound object is the one that was bound.
    Bound(Box<UndoRecord>),
    /// Bound, and something has changed since.
    Stale(Box<UndoRecord>, Vec<StaleReason>),
    /// It names libraries by absolute paths, as a bound file does, and carries no record: another tool bound it, or the
    /// record was removed. Whether it is stale is unknown.
    Unrecorded(Vec<PathBuf>),
    /// It carries a record that cannot be used.
    Damaged(String),
    /// Not an ELF file, or not readable.
    Unreadable(String),
}

/// Why a binding is stale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaleReason {
    /// There is nothing at a bound path.
    #[error("{} (bound for {name}) is gone", path.display())]
    Gone {
        /// The name in the original file.
        name: String,
        /// The path.
        path: PathBuf,
    },
    /// Another build is there.
    #[error("{} (bound for {name}) is another build: build-id {now}, was {then}", path.display())]
    OtherBuild {
        /// The name in the original file.
        name: String,
        /// The path.
        path: PathBuf,
        /// The build-id when it was bound, in hexadecimal.
        then: String,
        /// The build-id now, in hexadecimal, or `none`.
        now: String,
    },
    /// An object without a build-id has a different size.
    #[error("{} (bound for {name}) is another file: {now} bytes, was {then}, and it has no build-id", path.display())]
    OtherSize {
        /// The name in the original file.
        name: String,
        /// The path.
        path: PathBuf,
        /// Its size in bytes when it was bound.
        then: u64,
        /// Its size in bytes now.
        now: u64,
    },
}

/// What distinguishes one build of an object from another.
#[derive(Clone, Debug, Default)]
struct Build {
    id: Option<String>,
    /// Sizes in bytes; of a bound object also that of its original.
    sizes: Vec<u64>,
    has_soname: bool,
}

/// Objects that were examined already: one library is bound by many files.
#[derive(Default)]
struct Builds(Mutex<HashMap<PathBuf, Option<Arc<Build>>>>);

/// The state of one file.
#[must_use]
pub fn status(path: &Path) -> Status {
    Builds::default().status(path)
}

/// The states of many files, in their order, examined in parallel.
#[must_use]
pub fn status_all(paths: &[PathBuf]) -> Vec<(PathBuf, Status)> {
    let builds = Builds::default();
    paths.par_iter().map(|path| (path.clone(), builds.status(path))).collect()
}

/// The path of a bound object, for the file that names it: `$ORIGIN` is that file's directory.
#[must_use]
pub fn place_of(bound: &BoundObject, file: &Path) -> PathBuf {
    let directory = || fs::canonicalize(file).ok().and_then(|real| Some(real.parent()?.to_path_buf()));
    match bound.path.strip_prefix("$ORIGIN/") {
        Some(rest) => directory().unwrap_or_default().join(rest),
        None => PathBuf::from(&bound.path),
    }
}

/// Whether what is at a path is another build than the one that was bound.
#[must_use]
pub fn stale_at(bound: &BoundObject, path: &Path) -> Option<StaleReason> {
    Builds::default().stale(bound, path)
}

/// Whether the original of a bound file can be restored, byte for byte; the reason if it cannot.
///
/// # Errors
/// The error of [`undo`] or read(2).
pub fn undoable(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    undo(&bytes).map(|_| ()).map_err(|error| error.to_string())
}

/// Whether a bound file is no longer where it was bound, so that its original can no longer be resolved: its folder of
/// links was made in another place, or its links have become files (`cp -rL`).
#[must_use]
pub fn has_moved(path: &Path) -> bool {
    let moved = |folder: &PathBuf| {
        let Some(farm) = farm_at(folder).filter(|farm| farm.relative) else { return false };
        let here = fs::canonicalize(folder).ok();
        here.as_deref() != Some(Path::new(&farm.directory)) || !holds_just(folder, &farm)
    };
    search_path(path).iter().any(moved)
}

impl Builds {
    fn status(&self, path: &Path) -> Status {
        let source = match open(path) {
            Ok(source) => source,
            Err(error) => return Status::Unreadable(error.to_string()),
        };
        let elf = match Elf::read(&source) {
            Ok(elf) => elf,
            Err(error) => return Status::Unreadable(error.to_string()),
        };
        match record_of(&source) {
            Ok(None) => {
                let names = elf.dynamic.map(|dynamic| self.bound_names(&dynamic)).unwrap_or_default();
                if names.is_empty() { Status::Unbound } else { Status::Unrecorded(names) }
            }
            Err(error) => Status::Damaged(error.to_string()),
            Ok(Some(record)) => {
                let stale = |bound: &BoundObject| self.stale(bound, &place_of(bound, path));
                let reasons: Vec<StaleReason> = record.bound.iter().filter_map(stale).collect();
                let record = Box::new(record);
                if reasons.is_empty() { Status::Bound(record) } else { Status::Stale(record, reasons) }
            }
        }
    }

    /// Absolute names in DT_NEEDED that no linker wrote: a linker takes an object's soname if there is one, and the
    /// path only of an object without.
    fn bound_names(&self, dynamic: &Dynamic) -> Vec<PathBuf> {
        let absolute = dynamic.needed.iter().filter(|name| name.starts_with(b"/"));
        let paths = absolute.map(|name| PathBuf::from(OsStr::from_bytes(name)));
        paths.filter(|path| self.build(path).is_none_or(|build| build.has_soname)).collect()
    }

    fn stale(&self, bound: &BoundObject, path: &Path) -> Option<StaleReason> {
        let (name, path) = (bound.name.clone(), path.to_path_buf());
        let Some(build) = self.build(&path) else { return Some(StaleReason::Gone { name, path }) };
        match &bound.build_id {
            Some(then) if build.id.as_ref() == Some(then) => None,
            Some(then) => {
                let now = build.id.clone().unwrap_or_else(|| "none".into());
                Some(StaleReason::OtherBuild { name, path, then: then.clone(), now })
            }
            None if build.sizes.contains(&bound.size) => None,
            None => {
                let now = build.sizes.first().copied().unwrap_or(0);
                Some(StaleReason::OtherSize { name, path, then: bound.size, now })
            }
        }
    }

    fn build(&self, path: &Path) -> Option<Arc<Build>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some(known) = known {
            return known;
        }
        let build = open(path).ok().map(|source| Arc::new(Build::read(&source)));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), build.clone());
        build
    }
}

impl Build {
    fn read(source: &FileSource) -> Build {
        let elf = Elf::read(source).ok();
        let notes = elf.as_ref().and_then(|elf| Notes::read(source, elf).ok());
        let has_soname = elf.and_then(|elf| elf.dynamic).is_some_and(|dynamic| dynamic.soname.is_some());
        let original = record_of(source).ok().flatten().map(|record| record.original_size);
        Build {
            id: notes.and_then(|notes| notes.build_id).map(|id| id.to_string()),
            sizes: [source.len()].into_iter().chain(original).collect(),
            has_soname,
        }
    }
}

/// Opens a regular file without blocking.
fn open(path: &Path) -> io::Result<FileSource> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    FileSource::new(file)
}
