//! `underpin.verify/1`: whether bound programs still load what they loaded unbound.

use super::tree::CallComparison;
use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin verify`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerifyDocument {
    /// Always `underpin.verify/1`.
    pub schema: SchemaTag<VerifyDocument>,
    /// The programs and libraries looked at, in the order of their paths.
    pub files: Vec<VerifyFile>,
    /// Whether everything is equal and nothing is stale.
    pub holds: bool,
}

impl Document for VerifyDocument {
    const VERB: Verb = Verb::Verify;
}

/// One program or library.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerifyFile {
    /// The file.
    pub path: Raw,
    /// The verdict.
    pub state: VerifyState,
    /// Whether it carries a binding of its own.
    pub bound: bool,
    /// Why its original cannot be restored, a sentence; absent if it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_undoable: Option<String>,
    /// Libraries that it names by absolute path without a record of a binding: they cannot be compared with those that
    /// were bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<Raw>,
    /// The file that stands for many libraries (`bind --fuse`); absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fused: Option<Raw>,
    /// Number of objects that it loads, besides itself.
    pub objects: usize,
    /// How far the real loader was asked.
    pub loader: LoaderAsked,
    /// Why the loader was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_asked: Option<String>,
    /// What differs from the unbound original, a sentence each.
    pub differences: Vec<String>,
    /// Bound names whose object is missing or has changed, a sentence each.
    pub stale: Vec<String>,
    /// Number of symbols compared, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<usize>,
    /// The prediction compared with a measurement, if the program was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<CallComparison>,
}

/// Whether the real loader was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoaderAsked {
    /// It listed the same objects in the same order, before and after.
    Agrees,
    /// It was asked and something differs.
    Differs,
    /// It could not be asked: the model alone judged.
    ModelOnly,
}

/// The verdict on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyState {
    /// It carries no binding of its own, and what it loads is bound correctly or not bound.
    NotBound,
    /// It loads what its original loads.
    LoadsTheSame,
    /// It loads what it was bound to, and its original cannot be restored any more.
    LoadsTheSameCannotBeUndone,
    /// A bound name, or the folder in which late names are searched, leads to something other than when it was bound.
    Stale,
    /// It loads something other than its original.
    Differs,
    /// It is bound and carries no record: nothing is known.
    BoundWithoutRecord,
}

impl VerifyState {
    /// The state as text.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            VerifyState::NotBound => "not bound",
            VerifyState::LoadsTheSame => "loads the same",
            VerifyState::LoadsTheSameCannotBeUndone => "loads the same; cannot be undone",
            VerifyState::Stale => "stale",
            VerifyState::Differs => "differs",
            VerifyState::BoundWithoutRecord => "bound, without a record",
        }
    }
}

impl VerifyFile {
    /// The state that follows from the other fields.
    fn state(&self) -> VerifyState {
        let compared = self.comparison.as_ref().is_none_or(|comparison| comparison.equal);
        if !self.differences.is_empty() || self.loader == LoaderAsked::Differs || !compared {
            VerifyState::Differs
        } else if !self.unrecorded.is_empty() {
            VerifyState::BoundWithoutRecord
        } else if !self.stale.is_empty() {
            VerifyState::Stale
        } else if self.not_undoable.is_some() {
            VerifyState::LoadsTheSameCannotBeUndone
        } else if self.bound {
            VerifyState::LoadsTheSame
        } else {
            VerifyState::NotBound
        }
    }

    /// Whether it is equal and not stale.
    #[must_use]
    pub fn holds(&self) -> bool {
        !matches!(self.state(), VerifyState::Stale | VerifyState::Differs | VerifyState::BoundWithoutRecord)
    }
}

impl VerifyDocument {
    /// Makes the document.
    #[must_use]
    pub fn new(mut files: Vec<VerifyFile>) -> VerifyDocument {
        files.iter_mut().for_each(|file| file.state = file.state());
        let holds = files.iter().all(VerifyFile::holds);
        VerifyDocument { schema: SchemaTag::new(), files, holds }
    }
}
