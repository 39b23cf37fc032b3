//! Where the record is in a file, and how it is found.
//!
//! It is an ELF note (`elf(5)`) in the section `.underpin.binding`, in a segment if the file has room there: then GNU
//! strip, eu-strip, llvm-strip and both objcopy keep it. If there is no room, it is the last thing in the file, still
//! as a note: then only llvm-strip drops it. Its last bytes are a length and 16 bytes of magic, so that one small read
//! at the end of a file finds it there even without a section table.
//!
//! Files bound by an earlier version carry JSON in a section of that name (`underpin.binding/1`); they can still be
//! read.

use super::record::{RecordError, SCHEMA, UndoError, UndoRecord, hex};
use super::wire;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use underpin_elf::raw::Encoding;
use underpin_elf::{Class, Endian, Source};

/// Name of the section that holds the record.
pub(super) const SECTION: &[u8] = b".underpin.binding";
/// The last bytes of a record; what follows the slash is the schema.
const MAGIC: &[u8; 16] = b"underpin.bound/2";
/// The last bytes of a record of the first schema.
const MAGIC_1: &[u8; 16] = b"underpin.binding";
/// Length and magic.
const TRAILER: usize = 8 + MAGIC.len();
/// The schema before this version's, in JSON.
const SCHEMA_1: &str = "underpin.binding/1";
/// The note's owner, padded with zeros to four bytes.
const OWNER: &[u8; 12] = b"underpin\0\0\0\0";
/// Lengths, kind and owner of a note.
const HEAD: usize = 12 + OWNER.len();
/// Most bytes of section headers and of section names that are read to look for a record.
const TABLE_MAX: u64 = 1 << 22;

/// The record as it is in the file: a note of `size` bytes, or of as many as it needs. `None` if it needs more.
pub(super) fn encode(record: &UndoRecord, encoding: Encoding, size: Option<u64>) -> Option<Vec<u8>> {
    let payload = wire::encode(record);
    let needed = payload.len().checked_add(HEAD + TRAILER)?;
    let size = size.map_or(needed.checked_next_multiple_of(4), |size| usize::try_from(size).ok())?;
    let content = size.checked_sub(HEAD).filter(|_| size >= needed)?;
    let content = u32::try_from(content).ok()?;
    // The length of the name counts one NUL; the kind is the schema.
    let head = [9, content, 2].map(|number| encoding.u32_bytes(number)).concat();
    let mut note = [&head[..], OWNER].concat();
    note.resize(size.checked_sub(payload.len())?.checked_sub(TRAILER)?, 0);
    note.extend(&payload);
    note.extend((payload.len() as u64).to_le_bytes());
    note.extend(MAGIC);
    Some(note)
}

/// The record of a file, or `None` if it carries none.
///
/// # Errors
/// A record that is there but damaged, or that another version wrote.
pub fn record(bytes: &[u8]) -> Result<Option<UndoRecord>, RecordError> {
    record_of(bytes)
}

/// The same with a few small reads: the end of the file, and the section headers only if that is not a record.
///
/// # Errors
/// As [`record`], and I/O errors.
pub fn record_of<S: Source + ?Sized>(source: &S) -> Result<Option<UndoRecord>, RecordError> {
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

/// What precedes the trailer, by its format.
enum Blob {
    Json(Vec<u8>),
    Wire(Vec<u8>),
    /// Of a version that is unknown here.
    Other(u8),
}

impl Blob {
    fn decode(&self) -> Result<UndoRecord, RecordError> {
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

fn decode_json(json: &[u8]) -> Result<UndoRecord, RecordError> {
    let damaged = |error: serde_json::Error| RecordError::Damaged { what: error.to_string() };
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_slice(json).map_err(damaged)?;
    if head.schema != SCHEMA_1 {
        return Err(RecordError::Schema { schema: head.schema });
    }
    let record: UndoRecord = serde_json::from_slice(json).map_err(damaged)?;
    Ok(UndoRecord { kept: record.original_size, ..record })
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

/// Offset and size of the record's section; the last one, if a file was bound again after strip.
fn section<S: Source + ?Sized>(source: &S) -> Option<(u64, u64)> {
    let mut head = [0; 64];
    let length = usize::try_from(source.len().min(64)).ok()?;
    source.read_exact_at(0, head.get_mut(..length)?).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let encoding = Encoding {
        class: if head.get(4) == Some(&1) { Class::Elf32 } else { Class::Elf64 },
        endian: if head.get(5) == Some(&2) { Endian::Big } else { Endian::Little },
    };
    let header = encoding.header(&head)?;
    let size = encoding.section_size();
    if header.shoff == 0 || usize::from(header.shentsize) != size {
        return None;
    }
    let first = encoding.section(&read(source, header.shoff, size as u64)?)?;
    let count = if header.shnum == 0 { first.size } else { u64::from(header.shnum) };
    let table = read(source, header.shoff, count.checked_mul(size as u64)?)?;
    let at = if header.shstrndx == u16::MAX { first.link as usize } else { usize::from(header.shstrndx) };
    let sections: Vec<_> = table.chunks_exact(size).filter_map(|entry| encoding.section(entry)).collect();
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
