//! Whether figures rise or fall with the order in which they were measured.

use super::median;
use super::normal::normal_tail;
use super::rank::doubled_midranks;

/// How figures go with their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The median of the last third over the median of the first third.
    pub change: f64,
    /// Spearman's rank correlation with the order.
    pub correlation: f64,
    /// Two-sided p-value of that correlation (normal approximation).
    pub p_value: f64,
}

/// The trend of figures in the order of their measurement; `None` below 9 figures or if all are equal.
#[must_use]
pub fn trend(figures: &[f64]) -> Option<Trend> {
    let count = figures.len();
    if count < 9 {
        return None;
    }
    let third = count / 3;
    let change = median(&figures[count - third..])? / median(&figures[..third])?;
    let order: Vec<f64> = (1..=count).map(|index| index as f64).collect();
    let ranks: Vec<f64> = doubled_midranks(figures).into_iter().map(|rank| rank as f64).collect();
    let correlation = pearson(&order, &ranks)?;
    let z = correlation * ((count - 1) as f64).sqrt();
    Some(Trend { change, correlation, p_value: (2.0 * normal_tail(z.abs())).min(1.0) })
}

fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (super::mean(a)?, super::mean(b)?);
    let sum = |of: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(&x, &y)| of(x - mean_a, y - mean_b)).sum::<f64>();
    let (both, first, second) = (sum(&|x, y| x * y), sum(&|x, _| x * x), sum(&|_, y| y * y));
    let scale = (first * second).sqrt();
    (scale > 0.0).then(|| both / scale)
}
