//! What is to be different in one file, in strings; the planner decides where they go in it.

use bstr::BString;
use serde::{Deserialize, Serialize};

/// What is to be different in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Names to replace wherever a DT_NEEDED or the `vn_file` of a needed version holds them.
    pub renames: Vec<Rename>,
    /// The whole list of DT_NEEDED anew, in this order (flattening); `renames` then still applies to `vn_file`.
    pub needed: Option<Vec<BString>>,
    /// What becomes of DT_RPATH and DT_RUNPATH.
    pub search_path: SearchPathEdit,
    /// The loader that PT_INTERP names, where it is to be another one (the segment and `.interp` follow the string).
    pub interpreter: Option<BString>,
}

/// One name and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// As the file has it.
    pub from: BString,
    /// What it becomes.
    pub to: BString,
}

/// What becomes of the search path of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SearchPathEdit {
    /// DT_RPATH and DT_RUNPATH stay as they are.
    #[default]
    Keep,
    /// They stay, unless their bytes are needed for a name: nothing is searched by them any more.
    Dead,
    /// Neither is left.
    Remove,
    /// One DT_RUNPATH with this value, no DT_RPATH.
    Runpath(BString),
    /// One DT_RPATH with this value, no DT_RUNPATH.
    Rpath(BString),
}

/// Where the new strings of a file are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Bytes of `.dynstr` that nothing refers to any more.
    DeadStrings,
    /// The padding up to the next page behind a segment that is not writable.
    PagePadding,
    /// Behind the last writable segment, whose zeros (bss) then are in the file.
    DataTail,
    /// A new read-only segment at the end of the file, with a program header table of its own.
    NewSegment,
}

/// How to rewrite.
#[derive(Clone, Debug, Default)]
pub struct RewriteOptions {
    /// Only this strategy, or a refusal; `None` takes the cheapest.
    pub only: Option<Strategy>,
    /// The objects that names were bound to, for the record.
    pub bound: Vec<BoundObject>,
    /// Whether the names are registered as a section, so that strip and objcopy keep them. On unless a test wants to
    /// see what happens without.
    pub without_sections: bool,
    /// Whether the record is left out: the file then does not look bound and cannot be restored (trees for tests).
    pub without_record: bool,
}

/// What a bound name stands for, as it was when it was bound. Paths that are not UTF-8 are never bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// The name as the file had it.
    pub name: String,
    /// The path that it became.
    pub path: String,
    /// The object's build-id in hexadecimal, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub build_id: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Its modification time in nanoseconds since 1970.
    pub modified: i64,
}

impl Edits {
    /// Whether nothing is to be different.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.renames.is_empty()
            && self.needed.is_none()
            && self.interpreter.is_none()
            && matches!(self.search_path, SearchPathEdit::Keep | SearchPathEdit::Dead)
    }
}
