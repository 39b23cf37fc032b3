//! An axis: figures along a stretch of the drawing, with round ticks in their unit.
//!
//! Linear, or logarithmic if figures span more than a factor of twenty. A few figures far beyond the rest do not
//! squeeze the others: the axis ends before them, and the drawing shows how many are beyond.

use underpin_bench::Unit;

/// A mapping of figures to a stretch of the drawing.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    unit: Unit,
    start: f64,
    end: f64,
}

/// The figures of one variant that decide where an axis ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The least figure.
    pub least: f64,
    /// The greatest figure that the axis must reach.
    pub wanted: f64,
    /// The greatest figure.
    pub greatest: f64,
}

/// An axis is logarithmic from this factor on.
const WIDE: f64 = 20.0;
/// A linear axis begins at zero if the least figure is below this share of the greatest.
const NEAR_ZERO: f64 = 0.4;
/// The most ticks.
const TICKS: usize = 6;

impl Axis {
    /// An axis that covers all that its figures need.
    pub fn new(unit: Unit, extents: &[Extent], start: f64, end: f64) -> Axis {
        let least = extents.iter().map(|one| one.least).fold(f64::INFINITY, f64::min);
        let greatest = extents.iter().map(|one| one.greatest).fold(f64::NEG_INFINITY, f64::max);
        let wanted = extents.iter().map(|one| one.wanted).fold(f64::NEG_INFINITY, f64::max);
        // Clipping pays only if it frees a good part of the axis; a logarithmic one has room for all.
        let wide = least > 0.0 && wanted / least > WIDE;
        let clip = !wide && wanted > least && greatest - least > 1.6 * (wanted - least);
        Axis::range(unit, least, if clip { wanted } else { greatest }, start, end)
    }

    /// An axis from one figure to another, with some margin.
    pub fn range(unit: Unit, least: f64, greatest: f64, start: f64, end: f64) -> Axis {
        let (least, greatest) = if least.is_finite() && greatest.is_finite() { (least, greatest) } else { (0.0, 1.0) };
        if least > 0.0 && greatest / least > WIDE {
            let air = (greatest / least).powf(0.03);
            return Axis { low: least / air, high: greatest * air, logarithmic: true, unit, start, end };
        }
        let span = greatest - least;
        let air = if span > 0.0 { span * 0.05 } else { (greatest.abs() * 0.05).max(smallest(unit)) };
        let low = if least >= 0.0 && least < NEAR_ZERO * greatest { 0.0 } else { least - air };
        Axis { low, high: greatest + air, logarithmic: false, unit, start, end }
    }

    /// An axis that begins at zero.
    pub fn from_zero(unit: Unit, greatest: f64, start: f64, end: f64) -> Axis {
        let high = if greatest > 0.0 { greatest * 1.05 } else { smallest(unit) };
        Axis { low: 0.0, high, logarithmic: false, unit, start, end }
    }

    /// The position of a figure; figures beyond the axis are put at its end.
    pub fn at(&self, figure: f64) -> f64 {
        let share = if self.logarithmic {
            (figure.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (figure - self.low) / (self.high - self.low)
        };
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Whether a figure is beyond the axis.
    pub fn is_beyond(&self, figure: f64) -> bool {
        figure > self.high
    }

    /// Whether lengths on it are proportional to figures.
    pub fn starts_at_zero(&self) -> bool {
        self.low <= 0.0
    }

    /// Whether distances are factors.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Positions and labels of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            return self.factors().into_iter().map(|one| (self.at(one), label(one, one, one, self.unit))).collect();
        }
        let largest = self.high.abs().max(self.low.abs());
        let step = step(self.high - self.low, largest, self.unit);
        let first = (self.low / step - 1e-9).ceil();
        let figures = (0..=2 * TICKS).map(|index| (first + index as f64) * step);
        figures
            .take_while(|figure| *figure <= self.high)
            .map(|figure| (self.at(figure), label(figure, step, largest, self.unit)))
            .collect()
    }

    /// Ticks of a logarithmic axis: 1, 2, 5 of each power of ten, or powers of two, thinned out.
    fn factors(&self) -> Vec<f64> {
        let (base, within): (f64, &[f64]) =
            if self.unit == Unit::Bytes { (2.0, &[1.0]) } else { (10.0, &[1.0, 2.0, 5.0]) };
        let first = (self.low.ln() / base.ln()).floor() as i32;
        let last = (self.high.ln() / base.ln()).ceil() as i32;
        let all = |within: &[f64]| -> Vec<f64> {
            let powers = (first..=last).map(|power| base.powi(power));
            let figures = powers.flat_map(|power| within.iter().map(move |factor| factor * power));
            figures.filter(|figure| (self.low..=self.high).contains(figure)).collect()
        };
        let mut found = all(within);
        if found.len() > TICKS {
            found = all(&[1.0]);
        }
        let every = found.len().div_ceil(TICKS).max(1);
        found.into_iter().step_by(every).collect()
    }
}

/// The least span of an axis, for equal figures.
fn smallest(unit: Unit) -> f64 {
    match unit {
        Unit::Seconds => 1e-6,
        Unit::Bytes => 4096.0,
        Unit::Count | Unit::PerSecond => 1.0,
    }
}

