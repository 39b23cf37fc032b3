//! `%d`, `%x`, `%o`, `%b` of integers as large as any float, and `%f` of an Integer.

use super::directive::{Directive, fill};

/// A whole number: a sign, and a magnitude of `significand * 2^shift`. Floats beyond 64 bits are whole numbers of that
/// form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    negative: bool,
    significand: u64,
    shift: u32,
}

impl From<i64> for Whole {
    fn from(value: i64) -> Self {
        Self { negative: value < 0, significand: value.unsigned_abs(), shift: 0 }
    }
}

impl Whole {
    /// The whole part of a finite float.
    #[allow(clippy::cast_possible_truncation, reason = "the magnitude is below 2^63")]
    pub fn of_float(value: f64) -> Self {
        const FRACTION_BITS: u64 = 52;
        if value.abs() < 9.2e18 {
            return Self::from(value as i64);
        }
        let bits = value.abs().to_bits();
        let exponent = u32::try_from((bits >> FRACTION_BITS).saturating_sub(1023 + FRACTION_BITS)).unwrap_or(0);
        let significand = (bits & ((1 << FRACTION_BITS) - 1)) | 1 << FRACTION_BITS;
        Self { negative: value < 0.0, significand, shift: exponent }
    }

    fn decimal(self) -> Vec<u8> {
        if self.shift == 0 {
            return self.significand.to_string().into_bytes();
        }
        // Exact: a float is written with all its digits.
        #[allow(clippy::cast_precision_loss, reason = "it came from a float's significand")]
        let value = self.significand as f64 * f64::from(self.shift).exp2();
        format!("{value:.0}").into_bytes()
    }

    /// Digits in base 2^bits, the first one first; at least one.
    fn digits(self, bits: u32) -> Vec<u8> {
        let length = (self.shift + u64::BITS - self.significand.leading_zeros()).div_ceil(bits).max(1);
        let bit = |at: u32| {
            at.checked_sub(self.shift).filter(|at| *at < u64::BITS).map_or(0, |at| self.significand >> at & 1)
        };
        let digit = |place: u32| (0..bits).map(|offset| bit(place * bits + offset) << offset).sum::<u64>();
        (0..length).rev().map(|place| u8::try_from(digit(place)).unwrap_or(0)).collect()
    }

    /// Digits of the two's complement, preceded by one sign digit, which stands for all that would precede it.
    fn complement(self, bits: u32) -> Vec<u8> {
        let most = (1_u8 << bits) - 1;
        let mut digits: Vec<u8> = self.digits(bits).iter().map(|digit| most - digit).collect();
        for digit in digits.iter_mut().rev() {
            if *digit == most {
                *digit = 0;
            } else {
                *digit += 1;
                break;
            }
        }
        digits.insert(0, most);
        let needless = digits.windows(2).take_while(|pair| pair[0] == most && pair[1] == most).count();
        digits.split_off(needless)
    }
}

impl Directive {
    /// Writes a whole number by its letter: one of `diuoxXbB`.
    pub fn integer(self, out: &mut Vec<u8>, letter: u8, value: Whole) {
        let bits = match letter {
            b'o' => 3,
            b'x' | b'X' => 4,
            b'b' | b'B' => 1,
            _ => 0,
        };
        if bits == 0 {
            return self.pieces(out, self.sign(value.negative), "", value.decimal(), b'0');
        }
        // With an explicit sign, negative numbers have the digits of their magnitude, otherwise those of the two's
        // complement.
        let signed = self.plus || self.space;
        let dots = value.negative && !signed;
        let digits = if dots { value.complement(bits) } else { value.digits(bits) };
        let spell = |digit: u8| {
            let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
            u8::try_from(if letter == b'X' { digit.to_ascii_uppercase() } else { digit }).unwrap_or(b'0')
        };
        let mut digits: Vec<u8> = digits.into_iter().map(spell).collect();
        let sign = if signed { self.sign(value.negative) } else { "" };
        let mut directive = self;
        let zero = digits == b"0";
        let prefix = match letter {
            _ if !self.alternate => "",
            b'o' if dots => "",
            b'o' if zero => {
                // The prefix is the only digit.
                digits.clear();
                directive.precision = directive.precision.map(|precision| precision.saturating_sub(1));
                "0"
            }
            b'o' if self.precision.is_some_and(|precision| precision > digits.len()) => "",
            b'o' => "0",
            _ if zero => "",
            b'x' => "0x",
            b'X' => "0X",
            b'B' => "0B",
            _ => "0b",
        };
        if dots {
            let filler = spell((1 << bits) - 1);
            let prefix = format!("{prefix}..");
            // The dots count as digits of the precision.
            directive.precision = directive.precision.map(|precision| precision.saturating_sub(2));
            directive.pieces(out, "", &prefix, digits, filler);
        } else {
            directive.pieces(out, sign, prefix, digits, b'0');
        }
    }

    /// Writes sign, prefix and digits filled up to the precision; or up to the width, with the flag `0` and no
    /// precision.
    fn pieces(self, out: &mut Vec<u8>, sign: &str, prefix: &str, mut digits: Vec<u8>, filler: u8) {
        let around = sign.len() + prefix.len();
        let width = self.width.unwrap_or(0);
        let places = match self.precision {
            Some(precision) => {
                if precision == 0 && prefix.is_empty() && digits == b"0" {
                    digits.clear();
                }
                precision
            }
            None if self.zero && !self.left => width.saturating_sub(around),
            None => 0,
        };
        let filled = places.saturating_sub(digits.len());
        let missing = width.saturating_sub(around + filled + digits.len());
        if !self.left {
            fill(out, b' ', missing);
        }
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(prefix.as_bytes());
        fill(out, filler, filled);
        out.extend_from_slice(&digits);
        if self.left {
            fill(out, b' ', missing);
        }
    }

    /// `%f` of an Integer, which is exact beyond the 53 bits of a float.
    pub fn fixed_integer(self, out: &mut Vec<u8>, value: i64) {
        let precision = self.precision.unwrap_or(6);
        let mut digits = value.unsigned_abs().to_string().into_bytes();
        if precision > 0 {
            digits.push(b'.');
            fill(&mut digits, b'0', precision);
        }
        self.number(out, self.sign(value < 0), &digits);
    }
}
