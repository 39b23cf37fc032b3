//! Comparing two variants: the ratio with its interval, and a rank test.
//!
//! Times of one experiment are compared block by block, by the differences of their logarithms, so whatever slowed a
//! whole block cancels out. Who goes first in a block is drawn anew for each, and the signed-rank test asks no more than
//! that: for equal commands the sign of each difference is that of a coin, however the noise drifts, clusters or repeats.
//! So false claims are as rare as the level says on any machine; on one that is busier than it has processors a claim
//! about time takes five times the evidence ([`BUSY_LEVEL`]). Memory does not depend on what else runs, so its
//! figures are compared as two samples, which tells more from few runs. Two experiments have no blocks in common, and
//! the time between them is in the figures.

use crate::machine::Machine;
use crate::metric::{Metric, Pass};
use crate::record::BenchRecord;
use crate::stats::{Interval, mann_whitney, mean, paired_shift, shift, signed_rank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A variant compared with another, in one figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The variant.
    pub variant: String,
    /// What it is compared with.
    pub reference: String,
    /// The figure.
    pub metric: Metric,
    /// The variant's figure over the reference's.
    pub ratio: Interval,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// The p-value corrected for the number of variants (Holm).
    pub p_corrected: f64,
    /// The test.
    pub test: RankTest,
    /// Blocks, or figures of the smaller sample.
    pub count: usize,
    /// The significance level that a claim needs; stricter if the machine was busy before the start.
    pub level: f64,
    /// The verdict.
    pub verdict: Change,
}

/// A rank test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankTest {
    /// Wilcoxon's signed-rank test over blocks, exact.
    SignedRankExact,
    /// Wilcoxon's signed-rank test over blocks, by approximation.
    SignedRank,
    /// Mann and Whitney's U test of two samples, exact.
    MannWhitneyExact,
    /// Mann and Whitney's U test of two samples, by approximation.
    MannWhitney,
}

impl RankTest {
    /// Whether it compares block by block.
    #[must_use]
    pub const fn is_paired(self) -> bool {
        matches!(self, RankTest::SignedRank | RankTest::SignedRankExact)
    }
}

/// What a rank test found, and on how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub p_value: f64,
    pub test: RankTest,
    pub count: usize,
    pub level: f64,
}

/// Why there is no comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// One of them has no such figure.
    #[error("not measured")]
    NotMeasured,
    /// A ratio to zero is meaningless.
    #[error("some runs have zero, so there is no ratio")]
    NotPositive,
}

/// Which way a variant changed a figure: the verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The variant has less.
    Less,
    /// The variant has more.
    More,
    /// Whatever the difference is, it is below 1 %.
    Same,
    /// These runs are not conclusive.
    Undecided,
}

/// Intervals within this share of 1 are called equal.
const SAME: f64 = 0.01;
/// The level of the claims: of a hundred comparisons of equal commands, one differs by chance. Stricter than that of
/// the intervals, since a claim is read without its interval.
pub const LEVEL: f64 = 0.01;
/// The level of claims about time when other work kept every processor busy before the start. There a false claim is
/// large, and once 9 of 180 were counted at the level of 1 % (docs/bench/aa.md).
pub const BUSY_LEVEL: f64 = 0.002;
/// The fewest watched runs of each variant.
const LEAST_MEMORY_RUNS: u32 = 6;

/// The fewest blocks with which the signed-rank test can show anything after the correction for that many variants: all
/// signs alike have a p-value of 2^(1-n).
#[must_use]
pub fn least_blocks(compared: usize) -> usize {
    least_blocks_at(compared, LEVEL)
}

/// The same for another level.
#[must_use]
pub fn least_blocks_at(compared: usize, level: f64) -> usize {
    let chances = compared.max(1) as f64 / level;
    chances.log2().ceil() as usize + 1
}

