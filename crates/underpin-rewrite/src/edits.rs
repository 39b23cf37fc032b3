//! The changes to make to one file, as strings; [`crate::bytes`] decides where in the file they go.

use bstr::BString;
use serde::{Deserialize, Serialize};

/// The changes to make to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Names to replace wherever DT_NEEDED or the `vn_file` of a needed version holds them.
    pub renames: Vec<Rename>,
    /// The complete new list of DT_NEEDED, in this order (flattening); `renames` then still applies to `vn_file`.
    pub needed: Option<Vec<BString>>,
    /// What happens to DT_RPATH and DT_RUNPATH.
    pub search_path: SearchPathEdit,
    /// The new loader in PT_INTERP, if it changes (the segment and `.interp` follow the string).
    pub interpreter: Option<BString>,
}

/// A name and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The name in the file.
    pub from: BString,
    /// Its replacement.
    pub to: BString,
}

/// What happens to the search path of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SearchPathEdit {
    /// DT_RPATH and DT_RUNPATH stay as they are.
    #[default]
    Keep,
    /// They stay unless their bytes are needed for a name; no library is searched for through them any more.
    Dead,
    /// Both are removed.
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
    /// The padding up to the next page after a segment that is not writable.
    PagePadding,
    /// After the last writable segment, whose zeros (bss) are then in the file.
    DataTail,
    /// A new read-only segment at the end of the file, with a program header table of its own.
    NewSegment,
}

/// How to rewrite.
#[derive(Clone, Debug, Default)]
pub struct RewriteOptions {
    /// Only this strategy, or a refusal; `None` takes the cheapest.
    pub only: Option<Strategy>,
    /// The objects that names were bound to, to be stored in the record.
    pub bound: Vec<BoundObject>,
    /// Whether the names are not registered as a section, so that strip and objcopy lose them. Only for tests of what
    /// happens then.
    pub without_sections: bool,
    /// Whether the record is left out: the file then does not look bound and cannot be restored (trees for tests).
    pub without_record: bool,
}

/// The object that a bound name refers to, as it was when the name was bound. Paths that are not UTF-8 are never bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// The name in the original file.
    pub name: String,
    /// The path that replaced it.
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
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.renames.is_empty()
            && self.needed.is_none()
            && self.interpreter.is_none()
            && matches!(self.search_path, SearchPathEdit::Keep | SearchPathEdit::Dead)
    }
}
