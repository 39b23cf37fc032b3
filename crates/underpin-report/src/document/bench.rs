//! `underpin.bench/1`: workloads under variants, compared; each run, each summary, each ratio with its interval.
//!
//! The body is the [`Analysis`] itself: its fields are the fields of the document.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_bench::Analysis;

/// The document of `underpin bench` and `underpin report`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchDocument {
    /// Always `underpin.bench/1`.
    pub schema: SchemaTag<BenchDocument>,
    /// What was measured, and what it says.
    #[serde(flatten)]
    pub analysis: Analysis,
}

impl Document for BenchDocument {
    const VERB: Verb = Verb::Bench;
}

impl BenchDocument {
    /// The document of an analysis.
    #[must_use]
    pub fn new(analysis: Analysis) -> BenchDocument {
        BenchDocument { schema: SchemaTag::new(), analysis }
    }
}
