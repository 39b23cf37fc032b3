//! Which file was at a path, and in which state: compared so that no file is overwritten that changed since it was
//! planned.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// A file and its state. Equal only if the file was neither written to nor replaced: the kernel renews `st_ctim` with
/// every change of contents or attributes (inode(7)), and no process can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// `st_size`, in bytes.
    pub size: u64,
    /// `st_mtim`, in nanoseconds since 1970.
    pub modified: i128,
    /// `st_ctim`, in nanoseconds since 1970.
    pub changed: i128,
}

impl FileIdentity {
    /// From the result of stat(2).
    #[must_use]
    pub fn of(metadata: &Metadata) -> FileIdentity {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Of the file at a path; symbolic links are followed.
    ///
    /// # Errors
    /// The error of stat(2).
    pub fn at(path: &Path) -> io::Result<FileIdentity> {
        fs::metadata(path).map(|metadata| FileIdentity::of(&metadata))
    }

    /// Whether both are the same file, in whatever state.
    #[must_use]
    pub fn same_file(&self, other: &FileIdentity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// What differs, as text; `None` if nothing does.
    #[must_use]
    pub fn difference(&self, now: &FileIdentity) -> Option<&'static str> {
        if !self.same_file(now) {
            Some("another file is there now")
        } else if self.size != now.size {
            Some("its size is another")
        } else if self.modified != now.modified {
            Some("it was written to")
        } else if self.changed != now.changed {
            Some("its attributes or links were changed")
        } else {
            None
        }
    }
}
