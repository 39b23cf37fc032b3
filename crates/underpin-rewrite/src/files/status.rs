//! What stands at a path: bound, not bound, or bound to something that is not there any more.

use crate::bytes::{BoundObject, Record, record_of};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{Elf, FileSource, Notes, Source};

/// The state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// An ELF file without a record.
    Unbound,
    /// Bound, and every bound object is the one that was bound.
    Bound(Box<Record>),
    /// Bound, and something has changed since.
    Stale(Box<Record>, Vec<StaleReason>),
    /// It carries a record that cannot be used.
    Damaged(String),
    /// No ELF file, or not readable.
    Unreadable(String),
}

/// Why a binding is stale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaleReason {
    /// Nothing stands at a bound path.
    #[error("{} (bound for {name}) is gone", path.display())]
    Gone {
        /// The name as the file had it.
        name: String,
        /// The path.
        path: PathBuf,
    },
    /// Another build stands there.
    #[error("{} (bound for {name}) is another build: build-id {now}, was {then}", path.display())]
    OtherBuild {
        /// The name as the file had it.
        name: String,
        /// The path.
        path: PathBuf,
        /// Hexadecimal, when it was bound.
        then: String,
        /// Hexadecimal, or `none`.
        now: String,
    },
    /// An object without a build-id has another size than it had.
    #[error("{} (bound for {name}) is another file: {now} bytes, were {then}, and it has no build-id", path.display())]
    OtherSize {
        /// The name as the file had it.
        name: String,
        /// The path.
        path: PathBuf,
        /// Bytes when it was bound.
        then: u64,
        /// Bytes now.
        now: u64,
    },
}

/// What tells one build of an object from another.
#[derive(Clone, Debug, Default)]
struct Build {
    id: Option<String>,
    /// Bytes; of a bound object also those of its original.
    sizes: Vec<u64>,
}

/// Objects that were looked at already: one library is bound by many files.
#[derive(Default)]
struct Builds(Mutex<HashMap<PathBuf, Option<Arc<Build>>>>);

/// The state of one file.
#[must_use]
pub fn status(path: &Path) -> Status {
    Builds::default().status(path)
}

/// The state of many files, in their order, looked at in parallel.
#[must_use]
pub fn status_all(paths: &[PathBuf]) -> Vec<(PathBuf, Status)> {
    let builds = Builds::default();
    paths.par_iter().map(|path| (path.clone(), builds.status(path))).collect()
}

impl Builds {
    fn status(&self, path: &Path) -> Status {
        let source = match open(path) {
            Ok(source) => source,
            Err(error) => return Status::Unreadable(error.to_string()),
        };
        if let Err(error) = Elf::read(&source) {
            return Status::Unreadable(error.to_string());
        }
        match record_of(&source) {
            Ok(None) => Status::Unbound,
            Err(error) => Status::Damaged(error.to_string()),
            Ok(Some(record)) => {
                let reasons: Vec<StaleReason> = record.bound.iter().filter_map(|bound| self.stale(bound)).collect();
                let record = Box::new(record);
                if reasons.is_empty() { Status::Bound(record) } else { Status::Stale(record, reasons) }
            }
        }
    }

    fn stale(&self, bound: &BoundObject) -> Option<StaleReason> {
        let (name, path) = (bound.name.clone(), PathBuf::from(&bound.path));
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
        let notes = Elf::read(source).and_then(|elf| Notes::read(source, &elf)).ok();
        let original = record_of(source).ok().flatten().map(|record| record.original_size);
        Build {
            id: notes.and_then(|notes| notes.build_id).map(|id| id.to_string()),
            sizes: [source.len()].into_iter().chain(original).collect(),
        }
    }
}

/// Opens a regular file without waiting for anybody.
fn open(path: &Path) -> io::Result<FileSource> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    FileSource::new(file)
}
