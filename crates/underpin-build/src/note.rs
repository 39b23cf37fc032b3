//! The note that every built file has: an object file made by hand, so that it takes no compiler.
//!
//! The section is allocated, so it is part of a segment and survives strip(1), eu-strip(1) and `objcopy --strip-all`;
//! linkers keep sections of this type when they drop unreferenced ones (`--gc-sections`).

use crate::Processor;
use std::fs::File;
use std::path::Path;
use underpin_elf::{BUILD_NOTE_OWNER, BUILD_NOTE_SECTION, BUILD_NOTE_TYPE, Elf, FileSource, Notes};

/// Whether a file has the note: underpin built it.
#[must_use]
pub fn has_note(path: &Path) -> bool {
    read_note(path).is_some_and(|(_, noted)| noted)
}

/// An ELF file's headers, and whether it has the note; `None` for any other file.
pub(crate) fn read_note(path: &Path) -> Option<(Elf, bool)> {
    // Opening a pipe would wait for a writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let source = FileSource::new(File::open(path).ok()?).ok()?;
    let elf = Elf::read(&source).ok()?;
    let noted = Notes::read(&source, &elf).ok()?.build.is_some();
    Some((elf, noted))
}

/// Why a note cannot have this content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteObjectError {
    /// A line feed would be the end of the claim, an `=` in the name the end of the name.
    #[error("a claim of the note cannot be written: `{0}`")]
    Claim(String),
    /// Longer than a note is meant to be.
    #[error("the note would have {0} bytes; it is meant for a few lines")]
    TooLong(usize),
}

/// Limit of the content in bytes.
const LONGEST: usize = 64 * 1024;
const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SHT_PROGBITS: u32 = 1;
const SHT_STRTAB: u32 = 3;
const SHT_NOTE: u32 = 7;
const SHF_ALLOC: u64 = 2;
/// RISC-V: compressed instructions and doubles in registers, as every Linux distribution has it. A linker refuses to mix.
const RISCV_FLAGS: u32 = 5;

/// A relocatable object whose only content is the note: `key=value`, a line each.
///
/// # Errors
/// [`NoteObjectError`].
pub fn note_object(processor: Processor, claims: &[(String, String)]) -> Result<Vec<u8>, NoteObjectError> {
    let mut content = String::new();
    for (key, value) in claims {
        if key.is_empty() || key.contains(['=', '\n']) || value.contains('\n') {
            return Err(NoteObjectError::Claim(format!("{key}={value}")));
        }
        content.push_str(&format!("{key}={value}\n"));
    }
    if content.len() > LONGEST {
        return Err(NoteObjectError::TooLong(content.len()));
    }
    Ok(object(processor, &note(content.as_bytes())))
}

/// The note: sizes, type, owner and content, each padded to 4 bytes (gABI).
fn note(content: &[u8]) -> Vec<u8> {
    let owner = format!("{BUILD_NOTE_OWNER}\0");
    let mut note = Vec::new();
    for word in [owner.len(), content.len()] {
        // Both are below LONGEST.
        note.extend_from_slice(&u32::try_from(word).unwrap_or(u32::MAX).to_le_bytes());
    }
    note.extend_from_slice(&BUILD_NOTE_TYPE.to_le_bytes());
    for part in [owner.as_bytes(), content] {
        note.extend_from_slice(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}

/// Name, type, flags, offset, size and alignment of a section.
struct Section(&'static str, u32, u64, usize, usize, u64);

/// An ELF file with the note, the mark that no stack must be executable, and the sections' names.
fn object(processor: Processor, note: &[u8]) -> Vec<u8> {
    let names = format!("\0{BUILD_NOTE_SECTION}\0.note.GNU-stack\0.shstrtab\0");
    let names_at = HEADER + note.len();
    let table_at = (names_at + names.len()).next_multiple_of(8);
    let sections = [
        Section(BUILD_NOTE_SECTION, SHT_NOTE, SHF_ALLOC, HEADER, note.len(), 4),
        Section(".note.GNU-stack", SHT_PROGBITS, 0, names_at, 0, 1),
        Section(".shstrtab", SHT_STRTAB, 0, names_at, names.len(), 1),
    ];
    let mut file = header(processor, table_at as u64, sections.len() as u16 + 1);
    file.extend_from_slice(note);
    file.extend_from_slice(names.as_bytes());
    file.resize(table_at + SECTION_HEADER, 0);
    for Section(name, kind, flags, offset, size, align) in sections {
        let name_at = names.find(name).unwrap_or(0) as u32;
        file.extend_from_slice(&name_at.to_le_bytes());
        file.extend_from_slice(&kind.to_le_bytes());
        for field in [flags, 0, offset as u64, size as u64, 0, align, 0] {
            file.extend_from_slice(&field.to_le_bytes());
        }
    }
    file
}

/// The ELF header of a relocatable object, 64 bits, little endian; `count` sections, the last of which has the names.
fn header(processor: Processor, table_at: u64, count: u16) -> Vec<u8> {
    let flags = if processor == Processor::Riscv64 { RISCV_FLAGS } else { 0 };
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    header.extend_from_slice(&1u16.to_le_bytes());
    header.extend_from_slice(&processor.machine().0.to_le_bytes());
    header.extend_from_slice(&1u32.to_le_bytes());
    for field in [0, 0, table_at] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    header.extend_from_slice(&flags.to_le_bytes());
    for field in [HEADER as u16, 0, 0, SECTION_HEADER as u16, count, count.saturating_sub(1)] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    header
}
