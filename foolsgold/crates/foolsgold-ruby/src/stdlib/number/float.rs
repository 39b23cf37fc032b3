//! `%f`, `%e`, `%g` and `%a`, exact in all digits.

use super::directive::{Directive, fill};
use super::halves::{Digits, is_half};

/// A float has at most 1,074 decimals; a longer precision adds zeros. (The core library takes precisions up to 65,535.)
const MOST_DIGITS: usize = 1100;
const DEFAULT_PRECISION: usize = 6;
/// Bits of a float's significand after the point.
const FRACTION_BITS: u32 = 52;

impl Directive {
    /// Writes a float by its letter: one of `fFeEgGaA`. (Ruby has no `F`; it is treated as `f`.)
    pub fn float(self, out: &mut Vec<u8>, letter: u8, value: f64) {
        if !value.is_finite() {
            let name = if value.is_nan() { "NaN" } else { "Inf" };
            let sign = self.sign(value < 0.0);
            let text = [sign, name].concat();
            return self.text(out, text.as_bytes(), text.len());
        }
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let mut digits = match letter.to_ascii_lowercase() {
            b'e' => self.scientific(magnitude, self.precision.unwrap_or(DEFAULT_PRECISION)),
            b'g' => self.general(magnitude),
            b'a' => hexadecimal(magnitude, self.precision, self.alternate),
            _ => self.fixed(magnitude, self.precision.unwrap_or(DEFAULT_PRECISION)),
        };
        let mut prefix = sign.to_owned();
        if letter.eq_ignore_ascii_case(&b'a') {
            prefix += if letter == b'A' { "0X" } else { "0x" };
        }
        if letter.is_ascii_uppercase() {
            digits.make_ascii_uppercase();
        }
        self.number(out, &prefix, &digits);
    }

    fn fixed(self, magnitude: f64, precision: usize) -> Vec<u8> {
        let known = precision.min(MOST_DIGITS);
        let mut digits = if is_half(magnitude, Digits::Behind(precision)) {
            even(&format!("{magnitude:.MOST_DIGITS$}"), precision)
        } else {
            format!("{magnitude:.known$}")
        }
        .into_bytes();
        fill(&mut digits, b'0', precision - known);
        if precision == 0 && self.alternate {
            digits.push(b'.');
        }
        digits
    }

    fn scientific(self, magnitude: f64, precision: usize) -> Vec<u8> {
        let Parts { mut digits, exponent, .. } = parts(magnitude, precision);
        if precision == 0 && self.alternate {
            digits.push(b'.');
        }
        push_exponent(&mut digits, exponent);
        digits
    }

    /// The shorter of the two, without trailing zeros.
    fn general(self, magnitude: f64) -> Vec<u8> {
        let significant = self.precision.unwrap_or(DEFAULT_PRECISION).max(1);
        let Parts { mut digits, exponent, keeps_zeros } = parts(magnitude, significant - 1);
        let places = i64::try_from(significant).unwrap_or(i64::MAX);
        let scientific = exponent < -4 || i64::from(exponent) >= places;
        if !scientific {
            let behind = usize::try_from(places - 1 - i64::from(exponent)).unwrap_or(0);
            digits = Directive { alternate: false, ..self }.fixed(magnitude, behind);
        }
        if self.alternate {
            if !digits.contains(&b'.') {
                digits.push(b'.');
            }
        } else if digits.contains(&b'.') && !keeps_zeros {
            let kept = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(0);
            digits.truncate(if digits[kept] == b'.' { kept } else { kept + 1 });
        }
        if scientific {
            push_exponent(&mut digits, exponent);
        }
        digits
    }
}

/// A float, split for `%e`.
struct Parts {
    /// The digits with their point (`1.25`).
    digits: Vec<u8>,
    exponent: i32,
    /// CRuby keeps trailing zeros in `%g` if the float is slightly above a midpoint and was rounded down to them.
    keeps_zeros: bool,
}

