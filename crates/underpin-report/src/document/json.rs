//! JSON of documents, and how it represents names that are not UTF-8.
//!
//! A name is written as text with U+FFFD, and its field gets a second one beside it, `…_bytes`, with the bytes in
//! hexadecimal; a list of names gets a list of the same length, null for names that are text. Names request this by
//! serialising as bytes ([`crate::Raw`]); the formatter here does the rest, so that no document has to.

use crate::bytes::NAME_FORMAT;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};

/// The suffix of the second field's name.
const SUFFIX: &str = "_bytes";

/// The JSON of a value: indented, or on one line.
pub(super) fn write<T: Serialize>(value: &T, indented: bool) -> Result<String, serde_json::Error> {
    let mut out = Vec::with_capacity(4096);
    if indented {
        value.serialize(&mut Serializer::with_formatter(&mut out, Names::over(PrettyFormatter::new())))?;
    } else {
        value.serialize(&mut Serializer::with_formatter(&mut out, Names::over(CompactFormatter)))?;
    }
    String::from_utf8(out).map_err(|error| serde::ser::Error::custom(error.utf8_error()))
}

/// An object or a list that is being written.
enum Open {
    Object {
        key: String,
        /// The value of the second field of `key`, to be written after the first one.
        bytes: Option<String>,
    },
    List {
        items: usize,
        bytes: Vec<(usize, String)>,
    },
}

/// Writes as the inner formatter does, and inserts the second fields.
struct Names<F> {
    inner: F,
    open: Vec<Open>,
    in_key: bool,
}

impl<F: Formatter> Names<F> {
    fn over(inner: F) -> Names<F> {
        Names { inner, open: Vec::new(), in_key: false }
    }

    /// Takes part of a key.
    fn note(&mut self, part: &str) {
        if let (true, Some(Open::Object { key, .. })) = (self.in_key, self.open.last_mut()) {
            key.push_str(part);
        }
    }

    /// Schedules a second field with this value after the one that is being written.
    fn owe(&mut self, value: String) {
        if let Some(Open::Object { bytes, .. }) = self.open.last_mut() {
            *bytes = Some(value);
        }
    }
}

fn quoted_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 2);
    out.push('"');
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
    out
}

/// A list with null for each item without bytes.
fn list(items: usize, bytes: Vec<(usize, String)>) -> String {
    let mut all = vec!["null".to_owned(); items];
    for (index, value) in bytes {
        all[index] = value;
    }
    format!("[{}]", all.join(","))
}

impl<F: Formatter> Formatter for Names<F> {
    fn write_byte_array<W: ?Sized + Write>(&mut self, writer: &mut W, value: &[u8]) -> io::Result<()> {
        let text = serde_json::to_string(&String::from_utf8_lossy(value)).map_err(io::Error::other)?;
        writer.write_all(text.as_bytes())?;
        match self.open.last_mut() {
            Some(Open::Object { bytes, .. }) => *bytes = Some(quoted_hex(value)),
            Some(Open::List { items, bytes }) => bytes.push((*items, quoted_hex(value))),
            None => {}
        }
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(Open::Object { key: String::new(), bytes: None });
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.pop();
        self.inner.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.in_key = true;
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            key.clear();
        }
        self.inner.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_key = false;
        self.inner.end_object_key(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object_value(writer)?;
        let Some(Open::Object { key, bytes }) = self.open.last_mut() else { return Ok(()) };
        let Some(value) = bytes.take() else { return Ok(()) };
        let name = serde_json::to_string(&format!("{key}{SUFFIX}")).map_err(io::Error::other)?;
        self.inner.begin_object_key(writer, false)?;
        writer.write_all(name.as_bytes())?;
        self.inner.end_object_key(writer)?;
        self.inner.begin_object_value(writer)?;
        writer.write_all(value.as_bytes())?;
        self.inner.end_object_value(writer)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(Open::List { items: 0, bytes: Vec::new() });
        self.inner.begin_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.inner.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Open::List { items, .. }) = self.open.last_mut() {
            *items += 1;
        }
        self.inner.end_array_value(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Open::List { items, bytes }) = self.open.pop()
            && !bytes.is_empty()
        {
            self.owe(list(items, bytes));
        }
        self.inner.end_array(writer)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.note(fragment);
        self.inner.write_string_fragment(writer, fragment)
    }
}

