//! The section table: what linkers and debuggers see. Loaders never look at it, so a broken one is not an error here.

use crate::{FileOffset, Vaddr};
use bstr::BString;
use serde::Serialize;

/// One section header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Its name, empty if the name table is broken.
    pub name: BString,
    /// `sh_type`.
    pub kind: SectionKind,
    /// `sh_flags`, raw.
    pub flags: u64,
    /// `sh_addr`; 0 in sections that are not loaded.
    pub vaddr: Vaddr,
    /// `sh_offset`.
    pub offset: FileOffset,
    /// `sh_size`, in bytes; a [`SectionKind::NoBits`] section occupies none of them in the file.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`, in bytes.
    pub align: u64,
    /// `sh_entsize`, in bytes.
    pub entry_size: u64,
}

/// `sh_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    /// SHT_NULL.
    Null,
    /// SHT_PROGBITS.
    ProgramBits,
    /// SHT_SYMTAB.
    SymbolTable,
    /// SHT_STRTAB.
    StringTable,
    /// SHT_NOBITS: no bytes in the file.
    NoBits,
    /// SHT_NOTE.
    Note,
    /// SHT_DYNAMIC.
    Dynamic,
    /// SHT_DYNSYM.
    DynamicSymbols,
    /// Any other type.
    Other(u32),
}

impl SectionKind {
    /// The kind of a raw `sh_type`.
    #[must_use]
    pub fn from_raw(raw: u32) -> SectionKind {
        match raw {
            0 => SectionKind::Null,
            1 => SectionKind::ProgramBits,
            2 => SectionKind::SymbolTable,
            3 => SectionKind::StringTable,
            6 => SectionKind::Dynamic,
            7 => SectionKind::Note,
            8 => SectionKind::NoBits,
            11 => SectionKind::DynamicSymbols,
            other => SectionKind::Other(other),
        }
    }
}

impl Section {
    /// SHF_ALLOC: the section is part of the loaded image.
    #[must_use]
    pub fn is_allocated(&self) -> bool {
        self.flags & 2 != 0
    }

    /// SHF_WRITE.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.flags & 1 != 0
    }

    /// SHF_EXECINSTR.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.flags & 4 != 0
    }
}
