//! Times as texts and back: `strftime`, ISO 8601, RFC 2822, HTTP dates, `Time.parse` and `Time.strptime`.
//!
//! An instant is given as seconds and nanoseconds since 1970, with its zone; the calendar is computed here. The
//! machine's zone is read with jiff once and cached, since it cannot change while the server runs.

mod format;
mod parse;
mod strptime;

pub use format::strftime;
pub use parse::{Kind, parse};
pub use strptime::strptime;

use jiff::{Timestamp, tz::TimeZone};
use std::sync::OnceLock;
use thiserror::Error;

/// The zone in which an instant is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// UTC.
    Utc,
    /// The machine's zone.
    Local,
    /// This many seconds east of UTC.
    Fixed(i32),
}

/// An instant as its calendar and clock show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Seconds since 1970.
    pub epoch: i64,
    /// Year.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Hour.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Nanoseconds.
    pub nanos: u32,
    /// Day of the week, 0 for Sunday.
    pub weekday: u8,
    /// Day of the year, 1 to 366.
    pub yearday: u16,
    /// Seconds east of UTC.
    pub offset: i32,
    /// Abbreviation of the zone; empty for a fixed offset.
    pub abbreviation: String,
}

/// The instant that a text describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Seconds since 1970.
    pub epoch: i64,
    /// Nanoseconds.
    pub nanos: u32,
    /// UTC if the text says so, a fixed offset if it gives one, otherwise the machine's zone.
    pub zone: Zone,
}

/// Why a text is not a time, with the messages of CRuby's `time` library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// `Time.parse`.
    #[error("no time information in {0:?}")]
    NoTime(String),
    /// `Time.iso8601`.
    #[error("invalid xmlschema format: {0:?}")]
    NotIso(String),
    /// `Time.httpdate`.
    #[error("not RFC 2616 compliant date: {0:?}")]
    NotHttp(String),
    /// `Time.rfc2822`.
    #[error("not RFC 2822 compliant date: {0:?}")]
    NotMail(String),
    /// `Time.strptime`.
    #[error("invalid date or strptime format - `{0}' `{1}'")]
    NotOfFormat(String, String),
    /// `Time#strftime` with an incomplete directive.
    #[error("invalid format: {0}")]
    InvalidFormat(String),
    /// A month 13, an hour 25 and the like.
    #[error("argument out of range")]
    OutOfRange,
}

/// Full names of months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Full names of weekdays.
pub const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

fn local() -> &'static TimeZone {
    static LOCAL: OnceLock<TimeZone> = OnceLock::new();
    LOCAL.get_or_init(TimeZone::system)
}

/// Offset and abbreviation of the machine's zone at an instant.
fn local_offset(epoch: i64) -> (i32, String) {
    let Ok(instant) = Timestamp::from_second(epoch) else { return (0, "UTC".to_owned()) };
    let info = local().to_offset_info(instant);
    (info.offset().seconds(), info.abbreviation().to_owned())
}

/// Days from 1970 to a date in the Gregorian calendar.
#[must_use]
pub fn days(year: i64, month: u8, day: u8) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days of a month.
#[must_use]
pub fn days_of_month(year: i64, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "remainders of small positive numbers")]
fn date(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month as u8, day as u8)
}

impl Civil {
    /// Calendar and clock for an instant.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "remainders of small positive numbers")]
    pub fn of(epoch: i64, nanos: u32, zone: Zone) -> Self {
        let (offset, abbreviation) = match zone {
            Zone::Utc => (0, "UTC".to_owned()),
            Zone::Fixed(offset) => (offset, String::new()),
            Zone::Local => local_offset(epoch),
        };
        let shown = epoch.saturating_add(i64::from(offset));
        let (day_number, seconds) = (shown.div_euclid(86_400), shown.rem_euclid(86_400));
        let (year, month, day) = date(day_number);
        Self {
            epoch,
            year,
            month,
            day,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            nanos,
            weekday: (day_number + 4).rem_euclid(7) as u8,
            yearday: (day_number - days(year, 1, 1) + 1) as u16,
            offset,
            abbreviation,
        }
    }

