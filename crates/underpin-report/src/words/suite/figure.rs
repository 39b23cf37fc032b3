//! The figure of a row in the unit of its measure, and its difference from the reference.
//!
//! A difference is that of speed: the reference's time over the build's, less 1. Of a bandwidth or a rate that is the
//! build's over the reference's, less 1. So `+` is better in every table, whatever its measure.

use super::super::comparison::{
    NO_INTERVAL, change_decimals, change_interval, change_words, interval_in, verdict_role,
};
use super::{NAME, build_names};
use crate::styled::Role;
use crate::units::{thousands, time_to};
use underpin_bench::{Change, Comparison, Direction, Interval};
use underpin_suite::{Cell, Measure, RowSummary, Suite, SuiteSummary, Summary};

/// The figure of a row under a build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// The figure, in base units.
    pub interval: Interval,
    shown: Shown,
}

#[derive(Clone, Copy, Debug)]
enum Shown {
    Time,
    Bandwidth,
    Rate(&'static str),
}

/// The figure of a cell; `None` if it was not measured.
pub(crate) fn figure(row: &RowSummary, cell: &Cell) -> Option<Figure> {
    let Cell::Measured { seconds, bytes_per_second, rate, .. } = cell else { return None };
    let of = |interval, shown| Figure { interval, shown };
    Some(match (row.measure, *bytes_per_second, *rate) {
        (Measure::Bandwidth, Some(bytes), _) => of(bytes, Shown::Bandwidth),
        (Measure::Rate { unit, .. }, _, Some(rate)) => of(rate, Shown::Rate(unit)),
        _ => of(*seconds, Shown::Time),
    })
}

impl Figure {
    fn words(&self, figure: f64) -> String {
        match self.shown {
            Shown::Time => time_to(figure, 3),
            Shown::Bandwidth => format!("{} MB/s", quantity(figure / 1e6)),
            Shown::Rate(unit) => format!("{} {unit}", quantity(figure)),
        }
    }

    /// The median: `31.4 ns`, `1,637 MB/s`, `6.24M loops/s`.
    pub fn median(&self) -> String {
        self.words(self.interval.estimate)
    }

    /// Its interval, in the same unit.
    pub fn bounds(&self) -> String {
        interval_in(&self.interval, |figure| self.words(figure))
    }
}

/// A quantity in a few columns: three significant digits, and all of them up to a million.
fn quantity(figure: f64) -> String {
    match figure {
        small if small < 9.995 => format!("{small:.2}"),
        small if small < 99.95 => format!("{small:.1}"),
        whole if whole < 999_999.5 => thousands(whole.round() as u64),
        million if million < 999.5e6 => format!("{}M", digits(million / 1e6)),
        more => format!("{}G", digits(more / 1e9)),
    }
}

fn digits(figure: f64) -> String {
    match figure {
        one if one < 9.995 => format!("{one:.2}"),
        ten if ten < 99.95 => format!("{ten:.1}"),
        more => thousands(more.round() as u64),
    }
}

/// How much faster a build is than the reference: above 1, it is better.
pub(crate) fn gain(comparison: &Comparison) -> Interval {
    let time = comparison.ratio;
    Interval { estimate: 1.0 / time.estimate, low: 1.0 / time.high, high: 1.0 / time.low, ..time }
}

/// The same of the original: musl against glibc in its published figures.
pub(crate) fn gain_of_original(row: &RowSummary) -> Option<f64> {
    row.original_ratio.map(|time| 1.0 / time)
}

/// `-24.9 %`.
pub(crate) fn difference_words(comparison: &Comparison) -> String {
    let gain = gain(comparison);
    change_words(gain.estimate, change_decimals(&gain))
}

/// `[-25.3, -24.1]`.
pub(crate) fn difference_interval(comparison: &Comparison) -> String {
    change_interval(&gain(comparison))
}

/// What a comparison says, as a word; with `?` if it is only likely.
pub(crate) fn difference_word(comparison: &Comparison) -> &'static str {
    match (comparison.likely(), comparison.verdict) {
        (Some(Change::Less), _) => "faster?",
        (Some(Change::More), _) => "slower?",
        (_, Change::Less) => "faster",
        (_, Change::More) => "slower",
        (_, Change::Same) => "same",
        (_, Change::Undecided) => "?",
    }
}

