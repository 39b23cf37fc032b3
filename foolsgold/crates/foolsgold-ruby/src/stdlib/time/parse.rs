//! Times in common formats: ISO 8601, HTTP dates, RFC 2822, and `Time.parse`, which accepts any usual one.

use super::{Instant, MONTHS, Parts, TimeError, Zone, zone_named};
use crate::stdlib::regexp::{Options, Pattern, Spans};

/// The expected format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `Time.parse`: whatever can be parsed; missing parts of the date are today's.
    Any,
    /// `Time.iso8601`.
    Iso,
    /// `Time.httpdate`, including the two obsolete forms.
    Http,
    /// `Time.rfc2822`.
    Mail,
}

const ISO: &str = r"\A\s*(-?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?\s*\z";
const HTTP: &str = r"\A\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\x20(\d{2})\x20([A-Z][a-z]{2})\x20(\d{4})\x20(\d{2}):(\d{2}):(\d{2})\x20GMT\s*\z";
const HTTP_850: &str = r"\A\s*(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,\x20(\d\d)-([A-Z][a-z]{2})-(\d\d)\x20(\d\d):(\d\d):(\d\d)\x20GMT\s*\z";
const HTTP_C: &str =
    r"\A\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\x20([A-Z][a-z]{2})\x20([\d ]\d)\x20(\d\d):(\d\d):(\d\d)\x20(\d\d\d\d)\s*\z";
const MAIL: &str = r"\A\s*(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s*,\s*)?(\d{1,2})\s+([A-Z][a-z]{2})\s+(\d{2,})\s+(\d{2})\s*:\s*(\d{2})(?:\s*:\s*(\d\d))?\s*([+-]\d{4}|UT|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|[A-IK-Z])\s*(?:\(.*)?\z";

// Parts that `Time.parse` looks for, anywhere in the text.
const CLOCK: &str = r"(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap]\.?m\.?\b)?\s*((?:utc|gmt|z|[ecmp][sd]t)\b|[+-]\d{1,2}(?::?\d\d(?::?\d\d)?)?)?";
const DATE: &str =
    r"(?<![\d:])([+-]?\d{4,})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)|(?<!\d)(\d{4})/(\d{1,2})(?:/(\d{1,2}))?(?!\d)";
const COMPACT: &str =
    r"(?<!\d)(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?(?:[.,](\d+))?(z|[+-]\d{2}(?::?\d\d)?)?)?(?!\d)";
const DAY_MONTH: &str = r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?[ -](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:[ -]+(-?\d{2,})(?![:\d]))?";
const MONTH_DAY: &str = r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*(\d{1,2})(?:st|nd|rd|th)?(?![:\d])(?:,?\s*(-?\d{4,})(?![:\d]))?";
const LATE_YEAR: &str = r"(?:\d\d:\d\d(?::\d\d)?\s+(?:[a-z]{3,5}\s+|[+-]\d{4}\s+)?)(\d{4})\s*\z";

/// Groups of a match as texts.
struct Groups<'t>(&'t str, Spans);

impl<'t> Groups<'t> {
    fn of(pattern: &str, options: u8, text: &'t str) -> Option<Self> {
        let pattern = Pattern::get(pattern.as_bytes(), Options(options)).ok()?;
        pattern.search(text.as_bytes(), 0).ok()?.map(|spans| Self(text, spans))
    }

    fn text(&self, group: usize) -> Option<&'t str> {
        let (start, end) = self.1.get(group).copied().flatten()?;
        self.0.get(start..end)
    }

    fn number<T: std::str::FromStr>(&self, group: usize) -> Option<T> {
        self.text(group)?.trim().parse().ok()
    }

    fn nanos(&self, group: usize) -> u32 {
        self.text(group).map_or(0, |digits| nanos(digits.trim_start_matches('.')))
    }
}

/// The first nine digits of a fraction as nanoseconds.
pub(super) fn nanos(digits: &str) -> u32 {
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().unwrap_or(0)
}

/// The month with an abbreviation, in any case.
pub(super) fn month(name: &str) -> Option<u8> {
    let position =
        MONTHS.iter().position(|month| name.get(..3).is_some_and(|name| month[..3].eq_ignore_ascii_case(name)))?;
    u8::try_from(position + 1).ok()
}

/// A two-digit year means 1969 to 2068.
fn full_year(year: i64, digits: usize) -> i64 {
    match (digits, year) {
        (2, 0..=68) => year + 2000,
        (2, 69..=99) => year + 1900,
        _ => year,
    }
}

/// Reads a time. `now` (seconds since 1970) supplies what the text leaves out.
///
/// # Errors
/// If the text does not have the format, or names a day or hour that does not exist.
pub fn parse(text: &[u8], kind: Kind, now: i64) -> Result<Instant, TimeError> {
    let text = String::from_utf8_lossy(text);
    let owned = || text.clone().into_owned();
    match kind {
        Kind::Iso => iso(&text).ok_or_else(|| TimeError::NotIso(owned()))?.instant(now),
        Kind::Http => http(&text, now).ok_or_else(|| TimeError::NotHttp(owned()))?.instant(now),
        Kind::Mail => mail(&text).ok_or_else(|| TimeError::NotMail(owned()))?.instant(now),
        Kind::Any => any(&text).ok_or_else(|| TimeError::NoTime(owned()))?.instant(now),
    }
}