/// The distance between round ticks.
fn step(span: f64, largest: f64, unit: Unit) -> f64 {
    let rough = span / TICKS as f64;
    let scale = match unit {
        Unit::Bytes if largest < 10.0 * MIB => 1024.0,
        Unit::Bytes => binary_scale(largest).1,
        _ => 1.0,
    };
    let power = 10f64.powf((rough / scale).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power * scale);
    let found = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
    if unit == Unit::Count { found.max(1.0) } else { found }
}

const MIB: f64 = 1_048_576.0;

fn binary_scale(bytes: f64) -> (&'static str, f64) {
    const KIB: f64 = 1024.0;
    match bytes.abs() {
        small if small < KIB => ("B", 1.0),
        small if small < KIB * KIB => ("KiB", KIB),
        middle if middle < KIB * KIB * KIB => ("MiB", KIB * KIB),
        _ => ("GiB", KIB * KIB * KIB),
    }
}

fn decimal_scale(seconds: f64) -> (&'static str, f64) {
    match seconds.abs() {
        small if small < 1e-6 => ("ns", 1e-9),
        small if small < 1e-3 => ("µs", 1e-6),
        middle if middle < 1.0 => ("ms", 1e-3),
        _ => ("s", 1.0),
    }
}

/// A tick in the unit that suits the largest one, with as many decimals as the step needs.
fn label(figure: f64, step: f64, largest: f64, unit: Unit) -> String {
    let (name, scale) = match unit {
        Unit::Seconds => decimal_scale(largest),
        // As figures are displayed: in KiB up to 10 MiB, unless the step is whole MiB.
        Unit::Bytes if step < MIB && largest < 10.0 * MIB => ("KiB", 1024.0),
        Unit::Bytes => binary_scale(largest),
        Unit::PerSecond => ("/s", 1.0),
        Unit::Count => ("", 1.0),
    };
    let decimals = (-(step / scale).log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let figure = figure / scale;
    let mut words = format!("{figure:.decimals$}");
    if decimals == 0 && figure >= 1000.0 {
        words = crate::units::thousands(figure.round() as u64);
    }
    // A zero needs no unit, and never a sign.
    if figure == 0.0 {
        return "0".to_owned();
    }
    if name.is_empty() { words } else { format!("{words} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn ticks_are_round_and_tell_apart() {
        assert_eq!(words(&Axis::range(Unit::Seconds, 0.49, 0.612, 0.0, 100.0)), ["500 ms", "550 ms", "600 ms"]);
        let close = words(&Axis::range(Unit::Seconds, 0.5001, 0.5009, 0.0, 100.0));
        assert_eq!(close, ["500.2 ms", "500.4 ms", "500.6 ms", "500.8 ms"]);
        let memory = words(&Axis::from_zero(Unit::Bytes, 300.0 * 1048576.0, 0.0, 100.0));
        assert_eq!(memory, ["0", "100 MiB", "200 MiB", "300 MiB"]);
        assert_eq!(words(&Axis::from_zero(Unit::Bytes, 12288.0, 0.0, 100.0)).last().unwrap(), "10 KiB");
        assert_eq!(words(&Axis::range(Unit::Count, 3.0, 5.0, 0.0, 100.0)), ["3", "4", "5"]);
    }

    #[test]
    fn figures_that_span_much_stand_on_a_logarithmic_axis() {
        let axis = Axis::range(Unit::Seconds, 0.001, 1.0, 0.0, 300.0);
        assert_eq!(words(&axis), ["1 ms", "10 ms", "100 ms", "1 s"]);
        assert!((axis.at(0.03162) - 150.0).abs() < 0.5);
        let memory = Axis::range(Unit::Bytes, 12288.0, 800.0 * 1048576.0, 0.0, 300.0);
        assert!(memory.ticks().len() <= TICKS && words(&memory)[0] == "16 KiB", "{memory:?}");
    }

    #[test]
    fn equal_figures_stand_in_the_middle() {
        for figure in [0.0, 0.5, 1e9] {
            let axis = Axis::range(Unit::Seconds, figure, figure, 0.0, 100.0);
            assert!(axis.at(figure).is_finite() && !axis.ticks().is_empty(), "{axis:?}");
        }
        let none = Axis::range(Unit::Bytes, f64::INFINITY, f64::NEG_INFINITY, 0.0, 100.0);
        assert!(none.at(1.0).is_finite());
    }

    #[test]
    fn a_figure_far_beyond_the_rest_does_not_squeeze_them() {
        let extent = Extent { least: 1.0, wanted: 1.2, greatest: 9.0 };
        let axis = Axis::new(Unit::Seconds, &[extent], 0.0, 100.0);
        assert!(axis.is_beyond(9.0) && !axis.is_beyond(1.2));
        assert!(axis.at(9.0) <= 100.0 && axis.at(1.1) > 30.0);
        let near = Extent { greatest: 1.25, ..extent };
        assert!(!Axis::new(Unit::Seconds, &[near], 0.0, 100.0).is_beyond(1.25));
    }
}
