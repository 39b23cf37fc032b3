//! The file system behind a resolution: this host, a sysroot folder, or a tree in memory.
//!
//! Everything that a loader does with files goes through [`Root`], so one model serves all three, and a test can
//! build a tree in a few lines. Nothing here ever blocks: a FIFO is reported, not opened.

use serde::Serialize;

/// Identity of a file: what glibc and musl compare to recognise an object that is already loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileId {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}
