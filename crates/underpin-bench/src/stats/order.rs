//! Order statistics of a sample: median, quartiles, spread, outliers.

use schemars::JsonSchema;
use serde::Serialize;

/// A sample in ascending order; figures that are not finite are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Order(Vec<f64>);

/// Figures far from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outliers {
    /// More than 3 times the distance of the quartiles below the first.
    pub low_severe: usize,
    /// More than 1.5 and at most 3 times.
    pub low_mild: usize,
    /// More than 1.5 and at most 3 times above the third.
    pub high_mild: usize,
    /// More than 3 times.
    pub high_severe: usize,
    /// All figures.
    pub of: usize,
}

impl Outliers {
    /// All that are far from the others.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.low_severe + self.low_mild + self.high_mild + self.high_severe
    }
}

/// Turns a median absolute deviation into a standard deviation, for a normal distribution.
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

impl Order {
    /// Sorts.
    #[must_use]
    pub fn new(figures: &[f64]) -> Order {
        let mut sorted: Vec<f64> = figures.iter().copied().filter(|figure| figure.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Order(sorted)
    }

    /// The figures, ascending.
    #[must_use]
    pub fn figures(&self) -> &[f64] {
        &self.0
    }

    /// The quantile by linear interpolation (type 7 of Hyndman and Fan, the default of R and NumPy).
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        let position = share.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(last);
        let weight = position - below as f64;
        Some(self.0[below] * (1.0 - weight) + self.0[above] * weight)
    }

    /// The middle, or the mean of the middle two.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The least figure.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        self.0.first().copied()
    }

    /// The greatest figure.
    #[must_use]
    pub fn greatest(&self) -> Option<f64> {
        self.0.last().copied()
    }

    /// How many figures lie beyond Tukey's fences (1977): mild ones 1.5 times the distance of the quartiles from the nearer
    /// quartile, severe ones 3 times. `None` for fewer than four figures, which have no quartiles to speak of.
    #[must_use]
    pub fn outliers(&self) -> Option<Outliers> {
        let (first, third) = (self.quantile(0.25)?, self.quantile(0.75)?);
        let wide = third - first;
        let below = |fence: f64| self.0.iter().filter(|figure| **figure < fence).count();
        let above = |fence: f64| self.0.iter().filter(|figure| **figure > fence).count();
        let (low_severe, high_severe) = (below(first - 3.0 * wide), above(third + 3.0 * wide));
        (self.0.len() >= 4).then(|| Outliers {
            low_severe,
            low_mild: below(first - 1.5 * wide) - low_severe,
            high_mild: above(third + 1.5 * wide) - high_severe,
            high_severe,
            of: self.0.len(),
        })
    }

    /// The median absolute deviation from the median, scaled to a standard deviation.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let middle = self.median()?;
        let deviations: Vec<f64> = self.0.iter().map(|figure| (figure - middle).abs()).collect();
        Some(Order::new(&deviations).median()? * MAD_TO_SIGMA)
    }

    /// Figures above the outer Tukey fence: the third quartile plus three times the interquartile range.
    #[must_use]
    pub fn far_above(&self) -> usize {
        let (Some(first), Some(third)) = (self.quantile(0.25), self.quantile(0.75)) else { return 0 };
        let fence = third + 3.0 * (third - first);
        self.0.iter().filter(|&&figure| figure > fence).count()
    }
}

/// The median of figures in any order.
#[must_use]
pub fn median(figures: &[f64]) -> Option<f64> {
    Order::new(figures).median()
}

/// The arithmetic mean.
#[must_use]
pub fn mean(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// The geometric mean; `None` if a figure is not positive.
#[must_use]
pub fn geometric_mean(figures: &[f64]) -> Option<f64> {
    if figures.iter().any(|&figure| figure <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
    mean(&logarithms).map(f64::exp)
}