/// A schema with the second field added for every name and every list of names.
pub(super) fn with_bytes(mut schema: Value) -> Value {
    add(&mut schema);
    schema
}

fn add(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(add),
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                add_fields(properties);
            }
            object.values_mut().for_each(add);
            // Items of lists are not properties; the mark is removed from them too.
            if object.get("format").is_some_and(|format| format == NAME_FORMAT) {
                object.remove("format");
            }
        }
        _ => {}
    }
}

fn add_fields(properties: &mut Map<String, Value>) {
    let marked = |schema: &Value| schema.get("format").is_some_and(|format| format == NAME_FORMAT);
    let hex = "^([0-9a-f]{2})+$";
    let mut fields = Vec::new();
    for (name, schema) in &*properties {
        if marked(schema) {
            let words = format!("The bytes of `{name}` in hexadecimal; only if they are not UTF-8.");
            fields.push((name.clone(), json!({"type": "string", "pattern": hex, "description": words})));
        } else if schema.get("items").is_some_and(marked) {
            let words = format!(
                "The bytes of each of `{name}` in hexadecimal, null for one that is UTF-8; only if one of them is not."
            );
            let items = json!({"type": ["string", "null"], "pattern": hex});
            fields.push((name.clone(), json!({"type": "array", "items": items, "description": words})));
        }
    }
    debug_assert!(fields.iter().all(|(name, _)| !properties.contains_key(&format!("{name}{SUFFIX}"))), "{fields:?}");
    properties.extend(fields.into_iter().map(|(name, schema)| (format!("{name}{SUFFIX}"), schema)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Raw;
    use bstr::BString;

    #[derive(Serialize)]
    struct Sample {
        path: Raw,
        users: Vec<Raw>,
        missing: Option<Raw>,
        inside: Vec<Inside>,
        count: u32,
    }

    #[derive(Serialize)]
    struct Inside {
        name: Raw,
    }

    fn raw(bytes: &[u8]) -> Raw {
        Raw(BString::from(bytes))
    }

    #[test]
    fn a_name_that_is_not_text_has_its_bytes_beside_it() {
        let sample = Sample {
            path: raw(b"/a\xff\"/x"),
            users: vec![raw(b"plain"), raw(b"\xc3")],
            missing: None,
            inside: vec![Inside { name: raw(b"text") }, Inside { name: raw(b"\xfe\n") }],
            count: 3,
        };
        let wanted = json!({
            "path": "/a\u{fffd}\"/x", "path_bytes": "2f61ff222f78",
            "users": ["plain", "\u{fffd}"], "users_bytes": [null, "c3"],
            "missing": null,
            "inside": [{"name": "text"}, {"name": "\u{fffd}\n", "name_bytes": "fe0a"}],
            "count": 3,
        });
        for indented in [false, true] {
            let json = write(&sample, indented).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), wanted, "{json}");
        }
    }

    #[test]
    fn text_is_written_as_serde_json_writes_it() {
        let sample = || Sample {
            path: raw("é\"\\".as_bytes()),
            users: Vec::new(),
            missing: Some(raw(b"x")),
            inside: vec![Inside { name: raw(b"") }],
            count: 1,
        };
        assert_eq!(write(&sample(), false).unwrap(), serde_json::to_string(&sample()).unwrap());
        assert_eq!(write(&sample(), true).unwrap(), serde_json::to_string_pretty(&sample()).unwrap());
    }
}
