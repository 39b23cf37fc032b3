//! `Time#strftime`: all directives of CRuby, with flags (`-`, `0`, `^`, `#`, `_`, `:`) and widths.

use super::{Civil, MONTHS, TimeError, WEEKDAYS};
use std::fmt::Write as _;

/// The widest field; CRuby refuses absurd widths too (Errno::ERANGE), here they are cut.
const WIDEST: usize = 1024;

/// Flags and width between `%` and the letter.
#[derive(Clone, Copy, Default)]
struct Spec {
    pad: Option<Pad>,
    upper: bool,
    swap: bool,
    colons: usize,
    modifier: Option<u8>,
    width: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pad {
    None,
    Zero,
    Blank,
}

/// Formats an instant. Text that is not a directive is copied.
///
/// # Errors
/// If the format ends within a directive.
pub fn strftime(time: &Civil, format: &[u8]) -> Result<Vec<u8>, TimeError> {
    let mut out = Vec::with_capacity(format.len() * 2);
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (spec, length) = spec(&rest[1..]);
        let Some(&letter) = rest.get(1 + length) else {
            return Err(TimeError::InvalidFormat(String::from_utf8_lossy(format).into_owned()));
        };
        match directive(time, letter, spec) {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                rest = &rest[length + 2..];
            }
            None => {
                let used = (length + 2).min(rest.len());
                out.extend_from_slice(&rest[..used]);
                rest = &rest[used..];
            }
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// Flags and width, and their length in bytes.
fn spec(text: &[u8]) -> (Spec, usize) {
    let (mut spec, mut length) = (Spec::default(), 0);
    for &byte in text {
        match byte {
            b'-' => spec.pad = Some(Pad::None),
            b'0' if spec.width.is_none() => spec.pad = Some(Pad::Zero),
            b'_' => spec.pad = Some(Pad::Blank),
            b'^' => spec.upper = true,
            b'#' => spec.swap = true,
            b':' => spec.colons += 1,
            b'0'..=b'9' => {
                let width = spec.width.unwrap_or(0) * 10 + usize::from(byte - b'0');
                spec.width = Some(width.min(WIDEST));
            }
            // Locale modifiers have no effect here, as in CRuby.
            b'E' | b'O' => spec.modifier = Some(byte),
            _ => break,
        }
        length += 1;
    }
    (spec, length)
}

fn directive(time: &Civil, letter: u8, spec: Spec) -> Option<String> {
    let modified = match spec.modifier {
        None => true,
        Some(b'E') => b"cCxXyY".contains(&letter),
        Some(_) => b"deHkIlmMSuUVwWy".contains(&letter),
    };
    if (spec.colons > 0 && letter != b'z') || !modified {
        return None;
    }
    let number = |value: i64, width: usize, pad: Pad| Some(number(value, width, pad, spec));
    let text = |text: &str| Some(words(text, spec));
    let composed = |format: &str| {
        let plain = strftime(time, format.as_bytes()).ok()?;
        let pad = spec.pad.filter(|pad| *pad != Pad::None);
        Some(words(&String::from_utf8_lossy(&plain), Spec { swap: false, pad, ..spec }))
    };
    let half = time.hour % 12;
    let hour = i64::from(if half == 0 { 12 } else { half });
    match letter {
        b'Y' => {
            let digits = if time.year < 0 { 5 } else { 4 };
            number(time.year, digits, Pad::Zero)
        }
        b'C' => number(time.year.div_euclid(100), 2, Pad::Zero),
        b'y' => number(time.year.rem_euclid(100), 2, Pad::Zero),
        b'm' => number(time.month.into(), 2, Pad::Zero),
        b'd' => number(time.day.into(), 2, Pad::Zero),
        b'e' => number(time.day.into(), 2, Pad::Blank),
        b'j' => number(time.yearday.into(), 3, Pad::Zero),
        b'H' => number(time.hour.into(), 2, Pad::Zero),
        b'k' => number(time.hour.into(), 2, Pad::Blank),
        b'I' => number(hour, 2, Pad::Zero),
        b'l' => number(hour, 2, Pad::Blank),
        b'M' => number(time.minute.into(), 2, Pad::Zero),
        b'S' => number(time.second.into(), 2, Pad::Zero),
        b's' => number(time.epoch, 1, Pad::Zero),
        b'u' => number(i64::from((time.weekday + 6) % 7 + 1), 1, Pad::Zero),
        b'w' => number(time.weekday.into(), 1, Pad::Zero),
        b'G' => number(time.iso_week().0, 4, Pad::Zero),
        b'g' => number(time.iso_week().0.rem_euclid(100), 2, Pad::Zero),
        b'V' => number(time.iso_week().1, 2, Pad::Zero),
        b'U' => number((i64::from(time.yearday) + 6 - i64::from(time.weekday)) / 7, 2, Pad::Zero),
        b'W' => number((i64::from(time.yearday) + 6 - i64::from((time.weekday + 6) % 7)) / 7, 2, Pad::Zero),
        b'L' => Some(fraction(time, spec.width.unwrap_or(3))),
        b'N' => Some(fraction(time, spec.width.unwrap_or(9))),
        b'B' => text(MONTHS[usize::from(time.month - 1)]),
        b'b' | b'h' => text(&MONTHS[usize::from(time.month - 1)][..3]),
        b'A' => text(WEEKDAYS[usize::from(time.weekday)]),
        b'a' => text(&WEEKDAYS[usize::from(time.weekday)][..3]),
        b'Z' if time.abbreviation.is_empty() => Some(String::new()),
        // `#` makes these two lower case and all others upper case.
        b'p' | b'Z' => {
            let half = if time.hour < 12 { "AM" } else { "PM" };
            let name = if letter == b'p' { half } else { &time.abbreviation };
            let small = spec.swap.then(|| name.to_ascii_lowercase());
            Some(words(small.as_deref().unwrap_or(name), Spec { swap: false, ..spec }))
        }
        b'P' => text(if time.hour < 12 { "am" } else { "pm" }),
        b'z' => zone(time, spec),
        b'n' => text("\n"),
        b't' => text("\t"),
        b'%' => text("%"),
        b'c' => composed("%a %b %e %H:%M:%S %Y"),
        b'D' | b'x' => composed("%m/%d/%y"),
        b'F' => composed("%Y-%m-%d"),
        b'v' => composed("%e-%^b-%Y"),
        b'X' | b'T' => composed("%H:%M:%S"),
        b'r' => composed("%I:%M:%S %p"),
        b'R' => composed("%H:%M"),
        _ => None,
    }
}

fn number(value: i64, width: usize, pad: Pad, spec: Spec) -> String {
    let pad = spec.pad.unwrap_or(pad);
    let width = if pad == Pad::None { 0 } else { spec.width.unwrap_or(width) };
    match pad {
        Pad::None => value.to_string(),
        Pad::Zero => format!("{value:0width$}"),
        Pad::Blank => format!("{value:width$}"),
    }
}

fn words(text: &str, spec: Spec) -> String {
    let mut text = text.to_owned();
    if spec.upper || spec.swap {
        text.make_ascii_uppercase();
    }
    let width = if spec.pad == Some(Pad::None) { 0 } else { spec.width.unwrap_or(0) };
    if text.len() < width {
        let fill = if spec.pad == Some(Pad::Zero) { "0" } else { " " };
        text.insert_str(0, &fill.repeat(width - text.len()));
    }
    text
}

/// This many digits of the second's fraction, truncated rather than rounded.
fn fraction(time: &Civil, digits: usize) -> String {
    let digits = if digits == 0 { 9 } else { digits };
    let mut text = format!("{:09}", time.nanos);
    while text.len() < digits {
        text.push('0');
    }
    text.truncate(digits);
    text
}

/// `%z`, `%:z`, `%::z`, `%:::z`. A width includes the sign and fills up the hours.
fn zone(time: &Civil, spec: Spec) -> Option<String> {
    let magnitude = time.offset.unsigned_abs();
    let (hours, minutes, seconds) = (magnitude / 3600, magnitude / 60 % 60, magnitude % 60);
    let mut tail = String::new();
    let written = match spec.colons {
        0 => write!(tail, "{minutes:02}"),
        1 => write!(tail, ":{minutes:02}"),
        2 => write!(tail, ":{minutes:02}:{seconds:02}"),
        3 if seconds != 0 => write!(tail, ":{minutes:02}:{seconds:02}"),
        3 if minutes != 0 => write!(tail, ":{minutes:02}"),
        3 => Ok(()),
        _ => return None,
    };
    written.ok()?;
    // The flag `-` shows UTC as `-0000`: an unknown offset (RFC 3339, 4.3).
    let unknown = spec.pad == Some(Pad::None) && time.offset == 0 && time.abbreviation == "UTC";
    let sign = if time.offset < 0 || unknown { '-' } else { '+' };
    let room = spec.width.unwrap_or(0).saturating_sub(tail.len() + 1);
    Some(match spec.pad {
        Some(Pad::Blank) => {
            let signed = format!("{sign}{hours}");
            format!("{signed:>width$}{tail}", width = room.max(2) + 1)
        }
        _ => format!("{sign}{hours:0width$}{tail}", width = room.max(2)),
    })
}
