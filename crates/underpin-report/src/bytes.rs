//! Text from outside: file names and sonames are bytes, and may contain anything.
//!
//! [`Raw`] keeps the bytes, passes them to the JSON of documents, and shows them to people through [`visible`], which
//! lets no control character, no bidirectional override and no broken UTF-8 reach a terminal.

use bstr::{BStr, BString, ByteSlice};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use underpin_bench::shell_word;

/// Marks names in a schema until `document::json::with_bytes` has added the second field beside them.
pub(crate) const NAME_FORMAT: &str = "underpin-name";

/// A name or path as bytes. In the JSON of a document a string in which bytes that are not UTF-8 are U+FFFD, and then a
/// second field with the bytes in hexadecimal; serialised as a string, or as bytes if they are not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Raw(pub BString);

impl Raw {
    /// The bytes themselves, for output that another program reads.
    #[must_use]
    pub fn bytes(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// The last component of a path: what follows the last slash.
    #[must_use]
    pub fn file_name(&self) -> &BStr {
        file_name(self.bytes())
    }

    /// What comes before the last component, with its slash; empty if there is no slash.
    #[must_use]
    pub fn directory(&self) -> &BStr {
        self.0.rfind_byte(b'/').map_or(b"".as_bstr(), |slash| self.0[..=slash].as_bstr())
    }
}

/// The last component of a path.
#[must_use]
pub fn file_name(path: &BStr) -> &BStr {
    path.rfind_byte(b'/').map_or(path, |slash| path[slash + 1..].as_bstr())
}

impl From<&BString> for Raw {
    fn from(bytes: &BString) -> Raw {
        Raw(bytes.clone())
    }
}

impl From<&BStr> for Raw {
    fn from(bytes: &BStr) -> Raw {
        Raw(bytes.to_owned())
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Raw {
        Raw(text.into())
    }
}

impl From<BString> for Raw {
    fn from(bytes: BString) -> Raw {
        Raw(bytes)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(self.bytes()))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.serialize_bytes(&self.0),
        }
    }
}

impl JsonSchema for Raw {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Raw".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = String::json_schema(generator);
        schema.insert("format".to_owned(), NAME_FORMAT.into());
        schema
    }
}

/// The bytes as text that is safe to show: bytes that are not UTF-8 as `\xNN`, control characters likewise, characters
/// that reorder or hide text as `\u{NNNN}`. Costs nothing if there is nothing to replace.
#[must_use]
pub fn visible(bytes: &BStr) -> Cow<'_, str> {
    let plain = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if let Ok(text) = bytes.to_str()
        && (plain || !text.chars().any(is_hostile))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for (start, end, ch) in bytes.char_indices() {
        let raw = &bytes[start..end];
        if ch == '\u{fffd}' && raw.as_bytes() != "\u{fffd}".as_bytes() {
            out.extend(raw.iter().map(|byte| format!("\\x{byte:02x}")));
        } else if ch.is_control() {
            out.push_str(&format!("\\x{:02x}", u32::from(ch)));
        } else if is_hostile(ch) {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(ch)));
        } else {
            out.push(ch);
        }
    }
    Cow::Owned(out)
}

/// Control characters (C0, DEL, C1), line separators, zero-width and bidirectional controls.
pub(crate) fn is_hostile(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A word for a POSIX shell; `None` if it has characters that cannot be typed.
#[must_use]
pub fn quoted(word: &Raw) -> Option<String> {
    let text = word.bytes().to_str().ok()?;
    if visible(word.bytes()) != text {
        return None;
    }
    Some(shell_word(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(visible("libé.so".into()), Cow::Borrowed("libé.so")));
    }

    #[test]
    fn escape_sequences_are_neutralised() {
        assert_eq!(visible(b"a\x1b[31mb\x07\n".as_bstr()), "a\\x1b[31mb\\x07\\x0a");
    }

    #[test]
    fn c1_controls_and_broken_utf8_are_hex() {
        assert_eq!(visible(b"x\xc2\x9by\xff".as_bstr()), "x\\x9by\\xff");
    }

    #[test]
    fn bidirectional_overrides_are_named() {
        assert_eq!(visible("a\u{202e}b".into()), "a\\u{202e}b");
    }

    #[test]
    fn the_replacement_character_itself_is_kept() {
        assert_eq!(visible("a\u{fffd}\u{202e}".into()), "a\u{fffd}\\u{202e}");
    }

    #[test]
    fn display_loses_no_byte() {
        let raw = Raw(BString::from(&b"lib\xff.so"[..]));
        assert_eq!(raw.to_string(), "lib\\xff.so");
    }

    #[test]
    fn directory_and_file_name_make_the_path() {
        let raw = Raw::from("/lib/x/libz.so.1");
        assert_eq!((raw.directory().to_string(), raw.file_name().to_string()), ("/lib/x/".into(), "libz.so.1".into()));
        assert_eq!(Raw::from("libz.so").directory(), "");
    }
}