    /// The ISO 8601 week, with the year it belongs to.
    #[must_use]
    pub fn iso_week(&self) -> (i64, i64) {
        let monday_based = (i64::from(self.weekday) + 6) % 7;
        let week = (i64::from(self.yearday) - 1 - monday_based + 10) / 7;
        let weeks = |year: i64| {
            let first = (days(year, 1, 1) + 4).rem_euclid(7);
            let leap = days_of_month(year, 2) == 29;
            if first == 4 || (leap && first == 3) { 53 } else { 52 }
        };
        if week < 1 {
            (self.year - 1, weeks(self.year - 1))
        } else if week > weeks(self.year) {
            (self.year + 1, 1)
        } else {
            (self.year, week)
        }
    }
}

/// Parts of a date and time, as given by a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parts {
    epoch: Option<i64>,
    year: Option<i64>,
    month: Option<u8>,
    day: Option<u8>,
    yearday: Option<u16>,
    hour: Option<u8>,
    minute: Option<u8>,
    second: Option<u8>,
    nanos: u32,
    afternoon: Option<bool>,
    offset: Option<Zone>,
}

impl Parts {
    /// The instant. Missing parts larger than the largest given one are taken from `now`, missing smaller ones are the
    /// first.
    fn instant(&self, now: i64) -> Result<Instant, TimeError> {
        let zone = self.offset.unwrap_or(Zone::Local);
        if let Some(epoch) = self.epoch {
            return Ok(Instant { epoch, nanos: self.nanos, zone });
        }
        let today = Civil::of(now, 0, zone);
        let year = self.year.unwrap_or(today.year);
        let month = self.month.unwrap_or(if self.year.is_some() { 1 } else { today.month });
        let day = self.day.unwrap_or(if self.year.is_some() || self.month.is_some() { 1 } else { today.day });
        let mut hour = self.hour.unwrap_or(0);
        if let Some(afternoon) = self.afternoon {
            hour = hour % 12 + if afternoon { 12 } else { 0 };
        }
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        let sound = (1..=12).contains(&month) && (1..=31).contains(&day) && hour <= 24 && minute <= 59 && second <= 60;
        if !sound || year.abs() > 100_000_000 || (hour == 24 && (minute, second) != (0, 0)) {
            return Err(TimeError::OutOfRange);
        }
        let day_number = self.yearday.map_or_else(
            || days(year, month, 1) + i64::from(day) - 1,
            |yearday| days(year, 1, 1) + i64::from(yearday) - 1,
        );
        let shown = day_number * 86_400 + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let offset = match zone {
            Zone::Utc => 0,
            Zone::Fixed(offset) => offset,
            // Twice, for the hours around a change of offset.
            Zone::Local => local_offset(shown - i64::from(local_offset(shown).0)).0,
        };
        Ok(Instant { epoch: shown - i64::from(offset), nanos: self.nanos, zone })
    }
}

/// The zone named by a text: `Z`, `UTC`, `+0900`, `+09:00:30`, `EST` and the like.
fn zone_named(text: &str) -> Option<Zone> {
    let upper = text.to_ascii_uppercase();
    let hours = match upper.as_str() {
        "Z" | "UTC" | "GMT" | "UT" => return Some(Zone::Utc),
        "EST" => -5,
        "EDT" => -4,
        "CST" => -6,
        "CDT" => -5,
        "MST" => -7,
        "MDT" => -6,
        "PST" => -8,
        "PDT" => -7,
        _ => return offset_of(text).map(Zone::Fixed),
    };
    Some(Zone::Fixed(hours * 3600))
}

fn offset_of(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|c| *c != ':').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize| digits.get(from..from + 2).map_or(Some(0), |two| two.parse::<i32>().ok());
    let hours = if digits.len() == 1 { digits.parse().ok()? } else { number(0)? };
    let (minutes, seconds) = (number(2)?, number(4)?);
    (hours < 24 && minutes < 60 && seconds < 60).then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests;
