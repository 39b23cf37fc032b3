//! Why a file was not replaced: refusals, failures, and what the loader rejects in the new bytes.

use super::NotAsked;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file was left unchanged. The old file is there, and no temporary is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// Not a regular file.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Its directory is not writable.
    #[error(
        "{}: its directory is not writable for this user, and the new file is made there; run this as its owner",
        path.display()
    )]
    ReadOnlyDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("{}: its file system is mounted read-only; change a copy elsewhere", path.display())]
    ReadOnlyFileSystem {
        /// The path.
        path: PathBuf,
    },
    /// The immutable or append-only flag of the inode (ioctl_iflags(2)).
    #[error("{}: marked {flag}; `chattr -{letter}` would allow a change", path.display())]
    Immutable {
        /// The path.
        path: PathBuf,
        /// `immutable` or `append-only`.
        flag: &'static str,
        /// `i` or `a`.
        letter: char,
    },
    /// Signed: IMA, EVM or fs-verity protect its bytes.
    #[error(
        "{}: signed ({by}), and a change would make the signature invalid; bind it before it is signed",
        path.display()
    )]
    Signed {
        /// The path.
        path: PathBuf,
        /// By what.
        by: &'static str,
    },
    /// The owner cannot be kept.
    #[error(
        "{}: belongs to user {user}, group {group}, and the new file would not; run this as root or as that user",
        path.display()
    )]
    OwnerNotKept {
        /// The path.
        path: PathBuf,
        /// `st_uid`.
        user: u32,
        /// `st_gid`.
        group: u32,
    },
    /// A permission bit or extended attribute cannot be kept.
    #[error("{}: its {attribute} cannot be kept: {reason}", path.display())]
    AttributeNotKept {
        /// The path.
        path: PathBuf,
        /// Which.
        attribute: String,
        /// Why.
        reason: String,
    },
    /// It has more names than are known.
    #[error(
        "{}: {links} hard links lead to it and {known} of them are known; name the whole tree, or break the link",
        path.display()
    )]
    HardLinks {
        /// The path.
        path: PathBuf,
        /// `st_nlink`.
        links: u64,
        /// How many names are known.
        known: u64,
    },
    /// The running underpin, or an object that it has mapped.
    #[error("{}: the running underpin depends on it; use a copy of underpin from elsewhere", path.display())]
    OwnFile {
        /// The path.
        path: PathBuf,
    },
    /// The file or its bytes have changed since it was planned.
    #[error("{}: changed since it was planned: {what}; run the command again", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
        /// What has changed.
        what: String,
    },
    /// Another process is changing it.
    #[error("{}: another process is changing it; run the command again when that is done", path.display())]
    Busy {
        /// The path.
        path: PathBuf,
    },
    /// The disk or the quota is full.
    #[error("{}: no space for a new copy of {size} bytes beside it; make room on its file system", path.display())]
    NoSpace {
        /// The path.
        path: PathBuf,
        /// Bytes of the new file.
        size: u64,
    },
    /// The folder of links that it would search cannot be made.
    #[error("{}: its folder of links cannot be made: {reason}", path.display())]
    Farm {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another tool changed it after it was bound: its record no longer leads to the original.
    #[error("{}: {reason}", path.display())]
    NotUndoable {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The bytes cannot be rewritten, or the record in them cannot be undone.
    #[error("{}: {reason}", path.display())]
    Bytes {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The loader did not accept the new bytes.
    #[error("{}: not written: {disagreement}", path.display())]
    Rejected {
        /// The path.
        path: PathBuf,
        /// What is different.
        disagreement: Disagreement,
    },
    /// A system call failed.
    #[error("{}: {step} failed: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl ReplaceError {
    /// Whether the file is left alone for a reason in the file itself (the rest are failures).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            ReplaceError::NotAFile { .. }
                | ReplaceError::ReadOnlyDirectory { .. }
                | ReplaceError::ReadOnlyFileSystem { .. }
                | ReplaceError::Immutable { .. }
                | ReplaceError::Signed { .. }
                | ReplaceError::OwnerNotKept { .. }
                | ReplaceError::AttributeNotKept { .. }
                | ReplaceError::HardLinks { .. }
                | ReplaceError::OwnFile { .. }
                | ReplaceError::NotUndoable { .. }
                | ReplaceError::Farm { .. }
        )
    }

    pub(super) fn io(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> ReplaceError {
        let path = path.to_path_buf();
        move |source| ReplaceError::Io { path, step, source }
    }
}

/// Why a loader, or the model of it, rejects a rewritten file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Disagreement {
    /// An object that was found before is not found now.
    #[error("{name} was found before and is not found now")]
    Lost {
        /// The requested name.
        name: String,
    },
    /// Other objects, or another order.
    #[error("object {position} of the load order was {before} and is {now}")]
    Order {
        /// Counted from 1.
        position: usize,
        /// The object there before, or `nothing`.
        before: String,
        /// The object there now, or `nothing`.
        now: String,
    },
    /// A bound name leads elsewhere.
    #[error("{name} leads to {found}, not to {planned}")]
    BoundElsewhere {
        /// The name.
        name: String,
        /// The planned object.
        planned: PathBuf,
        /// What was loaded, or `nothing`.
        found: String,
    },
    /// The loader prints a message that it did not print before.
    #[error("the loader says: {message}")]
    Loader {
        /// The message.
        message: String,
    },
    /// The loader could be asked about the original and cannot be asked about the rewritten file.
    #[error("the loader was asked about the original and cannot be asked now: {0}")]
    NotAskable(NotAsked),
    /// The model cannot read the file.
    #[error("the loader's model cannot resolve it: {reason}")]
    Unresolved {
        /// Why.
        reason: String,
    },
    /// The loader and the model of it differ.
    #[error("the loader and its model differ at object {position}: {loader} against {model}")]
    ModelDiffers {
        /// Counted from 1.
        position: usize,
        /// The loader's object.
        loader: String,
        /// The model's object.
        model: String,
    },
    /// A symbol is bound to another object.
    #[error("symbol {symbol} of {from} was bound to {before} and is bound to {now}")]
    Symbol {
        /// The symbol and its version.
        symbol: String,
        /// The object that refers to it.
        from: String,
        /// The object that defined it before.
        before: String,
        /// The object that defines it now, or `nothing`.
        now: String,
    },
}
