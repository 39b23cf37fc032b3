//! The results of a gate's limits.

use super::Analysis;
use super::baseline::{counterpart, names};
use crate::compare::{Comparison, compare_records};
use crate::gate::{Gate, GateOutcome, GateResult};
use crate::record::BenchRecord;
use crate::stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// The limits and the outcome of each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateReport {
    /// The outcome of all of them.
    pub outcome: GateOutcome,
    /// Whether every limit was kept: the outcome is `passed`.
    pub passed: bool,
    /// Each limit for each variant.
    pub limits: Vec<LimitReport>,
}

/// One limit for one variant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LimitReport {
    /// The variant.
    pub variant: String,
    /// The limit as given.
    pub limit: String,
    /// The ratio that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// The outcome.
    pub result: GateResult,
    /// Runs of each variant that would decide it, if these did not and a number can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<usize>,
}

impl Analysis {
    /// Judges limits against the baseline if there is one, otherwise against the reference.
    #[must_use]
    pub fn with_gate(mut self, gate: &Gate, earlier: Option<&BenchRecord>, record: &BenchRecord) -> Analysis {
        let mut limits = Vec::new();
        for (index, one) in record.header.variants.iter().enumerate() {
            if one.is_copy || (earlier.is_none() && index == record.header.reference) {
                continue;
            }
            for rule in &gate.rules {
                let found = match earlier {
                    Some(earlier) => counterpart(earlier, &names(record), index)
                        .and_then(|then| compare_records((earlier, then), (record, index), rule.metric).ok()),
                    None => self.comparison(&one.name, rule.metric).cloned(),
                };
                let in_block =
                    |found: &Comparison| if found.test.is_paired() && record.header.load.is_none() { 2 } else { 1 };
                let runs = |found: &Comparison| Some(rule.needed(found)?.saturating_mul(in_block(found)));
                limits.push(LimitReport {
                    variant: one.name.clone(),
                    limit: rule.to_string(),
                    ratio: found.as_ref().map(|found| found.ratio),
                    result: rule.judge(found.as_ref()),
                    runs_needed: found.as_ref().and_then(runs),
                });
            }
        }
        let outcome = GateOutcome::of(limits.iter().map(|limit| limit.result));
        self.gate = Some(GateReport { outcome, passed: outcome == GateOutcome::Passed, limits });
        self
    }
}
