//! Gates: limits that a change must not pass, as in `wall<+3%,rss<+5%`.
//!
//! A gate fails only where the whole interval is past the limit, so noise alone does not fail a build; where the
//! interval reaches over the limit it says that it does not know.

use crate::compare::Comparison;
use crate::metric::{Metric, UnknownMetric};
use crate::stats::Interval;
use std::fmt;
use std::str::FromStr;

/// Some limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Each limit.
    pub rules: Vec<GateRule>,
}

/// The limit of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRule {
    /// Which figure.
    pub metric: Metric,
    /// The most that it may grow, as a share: 0.03 for `+3%`.
    pub limit: f64,
}

/// How a variant stands to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateResult {
    /// The whole interval keeps to it.
    Kept,
    /// The interval reaches over the limit: these runs do not tell.
    Unsure,
    /// The whole interval is past it.
    Failed,
    /// There is nothing to compare.
    NotMeasured,
}

/// A gate that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The form is wrong.
    #[error("cannot read the limit {0:?}; write `METRIC<+N%`, as in `wall<+3%,rss<+5%`")]
    Form(String),
    /// No such figure.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
}

impl GateRule {
    /// How a comparison stands to it. An interval of too little confidence never fails a gate.
    #[must_use]
    pub fn judge(&self, comparison: Option<&Comparison>) -> GateResult {
        let Some(Interval { low, high, .. }) = comparison.map(|comparison| comparison.ratio) else {
            return GateResult::NotMeasured;
        };
        let confident = comparison.is_some_and(|comparison| comparison.ratio.is_confident());
        match 1.0 + self.limit {
            limit if low > limit && confident => GateResult::Failed,
            limit if high <= limit && confident => GateResult::Kept,
            _ => GateResult::Unsure,
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let rules: Vec<GateRule> = text.split(',').map(rule).collect::<Result<_, _>>()?;
        Ok(Gate { rules })
    }
}

fn rule(text: &str) -> Result<GateRule, GateError> {
    let wrong = || GateError::Form(text.trim().to_owned());
    let (metric, limit) = text.split_once('<').ok_or_else(wrong)?;
    let percent = limit.trim_start_matches('=').trim().strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = percent.parse().map_err(|_| wrong())?;
    if !(percent > -100.0 && percent.is_finite()) {
        return Err(wrong());
    }
    Ok(GateRule { metric: metric.trim().parse()?, limit: percent / 100.0 })
}

impl fmt::Display for GateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded, since 0.07 * 100 is not 7 in binary.
        let percent = (self.limit * 1e6).round() / 1e4;
        write!(f, "{}<{percent:+}%", self.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(low: f64, high: f64, confidence: f64) -> Comparison {
        Comparison {
            variant: 1,
            metric: Metric::Wall,
            ratio: Interval { estimate: f64::midpoint(low, high), low, high, confidence },
            p_value: 0.01,
            p_corrected: 0.01,
            exact: true,
            count: 10,
            paired: true,
        }
    }

    #[test]
    fn limits_are_read_and_written_alike() {
        let gate: Gate = "wall<+3%, rss<5 %,minor-faults<-7%".parse().unwrap();
        let texts: Vec<String> = gate.rules.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["wall<+3%", "rss<+5%", "minor-faults<-7%"]);
        for wrong in ["", "wall", "wall<3", "wall>3%", "wall<x%", "wall<+3%,", "wall<-100%"] {
            assert!(matches!(wrong.parse::<Gate>(), Err(GateError::Form(_))), "{wrong}");
        }
        assert!("walls<3%".parse::<Gate>().unwrap_err().to_string().contains("there are wall"));
    }

    #[test]
    fn only_a_whole_interval_past_the_limit_fails() {
        let rule = GateRule { metric: Metric::Wall, limit: 0.03 };
        let judge = |low, high, confidence| rule.judge(Some(&comparison(low, high, confidence)));
        assert_eq!(judge(1.031, 1.10, 0.95), GateResult::Failed);
        assert_eq!(judge(1.02, 1.10, 0.95), GateResult::Unsure);
        assert_eq!(judge(0.99, 1.03, 0.95), GateResult::Kept);
        assert_eq!(judge(1.5, 1.6, 0.75), GateResult::Unsure, "two blocks prove nothing");
        assert_eq!(rule.judge(None), GateResult::NotMeasured);
    }
}
