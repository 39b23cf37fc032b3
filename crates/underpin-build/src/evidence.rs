//! Whether the code of an object is in a linked file: by its bytes, which strip(1) does not remove.
//!
//! A linker copies machine code as it is, except where a relocation tells it to fill something in (and, beside those
//! places, where it relaxes an instruction). So a stretch of code without relocations reappears byte for byte, if its
//! section was kept.

use bstr::ByteSlice;

/// Shorter stretches occur in other code too.
const SHORTEST: usize = 48;
/// How many stretches are looked for; `--gc-sections` may have dropped functions that are never called.
const STRETCHES: usize = 64;
/// Bytes beside a relocation that a relaxation may change: the instruction before and after it.
const BESIDE: usize = 16;

const SECTION_HEADER: usize = 64;
const SHT_PROGBITS: u32 = 1;
const SHT_RELA: u32 = 4;
const SHF_EXECINSTR: u64 = 4;

/// A section of a 64-bit little-endian object.
struct Section {
    kind: u32,
    flags: u64,
    offset: usize,
    size: usize,
    info: usize,
}

/// Whether some of the object's code is in the file; `None` if the object has no stretch of code that could show it.
#[must_use]
pub fn has_code(file: &[u8], object: &[u8]) -> Option<bool> {
    let stretches = stretches(object)?;
    if stretches.is_empty() {
        return None;
    }
    Some(stretches.iter().any(|stretch| file.find(stretch).is_some()))
}

/// The longest stretches of code without relocations.
fn stretches(object: &[u8]) -> Option<Vec<&[u8]>> {
    let sections = sections(object)?;
    let mut found: Vec<&[u8]> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if section.kind != SHT_PROGBITS || section.flags & SHF_EXECINSTR == 0 {
            continue;
        }
        let code = object.get(section.offset..)?.get(..section.size)?;
        let mut places = vec![0];
        for table in sections.iter().filter(|table| table.kind == SHT_RELA && table.info == index) {
            let entries = object.get(table.offset..)?.get(..table.size)?;
            // Each has 24 bytes; the first 8 are the place (gABI, Elf64_Rela).
            places.extend(entries.chunks_exact(24).filter_map(|entry| usize::try_from(word(entry, 0, 8)?).ok()));
        }
        places.push(code.len());
        places.sort_unstable();
        for pair in places.windows(2) {
            let (from, to) = (pair[0].saturating_add(BESIDE), pair[1].saturating_sub(BESIDE));
            if let Some(stretch) = code.get(from..to).filter(|stretch| stretch.len() >= SHORTEST) {
                found.push(stretch);
            }
        }
    }
    found.sort_by_key(|stretch| std::cmp::Reverse(stretch.len()));
    found.truncate(STRETCHES);
    Some(found)
}

fn sections(object: &[u8]) -> Option<Vec<Section>> {
    if !object.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let at = |offset: usize, size: usize| word(object, offset, size).and_then(|value| usize::try_from(value).ok());
    let (table, count) = (at(0x28, 8)?, at(0x3c, 2)?);
    let headers = object.get(table..)?.get(..count.checked_mul(SECTION_HEADER)?)?;
    let section = |header: &[u8]| {
        let field = |offset| word(header, offset, 8).and_then(|value| usize::try_from(value).ok());
        Some(Section {
            kind: u32::try_from(word(header, 4, 4)?).ok()?,
            flags: word(header, 8, 8)?,
            offset: field(24)?,
            size: field(32)?,
            info: usize::try_from(word(header, 44, 4)?).ok()?,
        })
    };
    headers.chunks_exact(SECTION_HEADER).map(section).collect()
}

/// A little-endian number of `size` bytes.
fn word(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..)?.get(..size)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
