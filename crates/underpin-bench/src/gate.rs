//! Gates: limits that a change must not exceed, as in `wall<+3%,rss<+5%`, or `rps>-5%` if more is better.
//!
//! A gate fails only if the whole interval is past the limit, so noise alone does not fail a build; it passes only
//! if the whole interval keeps to it. Everything else is not decided: an interval that reaches over the limit, fewer
//! runs than can tell, a figure that was not measured. The caller ensures that there is something to compare.

use crate::compare::Comparison;
use crate::metric::{Direction, Metric, UnknownMetric};
use crate::stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Some limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Each limit.
    pub rules: Vec<GateRule>,
    /// The limits of rows of suites.
    pub rows: Vec<RowRule>,
}

/// The limit of the rows of a suite, as in `row:strlen<+3%` or `row:malloc-*:private-dirty<+0%`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowRule {
    /// Which rows: a name, or a pattern with `*`.
    pub row: String,
    /// Which figure, and its limit.
    pub rule: GateRule,
}

/// The limit of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRule {
    /// Which figure.
    pub metric: Metric,
    /// The most that it may grow, as a share: 0.03 for `+3%`; if more is better, the least.
    pub limit: f64,
}

/// The outcome of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// The whole interval is within the limit.
    Kept,
    /// The interval contains the limit: not decided by these runs.
    Unsure,
    /// Too few runs to tell: not decided.
    TooFew,
    /// The whole interval is beyond the limit.
    Failed,
    /// There was nothing to compare: not decided, since the limit was not checked.
    NotMeasured,
}

/// The outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Every limit was kept: exit code 0.
    Passed,
    /// A limit was not kept: exit code 1.
    Failed,
    /// None failed, but some are not decided: exit code 125.
    NotDecided,
}

impl GateOutcome {
    /// The outcome of some limits. No limit at all decides nothing.
    #[must_use]
    pub fn of(results: impl IntoIterator<Item = GateResult>) -> GateOutcome {
        let (mut any, mut undecided) = (false, false);
        for result in results {
            match result {
                GateResult::Failed => return GateOutcome::Failed,
                GateResult::Kept => any = true,
                GateResult::Unsure | GateResult::TooFew | GateResult::NotMeasured => undecided = true,
            }
        }
        if any && !undecided { GateOutcome::Passed } else { GateOutcome::NotDecided }
    }
}

/// A gate that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The form is wrong.
    #[error("invalid limit `{0}`: expected `METRIC<+N%`, as in `wall<+3%,rss<+5%`")]
    Form(String),
    /// The limit is on the wrong side.
    #[error("{metric}: {} is better, so write `{metric}{}N%`", if *.more { "more" } else { "less" }, if *.more { '>' } else { '<' })]
    Side {
        /// The figure.
        metric: Metric,
        /// More of it is better.
        more: bool,
    },
    /// No such figure.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
}

impl GateRule {
    /// The result for a comparison. Fewer runs than could show a difference decide nothing.
    #[must_use]
    pub fn judge(&self, comparison: Option<&Comparison>) -> GateResult {
        let Some(comparison) = comparison else { return GateResult::NotMeasured };
        if !comparison.ratio.is_confident() || comparison.count < comparison.least() {
            return GateResult::TooFew;
        }
        let Interval { low, high, .. } = comparison.ratio;
        let limit = 1.0 + self.limit;
        let (past, within) = match self.metric.direction() {
            Direction::LowerIsBetter => (low > limit, high <= limit),
            Direction::HigherIsBetter => (high < limit, low >= limit),
        };
        match () {
            () if past => GateResult::Failed,
            () if within => GateResult::Kept,
            () => GateResult::Unsure,
        }
    }
}

