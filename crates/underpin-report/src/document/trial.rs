//! A short trial of allocators with a program's own work. Part of `survey`, if it was given a command to run.
//!
//! The reference is the program as it is; memory is the peak resident memory of its process tree.

use schemars::JsonSchema;
use serde::Serialize;
use underpin_bench::{Analysis, Change, Interval, Metric, VariantSummary};

/// The command as it is and on each allocator, interleaved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AllocatorTrial {
    /// Number of timed runs of each.
    pub runs: usize,
    /// Number of runs of each that were watched for memory.
    pub memory_runs: usize,
    /// Median wall time of the command as it is.
    pub wall_seconds: Interval,
    /// Median of its peak resident memory; null if memory cannot be watched here.
    pub rss_bytes: Option<Interval>,
    /// Each allocator compared with the command as it is.
    pub allocators: Vec<TriedAllocator>,
}

/// One allocator compared with the command as it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TriedAllocator {
    /// Its name for `underpin run --malloc`.
    pub name: String,
    /// Its wall time over that of the command as it is.
    pub wall: TrialRatio,
    /// The same for peak resident memory; null if memory cannot be watched here.
    pub rss: Option<TrialRatio>,
}

/// A ratio and its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialRatio {
    /// The ratio with its interval.
    pub ratio: Interval,
    /// The verdict of these runs.
    pub verdict: Change,
}

impl AllocatorTrial {
    /// What a comparison found; `None` if it found no times.
    #[must_use]
    pub fn of(document: &Analysis) -> Option<AllocatorTrial> {
        let reference = document.variants.iter().find(|variant| variant.is_reference)?;
        let median = |metric: Metric| reference.metric(metric).map(|record| record.median);
        let others = document.variants.iter().filter(|variant| !variant.is_reference);
        Some(AllocatorTrial {
            runs: reference.runs.len(),
            memory_runs: reference.memory_runs.len(),
            wall_seconds: median(Metric::Wall)?,
            rss_bytes: median(Metric::Rss),
            allocators: others.filter_map(|variant| tried(document, variant)).collect(),
        })
    }

    /// The allocator with the best bargain: a certain gain of at least [`WORTH`] in one figure, and a price of at most
    /// [`PRICE`] in the other.
    #[must_use]
    pub fn best(&self) -> Option<&TriedAllocator> {
        let worth = self.allocators.iter().filter_map(|allocator| Some((allocator.gain()?, allocator)));
        worth.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, allocator)| allocator)
    }
}

/// A smaller gain than this is not worth another allocator.
const WORTH: f64 = 0.05;
/// The price in one figure, as a share, above which no gain in the other is advised.
const PRICE: f64 = 0.10;

impl TriedAllocator {
    /// The product of both ratios if it is a bargain: below 1.
    fn gain(&self) -> Option<f64> {
        let wins = |one: &TrialRatio| one.verdict == Change::Less && one.ratio.estimate <= 1.0 - WORTH;
        let figures = [Some(self.wall), self.rss];
        let figures = || figures.iter().flatten();
        let product: f64 = figures().map(|one| one.ratio.estimate).product();
        let bargain = figures().any(wins) && figures().all(|one| one.ratio.estimate <= 1.0 + PRICE);
        (bargain && product < 1.0).then_some(product)
    }
}

fn tried(document: &Analysis, variant: &VariantSummary) -> Option<TriedAllocator> {
    let ratio = |metric: Metric| {
        let found = document.comparison(&variant.name, metric)?;
        Some(TrialRatio { ratio: found.ratio, verdict: found.verdict })
    };
    Some(TriedAllocator { name: variant.name.clone(), wall: ratio(Metric::Wall)?, rss: ratio(Metric::Rss) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(estimate: f64, verdict: Change) -> TrialRatio {
        let ratio = Interval { estimate, low: estimate - 0.02, high: estimate + 0.02, confidence: 0.95 };
        TrialRatio { ratio, verdict }
    }

    fn trial(figures: &[(&str, f64, Change, f64, Change)]) -> AllocatorTrial {
        let median = Interval { estimate: 1.0, low: 0.9, high: 1.1, confidence: 0.95 };
        let tried = |&(name, wall, wall_verdict, rss, rss_verdict): &(&str, f64, Change, f64, Change)| TriedAllocator {
            name: name.to_owned(),
            wall: ratio(wall, wall_verdict),
            rss: Some(ratio(rss, rss_verdict)),
        };
        let allocators = figures.iter().map(tried).collect();
        AllocatorTrial { runs: 14, memory_runs: 6, wall_seconds: median, rss_bytes: Some(median), allocators }
    }

    #[test]
    fn the_best_bargain_is_chosen() {
        use Change::{Less, More, Same};
        let best = |trial: &AllocatorTrial| trial.best().map(|one| one.name.clone());
        let seed = trial(&[("jemalloc", 1.07, More, 0.19, Less), ("mimalloc", 0.98, Same, 0.6, Less)]);
        assert_eq!(best(&seed), Some("jemalloc".to_owned()));
        assert_eq!(best(&trial(&[("a", 0.9, Less, 1.02, Same)])), Some("a".to_owned()));
    }

    #[test]
    fn nothing_is_advised_without_a_certain_gain_or_at_a_high_price() {
        use Change::{Less, More, Same, Undecided};
        for (wall, wall_verdict, rss, rss_verdict) in [
            (0.99, Less, 1.0, Same),
            (0.8, Undecided, 0.7, Undecided),
            (1.2, More, 0.5, Less),
            (0.9, Less, 1.4, More),
            (0.94, Less, 1.09, More),
        ] {
            let trial = trial(&[("a", wall, wall_verdict, rss, rss_verdict)]);
            assert_eq!(trial.best(), None, "{wall} {rss}");
        }
    }
}