fn iso(text: &str) -> Option<Parts> {
    let found = Groups::of(ISO, Options::IGNORE_CASE, text)?;
    Some(Parts {
        year: found.number(1),
        month: found.number(2),
        day: found.number(3),
        hour: found.number(4),
        minute: found.number(5),
        second: found.number(6),
        nanos: found.nanos(7),
        offset: found.text(8).and_then(zone_named),
        ..Parts::default()
    })
}

fn http(text: &str, now: i64) -> Option<Parts> {
    let parts = |found: &Groups<'_>, [year, month_at, day, hour]: [usize; 4]| {
        Some(Parts {
            year: found.number(year),
            month: Some(month(found.text(month_at)?)?),
            day: found.number(day),
            hour: found.number(hour),
            minute: found.number(hour + 1),
            second: found.number(hour + 2),
            offset: Some(Zone::Utc),
            ..Parts::default()
        })
    };
    if let Some(found) = Groups::of(HTTP, 0, text) {
        return parts(&found, [3, 2, 1, 4]);
    }
    if let Some(found) = Groups::of(HTTP_850, 0, text) {
        let mut parts = parts(&found, [3, 2, 1, 4])?;
        // RFC 2616: a year that appears to be more than fifty years in the future belongs to the last century.
        let this_year = super::Civil::of(now, 0, Zone::Utc).year;
        let near = this_year - this_year.rem_euclid(100) + parts.year?;
        parts.year = Some(if near > this_year + 50 { near - 100 } else { near });
        return Some(parts);
    }
    parts(&Groups::of(HTTP_C, 0, text)?, [6, 1, 2, 3])
}

fn mail(text: &str) -> Option<Parts> {
    let found = Groups::of(MAIL, Options::IGNORE_CASE, text)?;
    let digits = found.text(3)?.len();
    let year: i64 = found.number(3)?;
    // RFC 2822, 4.3: obsolete years of two and three digits.
    let year = match (digits, year) {
        (2, 0..=49) => year + 2000,
        (2 | 3, _) => year + 1900,
        _ => year,
    };
    Some(Parts {
        year: Some(year),
        month: Some(month(found.text(2)?)?),
        day: found.number(1),
        hour: found.number(4),
        minute: found.number(5),
        second: found.number(6),
        offset: found.text(7).and_then(|zone| zone_named(zone).or(Some(Zone::Utc))),
        ..Parts::default()
    })
}

fn any(text: &str) -> Option<Parts> {
    let text = text.get(..256).unwrap_or(text);
    let mut parts = Parts::default();
    let dated = any_date(text, &mut parts);
    if parts.hour.is_none()
        && let Some(found) = Groups::of(CLOCK, Options::IGNORE_CASE, text)
    {
        parts.hour = found.number(1);
        parts.minute = found.number(2);
        parts.second = found.number(3);
        parts.nanos = found.nanos(4);
        parts.afternoon = found.text(5).map(|half| half.starts_with(['p', 'P']));
        parts.offset = found.text(6).and_then(zone_named);
    }
    (dated || parts.hour.is_some()).then_some(parts)
}

fn any_date(text: &str, parts: &mut Parts) -> bool {
    if let Some(found) = Groups::of(DATE, 0, text) {
        let first = if found.text(1).is_some() { 1 } else { 4 };
        parts.year = found.number(first);
        parts.month = found.number(first + 1);
        parts.day = found.number(first + 2);
        return true;
    }
    if let Some(found) = Groups::of(DAY_MONTH, Options::IGNORE_CASE, text) {
        parts.day = found.number(1);
        parts.month = found.text(2).and_then(month);
        parts.year = found.number(3).map(|year| full_year(year, found.text(3).map_or(0, str::len)));
        return true;
    }
    if let Some(found) = Groups::of(MONTH_DAY, Options::IGNORE_CASE, text) {
        parts.month = found.text(1).and_then(month);
        parts.day = found.number(2);
        parts.year = found
            .number(3)
            .or_else(|| Groups::of(LATE_YEAR, Options::IGNORE_CASE, text).and_then(|found| found.number(1)));
        return true;
    }
    let Some(found) = Groups::of(COMPACT, Options::IGNORE_CASE, text) else { return false };
    parts.year = found.number(1);
    parts.month = found.number(2);
    parts.day = found.number(3);
    parts.hour = found.number(4);
    parts.minute = found.number(5);
    parts.second = found.number(6);
    parts.nanos = found.nanos(7);
    parts.offset = found.text(8).and_then(zone_named);
    true
}
