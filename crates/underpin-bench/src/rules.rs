//! The rules of an experiment: how many runs, for how long, until when.

use crate::metric::Metric;
use crate::outcome::RunOutcome;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How an experiment is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Runs of each variant before the first timed one.
    pub warmup: u32,
    /// Timed runs of each variant; `None`: as many as the other rules say.
    pub runs: Option<u32>,
    /// The minimum; in any case enough to show a difference among that many variants.
    pub min_runs: u32,
    /// The maximum.
    pub max_runs: Option<u32>,
    /// Time for the timed runs of each variant, if neither runs nor a budget are given.
    pub time_ns: Nanos,
    /// Time for everything.
    pub budget_ns: Option<Nanos>,
    /// When an interval is narrow enough.
    pub until: Option<StoppingRule>,
    /// Watched runs of each variant.
    pub memory_runs: u32,
    /// After the exec, how long the first process takes to settle.
    pub settle_ns: Nanos,
    /// A run that takes longer is killed.
    pub timeout_ns: Option<Nanos>,
    /// Runs that fail count too.
    pub ignore_failure: bool,
    /// If so, only those that exit with one of these statuses; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_codes: Vec<i32>,
    /// Decides the random orders.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            warmup: 0,
            runs: None,
            // Six blocks of two: the fewest for which an interval of 95 % exists. A comparison takes some more.
            min_runs: 12,
            max_runs: None,
            time_ns: Nanos(3_000_000_000),
            budget_ns: None,
            until: None,
            memory_runs: 6,
            settle_ns: Nanos(200_000_000),
            timeout_ns: None,
            ignore_failure: false,
            ignored_codes: Vec::new(),
            seed: 1,
        }
    }
}

impl Rules {
    /// Whether a run that ended like this counts.
    #[must_use]
    pub fn counts(&self, outcome: RunOutcome) -> bool {
        let wanted = match outcome {
            RunOutcome::Exited(code) => self.ignored_codes.contains(&code),
            _ => false,
        };
        outcome.succeeded() || self.ignore_failure && (wanted || self.ignored_codes.is_empty())
    }
}

/// How narrow an interval is to become, as in `ratio ±2%` or `median ±1%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// The ratios to the reference; otherwise the medians.
    pub ratio: bool,
    /// Half of the width of the interval, as a share of the estimate.
    pub within: f64,
    /// Of which figure.
    pub metric: Metric,
}

/// A stopping rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {0:?}; write `ratio ±2%` or `median ±1%`")]
pub struct UntilError(String);

impl FromStr for StoppingRule {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<StoppingRule, UntilError> {
        let wrong = || UntilError(text.to_owned());
        let rest = text.trim();
        let (ratio, rest) = match (rest.strip_prefix("ratio"), rest.strip_prefix("median")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(wrong()),
        };
        let rest = rest.trim().trim_start_matches(['±', '+', '-', '/']).trim();
        let percent: f64 = rest.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        if !(percent > 0.0 && percent.is_finite()) {
            return Err(wrong());
        }
        Ok(StoppingRule { ratio, within: percent / 100.0, metric: Metric::Wall })
    }
}

impl fmt::Display for StoppingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ±{}%", if self.ratio { "ratio" } else { "median" }, self.within * 100.0)
    }
}

/// A time in the usual notation: `60s`, `1.5 s`, `200ms`, `2m`, `1h`; a bare number is seconds. `None` if it cannot be
/// read.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|ch: char| !(ch.is_ascii_digit() || ch == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_rules_are_read_however_they_are_typed() {
        let rule = StoppingRule { ratio: true, within: 0.02, metric: Metric::Wall };
        for text in ["ratio ±2%", "ratio +-2%", "ratio 2 %", " ratio±2%", "ratio +/-2%"] {
            assert_eq!(text.parse(), Ok(rule), "{text}");
        }
        assert_eq!(rule.to_string().parse(), Ok(rule));
        assert!(!"median ±1%".parse::<StoppingRule>().unwrap().ratio);
        for text in ["", "ratio", "ratio 2", "ratio -%", "mean ±1%", "ratio ±0%", "ratio ±inf%"] {
            assert!(text.parse::<StoppingRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        let read = |text: &str| parse_duration(text).map(|duration| duration.as_micros());
        assert_eq!(read("60s"), Some(60_000_000));
        assert_eq!(read("1.5"), Some(1_500_000));
        assert_eq!(read("200 ms"), Some(200_000));
        assert_eq!(read("2m"), Some(120_000_000));
        for wrong in ["", "s", "-1s", "1d", "1e3", "99999999999999999999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
