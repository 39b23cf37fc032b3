//! The files that Ruby sees: a folder on disk, an archive in the executable, the built-in library; all behind [`Files`].
//!
//! Paths are [`VPath`]s: absolute, without `.` and `..`, so no name leads out of a root by its letters. Archives hold no
//! links that lead out either; on disk, links are followed as the administrator set them. Nothing here knows an
//! interpreter: code is bytes, as source or compiled.

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
    /// Bytes as they were written; the source, if it is Ruby.
    Plain(Bytes),
    /// Ruby compiled ahead, with its source if that was kept.
    Compiled {
        /// For the interpreter of this very build.
        bytecode: Bytecode,
        /// As it was written.
        source: Option<Bytes>,
    },
}

/// Ruby compiled ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytecode {
    /// Among this program's own constants: interpreters need no copy.
    Constant(&'static [u8]),
    /// Read from a file.
    Read(Bytes),
}

impl Content {
    /// The file's bytes as an application reads them; none if only its compiled form was kept.
    #[must_use]
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Content::Plain(bytes) => Some(bytes),
            Content::Compiled { source, .. } => source.as_ref(),
        }
    }
}

/// Why a file that is there cannot be read. It is not an error that there is none.
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

/// A file's hash as an entity tag of HTTP, with its quotes.
#[must_use]
pub fn entity_tag(hash: &[u8; 32]) -> String {
    let hex: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// A set of files. What it answers for a path may change only if it is the disk.
pub trait Files: Debug + Send + Sync {
    /// The file at a path; `None` if nothing is there, or a folder is.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError>;

    /// The path under which the file is known once links are followed; `None` if nothing is there. Two names of one
    /// file have the same, so that it is loaded once.
    fn identity(&self, path: &VPath) -> Option<VPath>;

    /// A folder's path once links are followed; as it is if the set has no links of folders, or no such folder.
    fn real_folder(&self, path: &VPath) -> VPath {
        path.clone()
    }

    /// A hash of the file's bytes, if the set knows it without reading the file. Two versions of a file differ in it,
    /// which is what a validator of HTTP needs and a date in an archive cannot give (RFC 9110, section 8.8).
    fn hash(&self, _path: &VPath) -> Option<[u8; 32]> {
        None
    }

    /// Where the file or folder of that path is, or would be, on the disk; none if the set is not the disk's.
    fn on_disk(&self, _path: &VPath) -> Option<PathBuf> {
        None
    }
}
