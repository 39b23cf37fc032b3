//! Sums of floats.

/// A compensated sum of floats (Kahan-Babuska), as in CRuby's `sum`: ten times 0.1 is 1.0.
#[derive(Clone, Copy, Debug)]
pub struct FloatSum {
    sum: f64,
    lost: f64,
}

impl FloatSum {
    /// Starts with a number.
    #[must_use]
    pub fn new(start: f64) -> Self {
        Self { sum: start, lost: 0.0 }
    }

    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        if self.sum.is_nan() {
            return;
        }
        if !value.is_finite() {
            let opposite = self.sum.is_infinite() && value.is_infinite() && self.sum.signum() != value.signum();
            self.sum = if opposite { f64::NAN } else { value };
            return;
        }
        if self.sum.is_infinite() {
            return;
        }
        let total = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - total) + value } else { (value - total) + self.sum };
        self.sum = total;
    }

    /// The sum including the compensation.
    #[must_use]
    pub fn total(self) -> f64 {
        self.sum + self.lost
    }

    /// The sum without it: CRuby continues with this if an element that is not a number follows.
    #[must_use]
    pub fn partial(self) -> f64 {
        self.sum
    }
}