/// The fewest figures in each of two samples with which Mann and Whitney's test can show anything at a level.
fn least_figures_at(level: f64) -> usize {
    let (mut figures, mut ways) = (1usize, 2.0);
    while 2.0 / ways > level {
        // From 2n over n to 2n + 2 over n + 1.
        ways *= 2.0 * (2 * figures + 1) as f64 / (figures + 1) as f64;
        figures += 1;
    }
    figures
}

/// The level at which a difference of a figure is claimed on a machine as busy as this one was before the start.
#[must_use]
pub fn level(machine: &Machine, metric: Metric) -> f64 {
    match metric.pass() {
        Pass::Timed if machine.is_busy() => BUSY_LEVEL,
        Pass::Timed | Pass::Memory => LEVEL,
    }
}

/// The fewest watched runs of each variant with which the test of two samples can show anything after the correction
/// for that many variants: all of one above all of the other have a p-value of 2 over the number of ways to choose.
#[must_use]
pub fn least_memory_runs(compared: usize) -> u32 {
    let (mut runs, mut ways) = (1u32, 2.0);
    while runs < LEAST_MEMORY_RUNS || 2.0 / ways * compared.max(1) as f64 > LEVEL {
        // From 2n over n to 2n + 2 over n + 1.
        ways *= 2.0 * f64::from(2 * runs + 1) / f64::from(runs + 1);
        runs += 1;
    }
    runs
}

impl Change {
    /// A difference is claimed if the corrected test and the interval both show it.
    fn of(ratio: Interval, p_corrected: f64, level: f64) -> Change {
        let Interval { low, high, .. } = ratio;
        let found = ratio.is_confident() && p_corrected <= level;
        match () {
            () if found && low > 1.0 => Change::More,
            () if found && high < 1.0 => Change::Less,
            () if ratio.is_confident() && low >= 1.0 - SAME && high <= 1.0 + SAME => Change::Same,
            () => Change::Undecided,
        }
    }

    /// Whether it claims a difference.
    #[must_use]
    pub const fn is_claimed(self) -> bool {
        matches!(self, Change::Less | Change::More)
    }
}

impl Comparison {
    pub(crate) fn new(variant: &str, reference: &str, metric: Metric, ratio: Interval, tested: Tested) -> Comparison {
        let Tested { p_value, test, count, level } = tested;
        Comparison {
            variant: variant.to_owned(),
            reference: reference.to_owned(),
            metric,
            ratio,
            p_value,
            p_corrected: p_value,
            test,
            count,
            level,
            verdict: Change::of(ratio, p_value, level),
        }
    }

    /// Sets the p-value corrected for the number of comparisons, and the verdict that follows from it.
    pub fn correct(&mut self, p_corrected: f64) {
        self.p_corrected = p_corrected;
        self.verdict = Change::of(self.ratio, p_corrected, self.level);
    }

    /// The direction of the difference by its interval, if that excludes 1 although the test does not claim it.
    #[must_use]
    pub fn likely(&self) -> Option<Change> {
        let ratio = &self.ratio;
        match self.verdict {
            Change::Undecided if ratio.is_confident() && ratio.low > 1.0 => Some(Change::More),
            Change::Undecided if ratio.is_confident() && ratio.high < 1.0 => Some(Change::Less),
            _ => None,
        }
    }

    /// The fewest blocks, or figures of each sample, with which it could show anything.
    #[must_use]
    pub fn least(&self) -> usize {
        if self.test.is_paired() { least_blocks_at(1, self.level) } else { least_figures_at(self.level) }
    }
}

