//! What the server writes for people: the access log, and messages about itself.

pub mod access;

use jiff::{Timestamp, tz::TimeZone};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Writes a message about the server itself, with the time, to standard error. Control bytes are escaped.
pub fn say(sentence: &str) {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let line = format!("{} foolsgold: {}\n", now.strftime("%Y-%m-%dT%H:%M:%SZ"), Escaped(sentence));
    // There is nowhere left to report a failure.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// How long a problem must not recur before it is over: one that comes and goes is one problem.
const CALM: Duration = Duration::from_secs(5);

/// A problem that lasts: reported when it begins and when it is over, not each time it occurs.
#[derive(Debug, Default)]
pub struct Outage {
    /// Set while it lasts, so that no lock is taken when all is well.
    lasts: AtomicBool,
    seen: Mutex<Option<Seen>>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Instant,
    times: u64,
}

impl Outage {
    /// Records that something went wrong this many times. Returns whether the problem begins with it.
    pub fn shows(&self, times: u64) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = seen.is_none();
        let before = seen.map_or(0, |seen| seen.times);
        *seen = Some(Seen { last: Instant::now(), times: before + times });
        self.lasts.store(true, Ordering::Relaxed);
        begins
    }

    /// Records that it went well. If the problem is over now, returns how often it had occurred.
    pub fn went_well(&self) -> Option<u64> {
        self.over(CALM)
    }

    fn over(&self, calm: Duration) -> Option<u64> {
        if !self.lasts.load(Ordering::Relaxed) {
            return None;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let done = seen.filter(|seen| seen.last.elapsed() >= calm)?;
        *seen = None;
        self.lasts.store(false, Ordering::Relaxed);
        Some(done.times)
    }
}

/// Text whose control characters are shown as escapes: a client must not be able to forge lines of a log.
struct Escaped<'t>(&'t str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        self.0.chars().try_for_each(|c| match c {
            '\n' => f.write_str("\n  "),
            '\t' => f.write_char(c),
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c)),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_when_it_begins_and_when_it_is_over() {
        let outage = Outage::default();
        assert_eq!(outage.over(Duration::ZERO), None);
        assert!(outage.shows(2));
        assert!(!outage.shows(3));
        assert_eq!(outage.over(Duration::from_secs(3600)), None, "it may come again at once");
        assert_eq!(outage.over(Duration::ZERO), Some(5));
        assert_eq!(outage.over(Duration::ZERO), None);
        assert!(outage.shows(1));
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(Escaped("a\u{1b}[31mb\rc").to_string(), "a\\u{1b}[31mb\\u{d}c");
        assert_eq!(Escaped("one\ntwo").to_string(), "one\n  two");
    }
}
