//! A figure with its uncertainty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An estimate between two bounds that hold the true figure with a stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The confidence reached: lower than asked for if there are too few observations.
    pub confidence: f64,
}

impl Interval {
    /// Whether a figure lies in it, bounds included.
    #[must_use]
    pub fn holds(&self, figure: f64) -> bool {
        self.low <= figure && figure <= self.high
    }

    /// The larger distance from the estimate to a bound, as a share of the estimate.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        let widest = (self.high - self.estimate).max(self.estimate - self.low);
        if self.estimate == 0.0 { f64::INFINITY } else { (widest / self.estimate).abs() }
    }

    /// The same interval on another scale, through an increasing function.
    #[must_use]
    pub fn map(self, increasing: impl Fn(f64) -> f64) -> Interval {
        Interval {
            estimate: increasing(self.estimate),
            low: increasing(self.low),
            high: increasing(self.high),
            confidence: self.confidence,
        }
    }

    /// Whether it reaches the confidence aimed at.
    #[must_use]
    pub fn is_confident(&self) -> bool {
        self.confidence >= super::CONFIDENCE - 1e-9
    }
}
