//! The note of a fused file: its members as they were, so that a library which changed since is found.

use bstr::{BString, ByteSlice};
use underpin_elf::{Elf, SegmentKind};

/// The owner of the note.
pub const OWNER: &[u8] = b"underpin";
/// Its type: "FUSE".
pub const TYPE: u32 = 0x4655_5345;

/// One member as it was when it was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The path by which the loader opened it.
    pub path: BString,
    /// Its DT_SONAME, empty if it has none.
    pub soname: BString,
    /// Its build-id in hexadecimal, empty if it has none.
    pub build_id: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its modification time in nanoseconds since 1970.
    pub modified: i64,
    /// What its addresses were moved by.
    pub base: u64,
}

/// The note's bytes; of one size whatever the addresses are.
pub(crate) fn write(members: &[Merged]) -> Vec<u8> {
    let mut text = Vec::new();
    for member in members {
        let (id, size, time, base) = (&member.build_id, member.size, member.modified, member.base);
        text.extend(format!("{base:016x}\0{size}\0{time}\0{id}\0").into_bytes());
        text.extend_from_slice(&member.soname);
        text.push(0);
        text.extend_from_slice(&member.path);
        text.extend(b"\0\n");
    }
    let mut out = Vec::new();
    for word in [OWNER.len() as u32 + 1, text.len() as u32, TYPE] {
        out.extend(word.to_le_bytes());
    }
    out.extend_from_slice(OWNER);
    out.extend([0; 4]);
    out.extend_from_slice(&text);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The members of a fused file; `None` if it is none.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<Vec<Merged>> {
    let elf = Elf::read(bytes).ok()?;
    for note in elf.segments.iter().filter(|segment| segment.kind == SegmentKind::Note) {
        let start = usize::try_from(note.offset.0).ok()?;
        let size = usize::try_from(note.file_size).ok()?;
        let Some(body) = bytes.get(start..start.checked_add(size)?) else { continue };
        let encoding = crate::object::ENCODING;
        if encoding.u32(body, 8) != Some(TYPE) || body.get(12..20) != Some(OWNER) {
            continue;
        }
        let length = usize::try_from(encoding.u32(body, 4)?).ok()?;
        return body
            .get(24..24usize.checked_add(length)?)?
            .split_str(b"\0\n")
            .filter(|line| !line.is_empty())
            .map(one)
            .collect();
    }
    None
}

fn one(line: &[u8]) -> Option<Merged> {
    let mut fields = line.splitn(6, |byte| *byte == 0);
    let mut text = || fields.next();
    let base = u64::from_str_radix(text()?.to_str().ok()?, 16).ok()?;
    let size = text()?.to_str().ok()?.parse().ok()?;
    let modified = text()?.to_str().ok()?.parse().ok()?;
    let build_id = text()?.to_str().ok()?.to_owned();
    let soname = text()?.into();
    Some(Merged { path: text()?.into(), soname, build_id, size, modified, base })
}
