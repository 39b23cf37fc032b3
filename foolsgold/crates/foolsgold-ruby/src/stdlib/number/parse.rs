//! Texts read as floats: `String#to_f` reads as much as it can from the start, `Float()` the whole text or nothing.

use thiserror::Error;

/// Why a text is not a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FloatSyntax {
    /// It contains a NUL.
    #[error("string for Float contains null byte")]
    Nul,
    /// Anything else. CRuby names the text.
    #[error("invalid value for Float()")]
    Malformed,
}

/// The float at the start of a text, 0.0 if there is none. Underscores may be between digits. Hexadecimal digits are
/// read only after a sign, as in CRuby.
#[must_use]
pub fn leading_float(text: &[u8]) -> f64 {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    let text = &text[start..];
    if let [sign @ (b'-' | b'+'), b'0', b'x' | b'X', rest @ ..] = text {
        return match hexadecimal(rest) {
            Some((magnitude, _)) if *sign == b'-' => -magnitude,
            Some((magnitude, _)) => magnitude,
            None => 0.0,
        };
    }
    let (digits, _) = decimal(text);
    digits.parse().unwrap_or(0.0)
}

/// The float that the whole text represents. It may have blanks around it.
///
/// # Errors
/// If it is not a float.
pub fn strict_float(text: &[u8]) -> Result<f64, FloatSyntax> {
    if text.contains(&0) {
        return Err(FloatSyntax::Nul);
    }
    let start = text.iter().position(|byte| !is_space(*byte)).ok_or(FloatSyntax::Malformed)?;
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(start, |last| last + 1);
    let text = &text[start..end];
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if unsigned.len() > 2 && unsigned[0] == b'0' && unsigned[1].eq_ignore_ascii_case(&b'x') {
        let (magnitude, read) = hexadecimal(&unsigned[2..]).ok_or(FloatSyntax::Malformed)?;
        if read + 2 < unsigned.len() {
            return Err(FloatSyntax::Malformed);
        }
        return Ok(if text[0] == b'-' { -magnitude } else { magnitude });
    }
    let (digits, read) = decimal(text);
    if digits.is_empty() || read < text.len() {
        return Err(FloatSyntax::Malformed);
    }
    digits.parse().map_err(|_| FloatSyntax::Malformed)
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || (9..=13).contains(&byte)
}

/// The decimal float at the start, without its underscores, and its length in bytes.
fn decimal(text: &[u8]) -> (String, usize) {
    let mut out = String::new();
    let mut at = 0;
    if let Some(sign @ (b'-' | b'+')) = text.first() {
        out.push(char::from(*sign));
        at = 1;
    }
    let whole = run(&text[at..], &mut out, 10);
    let bare_point = text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit);
    if whole == 0 && !bare_point {
        return (String::new(), 0);
    }
    at += whole;
    if text.get(at) == Some(&b'.') {
        let mut fraction = String::from(".");
        let length = run(&text[at + 1..], &mut fraction, 10);
        if length > 0 {
            out += &fraction;
            at += 1 + length;
        }
    }
    if text.get(at).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        let mut exponent = String::from("e");
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        exponent.extend(text[at + 1..][..sign].iter().map(|byte| char::from(*byte)));
        let length = run(&text[at + 1 + sign..], &mut exponent, 10);
        if length > 0 {
            out += &exponent;
            at += 1 + sign + length;
        }
    }
    (out, at)
}

/// Copies a run of digits; single underscores between two digits are left out. Returns the length of the run.
fn run(text: &[u8], out: &mut String, radix: u32) -> usize {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(|byte| char::from(*byte).is_digit(radix));
    let mut at = 0;
    loop {
        match text.get(at) {
            digit if is_digit(digit) => out.push(char::from(text[at])),
            Some(b'_') if at > 0 && is_digit(text.get(at - 1)) && is_digit(text.get(at + 1)) => {}
            _ => return at,
        }
        at += 1;
    }
}

/// What follows `0x` (`1.8p3`), and how many bytes of it are read. A point needs a digit after it.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let (mut digits, mut fraction, mut exponent) = (String::new(), String::new(), String::new());
    let mut at = run(text, &mut digits, 16);
    if at == 0 {
        return None;
    }
    if text.get(at) == Some(&b'.') {
        let length = run(&text[at + 1..], &mut fraction, 16);
        if length == 0 {
            return None;
        }
        at += 1 + length;
    }
    if text.get(at).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'p')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        if text.get(at + 1) == Some(&b'-') {
            exponent.push('-');
        }
        let length = run(&text[at + 1 + sign..], &mut exponent, 10);
        if length == 0 {
            return None;
        }
        at += 1 + sign + length;
    }
    let (mut value, mut scale) = (0_u64, exponent.parse().unwrap_or(0_i64).clamp(-100_000, 100_000));
    for (place, digit) in digits.chars().chain(fraction.chars()).enumerate() {
        let behind = place >= digits.len();
        let digit = digit.to_digit(16).unwrap_or(0);
        if value >> 58 == 0 {
            value = value << 4 | u64::from(digit);
            scale -= if behind { 4 } else { 0 };
        } else {
            // Too far to the right to matter except for rounding.
            value |= u64::from(digit != 0);
            scale += if behind { 0 } else { 4 };
        }
    }
    Some((scaled(value, scale), at))
}

/// `value * 2^scale`, rounded once.
#[allow(clippy::cast_precision_loss, reason = "rounding to the nearest float is what is wanted")]
fn scaled(value: u64, scale: i64) -> f64 {
    if value == 0 {
        return 0.0;
    }
    let top = i64::from(63 - value.leading_zeros()) + scale;
    if top > 1023 {
        return f64::INFINITY;
    }
    if top >= -1022 {
        let scale = i32::try_from(scale).unwrap_or(0);
        // In two steps: one power of two may be beyond a float's range.
        let half = scale / 2;
        return value as f64 * f64::from(half).exp2() * f64::from(scale - half).exp2();
    }
    // Subnormal: a multiple of 2^-1074, to the nearest and even.
    let dropped = -1074 - scale;
    if dropped >= 64 {
        return if dropped == 64 && value > 1 << 63 { f64::from_bits(1) } else { 0.0 };
    }
    if dropped <= 0 {
        return f64::from_bits(value << dropped.unsigned_abs());
    }
    let (units, rest) = (value >> dropped, value & ((1 << dropped) - 1));
    let half = 1_u64 << (dropped - 1);
    f64::from_bits(units + u64::from(rest > half || (rest == half && units & 1 == 1)))
}
