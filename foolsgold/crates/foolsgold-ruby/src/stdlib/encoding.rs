//! Conversion between encodings. Strings here are bytes without a tag: valid UTF-8 counts as UTF-8, anything else as
//! binary. So converting needs both names, as in `text.encode("UTF-8", "ISO-8859-1")`.

use thiserror::Error;

/// An encoding that can be converted from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// Bytes.
    Binary,
    /// US-ASCII.
    Ascii,
    /// ISO-8859-1.
    Latin1,
    /// UTF-16, little endian or big.
    Utf16 {
        /// Big endian.
        big: bool,
    },
    /// UTF-32, little endian or big.
    Utf32 {
        /// Big endian.
        big: bool,
    },
}

/// Why a text cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// `Encoding::InvalidByteSequenceError`.
    #[error("invalid byte sequence in {0}")]
    Invalid(&'static str),
    /// `Encoding::UndefinedConversionError`.
    #[error("U+{0:04X} from UTF-8 to {1}")]
    Undefined(u32, &'static str),
}

impl Encoding {
    /// By CRuby's names and aliases, in any case.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_slice() {
            b"UTF-8" | b"UTF8" => Self::Utf8,
            b"ASCII-8BIT" | b"BINARY" => Self::Binary,
            b"US-ASCII" | b"ASCII" => Self::Ascii,
            b"ISO-8859-1" | b"ISO8859-1" => Self::Latin1,
            b"UTF-16LE" => Self::Utf16 { big: false },
            b"UTF-16BE" | b"UTF-16" => Self::Utf16 { big: true },
            b"UTF-32LE" => Self::Utf32 { big: false },
            b"UTF-32BE" | b"UTF-32" => Self::Utf32 { big: true },
            _ => return None,
        })
    }

    /// CRuby's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Binary => "ASCII-8BIT",
            Self::Ascii => "US-ASCII",
            Self::Latin1 => "ISO-8859-1",
            Self::Utf16 { big: false } => "UTF-16LE",
            Self::Utf16 { big: true } => "UTF-16BE",
            Self::Utf32 { big: false } => "UTF-32LE",
            Self::Utf32 { big: true } => "UTF-32BE",
        }
    }

    /// Characters of a text; `None` for what is malformed.
    fn decode(self, text: &[u8]) -> Vec<Option<char>> {
        match self {
            Self::Utf8 => {
                let mut chars = Vec::with_capacity(text.len());
                for chunk in text.utf8_chunks() {
                    chars.extend(chunk.valid().chars().map(Some));
                    if !chunk.invalid().is_empty() {
                        chars.push(None);
                    }
                }
                chars
            }
            Self::Binary | Self::Ascii => text.iter().map(|byte| byte.is_ascii().then(|| char::from(*byte))).collect(),
            Self::Latin1 => text.iter().map(|byte| Some(char::from(*byte))).collect(),
            Self::Utf16 { big } => {
                let units = text.chunks(2).map(|two| {
                    let two = [two[0], two.get(1).copied().unwrap_or(0)];
                    if big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
                });
                let mut chars: Vec<_> = char::decode_utf16(units).map(Result::ok).collect();
                if text.len() % 2 == 1 {
                    chars.pop();
                    chars.push(None);
                }
                chars
            }
            Self::Utf32 { big } => text
                .chunks(4)
                .map(|four| {
                    let four: [u8; 4] = four.try_into().ok()?;
                    char::from_u32(if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
                })
                .collect(),
        }
    }

    fn push(self, c: char, out: &mut Vec<u8>) -> bool {
        let point = u32::from(c);
        match self {
            Self::Utf8 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Binary | Self::Ascii | Self::Latin1 => {
                let limit = if self == Self::Latin1 { 0x100 } else { 0x80 };
                let Some(byte) = u8::try_from(point).ok().filter(|_| point < limit) else { return false };
                out.push(byte);
            }
            Self::Utf16 { big } => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Self::Utf32 { big } => out.extend(if big { point.to_be_bytes() } else { point.to_le_bytes() }),
        }
        true
    }
}

