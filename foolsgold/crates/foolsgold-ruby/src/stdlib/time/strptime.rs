//! `Time.strptime`: reads a text by a format. Week numbers (`%U %W %V %G`) are read but ignored.

use super::parse::{month, nanos};
use super::{Instant, Parts, TimeError, WEEKDAYS, zone_named};

/// Reads a time by a format. `now` (seconds since 1970) supplies what the text leaves out.
///
/// # Errors
/// If the text does not have the format, or names a day or hour that does not exist.
pub fn strptime(text: &[u8], format: &[u8], now: i64) -> Result<Instant, TimeError> {
    let (text, format) = (String::from_utf8_lossy(text), String::from_utf8_lossy(format));
    let mut reader = Reader { rest: &text, parts: Parts::default() };
    if reader.read(&format, 0).is_none() || !reader.rest.is_empty() {
        return Err(TimeError::NotOfFormat(text.into_owned(), format.into_owned()));
    }
    reader.parts.instant(now)
}

struct Reader<'t> {
    rest: &'t str,
    parts: Parts,
}

impl Reader<'_> {
    fn read(&mut self, format: &str, depth: usize) -> Option<()> {
        let mut letters = format.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => {
                    while letters.next_if(|c| matches!(c, '-' | '0' | '^' | '#' | '_' | ':' | 'E' | 'O')).is_some() {}
                    let directive = letters.next()?;
                    // If digits follow at once, a year takes exactly four digits.
                    let digits_follow = letters.peek().is_some_and(|c| *c == '%' || c.is_ascii_digit());
                    self.directive(directive, digits_follow, depth)?;
                }
                c if c.is_whitespace() => self.rest = self.rest.trim_start(),
                c => self.rest = self.rest.strip_prefix(c)?,
            }
        }
        Some(())
    }

    fn number(&mut self, most: usize, signed: bool) -> Option<i64> {
        let unsigned = if signed { self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest) } else { self.rest };
        let digits = unsigned.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let length = self.rest.len() - unsigned.len() + digits;
        if digits == 0 {
            return None;
        }
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        number.trim_start_matches('+').parse().ok()
    }

    fn small(&mut self, low: u8, high: u8) -> Option<Option<u8>> {
        self.rest = self.rest.trim_start_matches(' ');
        let number = u8::try_from(self.number(2, false)?).ok()?;
        (low..=high).contains(&number).then_some(Some(number))
    }

    /// The length of a word, in letters.
    fn word(&self) -> usize {
        self.rest.bytes().take_while(u8::is_ascii_alphabetic).count()
    }

    fn weekday(&mut self) -> Option<()> {
        let found =
            WEEKDAYS.iter().find(|day| self.rest.get(..3).is_some_and(|name| day[..3].eq_ignore_ascii_case(name)))?;
        let full = self.rest.get(..found.len()).is_some_and(|name| name.eq_ignore_ascii_case(found));
        self.rest = &self.rest[if full { found.len() } else { 3 }..];
        Some(())
    }

    fn month_name(&mut self) -> Option<()> {
        let number = month(self.rest)?;
        let full = super::MONTHS[usize::from(number - 1)];
        let length = if self.rest.get(..full.len()).is_some_and(|name| name.eq_ignore_ascii_case(full)) {
            full.len()
        } else {
            3
        };
        self.parts.month = Some(number);
        self.rest = &self.rest[length..];
        Some(())
    }

    fn zone(&mut self) -> Option<()> {
        let length = if self.rest.starts_with(['+', '-']) {
            1 + self.rest[1..].bytes().take_while(|b| b.is_ascii_digit() || *b == b':').count()
        } else {
            self.word()
        };
        self.parts.offset = Some(zone_named(&self.rest[..length])?);
        self.rest = &self.rest[length..];
        Some(())
    }

    fn directive(&mut self, letter: char, digits_follow: bool, depth: usize) -> Option<()> {
        if depth > 1 {
            return None;
        }
        match letter {
            'Y' => self.parts.year = Some(self.number(if digits_follow { 4 } else { 9 }, true)?),
            'y' => {
                let year = self.number(2, false)?;
                self.parts.year = Some(year + if year < 69 { 2000 } else { 1900 });
            }
            'C' => self.parts.year = Some(self.number(2, false)? * 100),
            'm' => self.parts.month = self.small(1, 12)?,
            'd' | 'e' => self.parts.day = self.small(1, 31)?,
            'H' | 'k' => self.parts.hour = self.small(0, 24)?,
            'I' | 'l' => self.parts.hour = self.small(1, 12)?,
            'M' => self.parts.minute = self.small(0, 59)?,
            'S' => self.parts.second = self.small(0, 60)?,
            'j' => {
                self.parts.yearday =
                    Some(u16::try_from(self.number(3, false)?).ok().filter(|day| (1..=366).contains(day))?)
            }
            's' => {
                self.parts.epoch = Some(self.number(18, true)?);
            }
            'L' | 'N' => {
                let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                self.parts.nanos = nanos(self.rest.get(..digits).filter(|digits| !digits.is_empty())?);
                self.rest = &self.rest[digits..];
            }
            'B' | 'b' | 'h' => self.month_name()?,
            'A' | 'a' => self.weekday()?,
            'p' | 'P' => {
                let half = self.rest.get(..2)?;
                self.parts.afternoon = Some(if half.eq_ignore_ascii_case("pm") {
                    true
                } else if half.eq_ignore_ascii_case("am") {
                    false
                } else {
                    return None;
                });
                self.rest = &self.rest[2..];
            }
            'z' | 'Z' => self.zone()?,
            'u' | 'w' => {
                self.number(1, false)?;
            }
            'U' | 'W' | 'V' => {
                self.number(2, false)?;
            }
            'G' => {
                self.number(4, true)?;
            }
            'n' | 't' => self.rest = self.rest.trim_start(),
            '%' => self.rest = self.rest.strip_prefix('%')?,
            'F' => self.read("%Y-%m-%d", depth + 1)?,
            'T' | 'X' => self.read("%H:%M:%S", depth + 1)?,
            'R' => self.read("%H:%M", depth + 1)?,
            'r' => self.read("%I:%M:%S %p", depth + 1)?,
            'D' | 'x' => self.read("%m/%d/%y", depth + 1)?,
            'c' => self.read("%a %b %e %H:%M:%S %Y", depth + 1)?,
            'v' => self.read("%e-%b-%Y", depth + 1)?,
            '+' => self.read("%a %b %e %H:%M:%S %Z %Y", depth + 1)?,
            _ => return None,
        }
        Some(())
    }
}
