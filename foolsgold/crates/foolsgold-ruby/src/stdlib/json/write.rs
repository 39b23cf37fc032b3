//! Writing strings and floats as JSON.

use thiserror::Error;

/// Why a value cannot be written: `JSON::GeneratorError`.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Unwritable {
    /// A string that is not UTF-8.
    #[error("source sequence is illegal/malformed utf-8")]
    NotText,
    /// `NaN` or an infinity.
    #[error("{} not allowed in JSON", float_text(*.0))]
    NotFinite(f64),
}

/// Writes a string with its quotes. `script_safe` also escapes `/` and the two line separators that end a line in
/// JavaScript.
///
/// # Errors
/// If the string is not UTF-8.
pub fn write_string(text: &[u8], script_safe: bool, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    if std::str::from_utf8(text).is_err() {
        return Err(Unwritable::NotText);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            8 => b"\\b",
            12 => b"\\f",
            0..=0x1F => b"",
            b'/' if script_safe => b"\\/",
            0xE2 if script_safe && matches!(text[at..], [0xE2, 0x80, 0xA8 | 0xA9, ..]) => b"",
            _ => continue,
        };
        if at < plain {
            continue;
        }
        out.extend_from_slice(&text[plain..at]);
        out.extend_from_slice(escape);
        plain = at + 1;
        if escape.is_empty() {
            let point = if byte == 0xE2 { 0x2000 | u32::from(text[at + 2] & 0x3F) } else { u32::from(byte) };
            out.extend_from_slice(format!("\\u{point:04x}").as_bytes());
            plain = at + if byte == 0xE2 { 3 } else { 1 };
        }
    }
    out.extend_from_slice(&text[plain..]);
    out.push(b'"');
    Ok(())
}

/// Writes a float as CRuby's `Float#to_s`.
///
/// # Errors
/// If it is not finite and `allow_nan` is false.
pub fn write_float(value: f64, allow_nan: bool, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    if !value.is_finite() && !allow_nan {
        return Err(Unwritable::NotFinite(value));
    }
    out.extend_from_slice(float_text(value).as_bytes());
    Ok(())
}

/// CRuby's `Float#to_s`: the fewest digits that read back as the same float, with an exponent below 0.0001 and from
/// 1,000,000,000,000,000 on, unless there are decimals.
#[must_use]
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = value.abs();
    let (digits, exponent) = shortest(value);
    // With 17 digits there is one decimal.
    let has_fraction = (1e15..1e16).contains(&magnitude) && digits.len() > 17 + usize::from(value < 0.0);
    if value == 0.0 || (1e-4..1e15).contains(&magnitude) || has_fraction {
        let places = digits.chars().filter(char::is_ascii_digit).count() - 1;
        let behind = usize::try_from(i32::try_from(places).unwrap_or(0) - exponent).unwrap_or(0).max(1);
        return format!("{value:.behind$}");
    }
    let (sign, exponent) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}e{sign}{exponent:02}")
}

/// The fewest digits and their exponent; of two equally near results, the even one.
fn shortest(value: f64) -> (String, i32) {
    let parts = |text: String| {
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        (digits.to_owned(), exponent.parse().unwrap_or(0))
    };
    let text = format!("{value:e}");
    let places = text.split('e').next().unwrap_or("").chars().filter(char::is_ascii_digit).count() - 1;
    // Exactly rounded to the same number of digits: differs only if the shortest was the upper of two.
    let even = format!("{value:.places$e}");
    parts(if even != text && even.parse() == Ok(value) { even } else { text })
}