/// The replacement for characters that cannot be converted: `None` raises, otherwise a UTF-8 text (empty to drop the
/// character).
#[derive(Clone, Copy, Debug, Default)]
pub struct Replace<'a> {
    /// For malformed bytes.
    pub invalid: Option<&'a str>,
    /// For characters that the target does not have.
    pub undefined: Option<&'a str>,
}

/// Converts a text.
///
/// # Errors
/// If something is malformed or has no counterpart, and no replacement was given.
pub fn convert(text: &[u8], from: Encoding, to: Encoding, replace: Replace<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(text.len());
    let fill = |with: &str, out: &mut Vec<u8>| {
        for c in with.chars() {
            to.push(c, out);
        }
    };
    for c in from.decode(text) {
        match c {
            None => fill(replace.invalid.ok_or(EncodeError::Invalid(from.name()))?, &mut out),
            Some(c) => {
                if !to.push(c, &mut out) {
                    fill(replace.undefined.ok_or(EncodeError::Undefined(u32::from(c), to.name()))?, &mut out);
                }
            }
        }
    }
    Ok(out)
}

/// A text with its malformed parts replaced: `String#scrub`. Each maximal part gets one replacement, as Unicode
/// recommends and CRuby does.
#[must_use]
pub fn scrub(text: &[u8], with: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice(with);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdlib::digest::{base64, base64_decode_strict};
    use crate::stdlib::oracle::ruby;
    use serde_json::{Value, json};
    use underpin_test_support::need;

    const TEXTS: [&[u8]; 8] =
        [b"", b"abc", "é日😀".as_bytes(), b"\xff", b"a\xe3\x81b", b"\xf0\x9f\x98", b"caf\xe9", b"\0a\0b"];

    #[test]
    fn texts_are_converted_as_by_cruby() {
        need!("ruby");
        let names = ["UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"];
        let mut cases = Vec::new();
        for text in TEXTS {
            for from in names {
                for to in names {
                    // CRuby does not convert to the same encoding.
                    if from != to
                        && !(text.len() % 4 != 0 && (from.starts_with("UTF-16") || from.starts_with("UTF-32")))
                    {
                        cases.push((base64(text), from, to));
                    }
                }
            }
        }
        let theirs = "INPUT.map { |t, f, to| s = t.unpack1('m'); begin; [s.encode(to, f, invalid: :replace, undef: :replace, replace: '!')].pack('m0'); rescue => e; e.class.name; end }";
        let theirs = ruby(theirs, &json!(cases));
        for ((text, from, to), theirs) in cases.iter().zip(theirs.as_array().unwrap()) {
            let (from, to) = (Encoding::named(from.as_bytes()).unwrap(), Encoding::named(to.as_bytes()).unwrap());
            let replace = Replace { invalid: Some("!"), undefined: Some("!") };
            let ours = convert(&base64_decode_strict(text.as_bytes()).unwrap(), from, to, replace)
                .map(|bytes| base64(&bytes))
                .unwrap();
            // CRuby cannot write `!` for a text whose replacement is in an encoding with another unit width.
            assert_eq!(Value::from(ours), *theirs, "{text} from {from:?} to {to:?}");
        }
        let plain = |text: &[u8], from, to| convert(text, from, to, Replace::default());
        assert_eq!(plain(b"\xff", Encoding::Utf8, Encoding::Latin1), Err(EncodeError::Invalid("UTF-8")));
        assert_eq!(
            plain("日".as_bytes(), Encoding::Utf8, Encoding::Latin1).unwrap_err().to_string(),
            "U+65E5 from UTF-8 to ISO-8859-1"
        );
    }

    #[test]
    fn malformed_pieces_are_replaced_as_by_cruby() {
        need!("ruby");
        let ours: Vec<_> = TEXTS.iter().map(|text| base64(&scrub(text, b"?"))).collect();
        let input: Vec<_> = TEXTS.iter().map(|text| base64(text)).collect();
        assert_eq!(
            ruby("INPUT.map { |t| [t.unpack1('m').force_encoding('UTF-8').scrub('?')].pack('m0') }", &json!(input)),
            json!(ours)
        );
    }
}
