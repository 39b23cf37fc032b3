//! What can be wrong with a file, and where.

use crate::FileOffset;
use serde::Serialize;
use std::fmt;

/// A file that cannot be read as ELF: what is wrong and at which offset.
///
/// The path is added by the caller that opened the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} (at offset {offset})")]
pub struct ElfError {
    /// What is wrong.
    pub fault: Fault,
    /// Where in the file it is wrong.
    pub offset: FileOffset,
}

impl Serialize for ElfError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The kinds of fault, one for each rule that a file can break.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Shorter than the header, or a table reaches past the end.
    Truncated {
        /// What was being read.
        what: &'static str,
    },
    /// The first four bytes are not `\x7fELF`.
    BadMagic,
    /// A field of the header has a value that no loader accepts.
    BadHeader {
        /// Field name as in `elf(5)`.
        field: &'static str,
        /// The value found.
        value: u64,
    },
    /// A table whose entries are out of range or contradict each other.
    BadTable {
        /// Table name as in `elf(5)`.
        what: &'static str,
    },
    /// An I/O error.
    Io(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Truncated { what } => write!(f, "file ends inside {what}"),
            Fault::BadMagic => f.write_str("not an ELF file"),
            Fault::BadHeader { field, value } => write!(f, "{field} has the impossible value {value:#x}"),
            Fault::BadTable { what } => write!(f, "{what} is malformed"),
            Fault::Io(message) => f.write_str(message),
        }
    }
}
