//! `underpin.fuse/1`: what became of programs whose libraries were to be merged into one file.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin bind --fuse`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuseDocument {
    /// Always `underpin.fuse/1`.
    pub schema: SchemaTag<FuseDocument>,
    /// Nothing was changed: the outcomes are planned.
    pub dry_run: bool,
    /// The programs, as they were named or found in a folder.
    pub programs: Vec<FuseProgram>,
}

impl Document for FuseDocument {
    const VERB: Verb = Verb::Fuse;
}

impl FuseDocument {
    /// A document of these programs.
    #[must_use]
    pub fn new(dry_run: bool, programs: Vec<FuseProgram>) -> FuseDocument {
        FuseDocument { schema: SchemaTag::new(), dry_run, programs }
    }
}

/// One program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuseProgram {
    /// Its path.
    pub path: Raw,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: FuseOutcome,
}

/// What became of a program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum FuseOutcome {
    /// Its libraries are in one file, or would be.
    Merged(Box<Fusion>),
    /// It was done before, and no library has changed since.
    Unchanged {
        /// The merged file.
        file: Raw,
        /// Libraries inside.
        members: usize,
    },
    /// Too few libraries for a gain that can be measured; nothing was changed.
    LeftAlone {
        /// Libraries that could be merged.
        members: usize,
        /// From how many on it is done.
        worth: usize,
    },
    /// It cannot be done; nothing was changed.
    Refused {
        /// Why.
        reason: String,
    },
}

/// A fusion, made or planned.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fusion {
    /// The merged file.
    pub file: Raw,
    /// Its size.
    pub bytes: u64,
    /// The other programs that use the same file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<Raw>,
    /// Why it does not use the file of the programs that have nearly the same libraries, if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// The libraries inside, in load order.
    pub members: Vec<Raw>,
    /// Their size together.
    pub member_bytes: u64,
    /// The libraries that stay as they are.
    pub shared: Vec<FuseShared>,
    /// What the program's modules bring, if they were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modules: Option<FuseModules>,
    /// References to symbols that the libraries inside have.
    pub references: usize,
    /// Those of them that lead to a library inside: they are looked up no more.
    pub bound: usize,
    /// References of the program and all its libraries that the loader bound as before; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<usize>,
}

/// A library that stays as it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuseShared {
    /// Its path.
    pub path: Raw,
    /// Why.
    pub reason: String,
}

/// Modules that a program opens, and the libraries that only those need.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuseModules {
    /// How many modules were found.
    pub modules: usize,
    /// How many libraries the program loads at each start for them.
    pub libraries: usize,
    /// Libraries that are loaded with a module as before, and modules that cannot be opened.
    pub left: Vec<FuseShared>,
}
