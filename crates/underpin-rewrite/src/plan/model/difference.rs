//! Possible differences between two closures of one program.

use bstr::BString;
use serde::Serialize;
use std::fmt;

/// One difference between two closures of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "difference")]
#[non_exhaustive]
pub enum Difference {
    /// An object is no longer loaded.
    Gone {
        /// Its path.
        path: BString,
    },
    /// An object is loaded that was not loaded before.
    Added {
        /// Its path.
        path: BString,
    },
    /// One file is loaded in place of another.
    Replaced {
        /// The path before.
        before: BString,
        /// The path after.
        after: BString,
    },
    /// The load order differs from this position on.
    LoadOrder {
        /// Position in the list.
        position: usize,
        /// The object there before.
        before: BString,
        /// The object there after.
        after: BString,
    },
    /// Constructors run in another order from this position on.
    InitialiserOrder {
        /// Position in the order.
        position: usize,
        /// The object whose constructors ran there before.
        before: BString,
        /// The object whose constructors run there after.
        after: BString,
    },
    /// A name is not found any more.
    NowMissing {
        /// The name.
        name: BString,
        /// The object that requests it.
        asker: BString,
    },
    /// A name is found that was not found before.
    NowFound {
        /// The name.
        name: BString,
    },
    /// The loader would abort: a version is needed from a file that no loaded object is known by.
    VersionFile {
        /// `vn_file`.
        file: BString,
        /// The object that needs it.
        asker: BString,
    },
    /// The object that is found does not define a version any more.
    Version {
        /// The version.
        version: BString,
        /// The object that needs it.
        asker: BString,
    },
    /// Another loader.
    Loader {
        /// Before.
        before: BString,
        /// After.
        after: BString,
    },
    /// It cannot be resolved any more.
    Unresolvable {
        /// Why.
        error: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Gone { path } => write!(f, "{path} is no longer loaded"),
            Difference::Added { path } => write!(f, "{path} is loaded too"),
            Difference::Replaced { before, after } => write!(f, "{after} is loaded where {before} was"),
            Difference::LoadOrder { position, before, after } => {
                write!(f, "object {position} in load order is {after}, and was {before}")
            }
            Difference::InitialiserOrder { position, before, after } => {
                write!(f, "constructor {position} in order is that of {after}, and was that of {before}")
            }
            Difference::NowMissing { name, asker } => write!(f, "{name}, which {asker} needs, is no longer found"),
            Difference::NowFound { name } => write!(f, "{name} is found now"),
            Difference::VersionFile { file, asker } => {
                write!(f, "the loader aborts: {asker} needs versions of {file}, and no loaded object is known as that")
            }
            Difference::Version { version, asker } => {
                write!(f, "the loader stops: {asker} needs the version {version}, which is no longer defined")
            }
            Difference::Loader { before, after } => write!(f, "the loader is {after}, and was {before}"),
            Difference::Unresolvable { error } => write!(f, "it can no longer be resolved: {error}"),
        }
    }
}