/// Its role: times are better if they are less.
pub(crate) const fn difference_role(comparison: &Comparison) -> Role {
    verdict_role(comparison.verdict, Some(Direction::LowerIsBetter))
}

/// A ratio with three significant digits, and at least two after the point below 10.
pub(crate) fn factor_words(factor: f64) -> String {
    match factor {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.00995 => format!("{tiny:.4}"),
        small if small < 0.0995 => format!("{small:.3}"),
        middle if middle < 9.995 => format!("{middle:.2}"),
        large if large < 99.95 => format!("{large:.1}"),
        more => thousands(more.round() as u64),
    }
}

/// A mean with its interval: `1.32 (1.30 to 1.35)`.
pub(crate) fn mean_words(mean: &Interval) -> String {
    if !mean.is_confident() {
        return format!("{} ({NO_INTERVAL})", factor_words(mean.estimate));
    }
    // Both bounds of a narrow interval would read the same.
    let narrow = mean.high - mean.low < 0.02 && (0.1..9.995).contains(&mean.estimate);
    let words = |figure: f64| if narrow { format!("{figure:.3}") } else { factor_words(figure) };
    format!("{} ({} to {})", words(mean.estimate), words(mean.low), words(mean.high))
}

/// Rates for each MHz of the frequency that a row's program measured: `core-1 per MHz: glibc 10.2 (at 3,200 MHz)`.
/// Only of a suite that is about the processor.
pub(crate) fn per_megahertz(summary: &Summary, suite: &SuiteSummary) -> Vec<String> {
    let names = build_names(summary, NAME);
    let of = |row: &RowSummary| {
        let share = |(name, cell): (&String, &Cell)| match cell {
            Cell::Measured { rate: Some(rate), mhz: Some(mhz), .. } if *mhz > 0.0 => {
                Some(format!("{name} {} (at {} MHz)", factor_words(rate.estimate / mhz), thousands(mhz.round() as u64)))
            }
            Cell::Measured { rate: Some(_), .. } => Some(format!("{name} not known, as the frequency")),
            _ => None,
        };
        let shares: Vec<String> = names.iter().zip(&row.cells).filter_map(share).collect();
        (!shares.is_empty()).then(|| format!("{} per MHz: {}", row.row, shares.join(", ")))
    };
    let rows = suite.rows.iter().filter(|_| suite.suite == Suite::Cpu);
    rows.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_take_few_columns() {
        let texts = [0.0, 1.634, 59.88, 1028.7, 62_370.8, 999_999.4, 6_244_531.8, 59_800_000.0, 2.4e9].map(quantity);
        assert_eq!(texts, ["0.00", "1.63", "59.9", "1,029", "62,371", "999,999", "6.24M", "59.8M", "2.40G"]);
    }

    #[test]
    fn factors_have_three_digits() {
        let texts = [0.0, 0.00235, 0.0712, 0.243, 1.316, 42.65, 426.5, 2570.0].map(factor_words);
        assert_eq!(texts, ["0", "0.0024", "0.071", "0.24", "1.32", "42.6", "427", "2,570"]);
        let mean = Interval { estimate: 1.0021, low: 0.9984, high: 1.0058, confidence: 0.95 };
        assert_eq!(mean_words(&mean), "1.002 (0.998 to 1.006)");
        assert_eq!(mean_words(&Interval { high: 1.3, ..mean }), "1.00 (1.00 to 1.30)");
        assert_eq!(mean_words(&Interval { confidence: 0.5, ..mean }), "1.00 (-)");
    }
}
