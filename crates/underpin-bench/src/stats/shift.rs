//! By how much one sample lies above another, with the interval that belongs to the rank test.
//!
//! The estimate is that of Hodges and Lehmann: the median of all means of two differences (pairs), or of all
//! differences between the samples. The interval holds every shift that the test would not reject, which is what
//! resampling the signs (or the labels) of the blocks over and over would find: distribution-free, and exact when the
//! test is. Both come from counting, never from listing all pairs, so thousands of blocks cost nothing noticeable.

use super::normal::normal_quantile;
use super::rank::{sign_counts, subset_counts};
use super::{CONFIDENCE, Interval};

/// Above these sizes the critical value comes from the normal approximation.
const EXACT_PAIRS: usize = 60;
const EXACT_FIGURES: usize = 60;

/// The shift of paired differences from zero. `None` without differences.
///
/// Below 6 differences no interval of 95 % exists; the widest one is given with the confidence that it has.
#[must_use]
pub fn paired_shift(differences: &[f64]) -> Option<Interval> {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|one| one.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let pairs = count * (count + 1) / 2;
    let (cut, confidence) = critical_pairs(count);
    // The means of x[i] and x[j], i <= j, that are at most `limit`.
    let at_most = |limit: f64| {
        let (mut total, mut high) = (0, count);
        for (low, figure) in sorted.iter().enumerate() {
            while high > low && f64::midpoint(*figure, sorted[high - 1]) > limit {
                high -= 1;
            }
            if high <= low {
                break;
            }
            total += high - low;
        }
        total
    };
    let range = (*sorted.first()?, *sorted.last()?);
    Some(interval(&at_most, range, pairs, cut, confidence))
}

/// By how much `second` lies above `first`. `None` if one of them is empty.
#[must_use]
pub fn shift(first: &[f64], second: &[f64]) -> Option<Interval> {
    let ascending = |figures: &[f64]| {
        let mut sorted: Vec<f64> = figures.iter().copied().filter(|one| one.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (first, second) = (ascending(first), ascending(second));
    let (cut, confidence) = critical_samples(first.len(), second.len());
    // The differences second[j] - first[i] that are at most `limit`.
    let at_most = |limit: f64| {
        let mut reached = 0;
        first
            .iter()
            .map(|figure| {
                while reached < second.len() && second[reached] - figure <= limit {
                    reached += 1;
                }
                reached
            })
            .sum()
    };
    let range = (second.first()? - first.last()?, second.last()? - first.first()?);
    Some(interval(&at_most, range, first.len() * second.len(), cut, confidence))
}

/// The interval from the `cut`-th smallest to the `cut`-th largest of all `pairs` figures, about their median.
fn interval(at_most: &dyn Fn(f64) -> usize, range: (f64, f64), pairs: usize, cut: usize, confidence: f64) -> Interval {
    let nth = |position: usize| select(at_most, range, position);
    let estimate = f64::midpoint(nth(pairs.div_ceil(2)), nth(pairs / 2 + 1));
    let (low, high) = (nth(cut), nth(pairs + 1 - cut));
    Interval { estimate, low: low.min(estimate), high: high.max(estimate), confidence }
}

/// The figure at a position (from 1) of a sorted list that is known only by how many are at most a limit: bisection
/// to the last bit that matters.
fn select(at_most: &dyn Fn(f64) -> usize, (mut low, mut high): (f64, f64), position: usize) -> f64 {
    if at_most(low) >= position {
        return low;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if at_most(middle) >= position {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Which order statistic bounds the interval of so many pairs, and the confidence that it has.
fn critical_pairs(count: usize) -> (usize, f64) {
    if count > EXACT_PAIRS {
        let n = count as f64;
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        return approximate(mean, variance);
    }
    let ranks: Vec<usize> = (1..=count).collect();
    exact(&sign_counts(&ranks))
}

/// The same for the differences of two samples.
fn critical_samples(m: usize, n: usize) -> (usize, f64) {
    if m + n > EXACT_FIGURES {
        let both = (m * n) as f64;
        return approximate(both / 2.0, both * (m + n + 1) as f64 / 12.0);
    }
    let ranks: Vec<usize> = (1..=m + n).collect();
    // The smallest possible sum of m ranks belongs to U = 0.
    exact(&subset_counts(&ranks, m)[m * (m + 1) / 2..])
}

/// The largest position whose lower tail still fits into half of what may be missed; at least the first.
fn exact(counts: &[f64]) -> (usize, f64) {
    let all: f64 = counts.iter().sum();
    let (mut position, mut tail) = (1, counts.first().copied().unwrap_or(1.0) / all);
    while let Some(next) = counts.get(position) {
        if 2.0 * (tail + next / all) > 1.0 - CONFIDENCE {
            break;
        }
        tail += next / all;
        position += 1;
    }
    (position, (1.0 - 2.0 * tail).max(0.0))
}

fn approximate(mean: f64, variance: f64) -> (usize, f64) {
    let z = normal_quantile(0.5 + CONFIDENCE / 2.0);
    ((mean - z * variance.sqrt()).floor().max(1.0) as usize, CONFIDENCE)
}
