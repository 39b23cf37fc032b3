//! The index of `system`, by UnixBench's rules (`UnixBench/Run`, version 5.1.3).

use crate::row::{Measure, Row};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_bench::stats::geometric_mean;

/// One row's share of an index.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexedRow {
    /// The row.
    pub row: String,
    /// Its score: operations in the row's time.
    pub score: f64,
    /// The score over the baseline, times ten.
    pub index: f64,
}

/// An index over rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Indexed {
    /// The build.
    pub build: usize,
    /// The geometric mean of the rows' indices.
    pub index: f64,
    /// The rows in it.
    pub rows: Vec<IndexedRow>,
    /// Rows with a baseline that have no figure: the index is of the others, as UnixBench's of a partial run is.
    pub missing: Vec<String>,
}

/// The passes that count: sorted by their figure, the worst third is dropped, rounded down.
#[must_use]
pub fn kept_passes(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.split_off(scores.len() / 3)
}

/// The score of some passes: the geometric mean of those that count. `None` without passes.
#[must_use]
pub fn row_score(scores: &[f64]) -> Option<f64> {
    geometric_mean(&kept_passes(scores))
}

/// The index of one build from its rows' scores.
#[must_use]
pub fn index<'a>(build: usize, scores: impl IntoIterator<Item = (&'a Row, Option<f64>)>) -> Option<Indexed> {
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (row, score) in scores {
        let Some(baseline) = row.baseline else { continue };
        match score {
            Some(score) => rows.push(IndexedRow { row: row.name.to_owned(), score, index: 10.0 * score / baseline }),
            None => missing.push(row.name.to_owned()),
        }
    }
    let indices: Vec<f64> = rows.iter().map(|row| row.index).collect();
    geometric_mean(&indices).map(|index| Indexed { build, index, rows, missing })
}

impl Row {
    /// The score of one run: operations in the time of the row's rate.
    #[must_use]
    pub fn score(&self, operation_seconds: f64) -> Option<f64> {
        match self.measure {
            Measure::Rate { seconds, .. } => Some(seconds / operation_seconds),
            Measure::Time | Measure::Bandwidth => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Suite, rows};

    /// `seeds/openeuler-musl.rst`, the last table.
    #[test]
    fn the_seeds_scores_give_the_seeds_indices() {
        let of = |pick: fn(&crate::row::Figures) -> f64| {
            let scores = rows(Suite::System)
                .iter()
                .map(|row| (row, row.original.and_then(|one| one.figures).map(|one| pick(&one))));
            index(0, scores).unwrap()
        };
        let (musl, glibc) = (of(|one| one.musl), of(|one| one.glibc));
        assert_eq!((musl.rows.len(), musl.missing.len()), (12, 0));
        assert!((musl.index - 161.56).abs() < 0.01, "{musl:?}");
        assert!((glibc.index - 146.49).abs() < 0.01, "{glibc:?}");
    }

    #[test]
    fn the_worst_third_of_the_passes_is_dropped() {
        assert_eq!(kept_passes(&[3.0, 1.0, 2.0]), [2.0, 3.0]);
        assert_eq!(kept_passes(&[5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(kept_passes(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(row_score(&[1.0, 2.0, 8.0]), Some(4.0));
        assert_eq!(row_score(&[]), None);
    }
}