impl BenchRecord {
    /// The figures of a variant, by block.
    fn by_block(&self, metric: Metric, variant: usize) -> BTreeMap<u32, Vec<f64>> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let timed = self.samples.iter().filter(|sample| sample.variant == variant);
        let timed = timed.filter_map(|sample| Some((sample.block, sample.figure(metric)?)));
        timed.for_each(|(block, figure)| blocks.entry(block).or_default().push(figure));
        if blocks.is_empty() {
            // Figures that timed runs do not have.
            let watched = self.memory.iter().filter(|run| run.variant == variant);
            let watched = watched.filter_map(|run| Some((run.block, run.figure(metric)?)));
            watched.for_each(|(block, figure)| blocks.entry(block).or_default().push(figure));
        }
        blocks
    }

    /// The figures of a variant in its blocks.
    #[must_use]
    pub fn blocks(&self, metric: Metric, variant: usize) -> Vec<Vec<f64>> {
        self.by_block(metric, variant).into_values().collect()
    }

    /// The figures of a variant in the order in which they were measured.
    #[must_use]
    pub fn figures(&self, metric: Metric, variant: usize) -> Vec<f64> {
        let timed = self.samples.iter().filter(|sample| sample.variant == variant);
        let figures: Vec<f64> = timed.filter_map(|sample| sample.figure(metric)).collect();
        if !figures.is_empty() {
            return figures;
        }
        let watched = self.memory.iter().filter(|run| run.variant == variant);
        watched.filter_map(|run| run.figure(metric)).collect()
    }
}

/// A variant beside the reference of the same experiment, in the way that suits the figure.
///
/// # Errors
/// If a figure is missing or not positive.
pub(crate) fn ratio(
    record: &BenchRecord,
    metric: Metric,
    reference: usize,
    variant: usize,
) -> Result<Comparison, Refused> {
    match metric.pass() {
        Pass::Timed => paired_ratio(record, metric, reference, variant),
        Pass::Memory => compare_records((record, reference), (record, variant), metric),
    }
}

/// A variant beside the reference of the same experiment, block by block.
///
/// # Errors
/// If a figure is missing or not positive.
pub fn paired_ratio(
    record: &BenchRecord,
    metric: Metric,
    reference: usize,
    variant: usize,
) -> Result<Comparison, Refused> {
    let (before, after) = (record.by_block(metric, reference), record.by_block(metric, variant));
    let mut differences = Vec::new();
    for (block, figures) in &before {
        let Some(others) = after.get(block) else { continue };
        differences.push(log_mean(others)? - log_mean(figures)?);
    }
    let test = signed_rank(&differences);
    let ratio = paired_shift(&differences).ok_or(Refused::NotMeasured)?.map(f64::exp);
    let tested = Tested {
        p_value: test.p_value,
        test: if test.exact { RankTest::SignedRankExact } else { RankTest::SignedRank },
        count: differences.len(),
        level: level(&record.header.machine, metric),
    };
    Ok(Comparison::new(name(record, variant), name(record, reference), metric, ratio, tested))
}

fn name(record: &BenchRecord, variant: usize) -> &str {
    record.header.variants.get(variant).map_or("", |variant| &variant.name)
}

fn log_mean(figures: &[f64]) -> Result<f64, Refused> {
    let logarithms = logarithms(figures)?;
    mean(&logarithms).ok_or(Refused::NotMeasured)
}

fn logarithms(figures: &[f64]) -> Result<Vec<f64>, Refused> {
    figures.iter().map(|&figure| if figure > 0.0 { Ok(figure.ln()) } else { Err(Refused::NotPositive) }).collect()
}

/// A variant beside a variant of an earlier experiment, or figures of one that need no blocks.
///
/// # Errors
/// If a figure is missing or not positive.
pub fn compare_records(
    (earlier, reference): (&BenchRecord, usize),
    (later, variant): (&BenchRecord, usize),
    metric: Metric,
) -> Result<Comparison, Refused> {
    let before = logarithms(&earlier.figures(metric, reference))?;
    let after = logarithms(&later.figures(metric, variant))?;
    let test = mann_whitney(&before, &after);
    let ratio = shift(&before, &after).ok_or(Refused::NotMeasured)?.map(f64::exp);
    let tested = Tested {
        p_value: test.p_value,
        test: if test.exact { RankTest::MannWhitneyExact } else { RankTest::MannWhitney },
        count: before.len().min(after.len()),
        level: level(&earlier.header.machine, metric).min(level(&later.header.machine, metric)),
    };
    Ok(Comparison::new(name(later, variant), name(earlier, reference), metric, ratio, tested))
}
