//! The record as bytes: everything as short as possible, because a bound file grows by its record.
//!
//! Numbers are LEB128. Paths are written as their difference from the previous path, and without the name of the
//! library if they end with it. JSON, used by the first schema, was four times as large.

use super::record::{Inverse, MovedRange, UndoRecord};
use super::record::{hex, unhex};
use crate::edits::BoundObject;

/// The path ends with the name that was bound.
const ENDS_WITH_NAME: u8 = 1;
/// A build-id follows, as bytes.
const BUILD_ID: u8 = 2;
/// A build-id follows, as text.
const TEXT_ID: u8 = 4;
/// Begins every record, so that a wrong length is detected.
const START: u8 = b'U';
/// SHA-256.
const DIGEST: usize = 32;

pub(super) fn encode(record: &UndoRecord) -> Vec<u8> {
    let mut out = Writer(vec![START]);
    out.number(record.original_size);
    out.number(record.kept);
    let mut digest = unhex(&record.original_sha256).unwrap_or_default();
    digest.resize(DIGEST, 0);
    out.0.extend(digest);
    out.number(record.spans.len() as u64);
    for span in &record.spans {
        [span.from, span.to, span.len].into_iter().for_each(|number| out.number(number));
    }
    out.number(record.inverse.len() as u64);
    let mut end = 0_u64;
    for inverse in &record.inverse {
        out.number(inverse.offset.wrapping_sub(end));
        out.number(inverse.len);
        out.0.push(inverse.fill);
        out.text(&unhex(&inverse.bytes).unwrap_or_default());
        end = inverse.offset.wrapping_add(inverse.len);
    }
    out.number(record.bound.len() as u64);
    let mut before = "";
    for bound in &record.bound {
        out.bound(bound, before);
        before = &bound.path;
    }
    out.0
}

/// `None` if it is damaged.
pub(super) fn decode(bytes: &[u8], schema: &str) -> Option<UndoRecord> {
    let mut input = Reader(bytes.strip_prefix(&[START])?);
    let (original_size, kept) = (input.number()?, input.number()?);
    let original_sha256 = hex(input.take(DIGEST)?);
    let spans = (0..input.count()?)
        .map(|_| Some(MovedRange { from: input.number()?, to: input.number()?, len: input.number()? }))
        .collect::<Option<_>>()?;
    let mut end = 0_u64;
    let mut inverse = Vec::new();
    for _ in 0..input.count()? {
        let offset = end.wrapping_add(input.number()?);
        let (len, fill) = (input.number()?, *input.take(1)?.first()?);
        inverse.push(Inverse { offset, len, fill, bytes: hex(input.text()?) });
        end = offset.wrapping_add(len);
    }
    let mut bound: Vec<BoundObject> = Vec::new();
    for _ in 0..input.count()? {
        let before = bound.last().map_or("", |bound| bound.path.as_str()).to_owned();
        bound.push(input.bound(&before)?);
    }
    let schema = schema.to_owned();
    input.0.is_empty().then_some(UndoRecord { schema, original_size, kept, original_sha256, spans, inverse, bound })
}

struct Writer(Vec<u8>);

impl Writer {
    #[allow(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn bound(&mut self, bound: &BoundObject, before: &str) {
        let folder = bound.path.strip_suffix(bound.name.as_str());
        let id = bound.build_id.as_deref();
        let raw = id.and_then(|id| unhex(id).filter(|raw| hex(raw) == id));
        let id_flag = match (&raw, id) {
            (Some(_), _) => BUILD_ID,
            (None, Some(_)) => TEXT_ID,
            (None, None) => 0,
        };
        self.0.push(id_flag | if folder.is_some() { ENDS_WITH_NAME } else { 0 });
        self.text(bound.name.as_bytes());
        let path = folder.unwrap_or(&bound.path).as_bytes();
        let shared = path.iter().zip(before.as_bytes()).take_while(|(one, other)| one == other).count();
        self.number(shared as u64);
        self.text(path.get(shared..).unwrap_or_default());
        if let Some(id) = raw.as_deref().or(id.map(str::as_bytes)) {
            self.text(id);
        }
        self.number(bound.size);
        self.number(bound.modified.cast_unsigned());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number of items, each of which takes at least one byte.
    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.number()?).ok()?;
        self.take(size)
    }

    fn bound(&mut self, before: &str) -> Option<BoundObject> {
        let flags = *self.take(1)?.first()?;
        let name = String::from_utf8(self.text()?.to_vec()).ok()?;
        let shared = usize::try_from(self.number()?).ok()?;
        let mut path = before.as_bytes().get(..shared)?.to_vec();
        path.extend_from_slice(self.text()?);
        if flags & ENDS_WITH_NAME != 0 {
            path.extend_from_slice(name.as_bytes());
        }
        let build_id = match flags & (BUILD_ID | TEXT_ID) {
            0 => None,
            BUILD_ID => Some(hex(self.text()?)),
            _ => Some(String::from_utf8(self.text()?.to_vec()).ok()?),
        };
        let path = String::from_utf8(path).ok()?;
        Some(BoundObject { name, path, build_id, size: self.number()?, modified: self.number()?.cast_signed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object() -> impl Strategy<Value = BoundObject> {
        let path = prop_oneof!["/opt/[a-z]{1,9}/lib/", "[a-zé/]{0,12}"];
        let id = proptest::option::of(prop_oneof!["[0-9a-f]{40}", ".{0,9}"]);
        ("[a-z.]{0,9}", path, any::<bool>(), id, any::<u64>(), any::<i64>()).prop_map(
            |(name, path, ends, build_id, size, modified)| {
                let path = if ends { format!("{path}{name}") } else { path };
                BoundObject { name, path, build_id, size, modified }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            sizes: (u64, u64),
            digest: [u8; DIGEST],
            spans: Vec<(u64, u64, u64)>,
            inverse: Vec<(u64, u64, u8, Vec<u8>)>,
            bound in proptest::collection::vec(object(), 0..6),
        ) {
            let record = UndoRecord {
                schema: "a schema".to_owned(),
                original_size: sizes.0,
                kept: sizes.1,
                original_sha256: hex(&digest),
                spans: spans.into_iter().map(|(from, to, len)| MovedRange { from, to, len }).collect(),
                inverse: inverse
                    .into_iter()
                    .map(|(offset, len, fill, bytes)| Inverse { offset, len, fill, bytes: hex(&bytes) })
                    .collect(),
                bound,
            };
            prop_assert_eq!(decode(&encode(&record), "a schema"), Some(record));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes, "a schema");
        }
    }
}
