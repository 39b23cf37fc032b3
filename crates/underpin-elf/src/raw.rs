//! The ELF structures of both classes and byte orders, flattened to 64-bit values, read and written.
//!
//! The only module of the workspace that knows field widths. Reading takes bytes that were already read and returns
//! `None` (or fewer entries) if they are too short; it never allocates more entries than the bytes hold. Writing
//! returns bytes.

mod write;

use crate::{Class, Endian, Segment, SegmentFlags, SegmentKind};
use crate::{FileOffset, Vaddr};
use object::elf::{FileHeader32, FileHeader64};
use object::pod;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};

/// Class and byte order: all that is needed to read and write a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Width of addresses.
    pub class: Class,
    /// Byte order.
    pub endian: Endian,
}

/// The fields of the file header after `e_ident`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawHeader {
    /// `e_type`.
    pub kind: u16,
    /// `e_machine`.
    pub machine: u16,
    /// `e_version`.
    pub version: u32,
    /// `e_entry`.
    pub entry: u64,
    /// `e_phoff`.
    pub phoff: u64,
    /// `e_shoff`.
    pub shoff: u64,
    /// `e_flags`.
    pub flags: u32,
    /// `e_phentsize`.
    pub phentsize: u16,
    /// `e_phnum`.
    pub phnum: u16,
    /// `e_shentsize`.
    pub shentsize: u16,
    /// `e_shnum`.
    pub shnum: u16,
    /// `e_shstrndx`.
    pub shstrndx: u16,
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSegment {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`.
    pub flags: u32,
    /// `p_offset`.
    pub offset: u64,
    /// `p_vaddr`.
    pub vaddr: u64,
    /// `p_paddr`.
    pub paddr: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`.
    pub memory_size: u64,
    /// `p_align`.
    pub align: u64,
}

/// A section header, its name still an offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawSection {
    /// `sh_name`.
    pub name: u32,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`.
    pub addr: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
}

/// An entry of the dynamic section. The tag of a 32-bit file is zero-extended: tags are compared as `u32` there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEntry {
    /// `d_tag`.
    pub tag: u64,
    /// `d_val` or `d_ptr`.
    pub value: u64,
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

impl From<RawSegment> for Segment {
    fn from(raw: RawSegment) -> Segment {
        let RawSegment { flags, file_size, memory_size, align, .. } = raw;
        Segment {
            kind: SegmentKind::from_raw(raw.kind),
            flags: SegmentFlags { read: flags & 4 != 0, write: flags & 2 != 0, execute: flags & 1 != 0 },
            offset: FileOffset(raw.offset),
            vaddr: Vaddr(raw.vaddr),
            file_size,
            memory_size,
            align,
        }
    }
}

/// Calls a generic function with the header type of the class.
macro_rules! by_class {
    ($encoding:expr, $function:ident($($argument:expr),*)) => {
        match $encoding.class {
            Class::Elf32 => $function::<FileHeader32<object::Endianness>>($($argument),*),
            Class::Elf64 => $function::<FileHeader64<object::Endianness>>($($argument),*),
        }
    };
}

impl Encoding {
    pub(crate) fn order(self) -> object::Endianness {
        match self.endian {
            Endian::Little => object::Endianness::Little,
            Endian::Big => object::Endianness::Big,
        }
    }

    /// Size of the file header.
    #[must_use]
    pub fn header_size(self) -> usize {
        self.pick(52, 64)
    }

    /// Size of a program header.
    #[must_use]
    pub fn segment_size(self) -> usize {
        self.pick(32, 56)
    }

    /// Size of an entry of the dynamic section.
    #[must_use]
    pub fn entry_size(self) -> usize {
        self.pick(8, 16)
    }

    /// Size of a symbol.
    #[must_use]
    pub fn symbol_size(self) -> usize {
        self.pick(16, 24)
    }

    /// Size of a section header.
    #[must_use]
    pub fn section_size(self) -> usize {
        self.pick(40, 64)
    }

    /// Size of an address.
    #[must_use]
    pub fn word_size(self) -> usize {
        self.pick(4, 8)
    }

    /// The highest address of the class.
    #[must_use]
    pub fn highest(self) -> u64 {
        match self.class {
            Class::Elf32 => u64::from(u32::MAX),
            Class::Elf64 => u64::MAX,
        }
    }

    fn pick(self, narrow: usize, wide: usize) -> usize {
        match self.class {
            Class::Elf32 => narrow,
            Class::Elf64 => wide,
        }
    }

    /// Two bytes at `at`.
    #[must_use]
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw: [u8; 2] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) })
    }

    /// Four bytes at `at`.
    #[must_use]
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw: [u8; 4] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    }

    /// Eight bytes at `at`.
    #[must_use]
    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw: [u8; 8] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.endian == Endian::Little { u64::from_le_bytes(raw) } else { u64::from_be_bytes(raw) })
    }

    /// An address at `at`.
    #[must_use]
    pub fn word(self, bytes: &[u8], at: usize) -> Option<u64> {
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
    #[must_use]
    pub fn section(self, bytes: &[u8]) -> Option<RawSection> {
        by_class!(self, section(self.order(), bytes))
    }

    /// The file header, `None` if `bytes` is shorter than it.
    #[must_use]
    pub fn header(self, bytes: &[u8]) -> Option<RawHeader> {
        by_class!(self, header(self.order(), bytes))
    }

    /// The program header at the start of `bytes`.
    #[must_use]
    pub fn segment(self, bytes: &[u8]) -> Option<RawSegment> {
        by_class!(self, segment(self.order(), bytes))
    }

    /// The entry of the dynamic section at the start of `bytes`.
    #[must_use]
    pub fn entry(self, bytes: &[u8]) -> Option<RawEntry> {
        Some(RawEntry { tag: self.word(bytes, 0)?, value: self.word(bytes, self.word_size())? })
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

fn segment<H: FileHeader<Endian = object::Endianness>>(order: object::Endianness, bytes: &[u8]) -> Option<RawSegment> {
    let (raw, _) = pod::from_bytes::<H::ProgramHeader>(bytes).ok()?;
    Some(RawSegment {
        kind: raw.p_type(order).0,
        flags: raw.p_flags(order).0,
        offset: raw.p_offset(order).into(),
        vaddr: raw.p_vaddr(order).into(),
        paddr: raw.p_paddr(order).into(),
        file_size: raw.p_filesz(order).into(),
        memory_size: raw.p_memsz(order).into(),
        align: raw.p_align(order).into(),
    })
}

fn dynamic<H: FileHeader<Endian = object::Endianness>>(
    order: object::Endianness,
    bytes: &[u8],
) -> (Vec<(i64, u64)>, bool) {
    let count = bytes.len().checked_div(size_of::<H::Dyn>()).unwrap_or(0);
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
