//! From raw figures to summaries, comparisons and warnings. Deterministic: the same record gives the same analysis.
//!
//! An [`Analysis`] is serialized unchanged as the body of the document `underpin.bench/1`, and every screen and page
//! reads it. Its field names and the names of its enum variants belong to that schema.

mod baseline;
mod limits;
mod method;
mod pareto;
mod variant;
mod warnings;

pub use baseline::Baseline;
pub use limits::{GateReport, LimitReport};
pub use method::{LoadMethod, MachineSummary, Method};
pub use pareto::{Beaten, Pareto};
pub use variant::{
    AnswerTime, Figures, LoadFigures, MemoryAt, MemoryRunFigures, MetricSummary, ProcessFigures, RunFigures,
    VariantSummary,
};

use crate::compare::{Comparison, ratio};
use crate::metric::{Metric, Pass};
use crate::record::{BenchRecord, MissingMetric};
use crate::stats::{Interval, holm};
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

/// Everything that a report says of a record. Figures are in base units: seconds, bytes, events.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// The version of underpin that measured.
    pub underpin: String,
    /// Seconds since 1970, when measuring began.
    pub started_unix_seconds: u64,
    /// The machine that ran it.
    pub machine: MachineSummary,
    /// How it was measured.
    pub method: Method,
    /// The load, if the commands are servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadMethod>,
    /// What was compared, in the order given.
    pub variants: Vec<VariantSummary>,
    /// Every variant compared with the reference, one entry for each figure; by variant, then by metric.
    pub comparisons: Vec<Comparison>,
    /// The Pareto front of time and memory, if there are several variants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pareto: Option<Pareto>,
    /// The reference compared with itself, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<NoiseFloor>,
    /// An earlier run that this one is compared with, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The limits, if some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateReport>,
    /// Figures that could not be measured, with the reason.
    pub missing: Vec<MissingMetric>,
    /// Reasons to read the figures with care.
    #[serde(rename = "doubts")]
    pub warnings: Vec<Warning>,
}

/// The reference compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoiseFloor {
    /// The ratio of the reference to its copy, whose true value is 1.
    pub ratio: Interval,
    /// The smallest difference that such runs tell from noise, as a share: the distance from 1 of the farther bound.
    pub floor: f64,
}

impl Analysis {
    /// The variant that the others are compared with.
    #[must_use]
    pub fn reference(&self) -> Option<&VariantSummary> {
        self.variants.iter().find(|variant| variant.is_reference)
    }

    /// Whether some variant has a figure.
    #[must_use]
    pub fn has(&self, metric: Metric) -> bool {
        self.variants.iter().any(|variant| variant.metric(metric).is_some())
    }

    /// The figures that some variant has, in the order of a report.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        Metric::all().filter(|metric| self.has(*metric))
    }

    /// The variants that have this figure, each with its summary, in the order given.
    pub fn rows(&self, metric: Metric) -> impl Iterator<Item = (&VariantSummary, &MetricSummary)> {
        self.variants.iter().filter_map(move |variant| Some((variant, variant.metric(metric)?)))
    }

    /// A variant beside the reference in one figure.
    #[must_use]
    pub fn comparison(&self, variant: &str, metric: Metric) -> Option<&Comparison> {
        self.comparisons.iter().find(|one| one.variant == variant && one.metric == metric)
    }
}

/// Analyses a record.
#[must_use]
pub fn analyse(record: &BenchRecord) -> Analysis {
    let header = &record.header;
    let variants: Vec<VariantSummary> = (0..header.variants.len()).map(|of| VariantSummary::of(record, of)).collect();
    let comparisons = comparisons(record);
    let mut analysis = Analysis {
        underpin: header.underpin.clone(),
        started_unix_seconds: header.started,
        machine: MachineSummary::of(record),
        method: Method::of(record),
        load: header.load.as_ref().map(LoadMethod::of),
        pareto: Pareto::of(record, &variants),
        noise_floor: None,
        baseline: None,
        gate: None,
        missing: record.end.as_ref().map(|end| end.missing.clone()).unwrap_or_default(),
        warnings: Vec::new(),
        variants,
        comparisons,
    };
    let copy = header.variants.iter().find(|variant| variant.is_copy);
    let copy = copy.and_then(|copy| analysis.comparison(&copy.name, record.primary()));
    let floor = |ratio: Interval| (ratio.high - 1.0).max(1.0 - ratio.low);
    analysis.noise_floor = copy.map(|copy| NoiseFloor { ratio: copy.ratio, floor: floor(copy.ratio) });
    analysis.warnings = warnings::of(record, &analysis);
    analysis
}

/// All comparisons; p-values of one metric are corrected over the variants. A copy of the reference is a check of the
/// method, not one of the questions, so it neither gets nor causes a correction.
fn comparisons(record: &BenchRecord) -> Vec<Comparison> {
    let reference = record.header.reference;
    let mut all: Vec<(usize, Comparison)> = Vec::new();
    for metric in Metric::all()
        .filter(|metric| metric.pass() == Pass::Timed || !record.memory.is_empty() || record.header.load.is_some())
    {
        let others = (0..record.header.variants.len()).filter(|&index| index != reference);
        let mut found: Vec<(usize, Comparison)> =
            others.filter_map(|index| Some((index, ratio(record, metric, reference, index).ok()?))).collect();
        let mut questions: Vec<&mut Comparison> = found
            .iter_mut()
            .filter(|(index, _)| !record.header.variants[*index].is_copy)
            .map(|(_, comparison)| comparison)
            .collect();
        let p_values: Vec<f64> = questions.iter().map(|one| one.p_value).collect();
        for (one, corrected) in questions.iter_mut().zip(holm(&p_values)) {
            one.correct(corrected);
        }
        all.extend(found);
    }
    all.sort_by_key(|(variant, _)| *variant);
    all.into_iter().map(|(_, comparison)| comparison).collect()
}
