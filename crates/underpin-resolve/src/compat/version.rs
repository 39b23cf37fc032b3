//! Names of symbol versions and their order.
//!
//! A version is a string to the loader, compared for equality only. People read an order into it: `GLIBC_2.4` is older
//! than `GLIBC_2.17`. This module holds that reading and nothing else; names without a number (`GLIBC_PRIVATE`,
//! `GLIBC_ABI_DT_RELR`, `CXXABI_FLOAT128`) have a family and no place in the order.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// The numeric part of a version: its components, compared as numbers, then an optional letter (`1.0.1e`).
///
/// Trailing zero components count: `3.4` is below `3.4.0`, because the loader distinguishes the two names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Number {
    parts: Vec<u32>,
    letter: Option<char>,
}

impl Number {
    /// A number from its components.
    #[must_use]
    pub fn new(parts: &[u32]) -> Number {
        Number { parts: parts.to_vec(), letter: None }
    }

    /// Reads `2.34`, `1_1_0` or `1.0.1e`; `None` if the text is anything else or a component exceeds 32 bits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        let (digits, letter) = match text.char_indices().next_back() {
            Some((at, last)) if last.is_ascii_lowercase() => (&text[..at], Some(last)),
            _ => (text, None),
        };
        let parts = digits.split(['.', '_']).map(parse_component).collect::<Option<Vec<_>>>()?;
        Some(Number { parts, letter })
    }

    /// The components, most significant first.
    #[must_use]
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }
}

/// Only digits: `u32::from_str` would also take a sign.
fn parse_component(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        self.parts.cmp(&other.parts).then(self.letter.cmp(&other.letter))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            write!(f, "{}{part}", if index == 0 { "" } else { "." })?;
        }
        self.letter.map_or(Ok(()), |letter| write!(f, "{letter}"))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One version name as it is in a version-need entry: `GLIBC_2.34`, `OPENSSL_1_1_0`, `GLIBC_PRIVATE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VersionName {
    text: String,
    family_len: usize,
    number: Option<Number>,
}

impl VersionName {
    /// Splits a name at the first underscore that is followed by nothing but a number.
    ///
    /// `LIBXML2_2.4.30` is family `LIBXML2`, `NCURSES6_TINFO_5.0.19991023` is family `NCURSES6_TINFO`. A name without
    /// such an underscore is its own family, without a number, save for the well-known prefix of glibc's markers.
    #[must_use]
    pub fn parse(text: &str) -> VersionName {
        for (at, _) in text.match_indices('_') {
            if at > 0
                && let Some(number) = Number::parse(&text[at + 1..])
            {
                return VersionName { text: text.to_owned(), family_len: at, number: Some(number) };
            }
        }
        let family_len = text.find('_').filter(|&at| at > 0).unwrap_or(text.len());
        VersionName { text: text.to_owned(), family_len, number: None }
    }

    /// The whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part before the number: `GLIBC`, `GLIBCXX`, `OPENSSL`.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.text[..self.family_len]
    }

    /// The number, for a name that has one.
    #[must_use]
    pub fn number(&self) -> Option<&Number> {
        self.number.as_ref()
    }
}

/// By family, then names without a number, then by number. A total order that agrees with equality.
impl Ord for VersionName {
    fn cmp(&self, other: &VersionName) -> Ordering {
        self.family()
            .cmp(other.family())
            .then_with(|| self.number.cmp(&other.number))
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for VersionName {
    fn partial_cmp(&self, other: &VersionName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for VersionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> VersionName {
        VersionName::parse(text)
    }

    #[test]
    fn versions_are_ordered_as_numbers_not_as_text() {
        assert!(name("GLIBC_2.4") < name("GLIBC_2.17"));
        assert!(name("GLIBC_2.2.5") < name("GLIBC_2.17"));
        assert!(name("GLIBCXX_3.4.9") < name("GLIBCXX_3.4.29"));
        assert!(name("GLIBCXX_3.4") < name("GLIBCXX_3.4.1"));
        assert!(name("OPENSSL_1_1_0") < name("OPENSSL_3.0.0"));
        assert!(name("OPENSSL_1_1_0") < name("OPENSSL_1_1_0d"));
        assert!(name("OPENSSL_1_1_0d") < name("OPENSSL_1_1_1"));
    }

    #[test]
    fn the_family_is_what_stands_before_the_number() {
        for (text, family, number) in [
            ("GLIBC_2.34", "GLIBC", Some("2.34")),
            ("OPENSSL_1_1_0", "OPENSSL", Some("1.1.0")),
            ("LIBXML2_2.4.30", "LIBXML2", Some("2.4.30")),
            ("NCURSES6_TINFO_5.0.19991023", "NCURSES6_TINFO", Some("5.0.19991023")),
            ("CURL_OPENSSL_4", "CURL_OPENSSL", Some("4")),
            ("Qt_5", "Qt", Some("5")),
            ("GLIBC_PRIVATE", "GLIBC", None),
            ("GLIBC_ABI_DT_RELR", "GLIBC", None),
            ("CXXABI_FLOAT128", "CXXABI", None),
            ("libssl.so.10", "libssl.so.10", None),
            ("_1", "_1", None),
            ("", "", None),
        ] {
            let parsed = name(text);
            assert_eq!(parsed.family(), family, "{text}");
            assert_eq!(parsed.number().map(ToString::to_string).as_deref(), number, "{text}");
        }
    }

    #[test]
    fn a_number_is_digits_dots_underscores_and_one_last_letter() {
        for bad in ["", ".", "2.", "-1", "+1", "2..3", "1.x.2", "99999999999", "e"] {
            assert_eq!(Number::parse(bad), None, "{bad}");
        }
        assert_eq!(Number::parse("1.0.1e").map(|n| n.to_string()).as_deref(), Some("1.0.1e"));
    }

    proptest! {
        #[test]
        fn any_text_parses_and_keeps_its_spelling(text in ".*") {
            let parsed = VersionName::parse(&text);
            prop_assert_eq!(parsed.as_str(), text.as_str());
            prop_assert!(text.starts_with(parsed.family()));
        }

        #[test]
        fn the_order_agrees_with_equality(a in "[A-Z]{1,3}_[0-9._]{0,4}", b in "[A-Z]{1,3}_[0-9._]{0,4}") {
            let (x, y) = (VersionName::parse(&a), VersionName::parse(&b));
            prop_assert_eq!(x.cmp(&y) == std::cmp::Ordering::Equal, a == b);
        }
    }
}
