//! What a loader reads of a file: header, segments, interpreter, dynamic section.

use crate::{Dynamic, ElfError, FileOffset, Ident, Source, Vaddr};
use bstr::BString;
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
    /// The dynamic section, where there is one.
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
    /// [`ElfError`] with the offset where the file stopped making sense. A file without a dynamic section is no error.
    pub fn read<S: Source + ?Sized>(source: &S) -> Result<Elf, ElfError> {
        let _ = source;
        Err(ElfError { fault: crate::Fault::BadMagic, offset: FileOffset(0) })
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

    /// The file offset behind a virtual address, as far as a PT_LOAD holds it in the file.
    #[must_use]
    pub fn offset_of(&self, vaddr: Vaddr) -> Option<FileOffset> {
        self.loads().find_map(|load| {
            let within = vaddr.0.checked_sub(load.vaddr.0)?;
            (within < load.file_size).then(|| load.offset.0.checked_add(within)).flatten().map(FileOffset)
        })
    }
}
