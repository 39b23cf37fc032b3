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
    /// Whether it carries a binding of its own.
    pub bound: bool,
    /// Objects that it loads, itself left out.
    pub objects: usize,
    /// How far the real loader was asked.
    pub loader: LoaderAsked,
    /// Why the loader was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_asked: Option<String>,
    /// What differs from the unbound original, a sentence each.
    pub differences: Vec<String>,
    /// Bound names whose object is gone or another, a sentence each.
    pub stale: Vec<String>,
    /// Symbols compared, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<usize>,
    /// Prediction beside measurement, where the program was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<CallComparison>,
}

/// How far the real loader was asked.
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

impl VerifyFile {
    /// Whether it is equal and nothing of it is stale.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.differences.is_empty()
            && self.stale.is_empty()
            && self.loader != LoaderAsked::Differs
            && self.comparison.as_ref().is_none_or(|comparison| comparison.equal)
    }
}

impl VerifyDocument {
    /// Puts the parts together.
    #[must_use]
    pub fn new(files: Vec<VerifyFile>) -> VerifyDocument {
        let holds = files.iter().all(VerifyFile::holds);
        VerifyDocument { schema: SchemaTag::new(), files, holds }
    }
}
