//! The ELF structures of both classes and byte orders, flattened to 64-bit values.
//!
//! The only module that knows field widths. Every function takes bytes that were already read and returns `None` (or
//! fewer entries) where they are too short; it never allocates more entries than the bytes hold.

use crate::{Class, Endian, Segment, SegmentFlags, SegmentKind};
use crate::{FileOffset, Vaddr};
use object::elf::{FileHeader32, FileHeader64};
use object::pod;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};

/// Class and byte order: all that is needed to read a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Width of addresses.
    pub class: Class,
    /// Byte order.
    pub endian: Endian,
}

/// The fields of the file header behind `e_ident`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawHeader {
    pub kind: u16,
    pub machine: u16,
    pub version: u32,
    pub entry: u64,
    pub phoff: u64,
    pub shoff: u64,
    pub flags: u32,
    pub phentsize: u16,
    pub phnum: u16,
    pub shentsize: u16,
    pub shnum: u16,
    pub shstrndx: u16,
}

/// A symbol table entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSymbol {
    pub name: u32,
    pub binding: u8,
    pub kind: u8,
    pub visibility: u8,
    pub section: u16,
    pub value: u64,
    pub size: u64,
}

/// A section header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSection {
    pub name: u32,
    pub kind: u32,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entry_size: u64,
}

/// Calls a generic function with the header type of the class.
macro_rules! by_class {
    ($layout:expr, $function:ident($($argument:expr),*)) => {
        match $layout.class {
            Class::Elf32 => $function::<FileHeader32<object::Endianness>>($($argument),*),
            Class::Elf64 => $function::<FileHeader64<object::Endianness>>($($argument),*),
        }
    };
}

impl Layout {
    pub(crate) fn order(self) -> object::Endianness {
        match self.endian {
            Endian::Little => object::Endianness::Little,
            Endian::Big => object::Endianness::Big,
        }
    }

    /// Size of a program header.
    pub(crate) fn segment_size(self) -> usize {
        match self.class {
            Class::Elf32 => 32,
            Class::Elf64 => 56,
        }
    }

    /// Size of an entry of the dynamic section.
    pub(crate) fn dynamic_size(self) -> usize {
        match self.class {
            Class::Elf32 => 8,
            Class::Elf64 => 16,
        }
    }

    /// Size of a symbol.
    pub(crate) fn symbol_size(self) -> usize {
        match self.class {
            Class::Elf32 => 16,
            Class::Elf64 => 24,
        }
    }

    /// Size of a section header.
    pub(crate) fn section_size(self) -> usize {
        match self.class {
            Class::Elf32 => 40,
            Class::Elf64 => 64,
        }
    }

    /// Size of an address.
    pub(crate) fn word_size(self) -> usize {
        match self.class {
            Class::Elf32 => 4,
            Class::Elf64 => 8,
        }
    }

    /// Two bytes at `at`.
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw: [u8; 2] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) })
    }

    /// Four bytes at `at`.
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw: [u8; 4] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    }

    /// Eight bytes at `at`.
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw: [u8; 8] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u64::from_le_bytes(raw) } else { u64::from_be_bytes(raw) })
    }

    /// An address at `at`.
    pub(crate) fn word(self, bytes: &[u8], at: usize) -> Option<u64> {
        match self.class {
            Class::Elf32 => self.u32(bytes, at).map(u64::from),
            Class::Elf64 => self.u64(bytes, at),
        }
    }

    /// The symbol at the start of `bytes`.
    pub(crate) fn symbol(self, bytes: &[u8]) -> Option<RawSymbol> {
        by_class!(self, symbol(self.order(), bytes))
    }

    /// The section header at the start of `bytes`.
    pub(crate) fn section(self, bytes: &[u8]) -> Option<RawSection> {
        by_class!(self, section(self.order(), bytes))
    }

    /// The file header, `None` if `bytes` is shorter than it.
    pub(crate) fn header(self, bytes: &[u8]) -> Option<RawHeader> {
        by_class!(self, header(self.order(), bytes))
    }

    /// The program header at the start of `bytes`.
    pub(crate) fn segment(self, bytes: &[u8]) -> Option<Segment> {
        by_class!(self, segment(self.order(), bytes))
    }

    /// `(d_tag, d_val)` of the entries before the first DT_NULL, and whether there was one.
    pub(crate) fn dynamic(self, bytes: &[u8]) -> (Vec<(i64, u64)>, bool) {
        by_class!(self, dynamic(self.order(), bytes))
    }
}

