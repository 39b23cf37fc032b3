//! The record that a rewritten file carries: what it was bound to, and how to restore every byte.
//!
//! It is an ELF note (`elf(5)`) in the section `.underpin.binding`, in a segment if the file has room there: so GNU
//! strip, eu-strip, llvm-strip and both objcopy keep it. If there is no room, it is the last thing in the file, still as
//! a note: then llvm-strip alone drops it. Its last bytes are a length and 16 bytes of magic, so that one small read at
//! the end of a file finds it there, also if there is no section table.
//!
//! Files that an earlier version has bound carry JSON in a section of that name (`underpin.binding/1`): they are read as
//! ever.

use super::layout::Layout;
use super::wire;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use underpin_elf::{Class, Endian, Source};

/// Name of the section that holds the record.
pub(super) const SECTION: &[u8] = b".underpin.binding";
/// The last bytes of a record; those behind the slash are the schema.
const MAGIC: &[u8; 16] = b"underpin.bound/2";
/// The last bytes of one of the first schema.
const MAGIC_1: &[u8; 16] = b"underpin.binding";
/// Length and magic.
const TRAILER: usize = 8 + MAGIC.len();
/// The schema that this version writes.
const SCHEMA: &str = "underpin.binding/2";
/// The one before, in JSON.
const SCHEMA_1: &str = "underpin.binding/1";
/// Whose note it is, with the zeros up to the next four bytes.
const OWNER: &[u8; 12] = b"underpin\0\0\0\0";
/// Most bytes of section headers and of section names that are read to look for a record.
const TABLE_MAX: u64 = 1 << 22;
/// Changed bytes that are no further apart are put back as one piece.
const NEAR: usize = 6;

/// What a bound name stands for, as it was when it was bound. Paths that are not UTF-8 are never bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// The name as the file had it.
    pub name: String,
    /// The path that it became.
    pub path: String,
    /// The object's build-id in hexadecimal, where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub build_id: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Its modification time in nanoseconds since 1970.
    pub modified: i64,
}

/// Bytes to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inverse {
    /// Where in the file.
    pub offset: u64,
    /// The original bytes in hexadecimal; those at the end that are alike are left out.
    pub bytes: String,
    /// How many bytes in all.
    pub len: u64,
    /// What the bytes are that `bytes` leaves out.
    #[serde(default)]
    pub fill: u8,
}

/// Bytes of the original that stand somewhere else in the rewritten file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Where they stand in the rewritten file.
    pub from: u64,
    /// Where they stood.
    pub to: u64,
    /// How many they are.
    pub len: u64,
}

/// The record of one rewrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `underpin.binding/2`, or that of an earlier version.
    pub schema: String,
    /// Size of the original in bytes.
    pub original_size: u64,
    /// So many bytes of the original stayed where they were, but for those in `inverse`.
    #[serde(default)]
    pub kept: u64,
    /// SHA-256 of the original in hexadecimal.
    pub original_sha256: String,
    /// What of the rest has moved.
    #[serde(default)]
    pub spans: Vec<Span>,
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
    /// The medium failed.
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
    /// The bytes that stood at an offset.
    pub(super) fn new(offset: u64, bytes: &[u8]) -> Inverse {
        let fill = bytes.last().copied().unwrap_or(0);
        let used = bytes.iter().rposition(|byte| *byte != fill).map_or(0, |last| last + 1);
        Inverse { offset, bytes: hex(bytes.get(..used).unwrap_or_default()), len: bytes.len() as u64, fill }
    }

    /// What turns `new` back into `old`, which stood at an offset; both are equally long.
    pub(super) fn between(offset: u64, old: &[u8], new: &[u8]) -> Vec<Inverse> {
        let differs = |at: usize| old.get(at) != new.get(at);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in (0..old.len()).filter(|at| differs(*at)) {
            match runs.last_mut() {
                Some((_, end)) if at <= *end + NEAR => *end = at + 1,
                _ => runs.push((at, at + 1)),
            }
        }
        let piece =
            |(start, end): (usize, usize)| Inverse::new(offset + start as u64, old.get(start..end).unwrap_or_default());
        runs.into_iter().map(piece).collect()
    }

    /// Puts the bytes back; `None` where the record contradicts the file.
    fn apply(&self, file: &mut [u8]) -> Option<()> {
        let place = file.get_mut(usize::try_from(self.offset).ok()?..)?.get_mut(..usize::try_from(self.len).ok()?)?;
        let bytes = unhex(&self.bytes)?;
        let (start, rest) = place.split_at_mut_checked(bytes.len())?;
        start.copy_from_slice(&bytes);
        rest.fill(self.fill);
        Some(())
    }
}

