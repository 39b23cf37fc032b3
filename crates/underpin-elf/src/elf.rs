//! What a loader reads of a file: header, segments, interpreter, dynamic section.

use crate::{Dynamic, ElfError, FileOffset, Ident, Source, Vaddr};
use bstr::BString;
use object::elf;
use serde::Serialize;

/// The loader's view of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elf {
    /// Class, byte order, machine, type.
    pub ident: Ident,
    /// `e_entry`.
    pub entry: Vaddr,
    /// `e_phoff`: loaders read the table from here; it matters to the predicted number of reads.
    pub segments_offset: FileOffset,
    /// `e_phentsize`.
    pub segment_entry_size: u16,
    /// All program headers, in file order.
    pub segments: Vec<Segment>,
    /// The string of PT_INTERP, without its NUL.
    pub interpreter: Option<BString>,
    /// The dynamic section, if there is one.
    pub dynamic: Option<Dynamic>,
}

/// One program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// `p_type`.
    pub kind: SegmentKind,
    /// `p_flags`.
    pub flags: SegmentFlags,
    /// `p_offset`.
    pub offset: FileOffset,
    /// `p_vaddr`.
    pub vaddr: Vaddr,
    /// `p_filesz`, in bytes.
    pub file_size: u64,
    /// `p_memsz`, in bytes.
    pub memory_size: u64,
    /// `p_align`, in bytes.
    pub align: u64,
}

/// `p_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// PT_NULL.
    Null,
    /// PT_LOAD.
    Load,
    /// PT_DYNAMIC.
    Dynamic,
    /// PT_INTERP.
    Interpreter,
    /// PT_NOTE.
    Note,
    /// PT_PHDR.
    ProgramHeaders,
    /// PT_TLS.
    Tls,
    /// PT_GNU_EH_FRAME.
    EhFrame,
    /// PT_GNU_STACK.
    Stack,
    /// PT_GNU_RELRO.
    Relro,
    /// PT_GNU_PROPERTY.
    Property,
    /// Any other type.
    Other(u32),
}

impl SegmentKind {
    /// The kind of a raw `p_type`.
    #[must_use]
    pub fn from_raw(raw: u32) -> SegmentKind {
        match elf::ProgramType(raw) {
            elf::PT_NULL => SegmentKind::Null,
            elf::PT_LOAD => SegmentKind::Load,
            elf::PT_DYNAMIC => SegmentKind::Dynamic,
            elf::PT_INTERP => SegmentKind::Interpreter,
            elf::PT_NOTE => SegmentKind::Note,
            elf::PT_PHDR => SegmentKind::ProgramHeaders,
            elf::PT_TLS => SegmentKind::Tls,
            elf::PT_GNU_EH_FRAME => SegmentKind::EhFrame,
            elf::PT_GNU_STACK => SegmentKind::Stack,
            elf::PT_GNU_RELRO => SegmentKind::Relro,
            elf::PT_GNU_PROPERTY => SegmentKind::Property,
            elf::ProgramType(other) => SegmentKind::Other(other),
        }
    }
}

/// `p_flags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SegmentFlags {
    /// PF_R.
    pub read: bool,
    /// PF_W.
    pub write: bool,
    /// PF_X.
    pub execute: bool,
}

impl Elf {
    /// Reads what a loader reads, in a few small reads.
    ///
    /// # Errors
    /// [`ElfError`] with the offset where the file became invalid. A file without a dynamic section is not an error.
    pub fn read<S: Source + ?Sized>(source: &S) -> Result<Elf, ElfError> {
        crate::read::read_elf(source)
    }

    /// The PT_LOAD segments, in file order.
    pub fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == SegmentKind::Load)
    }

    /// The first segment of a kind.
    #[must_use]
    pub fn segment(&self, kind: SegmentKind) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.kind == kind)
    }

    /// The file offset of a virtual address, if a PT_LOAD has content for it in the file.
    #[must_use]
    pub fn offset_of(&self, vaddr: Vaddr) -> Option<FileOffset> {
        let (load, _) = self.load_of(vaddr)?;
        load.offset.0.checked_add(vaddr.0.checked_sub(load.vaddr.0)?).map(FileOffset)
    }

    /// The PT_LOAD that has an address in the file, and the file offset up to which memory after the address is
    /// contiguous in the file too: the segment's end, or that of the next one if both continue without a gap (patchelf
    /// lets a table run from one into the other).
    #[must_use]
    pub fn load_of(&self, vaddr: Vaddr) -> Option<(&Segment, u64)> {
        let load = self
            .loads()
            .find(|load| vaddr.0.checked_sub(load.vaddr.0).is_some_and(|within| within < load.file_size))?;
        let mut end = (load.vaddr.0.checked_add(load.file_size)?, load.offset.0.checked_add(load.file_size)?);
        for next in self.loads().filter(|next| next.file_size > 0) {
            if (next.vaddr.0, next.offset.0) == end {
                end = (end.0.checked_add(next.file_size)?, end.1.checked_add(next.file_size)?);
            }
        }
        Some((load, end.1))
    }
}
