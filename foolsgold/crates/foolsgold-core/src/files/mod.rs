//! The files that Ruby sees: a folder on disk, an archive in the executable, the built-in library; all behind
//! [`Files`].
//!
//! Paths are [`VPath`]s: absolute, without `.` and `..`, so none leads out of a root lexically. Nor do links in
//! archives; on disk, links are followed as the administrator set them. Nothing here depends on an interpreter: code is
//! bytes, as source or compiled.

mod disk;
mod layers;
mod path;

pub use disk::Disk;
pub use layers::Layers;
pub use path::VPath;

use bytes::Bytes;
use std::fmt::Debug;
use std::path::PathBuf;

/// The largest file that is read whole: a source, a template or a static file answered through Ruby.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The bytes as written; for Ruby, the source.
    Plain(Bytes),
    /// Ruby compiled ahead of time, with its source if that was kept.
    Compiled {
        /// For the interpreter of this exact build.
        bytecode: Bytecode,
        /// The source as written.
        source: Option<Bytes>,
    },
}

/// Ruby compiled ahead of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytecode {
    /// A constant of this program: interpreters need no copy.
    Constant(&'static [u8]),
    /// Read from a file.
    Read(Bytes),
}

impl Content {
    /// The file's bytes as an application reads them; `None` if only its compiled form was kept.
    #[must_use]
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Content::Plain(bytes) => Some(bytes),
            Content::Compiled { source, .. } => source.as_ref(),
        }
    }
}

/// Why an existing file cannot be read. A missing file is not an error.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system's reason.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The path, as Ruby knows it.
        path: VPath,
        /// The reason.
        error: std::io::Error,
    },
    /// Larger than [`MAX_FILE`].
    #[error("{path} has {size} bytes; at most {MAX_FILE} are read")]
    TooLarge {
        /// The path, as Ruby knows it.
        path: VPath,
        /// Its size in bytes.
        size: u64,
    },
}

/// A file's hash as an HTTP entity tag, with its quotes.
#[must_use]
pub fn entity_tag(hash: &[u8; 32]) -> String {
    let hex: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// A set of files. Only the disk may change what it returns for a path.
pub trait Files: Debug + Send + Sync {
    /// The file at a path; `None` if there is none, or it is a folder.
    ///
    /// # Errors
    /// If it exists and cannot be read.
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError>;

    /// The file's path with links resolved; `None` if there is no file. Two names of one file give the same path, so
    /// that it is loaded once.
    fn identity(&self, path: &VPath) -> Option<VPath>;

    /// A folder's path with links resolved; unchanged if the set has no links to folders, or no such folder.
    fn real_folder(&self, path: &VPath) -> VPath {
        path.clone()
    }

    /// A hash of the file's bytes, if the set knows it without reading the file. Two versions of a file differ in it,
    /// which an HTTP validator needs and a date in an archive does not guarantee (RFC 9110, section 8.8).
    fn hash(&self, _path: &VPath) -> Option<[u8; 32]> {
        None
    }

    /// Where the file or folder at that path is, or would be, on disk; `None` if the set is not on disk.
    fn on_disk(&self, _path: &VPath) -> Option<PathBuf> {
        None
    }
}
