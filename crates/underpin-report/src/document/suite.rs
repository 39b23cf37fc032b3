//! `underpin.suite/1`: suites of benchmarks under several builds; each row with its figures, its memory and what it says
//! beside the reference.
//!
//! The body is the [`Summary`] itself: its fields are the fields of the document.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_suite::Summary;

/// The document of `underpin bench --suite`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuiteDocument {
    /// Always `underpin.suite/1`.
    pub schema: SchemaTag<SuiteDocument>,
    /// What was measured, and what it says.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Document for SuiteDocument {
    const VERB: Verb = Verb::Suite;
}

impl SuiteDocument {
    /// The document of a summary.
    #[must_use]
    pub fn new(summary: Summary) -> SuiteDocument {
        SuiteDocument { schema: SchemaTag::new(), summary }
    }
}