fn header<H: FileHeader<Endian = object::Endianness>>(order: object::Endianness, bytes: &[u8]) -> Option<RawHeader> {
    let (header, _) = pod::from_bytes::<H>(bytes).ok()?;
    Some(RawHeader {
        kind: header.e_type(order).0,
        machine: header.e_machine(order).0,
        version: header.e_version(order),
        entry: header.e_entry(order).into(),
        phoff: header.e_phoff(order).into(),
        shoff: header.e_shoff(order).into(),
        flags: header.e_flags(order).0,
        phentsize: header.e_phentsize(order),
        phnum: header.e_phnum(order),
        shentsize: header.e_shentsize(order),
        shnum: header.e_shnum(order),
        shstrndx: header.e_shstrndx(order).0,
    })
}

fn segment<H: FileHeader<Endian = object::Endianness>>(order: object::Endianness, bytes: &[u8]) -> Option<Segment> {
    let (raw, _) = pod::from_bytes::<H::ProgramHeader>(bytes).ok()?;
    let flags = raw.p_flags(order).0;
    Some(Segment {
        kind: SegmentKind::from_raw(raw.p_type(order).0),
        flags: SegmentFlags { read: flags & 4 != 0, write: flags & 2 != 0, execute: flags & 1 != 0 },
        offset: FileOffset(raw.p_offset(order).into()),
        vaddr: Vaddr(raw.p_vaddr(order).into()),
        file_size: raw.p_filesz(order).into(),
        memory_size: raw.p_memsz(order).into(),
        align: raw.p_align(order).into(),
    })
}

fn dynamic<H: FileHeader<Endian = object::Endianness>>(
    order: object::Endianness,
    bytes: &[u8],
) -> (Vec<(i64, u64)>, bool) {
    let count = bytes.len() / size_of::<H::Dyn>();
    let Ok((entries, _)) = pod::slice_from_bytes::<H::Dyn>(bytes, count) else {
        return (Vec::new(), false);
    };
    let end = entries.iter().position(|entry| entry.tag(order).0 == 0);
    let used = entries.get(..end.unwrap_or(count)).unwrap_or_default();
    (used.iter().map(|entry| (entry.tag(order).0, entry.val(order))).collect(), end.is_some())
}

fn symbol<H: FileHeader<Endian = object::Endianness>>(order: object::Endianness, bytes: &[u8]) -> Option<RawSymbol> {
    let (raw, _) = pod::from_bytes::<H::Sym>(bytes).ok()?;
    Some(RawSymbol {
        name: raw.st_name(order),
        binding: raw.st_bind().0,
        kind: raw.st_type().0,
        visibility: raw.st_visibility().0,
        section: raw.st_shndx(order).0,
        value: raw.st_value(order).into(),
        size: raw.st_size(order).into(),
    })
}

fn section<H: FileHeader<Endian = object::Endianness>>(order: object::Endianness, bytes: &[u8]) -> Option<RawSection> {
    let (raw, _) = pod::from_bytes::<H::SectionHeader>(bytes).ok()?;
    Some(RawSection {
        name: raw.sh_name(order),
        kind: raw.sh_type(order).0,
        flags: raw.sh_flags(order).0,
        addr: raw.sh_addr(order).into(),
        offset: raw.sh_offset(order).into(),
        size: raw.sh_size(order).into(),
        link: raw.sh_link(order),
        info: raw.sh_info(order),
        align: raw.sh_addralign(order).into(),
        entry_size: raw.sh_entsize(order).into(),
    })
}