fn parts(magnitude: f64, precision: usize) -> Parts {
    let known = precision.min(MOST_DIGITS);
    let half = is_half(magnitude, Digits::Significant(precision + 1));
    let text = format!("{magnitude:.0$e}", if half { MOST_DIGITS } else { known });
    let (all, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut exponent = exponent.parse().unwrap_or(0);
    let mut digits = if half { even(all, precision) } else { all.to_owned() }.into_bytes();
    let (kept, rest) = all.split_at((precision + 2).min(all.len()));
    // Whole numbers up to 10^15 take another path there, and also keep them exactly at the midpoint.
    let whole = magnitude.fract() == 0.0 && magnitude < 1e15;
    let above = whole || (rest.starts_with('5') && rest.trim_end_matches('0') != "5");
    let keeps_zeros = half && above && precision > 0 && kept.ends_with('0');
    if digits.starts_with(b"10") {
        // 9.995 became 10.00.
        exponent += 1;
        digits.remove(1);
        if precision > 0 {
            digits.truncate(1);
            digits.push(b'.');
            fill(&mut digits, b'0', precision);
        }
    }
    fill(&mut digits, b'0', precision - known);
    Parts { digits, exponent, keeps_zeros }
}

/// Cuts a decimal after this many digits and makes the last one even, rounding up.
fn even(digits: &str, precision: usize) -> String {
    let point = digits.find('.').unwrap_or(digits.len());
    let kept: String = digits.chars().filter(char::is_ascii_digit).take(point + precision).collect();
    let units: u64 = kept.parse().unwrap_or(0);
    let whole = format!("{:0>width$}", units + units % 2, width = precision + 1);
    let (whole, fraction) = whole.split_at(whole.len() - precision);
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn push_exponent(digits: &mut Vec<u8>, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    digits.extend_from_slice(format!("e{sign}{:02}", exponent.unsigned_abs()).as_bytes());
}

/// What follows `0x`. The first digit is 1 for all but zero, also for subnormal numbers: CRuby writes them this way.
fn hexadecimal(magnitude: f64, precision: Option<usize>, alternate: bool) -> Vec<u8> {
    let (mut significand, mut exponent) = normalized(magnitude);
    let nibbles = FRACTION_BITS as usize / 4;
    if let Some(precision) = precision.filter(|precision| *precision <= nibbles) {
        // Even if all digits are requested, CRuby rounds the last bit away.
        let dropped = (4 * (nibbles - precision)).max(1);
        let (unit, half) = (1_u64 << dropped, 1_u64 << (dropped - 1));
        let rest = significand % unit;
        significand -= rest;
        if rest > half || (rest == half && significand & unit != 0) {
            significand += unit;
        }
        // 1.fff became 2.000.
        if significand >> (FRACTION_BITS + 1) != 0 {
            significand >>= 1;
            exponent += 1;
        }
    }
    let mut fraction = format!("{:013x}", significand & ((1 << FRACTION_BITS) - 1)).into_bytes();
    match precision {
        Some(precision) => fraction.resize(precision, b'0'),
        None => {
            let kept = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
            fraction.truncate(kept);
        }
    }
    let mut digits = format!("{}", significand >> FRACTION_BITS).into_bytes();
    if !fraction.is_empty() || alternate {
        digits.push(b'.');
    }
    digits.extend_from_slice(&fraction);
    let sign = if exponent < 0 { '-' } else { '+' };
    digits.extend_from_slice(format!("p{sign}{}", exponent.unsigned_abs()).as_bytes());
    digits
}

/// The significand with its first bit at position 52 (0 for zero), and the exponent.
pub(super) fn normalized(magnitude: f64) -> (u64, i32) {
    const LEAST_EXPONENT: i32 = -1022;
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let biased = i32::try_from(bits >> FRACTION_BITS).unwrap_or(0);
    if biased > 0 {
        return (fraction | 1 << FRACTION_BITS, biased - 1023);
    }
    if fraction == 0 {
        return (0, 0);
    }
    let shift = fraction.leading_zeros() - (63 - FRACTION_BITS);
    (fraction << shift, LEAST_EXPONENT - i32::try_from(shift).unwrap_or(0))
}
