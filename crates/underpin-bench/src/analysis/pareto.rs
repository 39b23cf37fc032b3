//! The Pareto front in time and memory: the variants that no other one beats.
//!
//! One variant beats another if it is no worse in either figure and claimed better in at least one. No worse means
//! that its median is not the worse one, or that the two are the same within 1 %; claimed means what it means in a
//! comparison, each variant's tests corrected for the number of its rivals. So a variant leaves the front only if the
//! runs show that it is beaten; undecided variants stay on it.

use super::variant::VariantSummary;
use crate::compare::{Change, ratio};
use crate::metric::{Direction, Metric};
use crate::record::BenchRecord;
use schemars::JsonSchema;
use serde::Serialize;

/// The Pareto front: a variant leaves it if another one is no worse in either figure (its median is not the worse one,
/// or the two are the same within 1 %) and claimed better in at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pareto {
    /// The figures: one of time, one of memory.
    pub metrics: [Metric; 2],
    /// The variants on it, in the order given; never empty.
    pub front: Vec<String>,
    /// The others.
    pub beaten: Vec<Beaten>,
}

/// A variant that another one beats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Beaten {
    /// The variant.
    pub variant: String,
    /// One that beats it; of several the one on the front, and of those the first.
    pub by: String,
    /// The figures in which that one is claimed better; in the others it is no worse.
    pub claims: Vec<Metric>,
}

/// One variant beats another; both are indices.
#[derive(Clone)]
struct Beat {
    variant: usize,
    by: usize,
    claims: Vec<Metric>,
}

/// How one variant compares with another in one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Claimed better.
    Better,
    /// No worse.
    Level,
    /// Worse, claimed or not.
    Worse,
}

impl Pareto {
    /// The front of a record; `None` if fewer than two variants have both figures. The reference's copy is not one
    /// of the choices.
    pub(crate) fn of(record: &BenchRecord, variants: &[VariantSummary]) -> Option<Pareto> {
        let metrics = axes(record, variants)?;
        let choices: Vec<usize> = (0..variants.len())
            .filter(|&index| !record.header.variants[index].is_copy)
            .filter(|&index| metrics.iter().all(|&metric| variants[index].metric(metric).is_some()))
            .collect();
        if choices.len() < 2 {
            return None;
        }
        let field = Field { record, variants, metrics, rivals: choices.len() - 1 };
        let beaters: Vec<Vec<Beat>> = choices
            .iter()
            .map(|&variant| choices.iter().filter_map(|&by| field.beats(by, variant)).collect())
            .collect();
        let mut front: Vec<usize> =
            choices.iter().zip(&beaters).filter(|(_, beaters)| beaters.is_empty()).map(|(&index, _)| index).collect();
        if front.is_empty() {
            // "The same within 1 %" is not transitive and can form a cycle: then no variant is certainly beaten.
            front.clone_from(&choices);
        }
        let beaten = beaters.into_iter().filter_map(|beaters| {
            let on_front = beaters.iter().find(|one| front.contains(&one.by)).cloned();
            on_front.or_else(|| beaters.into_iter().next())
        });
        let name = |index: usize| variants[index].name.clone();
        let beaten = beaten.filter(|one| !front.contains(&one.variant));
        let beaten =
            beaten.map(|one| Beaten { variant: name(one.variant), by: name(one.by), claims: one.claims }).collect();
        Some(Pareto { metrics, front: front.into_iter().map(name).collect(), beaten })
    }
}

/// The primary figures of time and memory, if some variant has each.
fn axes(record: &BenchRecord, variants: &[VariantSummary]) -> Option<[Metric; 2]> {
    let some_has = |metric: Metric| variants.iter().any(|variant| variant.metric(metric).is_some());
    let axes = [record.primary(), record.primary_memory()];
    axes.into_iter().all(some_has).then_some(axes)
}

struct Field<'a> {
    record: &'a BenchRecord,
    variants: &'a [VariantSummary],
    metrics: [Metric; 2],
    rivals: usize,
}

impl Field<'_> {
    fn beats(&self, by: usize, variant: usize) -> Option<Beat> {
        if by == variant {
            return None;
        }
        let mut claims = Vec::new();
        for metric in self.metrics {
            match self.standing(metric, by, variant) {
                Standing::Better => claims.push(metric),
                Standing::Level => {}
                Standing::Worse => return None,
            }
        }
        (!claims.is_empty()).then_some(Beat { variant, by, claims })
    }

    /// How `one` compares with `other`. Figures that have no ratio, such as zeros, are judged by their medians alone.
    fn standing(&self, metric: Metric, one: usize, other: usize) -> Standing {
        let verdict = ratio(self.record, metric, other, one).map_or(Change::Undecided, |mut found| {
            found.correct((found.p_value * self.rivals as f64).min(1.0));
            found.verdict
        });
        let median =
            |index: usize| self.variants[index].metric(metric).map_or(f64::NAN, |summary| summary.median.estimate);
        let (mine, its) = (median(one), median(other));
        match (verdict, metric.direction()) {
            (Change::Same, _) => Standing::Level,
            (Change::Less, Direction::LowerIsBetter) | (Change::More, Direction::HigherIsBetter) => Standing::Better,
            (Change::More, Direction::LowerIsBetter) | (Change::Less, Direction::HigherIsBetter) => Standing::Worse,
            (Change::Undecided, Direction::LowerIsBetter) if mine <= its => Standing::Level,
            (Change::Undecided, Direction::HigherIsBetter) if mine >= its => Standing::Level,
            (Change::Undecided, _) => Standing::Worse,
        }
    }
}
