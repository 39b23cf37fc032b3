//! What the server tells people: the access log, and sentences about itself.

pub mod access;

use jiff::{Timestamp, tz::TimeZone};
use std::io::Write;

/// A sentence about the server itself, with the time, to standard error. Control bytes are escaped.
pub fn say(sentence: &str) {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let line = format!("{} foolsgold: {}\n", now.strftime("%Y-%m-%dT%H:%M:%SZ"), Escaped(sentence));
    // Nobody is left to be told where this fails.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Text whose control characters are shown as escapes: whoever reads a log must not be fooled by what a client sent.
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
    fn control_characters_are_escaped() {
        assert_eq!(Escaped("a\u{1b}[31mb\rc").to_string(), "a\\u{1b}[31mb\\u{d}c");
        assert_eq!(Escaped("one\ntwo").to_string(), "one\n  two");
    }
}
