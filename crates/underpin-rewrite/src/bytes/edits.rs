//! What is to be different in one file, in strings; where they will stand in it is the planner's business.

use bstr::BString;

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
