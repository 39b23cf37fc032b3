//! Medians, ratios of medians, and their bootstrap intervals.

/// The times of one contestant, in seconds.
pub struct Sample {
    seconds: Vec<f64>,
    processor: Option<Box<Sample>>,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// A figure that was counted, not sampled.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }
}

/// Resamples per interval.
const RESAMPLES: usize = 4000;

impl Sample {
    /// The times in the order in which they were measured.
    pub fn new(seconds: Vec<f64>) -> Sample {
        Sample { seconds, processor: None }
    }

    /// The same, with the processor times of the same runs.
    pub fn with_processor(self, seconds: Vec<f64>) -> Sample {
        Sample { processor: Some(Box::new(Sample::new(seconds))), ..self }
    }

    /// The processor times, which other work on the machine hardly moves; the times themselves if none were taken.
    pub fn processor(&self) -> &Sample {
        self.processor.as_deref().unwrap_or(self)
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.seconds.len()
    }

    /// The median in seconds.
    pub fn median(&self) -> Estimate {
        self.estimate(|picks| median(picks.iter().map(|&at| self.seconds[at]).collect()))
    }

    /// This median over another's. The two must come from the same rounds: run `i` of both is resampled together, so
    /// that what slowed a whole round cancels out.
    pub fn ratio(&self, other: &Sample) -> Estimate {
        self.estimate(|picks| {
            let of = |sample: &Sample| median(picks.iter().map(|&at| sample.seconds[at]).collect());
            of(self) / of(other)
        })
    }

    /// The median of the ratios run by run: for runs that are fast or slow as a whole, where medians of the two may come from
    /// different ones. The two must come from the same rounds.
    pub fn paired_ratio(&self, other: &Sample) -> Estimate {
        let pairs = self.seconds.iter().zip(&other.seconds);
        Sample::new(pairs.map(|(one, two)| one / two).collect()).median()
    }

    /// (A with − A without) over (B with − B without), all four of the same rounds: what a part of the work takes in one
    /// setting beside another.
    pub fn ratio_of_differences(a: [&Sample; 2], b: [&Sample; 2]) -> Estimate {
        a[0].estimate(|picks| {
            let of = |sample: &Sample| median(picks.iter().map(|&at| sample.seconds[at]).collect());
            (of(a[0]) - of(a[1])) / (of(b[0]) - of(b[1]))
        })
    }

    fn estimate(&self, statistic: impl Fn(&[usize]) -> f64) -> Estimate {
        let count = self.seconds.len();
        let value = statistic(&(0..count).collect::<Vec<_>>());
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut values: Vec<f64> =
            (0..RESAMPLES).map(|_| statistic(&(0..count).map(|_| random.below(count)).collect::<Vec<_>>())).collect();
        values.sort_by(f64::total_cmp);
        Estimate { value, low: values[RESAMPLES / 40], high: values[RESAMPLES - 1 - RESAMPLES / 40] }
    }
}

/// The value in the middle, or between the two there; not a number if there is none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// xorshift64*: the same resamples every time, so a table can be computed again from the same times.
pub struct Random(u64);

impl Random {
    /// Each seed, not 0, has numbers of its own.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The numbers below `count` in an order drawn anew.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let scrambled = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        usize::try_from((u128::from(scrambled) * bound as u128) >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_between_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![9.0, 1.0, 3.0]), 3.0);
    }

    #[test]
    fn a_drift_that_slows_both_alike_cancels_out_of_the_ratio() {
        let drift = |factor: f64| Sample::new((0..40).map(|run| factor * (1.0 + f64::from(run) / 10.0)).collect());
        let ratio = drift(0.7).ratio(&drift(1.0));
        assert!((ratio.low - 0.7).abs() < 1e-9 && (ratio.high - 0.7).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn runs_of_two_speeds_do_not_move_a_ratio_of_pairs() {
        let slow = |factor: f64, at: usize| factor * if at < 2 { 1.5 } else { 1.0 };
        let sample =
            |factors: [f64; 4]| Sample::new(factors.into_iter().enumerate().map(|(at, f)| slow(f, at)).collect());
        let (one, two) = (sample([1.1, 1.1, 1.1, 1.7]), sample([1.0; 4]));
        assert!((one.paired_ratio(&two).value - 1.1).abs() < 1e-9);
        assert!((one.ratio(&two).value - 1.1).abs() > 0.05, "medians of different runs");
    }

    #[test]
    fn a_constant_cost_cancels_out_of_a_ratio_of_differences() {
        let flat = |seconds: f64| Sample::new(vec![seconds; 20]);
        let ratio = Sample::ratio_of_differences([&flat(5.5), &flat(0.5)], [&flat(5.1), &flat(0.1)]);
        assert!((ratio.value - 1.0).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn the_interval_of_a_spread_sample_holds_its_median() {
        let sample = Sample::new((0..101).map(f64::from).collect());
        let median = sample.median();
        assert_eq!(median.value, 50.0);
        assert!(median.low > 30.0 && median.low < 50.0 && median.high > 50.0 && median.high < 70.0, "{median:?}");
    }
}
