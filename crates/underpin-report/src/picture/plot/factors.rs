//! A scale on which distances are factors, with "no change" in sight: half and twice are as far from it.

use super::anchor_at;
use crate::picture::svg::Svg;

/// Factors along a stretch of the drawing.
pub(super) struct Factors {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Factors {
    /// A scale for intervals of factors; what is beyond `most`, or its inverse, is cut off.
    pub fn of(bounds: impl Iterator<Item = (f64, f64)>, most: f64, [start, end]: [f64; 2]) -> Factors {
        let (mut low, mut high) = (0.98f64, 1.02f64);
        for (least, greatest) in bounds {
            low = low.min(least.max(1.0 / most));
            high = high.max(greatest.min(most));
        }
        let air = (high / low).powf(0.04);
        Factors { low: low / air, high: high * air, start, end }
    }

    /// The same with 1 in the middle.
    pub fn centred(self) -> Factors {
        let reach = self.high.max(1.0 / self.low);
        Factors { low: 1.0 / reach, high: reach, ..self }
    }

    /// The position of a factor; those beyond the scale are put at its end.
    pub fn at(&self, ratio: f64) -> f64 {
        let share = (ratio.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Whether a factor is on the scale.
    pub fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// Vertical lines with their factors below.
    pub fn draw(&self, svg: &mut Svg, top: f64, bottom: f64, words: fn(f64) -> String) {
        let mut ticks = self.ticks();
        // "No change" is never the tick that is left out.
        ticks.sort_by_key(|ratio| *ratio != 1.0);
        let mut taken: Vec<f64> = Vec::new();
        for ratio in ticks {
            let x = self.at(ratio);
            svg.line(if ratio == 1.0 { "zero" } else { "grid" }, [x, top, x, bottom]);
            if taken.iter().all(|other| (x - other).abs() > 42.0) {
                let words = words(ratio);
                svg.text("axis", x, bottom + 17.0, anchor_at(x, &words), &words);
                taken.push(x);
            }
        }
    }

    /// Round factors in sight: the finest of these lists that is not too crowded.
    pub fn ticks(&self) -> Vec<f64> {
        const LISTS: [&[f64]; 6] = [
            &[0.98, 0.99, 1.0, 1.01, 1.02],
            &[0.9, 0.95, 1.0, 1.05, 1.1],
            &[0.8, 0.9, 1.0, 1.1, 1.2],
            &[0.5, 0.75, 1.0, 1.25, 1.5, 2.0],
            &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
            &[0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0],
        ];
        let span = (self.high / self.low).ln();
        let index = [0.05, 0.22, 0.6, 1.6, 4.6].iter().take_while(|limit| span > **limit).count();
        LISTS[index].iter().copied().filter(|ratio| self.holds(*ratio)).collect()
    }
}

/// A factor as a change: `-50 %`, `x2`.
pub(super) fn tick_words(ratio: f64) -> String {
    match ratio {
        1.0 => "0 %".to_owned(),
        far if far >= 2.0 => format!("x{far}"),
        near => format!("{:+.0} %", (near - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_the_middle_of_a_centred_scale() {
        let scale = Factors::of([(0.25, 1.5), (0.9, 1.1)].into_iter(), 64.0, [100.0, 300.0]).centred();
        assert!((scale.at(1.0) - 200.0).abs() < 1e-9);
        assert!((scale.at(0.5) + scale.at(2.0) - 400.0).abs() < 1e-9, "half and twice are as far");
        assert!(scale.at(0.25) > 100.0 && scale.ticks().contains(&1.0));
    }

    #[test]
    fn what_is_too_far_is_put_at_the_end() {
        let scale = Factors::of([(0.5, 1e6), (f64::NAN, f64::INFINITY)].into_iter(), 64.0, [0.0, 100.0]);
        assert!(!scale.holds(1e6) && scale.holds(64.0));
        assert_eq!((scale.at(1e6), scale.at(0.0)), (100.0, 0.0));
    }
}
