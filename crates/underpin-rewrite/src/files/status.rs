//! What stands at a path: bound, not bound, or bound to something that is not there any more.

use crate::bytes::Record;
use std::path::PathBuf;

/// The state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// An ELF file without a record.
    Unbound,
    /// Bound, and every bound object is the one that was bound.
    Bound(Box<Record>),
    /// Bound, and something has changed since.
    Stale(Box<Record>, Vec<StaleReason>),
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
}