impl GateRule {
    /// Blocks, or figures of each sample, that would decide it, if these do not: those without which nothing can be
    /// told, else by the rule that an interval narrows with the square root of its runs. `None` if the estimate
    /// is so close to the limit that no reasonable number would.
    #[must_use]
    pub fn needed(&self, comparison: &Comparison) -> Option<usize> {
        const REASONABLE: f64 = 100_000.0;
        match self.judge(Some(comparison)) {
            GateResult::TooFew => Some(comparison.least()),
            GateResult::Unsure => {
                let Interval { estimate, low, high, .. } = comparison.ratio;
                let limit = 1.0 + self.limit;
                let towards = if estimate < limit { high - estimate } else { estimate - low };
                let times = (towards / (limit - estimate).abs()).powi(2);
                let needed = (comparison.count as f64 * times).ceil();
                (needed < REASONABLE).then_some(needed as usize)
            }
            GateResult::Kept | GateResult::Failed | GateResult::NotMeasured => None,
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let (mut rules, mut rows) = (Vec::new(), Vec::new());
        for text in text.split(',') {
            match text.trim().strip_prefix("row:") {
                None => rules.push(rule(text)?),
                Some(rest) => rows.push(row_rule(rest)?),
            }
        }
        Ok(Gate { rules, rows })
    }
}

/// `NAME<+N%` is about the time of an operation; `NAME:METRIC<+N%` about another figure.
fn row_rule(text: &str) -> Result<RowRule, GateError> {
    let at = text.find(['<', '>']).ok_or_else(|| GateError::Form(format!("row:{text}")))?;
    let (name, limit) = text.split_at(at);
    let (row, metric) = name.split_once(':').unwrap_or((name, Metric::Operation.name()));
    Ok(RowRule { row: row.trim().to_owned(), rule: rule(&format!("{metric}{limit}"))? })
}

fn rule(text: &str) -> Result<GateRule, GateError> {
    let wrong = || GateError::Form(text.trim().to_owned());
    let at = text.find(['<', '>']).ok_or_else(wrong)?;
    let ((metric, limit), is_least) = (text.split_at(at), text[at..].starts_with('>'));
    let limit = &limit[1..];
    let percent = limit.trim_start_matches('=').trim().strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = percent.parse().map_err(|_| wrong())?;
    if !(percent > -100.0 && percent.is_finite()) {
        return Err(wrong());
    }
    let metric: Metric = metric.trim().parse()?;
    let more = metric.direction() == Direction::HigherIsBetter;
    if more != is_least {
        return Err(GateError::Side { metric, more });
    }
    Ok(GateRule { metric, limit: percent / 100.0 })
}

impl fmt::Display for GateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded, since 0.07 * 100 is not 7 in binary.
        let percent = (self.limit * 1e6).round() / 1e4;
        let sign = if self.metric.direction() == Direction::HigherIsBetter { '>' } else { '<' };
        write!(f, "{}{sign}{percent:+}%", self.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{LEVEL, RankTest, Tested};

    fn comparison(low: f64, high: f64, confidence: f64) -> Comparison {
        let ratio = Interval { estimate: f64::midpoint(low, high), low, high, confidence };
        let test = Tested { p_value: 0.01, test: RankTest::SignedRankExact, count: 10, level: LEVEL };
        Comparison::new("b", "a", Metric::Wall, ratio, test)
    }

    #[test]
    fn a_limit_of_rows_names_them_and_a_figure() {
        let gate: Gate = "row:strlen<+3%,row:malloc-*:private-dirty<+0%,wall<+1%".parse().unwrap();
        let rows: Vec<(&str, String)> = gate.rows.iter().map(|row| (row.row.as_str(), row.rule.to_string())).collect();
        assert_eq!(rows, [("strlen", "operation<+3%".to_owned()), ("malloc-*", "private-dirty<+0%".to_owned())]);
        assert_eq!(gate.rules.len(), 1);
        for text in ["row:strlen", "row:strlen:walls<+3%", "row:strlen>+3%"] {
            text.parse::<Gate>().unwrap_err();
        }
    }

    #[test]
    fn limits_are_read_and_written_alike() {
        let gate: Gate = "wall<+3%, rss<5 %,minor-faults<-7%".parse().unwrap();
        let texts: Vec<String> = gate.rules.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["wall<+3%", "rss<+5%", "minor-faults<-7%"]);
        for wrong in ["", "wall", "wall<3", "wall<x%", "wall<+3%,", "wall<-100%"] {
            assert!(matches!(wrong.parse::<Gate>(), Err(GateError::Form(_))), "{wrong}");
        }
        let gate: Gate = "rps>-5%, p99.9 < +10 %".parse().unwrap();
        assert_eq!(gate.rules.iter().map(ToString::to_string).collect::<Vec<_>>(), ["rps>-5%", "p99.9<+10%"]);
        for (wrong, words) in [("wall>3%", "less is better, so write `wall<N%`"), ("rps<3%", "write `rps>N%`")] {
            assert!(wrong.parse::<Gate>().unwrap_err().to_string().contains(words), "{wrong}");
        }
        assert!("walls<3%".parse::<Gate>().unwrap_err().to_string().contains("expected one of wall"));
    }

