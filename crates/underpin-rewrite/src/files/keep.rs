//! What is kept of a file when its bytes are replaced, and what was done.

use super::FileIdentity;
use std::path::PathBuf;

/// What is kept. Mode, owner, extended attributes, POSIX ACLs and file capabilities are always kept, or the file is
/// refused; these are the additional choices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The times of last access and modification.
    pub times: Times,
    /// The file's other names.
    pub hard_links: HardLinks,
}

/// Whether the new file has the old one's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// The time of the change: build systems and backups see that the file has changed.
    #[default]
    New,
    /// The old ones (`st_atim`, `st_mtim`; `st_ctim` cannot be set).
    Kept,
}

/// What happens to a file with more than one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HardLinks {
    /// Refused, unless all names are known.
    #[default]
    Refuse,
    /// These names were found in the scope. If they are all that the file has, every one leads to the new file again;
    /// if one is missing the file is refused.
    Relink(Vec<PathBuf>),
    /// Only the requested name leads to the new file, the others keep the old one.
    Break,
}

/// The result of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The file, symbolic links resolved.
    pub path: PathBuf,
    /// Its state after the rename.
    pub now: FileIdentity,
    /// The other names that lead to it.
    pub relinked: Vec<PathBuf>,
}
