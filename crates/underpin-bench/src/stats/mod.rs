//! Statistics of small, skewed, noisy samples: order statistics, bootstrap, rank tests, correction for many tests.
//!
//! Pure functions of numbers; the same input gives the same answer, since every resampling has its own seed. Nothing
//! here assumes a normal distribution, and nothing knows what was measured.

mod bootstrap;
mod interval;
mod multiple;
mod normal;
mod order;
mod random;
mod rank;
mod shift;
mod trend;

pub use bootstrap::{Bootstrap, median_interval};
pub use interval::Interval;
pub use multiple::{holm, q_values};
pub use normal::{normal_quantile, normal_tail};
pub use order::{Order, Outliers, geometric_mean, mean, median};
pub use random::Random;
pub use rank::{RankTest, mann_whitney, signed_rank};
pub use shift::{paired_shift, shift};
pub use trend::{Trend, trend};

/// The confidence that every interval aims at.
pub const CONFIDENCE: f64 = 0.95;

#[cfg(test)]
mod tests;