impl Record {
    pub(super) fn new(original_size: u64, digest: &[u8], bound: Vec<BoundObject>) -> Record {
        Record {
            schema: SCHEMA.to_owned(),
            original_size,
            kept: original_size,
            original_sha256: hex(digest),
            spans: Vec::new(),
            inverse: Vec::new(),
            bound,
        }
    }

    /// The original, whether or not the digest says so.
    fn restore(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let index = |offset: u64| usize::try_from(offset).ok();
        // No original is longer than what it became, but for the alignment of a table.
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

/// The record as it stands in the file: a note of `size` bytes, or of as many as it needs. `None` where it needs more.
pub(super) fn encode(record: &Record, layout: Layout, size: Option<u64>) -> Option<Vec<u8>> {
    let payload = wire::encode(record);
    let needed = 12 + OWNER.len() + payload.len() + TRAILER;
    let size = size.map_or(Some(needed.next_multiple_of(4)), |size| usize::try_from(size).ok())?;
    let content = size.checked_sub(12 + OWNER.len()).filter(|_| size >= needed)?;
    let content = u32::try_from(content).ok()?;
    // The length of the name counts one NUL; the kind is the schema.
    let head = [9, content, 2].map(|number| layout.u32_bytes(number)).concat();
    let mut note = [&head[..], OWNER].concat();
    note.resize(size - payload.len() - TRAILER, 0);
    note.extend(&payload);
    note.extend((payload.len() as u64).to_le_bytes());
    note.extend(MAGIC);
    Some(note)
}

/// The record of a file, or `None` where it carries none.
///
/// # Errors
/// A record that is there but damaged, or that another version wrote.
pub fn record(bytes: &[u8]) -> Result<Option<Record>, RecordError> {
    record_of(bytes)
}

/// The same with a handful of small reads: the end of the file, and only where that is no record the section headers.
///
/// # Errors
/// As [`record`], and what the medium reports.
pub fn record_of<S: Source + ?Sized>(source: &S) -> Result<Option<Record>, RecordError> {
    if let Some(blob) = blob_ending_at(source, source.len(), 0)? {
        return blob.decode().map(Some);
    }
    let Some((offset, size)) = section(source) else { return Ok(None) };
    let end = offset.checked_add(size).filter(|end| *end <= source.len());
    match end.map(|end| blob_ending_at(source, end, offset)).transpose()?.flatten() {
        Some(blob) => blob.decode().map(Some),
        None => Err(RecordError::Damaged { what: "its section does not hold one".to_owned() }),
    }
}

/// The original of a bound file, byte for byte.
///
/// # Errors
/// [`UndoError`]: not bound, or changed since; the result is compared with the size and SHA-256 in the record.
pub fn undo(bytes: &[u8]) -> Result<Vec<u8>, UndoError> {
    let record = record(bytes)?.ok_or(UndoError::NotBound)?;
    let original = record.restore(bytes).ok_or(UndoError::Changed)?;
    if hex(&Sha256::digest(&original)) == record.original_sha256 { Ok(original) } else { Err(UndoError::Changed) }
}

/// What stands before the trailer, and in which form.
enum Blob {
    Json(Vec<u8>),
    Wire(Vec<u8>),
    /// Of a version that is not known here.
    Other(u8),
}

impl Blob {
    fn decode(&self) -> Result<Record, RecordError> {
        match self {
            Blob::Json(json) => decode_json(json),
            Blob::Wire(bytes) => {
                let damaged = || RecordError::Damaged { what: "its numbers do not fit together".to_owned() };
                wire::decode(bytes, SCHEMA).ok_or_else(damaged)
            }
            Blob::Other(version) => {
                Err(RecordError::Schema { schema: format!("underpin.binding/{}", char::from(*version)) })
            }
        }
    }
}

fn decode_json(json: &[u8]) -> Result<Record, RecordError> {
    let damaged = |error: serde_json::Error| RecordError::Damaged { what: error.to_string() };
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_slice(json).map_err(damaged)?;
    if head.schema != SCHEMA_1 {
        return Err(RecordError::Schema { schema: head.schema });
    }
    let record: Record = serde_json::from_slice(json).map_err(damaged)?;
    Ok(Record { kept: record.original_size, ..record })
}

/// The record whose last byte is before `end` and whose first is not before `start`.
fn blob_ending_at<S: Source + ?Sized>(source: &S, end: u64, start: u64) -> Result<Option<Blob>, RecordError> {
    let io = |error: std::io::Error| RecordError::Io(error.to_string());
    let Some(trailer_at) = end.checked_sub(TRAILER as u64).filter(|at| *at >= start) else { return Ok(None) };
    let mut trailer = [0; TRAILER];
    source.read_exact_at(trailer_at, &mut trailer).map_err(io)?;
    let Some((length, magic)) = trailer.split_first_chunk::<8>() else { return Ok(None) };
    let Some((version, kind)) = magic.split_last() else { return Ok(None) };
    let is_json = magic == MAGIC_1;
    if !is_json && Some(kind) != MAGIC.split_last().map(|(_, kind)| kind) {
        return Ok(None);
    }
    if !is_json && magic != MAGIC {
        return Ok(Some(Blob::Other(*version)));
    }
    let length = u64::from_le_bytes(*length);
    let at = trailer_at.checked_sub(length).filter(|at| *at >= start);
    let (Some(at), Ok(size)) = (at, usize::try_from(length)) else {
        return Err(RecordError::Damaged { what: "its length is impossible".to_owned() });
    };
    let mut bytes = vec![0; size];
    source.read_exact_at(at, &mut bytes).map_err(io)?;
    Ok(Some(if is_json { Blob::Json(bytes) } else { Blob::Wire(bytes) }))
}

/// Offset and size of the record's section; the last one, where a file was bound again after strip.
fn section<S: Source + ?Sized>(source: &S) -> Option<(u64, u64)> {
    let mut head = [0; 64];
    let length = usize::try_from(source.len().min(64)).ok()?;
    source.read_exact_at(0, head.get_mut(..length)?).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let layout = Layout {
        class: if head.get(4) == Some(&1) { Class::Elf32 } else { Class::Elf64 },
        endian: if head.get(5) == Some(&2) { Endian::Big } else { Endian::Little },
    };
    let header = layout.header(&head)?;
    let size = layout.section_size();
    if header.shoff == 0 || usize::from(header.shentsize) != size {
        return None;
    }
    let first = layout.section(&read(source, header.shoff, size as u64)?)?;
    let count = if header.shnum == 0 { first.size } else { u64::from(header.shnum) };
    let table = read(source, header.shoff, count.checked_mul(size as u64)?)?;
    let at = if header.shstrndx == u16::MAX { first.link as usize } else { usize::from(header.shstrndx) };
    let sections: Vec<_> = table.chunks_exact(size).filter_map(|entry| layout.section(entry)).collect();
    let names = sections.get(at)?;
    let names = read(source, names.offset, names.size)?;
    let found = sections.iter().rfind(|section| {
        let name = names.get(section.name as usize..).and_then(|rest| rest.strip_prefix(SECTION));
        name.and_then(<[u8]>::first) == Some(&0)
    })?;
    Some((found.offset, found.size))
}

fn read<S: Source + ?Sized>(source: &S, offset: u64, size: u64) -> Option<Vec<u8>> {
    let inside = offset.checked_add(size).is_some_and(|end| end <= source.len()) && size <= TABLE_MAX;
    let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| inside)?];
    source.read_exact_at(offset, &mut bytes).ok()?;
    Some(bytes)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().iter().map(|digit| char::from(*digit).to_digit(16)).collect::<Option<Vec<u32>>>()?;
    digits.len().is_multiple_of(2).then(|| {
        digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair.first()? * 16 + pair.last()?).ok()).collect()
    })
}
