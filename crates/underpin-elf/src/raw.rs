//! The ELF structures of both classes and byte orders, flattened to 64-bit values.
//!
//! The only module that knows field widths. Every function takes bytes that were already read and returns `None` (or
//! fewer entries) where they are too short; it never allocates more entries than the bytes hold.

use crate::{Class, Endian, Segment, SegmentFlags, SegmentKind};
use crate::{FileOffset, Vaddr};
use object::elf::{FileHeader32, FileHeader64};
use object::pod;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

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
#[expect(dead_code, reason = "the section table is read by Details")]
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
