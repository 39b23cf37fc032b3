//! From raw figures to summaries, comparisons and doubts. Deterministic: the same record gives the same analysis.

use crate::compare::{Comparison, ratio};
use crate::doubt::{Doubt, doubts};
use crate::metric::{Metric, Pass};
use crate::pareto::Pareto;
use crate::record::{MissingMetric, Record};
use crate::stats::{Bootstrap, Interval, Order, holm, mean, median_interval};

/// Everything that a report says of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// One for each variant, in the record's order.
    pub variants: Vec<VariantSummary>,
    /// Every variant but the reference, in every figure that both have; by variant, then by metric.
    pub comparisons: Vec<Comparison>,
    /// The variants that no other one beats in time and memory, where there are several.
    pub pareto: Option<Pareto>,
    /// What the reference beside itself shows, where that was asked for.
    pub noise: Option<NoiseFloor>,
    /// What the figures have to be read with.
    pub doubts: Vec<Doubt>,
    /// What is missing, and why.
    pub missing: Vec<MissingMetric>,
}

/// A variant's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSummary {
    /// Timed runs.
    pub runs: usize,
    /// Watched runs.
    pub memory_runs: usize,
    /// Runs that failed.
    pub failures: usize,
    /// Each figure that it has.
    pub metrics: Vec<MetricSummary>,
}

/// One figure of a variant over its runs, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSummary {
    /// Which.
    pub metric: Metric,
    /// Runs that have it.
    pub count: usize,
    /// The median, with its interval.
    pub median: Interval,
    /// The mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// A quarter is below it.
    pub first_quartile: f64,
    /// A quarter is above it.
    pub third_quartile: f64,
    /// The greatest.
    pub greatest: f64,
    /// Standard deviation by way of the median absolute deviation.
    pub spread: f64,
}

/// The smallest difference that these runs could have told from noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFloor {
    /// The reference beside itself: a ratio that is 1 in truth.
    pub comparison: Comparison,
    /// The farther bound's distance from 1.
    pub floor: f64,
}

impl VariantSummary {
    /// One of its figures.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> Option<&MetricSummary> {
        self.metrics.iter().find(|summary| summary.metric == metric)
    }
}

impl Analysis {
    /// The comparison of a variant in one figure.
    #[must_use]
    pub fn comparison(&self, variant: usize, metric: Metric) -> Option<&Comparison> {
        self.comparisons.iter().find(|one| one.variant == variant && one.metric == metric)
    }
}

/// Analyses a record.
#[must_use]
pub fn analyse(record: &Record) -> Analysis {
    let variants: Vec<VariantSummary> = (0..record.header.variants.len()).map(|index| summary(record, index)).collect();
    let comparisons = comparisons(record);
    let copy = record.header.variants.iter().position(|variant| variant.is_copy);
    let noise = copy.and_then(|copy| {
        let comparison = *comparisons.iter().find(|one| one.variant == copy && one.metric == record.primary())?;
        let floor = (comparison.ratio.high - 1.0).max(1.0 - comparison.ratio.low);
        Some(NoiseFloor { comparison, floor })
    });
    let missing = record.end.as_ref().map(|end| end.missing.clone()).unwrap_or_default();
    let pareto = Pareto::of(record, &variants);
    let mut analysis = Analysis { variants, comparisons, pareto, noise, doubts: Vec::new(), missing };
    analysis.doubts = doubts(record, &analysis);
    analysis
}

fn summary(record: &Record, variant: usize) -> VariantSummary {
    let outcomes = |outcome: &crate::RunOutcome| !outcome.succeeded();
    let samples = record.samples.iter().filter(|sample| sample.variant == variant);
    let watched = record.memory.iter().filter(|run| run.variant == variant);
    VariantSummary {
        runs: samples.clone().count(),
        memory_runs: watched.count(),
        failures: samples.filter(|sample| outcomes(&sample.outcome)).count(),
        metrics: Metric::all().filter_map(|metric| metric_summary(record, metric, variant)).collect(),
    }
}

fn metric_summary(record: &Record, metric: Metric, variant: usize) -> Option<MetricSummary> {
    let blocks = record.blocks(metric, variant);
    let figures = blocks.concat();
    let order = Order::new(&figures);
    Some(MetricSummary {
        metric,
        count: figures.len(),
        median: median_interval(&blocks, Bootstrap { seed: record.header.rules.seed, ..Bootstrap::default() })?,
        mean: mean(&figures)?,
        least: order.least()?,
        first_quartile: order.quantile(0.25)?,
        third_quartile: order.quantile(0.75)?,
        greatest: order.greatest()?,
        spread: order.spread()?,
    })
}

/// All comparisons; p-values of one metric are corrected over the variants. A copy of the reference is a check of the
/// method, not one of the questions, so it neither gets nor causes a correction.
fn comparisons(record: &Record) -> Vec<Comparison> {
    let reference = record.header.reference;
    let mut all = Vec::new();
    for metric in Metric::all()
        .filter(|metric| metric.pass() == Pass::Timed || !record.memory.is_empty() || record.header.load.is_some())
    {
        let others = (0..record.header.variants.len()).filter(|&index| index != reference);
        let mut found: Vec<Comparison> =
            others.filter_map(|index| ratio(record, metric, reference, index).ok()).collect();
        let questions: Vec<usize> =
            (0..found.len()).filter(|&at| !record.header.variants[found[at].variant].is_copy).collect();
        let p_values: Vec<f64> = questions.iter().map(|&at| found[at].p_value).collect();
        for (&at, corrected) in questions.iter().zip(holm(&p_values)) {
            found[at].p_corrected = corrected;
        }
        all.extend(found);
    }
    all.sort_by_key(|one| one.variant);
    all
}
