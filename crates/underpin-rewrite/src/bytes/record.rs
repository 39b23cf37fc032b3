//! The record that a rewritten file carries: what it was bound to, and how to restore every byte.

use crate::edits::BoundObject;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The schema that this version writes.
pub(super) const SCHEMA: &str = "underpin.binding/2";
/// Changed bytes that are no further apart than this are put back as one piece.
const NEAR: usize = 6;

/// Bytes to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inverse {
    /// Where in the file.
    pub offset: u64,
    /// The original bytes in hexadecimal; equal bytes at the end are left out.
    pub bytes: String,
    /// How many bytes in all.
    pub len: u64,
    /// The byte that `bytes` leaves out.
    #[serde(default)]
    pub fill: u8,
}

/// Bytes of the original that have moved in the rewritten file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedRange {
    /// Where they are in the rewritten file.
    pub from: u64,
    /// Where they were.
    pub to: u64,
    /// How many bytes.
    pub len: u64,
}

/// The record of one rewrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRecord {
    /// `underpin.binding/2`, or the schema of an earlier version.
    pub schema: String,
    /// Size of the original in bytes.
    pub original_size: u64,
    /// This many bytes of the original stayed where they were, except for those in `inverse`.
    #[serde(default)]
    pub kept: u64,
    /// SHA-256 of the original in hexadecimal.
    pub original_sha256: String,
    /// Which parts of the rest have moved.
    #[serde(default)]
    pub spans: Vec<MovedRange>,
    /// What to put back.
    pub inverse: Vec<Inverse>,
    /// What was bound.
    pub bound: Vec<BoundObject>,
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is one, but it is damaged.
    #[error("its record of the binding is damaged ({what}): restore the file from its package or build")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// It was written by another version of underpin.
    #[error(
        "its record of the binding has the schema {schema}, which this version does not know: use a newer underpin"
    )]
    Schema {
        /// The schema found.
        schema: String,
    },
    /// Reading failed.
    #[error("{0}")]
    Io(String),
}

/// Why the original cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The file carries no record.
    #[error("it is not bound: it carries no record of a binding")]
    NotBound,
    /// The record is unusable.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Another tool rewrote the file after it was bound.
    #[error(
        "it was changed after it was bound (strip, objcopy and patchelf do that), so its original bytes cannot be \
         restored: take the file from its package or build again"
    )]
    Changed,
}

impl Inverse {
    /// The bytes that were at an offset.
    pub(super) fn new(offset: u64, bytes: &[u8]) -> Inverse {
        let fill = bytes.last().copied().unwrap_or(0);
        let used = bytes.iter().rposition(|byte| *byte != fill).map_or(0, |last| last.saturating_add(1));
        Inverse { offset, bytes: hex(bytes.get(..used).unwrap_or_default()), len: bytes.len() as u64, fill }
    }

    /// What turns `new` back into `old` at an offset; both have the same length.
    pub(super) fn between(offset: u64, old: &[u8], new: &[u8]) -> Vec<Inverse> {
        let differs = |at: usize| old.get(at) != new.get(at);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in (0..old.len()).filter(|at| differs(*at)) {
            match runs.last_mut() {
                Some((_, end)) if at <= end.saturating_add(NEAR) => *end = at.saturating_add(1),
                _ => runs.push((at, at.saturating_add(1))),
            }
        }
        let piece = |(start, end): (usize, usize)| {
            Inverse::new(offset.saturating_add(start as u64), old.get(start..end).unwrap_or_default())
        };
        runs.into_iter().map(piece).collect()
    }

    /// Puts the bytes back; `None` if the record contradicts the file.
    fn apply(&self, file: &mut [u8]) -> Option<()> {
        let place = file.get_mut(usize::try_from(self.offset).ok()?..)?.get_mut(..usize::try_from(self.len).ok()?)?;
        let bytes = unhex(&self.bytes)?;
        let (start, rest) = place.split_at_mut_checked(bytes.len())?;
        start.copy_from_slice(&bytes);
        rest.fill(self.fill);
        Some(())
    }
}

impl UndoRecord {
    pub(super) fn new(original_size: u64, digest: &[u8], bound: Vec<BoundObject>) -> UndoRecord {
        UndoRecord {
            schema: SCHEMA.to_owned(),
            original_size,
            kept: original_size,
            original_sha256: hex(digest),
            spans: Vec::new(),
            inverse: Vec::new(),
            bound,
        }
    }

    /// The original, whether or not it matches the digest.
    pub(super) fn restore(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let index = |offset: u64| usize::try_from(offset).ok();
        // The original cannot be longer than the file it became, apart from the alignment of a table.
        let size = index(self.original_size).filter(|size| *size <= bytes.len().saturating_mul(2))?;
        let mut original = bytes.get(..index(self.kept)?.min(size))?.to_vec();
        original.resize(size, 0);
        for span in &self.spans {
            let len = index(span.len)?;
            let moved = bytes.get(index(span.from)?..)?.get(..len)?;
            original.get_mut(index(span.to)?..)?.get_mut(..len)?.copy_from_slice(moved);
        }
        self.inverse.iter().try_for_each(|inverse| inverse.apply(&mut original))?;
        Some(original)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| u8::try_from(char::from(*byte).to_digit(16)?).ok();
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}
