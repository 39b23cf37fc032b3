//! When CRuby treats a float as the midpoint between two decimals.
//!
//! Its `format` multiplies and divides by powers of ten first. If the result is a midpoint within the error of that, it
//! counts as the midpoint and is rounded to the even digit: `"%.2f" % 2.345` is 2.34 and `"%.2f" % 1.115` is 1.12,
//! although the first float is slightly above and the second slightly below. Programs rely on CRuby's digits, so this
//! performs the same steps. Beyond 14 digits CRuby is exact.

/// The number of digits up to which CRuby computes with floats.
const MOST_DIGITS: i32 = 14;

/// How many digits are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// This many from the first non-zero digit.
    Significant(usize),
    /// This many decimals.
    Behind(usize),
}

/// Whether a positive float counts as the midpoint between two decimals with this many digits.
pub fn is_half(magnitude: f64, digits: Digits) -> bool {
    let (mut exponent, uncertain) = decimal_exponent(magnitude);
    let count = |exponent: i32| match digits {
        Digits::Significant(digits) => i32::try_from(digits).unwrap_or(i32::MAX),
        Digits::Behind(digits) => i32::try_from(digits).unwrap_or(i32::MAX).saturating_add(exponent + 1),
    };
    let mut digits = count(exponent);
    if !(1..=MOST_DIGITS).contains(&digits) {
        return false;
    }
    let (mut value, mut errors) = scaled(magnitude, exponent);
    if uncertain && value < 1.0 {
        exponent -= 1;
        digits = count(exponent);
        if digits <= 0 {
            return false;
        }
        value *= 10.0;
        errors += 1.0;
    }
    let error = (errors * value + 7.0) * f64::EPSILON * power(digits - 1);
    for _ in 1..digits {
        value = value.fract();
        if value == 0.0 {
            return false;
        }
        value *= 10.0;
    }
    (value.fract() - 0.5).abs() <= error
}

/// The decimal exponent, and whether it may be too large by one: from the binary exponent and a line below the
/// logarithm.
fn decimal_exponent(magnitude: f64) -> (i32, bool) {
    let (significand, exponent) = super::float::normalized(magnitude);
    let mantissa = f64::from_bits(significand & ((1 << 52) - 1) | 1.0_f64.to_bits());
    let estimate = (mantissa - 1.5) * 0.289_529_654_602_168
        + 0.176_091_259_055_8
        + f64::from(exponent) * std::f64::consts::LOG10_2;
    #[allow(clippy::cast_possible_truncation, reason = "below 400")]
    let exponent = estimate.floor() as i32;
    if !(0..=22).contains(&exponent) {
        return (exponent, true);
    }
    (if magnitude < power(exponent) { exponent - 1 } else { exponent }, false)
}

/// The float scaled to one digit before the point, and how often it was rounded on the way, plus two.
fn scaled(magnitude: f64, exponent: i32) -> (f64, f64) {
    const SQUARES: [f64; 5] = [1e16, 1e32, 1e64, 1e128, 1e256];
    let (mut value, mut errors) = (magnitude, 2.0);
    let places = exponent.unsigned_abs();
    let small = power(i32::try_from(places % 16).unwrap_or(0));
    let large = SQUARES.iter().enumerate().filter(|(bit, _)| (places / 16) >> bit & 1 == 1);
    if exponent > 0 {
        let mut divisor = small;
        for (bit, square) in large {
            errors += 1.0;
            if bit == 4 {
                value /= square;
            } else {
                divisor *= square;
            }
        }
        value /= divisor;
    } else if exponent < 0 {
        value *= small;
        for (_, square) in large {
            errors += 1.0;
            value *= square;
        }
    }
    (value, errors)
}

/// Powers of ten that are exact floats.
fn power(exponent: i32) -> f64 {
    10_f64.powi(exponent)
}