    #[test]
    fn only_a_whole_interval_past_the_limit_fails() {
        let rule = GateRule { metric: Metric::Wall, limit: 0.03 };
        let judge = |low, high, confidence| rule.judge(Some(&comparison(low, high, confidence)));
        assert_eq!(judge(1.031, 1.10, 0.95), GateResult::Failed);
        assert_eq!(judge(1.02, 1.10, 0.95), GateResult::Unsure);
        assert_eq!(judge(0.99, 1.03, 0.95), GateResult::Kept);
        assert_eq!(judge(1.5, 1.6, 0.75), GateResult::TooFew, "two blocks prove nothing");
        assert_eq!(rule.judge(None), GateResult::NotMeasured);
        let rule = GateRule { metric: Metric::Rps, limit: -0.05 };
        let judge = |low, high| rule.judge(Some(&comparison(low, high, 0.95)));
        assert_eq!(judge(0.90, 0.94), GateResult::Failed);
        assert_eq!(judge(0.90, 0.96), GateResult::Unsure);
        assert_eq!(judge(0.95, 1.30), GateResult::Kept, "more is no failure");
    }

    #[test]
    fn fewer_blocks_than_can_tell_decide_nothing_and_the_least_is_named() {
        let rule = GateRule { metric: Metric::Wall, limit: 0.03 };
        // Signed ranks of 7 blocks have no p-value below 2/128; those of 8 have 2/256.
        for (count, result) in [(7, GateResult::TooFew), (8, GateResult::Failed)] {
            assert_eq!(rule.judge(Some(&Comparison { count, ..comparison(1.5, 1.6, 0.97) })), result);
        }
        assert_eq!(rule.needed(&Comparison { count: 1, ..comparison(2.0, 2.0, 0.0) }), Some(8));
        // U of two samples of 5 has no p-value below 2/252, of 4 none below 2/70.
        let samples = |count| Comparison { count, test: RankTest::MannWhitneyExact, ..comparison(1.5, 1.6, 0.97) };
        assert_eq!(
            (rule.judge(Some(&samples(4))), rule.judge(Some(&samples(5)))),
            (GateResult::TooFew, GateResult::Failed)
        );
    }

    #[test]
    fn an_interval_over_the_limit_says_how_many_runs_would_tell() {
        let rule = GateRule { metric: Metric::Wall, limit: 0.03 };
        // 1.01 with 0.04 to the bound: half of that is 0.02, the distance to the limit, and takes four times the runs.
        let found = Comparison { count: 10, ..comparison(0.97, 1.05, 0.95) };
        assert!(rule.needed(&found).is_some_and(|needed| (40..=41).contains(&needed)), "{:?}", rule.needed(&found));
        assert_eq!(rule.needed(&comparison(1.0, 1.06, 0.95)), None, "the estimate is the limit");
    }

    #[test]
    fn a_gate_passes_only_where_every_limit_was_seen_to_be_kept() {
        use GateResult::{Failed, Kept, NotMeasured, TooFew, Unsure};
        let of = |results: &[GateResult]| GateOutcome::of(results.iter().copied());
        assert_eq!(of(&[Kept, Kept]), GateOutcome::Passed);
        assert_eq!(of(&[Kept, Unsure, Failed]), GateOutcome::Failed);
        for undecided in [&[][..], &[Kept, Unsure], &[TooFew], &[Kept, NotMeasured]] {
            assert_eq!(of(undecided), GateOutcome::NotDecided, "{undecided:?}");
        }
    }
}
