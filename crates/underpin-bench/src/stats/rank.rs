//! Rank tests: Wilcoxon's signed ranks for pairs, Mann and Whitney's U for two samples.
//!
//! Exact for small samples, ties included: the distribution over all assignments of signs (or of samples) to the
//! midranks is counted, in doubled ranks so that a midrank is an integer. Above that the normal approximation, with
//! corrections for ties and for continuity.

use super::normal::normal_tail;

/// The answer of a rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// The sum of the positive ranks (signed ranks), or U of the first sample.
    pub statistic: f64,
    /// Two-sided p-value; 1 if nothing differs.
    pub p_value: f64,
    /// Counted, not approximated.
    pub exact: bool,
}

/// Pairs up to which signed ranks are counted.
const EXACT_PAIRS: usize = 60;
/// Figures of both samples up to which U is counted.
const EXACT_FIGURES: usize = 60;

/// Whether differences are centred on zero. Zeros are left out, as in Wilcoxon's test.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> RankTest {
    let kept: Vec<f64> = differences.iter().copied().filter(|&one| one != 0.0 && one.is_finite()).collect();
    let sizes: Vec<f64> = kept.iter().map(|one| one.abs()).collect();
    let ranks = doubled_midranks(&sizes);
    let doubled: usize = ranks.iter().zip(&kept).filter(|(_, one)| **one > 0.0).map(|(rank, _)| rank).sum();
    let (statistic, exact) = (doubled as f64 / 2.0, kept.len() <= EXACT_PAIRS);
    let p_value = match kept.len() {
        0 => 1.0,
        _ if exact => two_sided(&sign_counts(&ranks), doubled),
        count => {
            let n = count as f64;
            let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term(&ranks) / 48.0;
            approximate(statistic - n * (n + 1.0) / 4.0, variance)
        }
    };
    RankTest { statistic, p_value, exact }
}

/// Whether two samples come from one distribution.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> RankTest {
    let all = [first, second].concat();
    let (m, n) = (first.len(), second.len());
    let ranks = doubled_midranks(&all);
    let doubled: usize = ranks.iter().take(m).sum();
    let statistic = doubled as f64 / 2.0 - (m * (m + 1)) as f64 / 2.0;
    let exact = m + n <= EXACT_FIGURES;
    let p_value = if m == 0 || n == 0 {
        1.0
    } else if exact {
        two_sided(&subset_counts(&ranks, m), doubled)
    } else {
        let (both, total) = ((m * n) as f64, (m + n) as f64);
        let variance = both / 12.0 * (total + 1.0 - tie_term(&ranks) / (total * (total - 1.0)));
        approximate(statistic - both / 2.0, variance)
    };
    RankTest { statistic, p_value, exact }
}

/// Twice the mean rank of each figure among all, so that ties have integers too; in the order given.
pub(super) fn doubled_midranks(figures: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by(|&a, &b| figures[a].total_cmp(&figures[b]));
    let mut ranks = vec![0; figures.len()];
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..].iter().take_while(|&&index| figures[index] == figures[order[start]]).count();
        // The ranks start+1 ..= start+tied, their mean doubled.
        order[start..start + tied].iter().for_each(|&index| ranks[index] = 2 * start + tied + 1);
        start += tied;
    }
    ranks
}

/// The sum of t^3 - t over the groups of tied ranks.
fn tie_term(ranks: &[usize]) -> f64 {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|group| (group.len() as f64).powi(3) - group.len() as f64).sum()
}

/// How many choices of signs give each doubled sum of positive ranks.
pub(super) fn sign_counts(doubled: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; doubled.iter().sum::<usize>() + 1];
    counts[0] = 1.0;
    let mut top = 0;
    for &rank in doubled {
        top += rank;
        for sum in (rank..=top).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// How many choices of `size` of the ranks give each doubled sum.
pub(super) fn subset_counts(doubled: &[usize], size: usize) -> Vec<f64> {
    let width = doubled.iter().sum::<usize>() + 1;
    let mut counts = vec![vec![0.0; width]; size + 1];
    counts[0][0] = 1.0;
    for (seen, &rank) in doubled.iter().enumerate() {
        for chosen in (1..=size.min(seen + 1)).rev() {
            let (fewer, more) = counts.split_at_mut(chosen);
            for sum in rank..width {
                more[0][sum] += fewer[chosen - 1][sum - rank];
            }
        }
    }
    counts.pop().unwrap_or_default()
}

/// Twice the smaller tail at an observed sum, at most 1.
fn two_sided(counts: &[f64], observed: usize) -> f64 {
    let all: f64 = counts.iter().sum();
    let below: f64 = counts[..=observed].iter().sum();
    let above: f64 = counts[observed..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn approximate(deviation: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let corrected = (deviation.abs() - 0.5).max(0.0);
    (2.0 * normal_tail(corrected / variance.sqrt())).min(1.0)
}
