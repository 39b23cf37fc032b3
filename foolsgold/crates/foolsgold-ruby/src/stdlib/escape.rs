//! Escaping for URLs, forms and HTML, and parsing of forms: what templates and Rack do for each request.

use thiserror::Error;

/// A `%` that is not followed by two hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("invalid %-encoding")]
pub struct InvalidPercent;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Which bytes are left unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// `URI.encode_www_form_component` and `Rack::Utils.escape`: `*-._` besides letters and digits; a blank becomes
    /// `+`.
    Form,
    /// `CGI.escape`: `~-._`; a blank becomes `+`.
    Cgi,
    /// `URI.encode_uri_component` and `ERB::Util.url_encode`: `~-._`; a blank becomes `%20`.
    Component,
    /// `Rack::Utils.escape_path`: what RFC 2396 allows in a path.
    Path,
}

impl Plain {
    fn allows(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Self::Form => matches!(byte, b'*' | b'-' | b'.' | b'_'),
                Self::Cgi | Self::Component => matches!(byte, b'~' | b'-' | b'.' | b'_'),
                Self::Path => b"-_.!~*'()/:;@&=+$,?[]".contains(&byte),
            }
    }

    fn blank_is_plus(self) -> bool {
        matches!(self, Self::Form | Self::Cgi)
    }
}

/// Percent-encodes.
#[must_use]
pub fn escape(text: &[u8], plain: Plain) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    for &byte in text {
        if plain.allows(byte) {
            out.push(byte);
        } else if byte == b' ' && plain.blank_is_plus() {
            out.push(b'+');
        } else {
            out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
    out
}

fn hex(digit: Option<&u8>) -> Option<u8> {
    char::from(*digit?).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Decodes `+` and `%XX`; a `%` without digits is left unchanged (`CGI.unescape`).
#[must_use]
pub fn unescape(text: &[u8]) -> Vec<u8> {
    decode(text, true).0
}

/// Decodes only `%XX`.
#[must_use]
pub fn unescape_component(text: &[u8]) -> Vec<u8> {
    decode(text, false).0
}

/// Decodes as `URI.decode_www_form_component` does.
///
/// # Errors
/// If a `%` is not followed by two digits.
pub fn unescape_strict(text: &[u8]) -> Result<Vec<u8>, InvalidPercent> {
    let (decoded, valid) = decode(text, true);
    if valid { Ok(decoded) } else { Err(InvalidPercent) }
}

fn decode(text: &[u8], plus: bool) -> (Vec<u8>, bool) {
    let (mut out, mut valid, mut at) = (Vec::with_capacity(text.len()), true, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'+' if plus => out.push(b' '),
            b'%' => match (hex(text.get(at)), hex(text.get(at + 1))) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    at += 2;
                }
                _ => {
                    valid = false;
                    out.push(b'%');
                }
            },
            _ => out.push(byte),
        }
    }
    (out, valid)
}

/// `CGI.escapeHTML`.
#[must_use]
pub fn escape_html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for &byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            _ => out.push(byte),
        }
    }
    out
}

/// Whether [`escape_html`] would change anything.
#[must_use]
pub fn needs_html_escape(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\''))
}

/// `CGI.unescapeHTML`: the five named entities, and numeric ones.
#[must_use]
pub fn unescape_html(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.iter().position(|&byte| byte == b'&') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let end = rest.iter().take(12).position(|&byte| byte == b';');
        let decoded = end.and_then(|end| entity(&rest[1..end]).map(|decoded| (decoded, end)));
        if let Some((decoded, end)) = decoded {
            out.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[end + 1..];
        } else {
            out.push(b'&');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
    out
}

fn entity(name: &[u8]) -> Option<char> {
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => {
            let digits = std::str::from_utf8(name.strip_prefix(b"#")?).ok()?;
            let (digits, radix) = digits.strip_prefix(['x', 'X']).map_or((digits, 10), |digits| (digits, 16));
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)
        }
    }
}

/// A name and, if there was a `=`, its value.
pub type Pair = (Vec<u8>, Option<Vec<u8>>);

