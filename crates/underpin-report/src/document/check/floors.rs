//! The oldest versions that are accepted, and the symbols that force them.

use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The floor of one family of versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FloorRecord {
    /// The prefix of the versions: `GLIBC`, `GLIBCXX`.
    pub family: String,
    /// The library's usual name.
    pub library: String,
    /// The oldest version that is accepted: the highest asked for, or the release that first defines a marker such as
    /// `GLIBC_ABI_DT_RELR`.
    pub version: String,
    /// The floor if weak symbols are ignored; null if all are weak.
    pub strong_version: Option<String>,
    /// Every version asked for, newest first.
    pub steps: Vec<StepRecord>,
}

impl FloorRecord {
    /// Whether it is the floor of a C library or of a compiler's runtime, which no package manager replaces lightly.
    #[must_use]
    pub fn is_core(&self) -> bool {
        matches!(self.family.as_str(), "GLIBC" | "GLIBCXX" | "CXXABI" | "GCC")
    }
}

/// One version asked of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepRecord {
    /// The version, with its family: `GLIBC_2.34`.
    pub version: String,
    /// The file that must define it.
    pub file: Raw,
    /// Whether only weak symbols ask for it; the loader refuses the program all the same.
    pub weak_only: bool,
    /// Whether the loader accepts that it is missing.
    pub optional: bool,
    /// Which objects ask for it, for which symbols.
    pub demands: Vec<DemandRecord>,
}

/// One object's share of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DemandRecord {
    /// The object.
    pub object: Raw,
    /// Its symbols bound to that version.
    pub symbols: Vec<SymbolRecord>,
}

/// A symbol that an object needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SymbolRecord {
    /// The name in the symbol table.
    pub name: Raw,
    /// The name as written in the source, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Whether its binding is STB_WEAK.
    pub weak: bool,
}

/// A need that a search for the highest version number does not find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HiddenRecord {
    /// The version name, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is and what follows from it, in a sentence.
    pub message: String,
    /// The objects that have it.
    pub objects: Vec<Raw>,
    /// The first glibc that accepts it, if there is one.
    pub glibc: Option<String>,
}

/// A lower bound with the objects that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoundRecord {
    /// The bound: a kernel version, a processor level.
    pub floor: String,
    /// The objects whose note says so.
    pub objects: Vec<Raw>,
}
