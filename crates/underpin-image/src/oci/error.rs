//! Why an image cannot be written or read.

use crate::ImageError;
use std::io;
use std::path::PathBuf;

/// One sentence each: what failed, on what, and where in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OciError {
    /// What cannot be part of an image.
    #[error(transparent)]
    Tree(#[from] ImageError),
    /// Something is there already.
    #[error("{}: it exists: remove it, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// Neither an image nor a root file system.
    #[error("{}: {reason}", path.display())]
    NotAnImage {
        /// The file or folder.
        path: PathBuf,
        /// What it holds instead, and what was expected.
        reason: String,
    },
    /// A part of an image that is not what the format says.
    #[error("{}: {blob}: byte {offset}: {reason}", path.display())]
    Blob {
        /// The image.
        path: PathBuf,
        /// Which part.
        blob: String,
        /// Where in it; for a compressed layer where in what it decompresses to.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A part whose bytes are not those that it was named after.
    #[error("{}: {blob}: its bytes have the digest {found}: copy or build the image again", path.display())]
    Digest {
        /// The image.
        path: PathBuf,
        /// Which part, with the digest that it should have.
        blob: String,
        /// The digest that it has.
        found: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OciError {
    /// For `map_err`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> OciError {
        let path = path.into();
        move |source| OciError::Io { path, source }
    }
}
