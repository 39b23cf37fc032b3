//! Limits of rows: `bench --suite libc --gate 'row:strlen<+3%'`.

use crate::row::find;
use crate::row::matches;
use crate::summary::{Cell, Comparisons, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_bench::{GateOutcome, GateResult, Interval, Metric, RowRule};

/// What came of the limits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowGate {
    /// In all.
    pub outcome: GateOutcome,
    /// Each limit at each row and build that it is about, and those that are about none.
    pub limits: Vec<RowLimit>,
}

/// A limit at one row of one build.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowLimit {
    /// As the user wrote it.
    pub limit: String,
    /// The row; `None` if no row was measured that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<usize>,
    /// The figure over the reference's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// What came of it.
    pub result: GateResult,
}

impl Summary {
    /// The same with what came of limits. Memory is a figure without noise: it keeps to a limit or does not.
    #[must_use]
    pub fn with_gate(self, rules: &[RowRule]) -> Summary {
        let limits: Vec<RowLimit> = rules.iter().flat_map(|rule| self.judged(rule)).collect();
        let outcome = GateOutcome::of(limits.iter().map(|limit| limit.result));
        Summary { gate: Some(RowGate { outcome, limits }), ..self }
    }

    fn judged(&self, rule: &RowRule) -> Vec<RowLimit> {
        let text = format!("row:{}:{}", rule.row, rule.rule);
        let mut limits = Vec::new();
        for suite in &self.suites {
            for row in &suite.rows {
                if !find(suite.suite.name(), &row.row).is_some_and(|known| {
                    known.name == rule.row || rule.row.contains(['*', ':']) && matches(known, &rule.row)
                }) {
                    continue;
                }
                for (build, cell) in row.cells.iter().enumerate().skip(1) {
                    let (ratio, result) = judge(rule, cell);
                    limits.push(RowLimit {
                        limit: text.clone(),
                        row: Some(row.row.clone()),
                        build: Some(build),
                        ratio,
                        result,
                    });
                }
            }
        }
        if limits.is_empty() {
            limits.push(RowLimit { limit: text, row: None, build: None, ratio: None, result: GateResult::NotMeasured });
        }
        limits
    }
}

fn judge(rule: &RowRule, cell: &Cell) -> (Option<Interval>, GateResult) {
    let Some(compared) = cell.compared() else { return (None, GateResult::NotMeasured) };
    let Comparisons { time, dirty, .. } = compared;
    match rule.rule.metric {
        Metric::Operation => (Some(time.ratio), rule.rule.judge(Some(time))),
        Metric::PrivateDirty => {
            let Some(dirty) = *dirty else { return (None, GateResult::NotMeasured) };
            let ratio = Interval { estimate: dirty, low: dirty, high: dirty, confidence: 1.0 };
            let is_kept = dirty <= 1.0 + rule.rule.limit;
            (Some(ratio), if is_kept { GateResult::Kept } else { GateResult::Failed })
        }
        _ => (None, GateResult::NotMeasured),
    }
}
