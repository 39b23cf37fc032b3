//! What binding would save one program: predicted, and measured on request. Part of `survey` and `trace`.

use super::bind::CallsTotal;
use schemars::JsonSchema;
use serde::Serialize;

/// What `underpin bind` would save at each start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BindingGain {
    /// Predicted calls of the loader as the program is.
    pub before: CallsTotal,
    /// Predicted calls with the whole closure bound.
    pub after: CallsTotal,
    /// Times of real starts, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredGain>,
}

/// Times of whole runs of both sides, interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredGain {
    /// Number of runs of each.
    pub runs: usize,
    /// Median of the program as it is, in seconds.
    pub before_seconds: f64,
    /// Median of a bound copy, in seconds.
    pub after_seconds: f64,
    /// Ratio of bound to unbound.
    pub ratio: Ratio,
}

/// A ratio with its 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// Ratio of the medians.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Fewer failing calls than this are not mentioned.
const WORTH_CALLS: u64 = 20;

impl BindingGain {
    /// Whether it is worth advising: enough failing calls, most of which would disappear.
    #[must_use]
    pub fn is_worth_it(&self) -> bool {
        self.before.errors >= WORTH_CALLS && self.after.errors * 2 <= self.before.errors
    }
}