/// Splits a form or query at any of the separators (blanks after one are skipped, as in Rack) and decodes names and
/// values. Empty parts are left out.
///
/// # Errors
/// If a `%` is not followed by two digits: Rack answers that with status 400.
pub fn parse_pairs(query: &[u8], separators: &[u8]) -> Result<Vec<Pair>, InvalidPercent> {
    let mut pairs = Vec::new();
    for (n, part) in query.split(|byte| separators.contains(byte)).enumerate() {
        let blanks = if n == 0 { 0 } else { part.iter().take_while(|&&byte| byte == b' ').count() };
        let part = &part[blanks..];
        if part.is_empty() {
            continue;
        }
        let pair = match part.iter().position(|&byte| byte == b'=') {
            Some(at) => (unescape_strict(&part[..at])?, Some(unescape_strict(&part[at + 1..])?)),
            None => (unescape_strict(part)?, None),
        };
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Whether two texts are equal, in a time that depends only on their lengths (`Rack::Utils.secure_compare`).
#[must_use]
pub fn secure_compare(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && std::hint::black_box(one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdlib::oracle::ruby;
    use proptest::prelude::*;
    use serde_json::json;
    use underpin_test_support::need;

    const TEXTS: [&str; 9] =
        ["", "a b+c", "~*-._", "é日本", "%zz%4", "a&b=<c>\"'", "\0\u{7f}\n", "!'()/:;@$,?[]{}|\\^`#", "%41%c3%a9"];

    fn strings(texts: impl IntoIterator<Item = Vec<u8>>) -> Vec<String> {
        texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn escapes_are_those_of_cruby() {
        need!("ruby");
        let ours = |plain| json!(strings(TEXTS.iter().map(|text| escape(text.as_bytes(), plain))));
        assert_eq!(ruby("INPUT.map { |t| URI.encode_www_form_component(t) }", &json!(TEXTS)), ours(Plain::Form));
        assert_eq!(ruby("INPUT.map { |t| CGI.escape(t) }", &json!(TEXTS)), ours(Plain::Cgi));
        assert_eq!(
            ruby("require 'erb'; INPUT.map { |t| ERB::Util.url_encode(t) }", &json!(TEXTS)),
            ours(Plain::Component)
        );
        assert_eq!(ruby("INPUT.map { |t| URI::DEFAULT_PARSER.escape(t) }", &json!(TEXTS)), ours(Plain::Path));
        let html = json!(strings(TEXTS.iter().map(|text| escape_html(text.as_bytes()))));
        assert_eq!(ruby("INPUT.map { |t| CGI.escapeHTML(t) }", &json!(TEXTS)), html);
    }

    #[test]
    fn decoding_is_that_of_cruby() {
        need!("ruby");
        let texts = ["a+b%20c", "%C3%A9", "%zz", "%", "%4", "%41%", "100%"];
        let ours = json!(strings(texts.iter().map(|text| unescape(text.as_bytes()))));
        assert_eq!(ruby("INPUT.map { |t| CGI.unescape(t) }", &json!(texts)), ours);
        let ours: Vec<Option<String>> = texts
            .iter()
            .map(|text| unescape_strict(text.as_bytes()).ok().map(|text| String::from_utf8(text).unwrap()))
            .collect();
        assert_eq!(ruby("INPUT.map { |t| URI.decode_www_form_component(t) rescue nil }", &json!(texts)), json!(ours));

        let texts = ["&lt;a&gt;", "&amp;amp;", "&#39;&#x3b1;&#945;&apos;&quot;", "&nbsp; &", "&#;&#x;", "&;&lt"];
        let ours = json!(strings(texts.iter().map(|text| unescape_html(text.as_bytes()))));
        assert_eq!(ruby("INPUT.map { |t| CGI.unescapeHTML(t) }", &json!(texts)), ours);
    }

    #[test]
    fn a_query_falls_into_the_pairs_that_rack_sees() {
        let pairs = parse_pairs(b"a=1&b&&c=&=d& e=%20+", b"&").unwrap();
        let text = |text: &str| text.as_bytes().to_vec();
        assert_eq!(
            pairs,
            [
                (text("a"), Some(text("1"))),
                (text("b"), None),
                (text("c"), Some(text(""))),
                (text(""), Some(text("d"))),
                (text("e"), Some(text("  "))),
            ]
        );
        assert_eq!(parse_pairs(b"a=%z", b"&"), Err(InvalidPercent));
        assert_eq!(parse_pairs(b"a;b", b"&;").unwrap().len(), 2);
    }

    #[test]
    fn comparing_secrets_tells_equal_from_different() {
        assert!(secure_compare(b"abc", b"abc"));
        assert!(!secure_compare(b"abc", b"abd"));
        assert!(!secure_compare(b"abc", b"ab"));
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(text: Vec<u8>) {
            for plain in [Plain::Form, Plain::Cgi] {
                prop_assert_eq!(unescape_strict(&escape(&text, plain)), Ok(text.clone()));
            }
            prop_assert_eq!(unescape_component(&escape(&text, Plain::Component)), text.clone());
            prop_assert_eq!(unescape_html(&escape_html(&text)), text);
        }
    }
}
