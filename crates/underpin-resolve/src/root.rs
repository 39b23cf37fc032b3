//! The file system behind a resolution: this host, a sysroot folder, or a tree in memory.
//!
//! Everything that a loader does with files goes through [`Root`], so one model serves all three, and a test can
//! build a tree in a few lines. Nothing here ever blocks: a FIFO is reported, not waited for.

mod host;
mod memory;
mod overlay;
mod path;

pub use host::HostRoot;
pub use memory::MemoryRoot;
pub use overlay::{OverlayRoot, PatchedSource, SharedSource};
pub use path::lexical;

use bstr::BStr;
use bstr::BString;
use serde::Serialize;
use std::fmt;
use std::io;
use std::sync::Arc;
use underpin_elf::Source;

/// Identity of a file: what glibc and musl compare to recognise an object that is already loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileId {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// What kind of file is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO: opening it for reading waits for a writer.
    Fifo,
    /// A device, a socket.
    Other,
}

/// What stat(2) reports about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Device and inode.
    pub id: FileId,
    /// What kind of file.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// `st_mtim`, in nanoseconds since 1970; 0 if the file system behind the root has none.
    pub modified: i64,
    /// `S_ISUID`: secure-execution mode requires it of preloads.
    pub set_user_id: bool,
    /// Set-user-ID or set-group-ID: the kernel starts it in secure-execution mode.
    pub secure_execution: bool,
}

/// Why a path cannot be used: the errors that loaders tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathError {
    /// ENOENT.
    NotFound,
    /// ENOTDIR.
    NotDirectory,
    /// EACCES.
    PermissionDenied,
    /// ELOOP.
    Loop,
    /// ENAMETOOLONG.
    NameTooLong,
    /// Any other error number.
    Other(i32),
}

impl PathError {
    /// From the error of a system call.
    #[must_use]
    pub fn of(error: &io::Error) -> PathError {
        match error.raw_os_error() {
            Some(libc::ENOENT) => PathError::NotFound,
            Some(libc::ENOTDIR) => PathError::NotDirectory,
            Some(libc::EACCES) => PathError::PermissionDenied,
            Some(libc::ELOOP) => PathError::Loop,
            Some(libc::ENAMETOOLONG) => PathError::NameTooLong,
            Some(number) => PathError::Other(number),
            None => PathError::Other(libc::EIO),
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::NotFound => f.write_str("ENOENT"),
            PathError::NotDirectory => f.write_str("ENOTDIR"),
            PathError::PermissionDenied => f.write_str("EACCES"),
            PathError::Loop => f.write_str("ELOOP"),
            PathError::NameTooLong => f.write_str("ENAMETOOLONG"),
            PathError::Other(number) => write!(f, "{}", io::Error::from_raw_os_error(*number)),
        }
    }
}

/// A file that open(2) would give, with its contents behind a [`Source`].
pub struct Opened {
    /// What fstat(2) would say.
    pub meta: Meta,
    /// Its bytes; an empty source for anything but a regular file.
    pub source: Arc<dyn Source + Send + Sync>,
}

/// A file system as a loader sees it.
///
/// Paths are absolute, or relative to the current directory of the root.
pub trait Root: Sync {
    /// open(2) for reading, without ever blocking.
    ///
    /// # Errors
    /// The error number that open(2) would give.
    fn open(&self, path: &BStr) -> Result<Opened, PathError>;

    /// stat(2).
    ///
    /// # Errors
    /// The error number that stat(2) would give.
    fn stat(&self, path: &BStr) -> Result<Meta, PathError>;

    /// realpath(3).
    ///
    /// # Errors
    /// The error number that realpath(3) would give.
    fn real_path(&self, path: &BStr) -> Result<BString, PathError>;

    /// readlink(2); `None` if the path is not a symbolic link.
    fn read_link(&self, path: &BStr) -> Option<BString>;

    /// Names in a directory, unsorted.
    ///
    /// # Errors
    /// The error number that opendir(3) would give.
    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError>;

    /// The current directory, absolute.
    fn current_directory(&self) -> BString;

    /// The running kernel's version, three numbers of a byte each as loaders compare them; `None` if the files are
    /// those of another system.
    fn kernel(&self) -> Option<[u8; 3]> {
        None
    }

    /// A whole regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// The error number of open(2) or read(2); `EFBIG` above the limit.
    fn read(&self, path: &BStr, limit: u64) -> Result<Vec<u8>, PathError> {
        self.read_to(path, limit, |size| vec![0; size])
    }

    /// [`Root::read`] into memory of the caller's making, by its size in bytes.
    ///
    /// # Errors
    /// As there.
    fn read_to(&self, path: &BStr, limit: u64, zeros: fn(usize) -> Vec<u8>) -> Result<Vec<u8>, PathError> {
        let opened = self.open(path)?;
        if opened.meta.kind != FileKind::Regular {
            return Err(PathError::Other(libc::EINVAL));
        }
        let size = opened.source.len();
        if size > limit {
            return Err(PathError::Other(libc::EFBIG));
        }
        let mut bytes = zeros(usize::try_from(size).map_err(|_| PathError::Other(libc::EFBIG))?);
        opened.source.read_exact_at(0, &mut bytes).map_err(|error| PathError::of(&error))?;
        Ok(bytes)
    }
}
