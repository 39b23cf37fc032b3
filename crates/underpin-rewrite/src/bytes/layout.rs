//! The structures of an ELF file as they are written: both classes, both byte orders.
//!
//! The only module here that knows field widths. Reading is bounded by the bytes given; writing gives bytes back. A
//! value that does not fit the class is cut off, so callers check addresses of 32-bit files before.

use underpin_elf::{Class, Endian};

/// Class and byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub class: Class,
    pub endian: Endian,
}

/// The fields of the file header that a rewrite looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub entry: u64,
    pub phoff: u64,
    pub shoff: u64,
    pub phentsize: u16,
    pub phnum: u16,
    pub shentsize: u16,
    pub shnum: u16,
    pub shstrndx: u16,
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub paddr: u64,
    pub file_size: u64,
    pub memory_size: u64,
    pub align: u64,
}

/// A section header, its name still an offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
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

/// An entry of the dynamic section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub tag: u64,
    pub value: u64,
}

/// Reads fields one after the other.
struct Reader<'a> {
    layout: Layout,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn u16(&mut self) -> Option<u16> {
        let value = self.layout.u16(self.bytes, self.at)?;
        self.at += 2;
        Some(value)
    }

    fn u32(&mut self) -> Option<u32> {
        let value = self.layout.u32(self.bytes, self.at)?;
        self.at += 4;
        Some(value)
    }

    fn word(&mut self) -> Option<u64> {
        let value = self.layout.word(self.bytes, self.at)?;
        self.at += self.layout.word_size();
        Some(value)
    }
}

impl Layout {
    pub fn word_size(self) -> usize {
        self.pick(4, 8)
    }

    pub fn header_size(self) -> usize {
        self.pick(52, 64)
    }

    pub fn segment_size(self) -> usize {
        self.pick(32, 56)
    }

    pub fn section_size(self) -> usize {
        self.pick(40, 64)
    }

    pub fn entry_size(self) -> usize {
        2 * self.word_size()
    }

    pub fn symbol_size(self) -> usize {
        self.pick(16, 24)
    }

    /// The highest address of the class.
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

    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if self.endian == Endian::Little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) })
    }

    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if self.endian == Endian::Little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if self.endian == Endian::Little { u64::from_le_bytes(raw) } else { u64::from_be_bytes(raw) })
    }

    /// An address at `at`.
    pub fn word(self, bytes: &[u8], at: usize) -> Option<u64> {
        match self.class {
            Class::Elf32 => self.u32(bytes, at).map(u64::from),
            Class::Elf64 => self.u64(bytes, at),
        }
    }

    pub fn u16_bytes(self, value: u16) -> [u8; 2] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32_bytes(self, value: u32) -> [u8; 4] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    #[allow(clippy::cast_possible_truncation, reason = "callers keep 32-bit files below 4 GiB")]
    pub fn word_bytes(self, value: u64) -> Vec<u8> {
        match (self.class, self.endian) {
            (Class::Elf32, _) => self.u32_bytes(value as u32).to_vec(),
            (Class::Elf64, Endian::Little) => value.to_le_bytes().to_vec(),
            (Class::Elf64, Endian::Big) => value.to_be_bytes().to_vec(),
        }
    }

    /// The file header at the start of `bytes`.
    pub fn header(self, bytes: &[u8]) -> Option<Header> {
        let mut fields = Reader { layout: self, bytes, at: 24 };
        let (entry, phoff, shoff) = (fields.word()?, fields.word()?, fields.word()?);
        let (_flags, _ehsize) = (fields.u32()?, fields.u16()?);
        Some(Header {
            entry,
            phoff,
            shoff,
            phentsize: fields.u16()?,
            phnum: fields.u16()?,
            shentsize: fields.u16()?,
            shnum: fields.u16()?,
            shstrndx: fields.u16()?,
        })
    }

    /// The fields of the header that a rewrite changes, with their offsets.
    pub fn header_writes(self, header: &Header) -> Vec<(u64, Vec<u8>)> {
        let word = self.word_size() as u64;
        let counts = 24 + 3 * word + 6;
        vec![
            (24 + word, self.word_bytes(header.phoff)),
            (24 + 2 * word, self.word_bytes(header.shoff)),
            (counts + 2, self.u16_bytes(header.phnum).to_vec()),
            (counts + 4, self.u16_bytes(header.shentsize).to_vec()),
            (counts + 6, self.u16_bytes(header.shnum).to_vec()),
            (counts + 8, self.u16_bytes(header.shstrndx).to_vec()),
        ]
    }

    /// The program header at the start of `bytes`.
    pub fn segment(self, bytes: &[u8]) -> Option<Segment> {
        let mut fields = Reader { layout: self, bytes, at: 0 };
        let kind = fields.u32()?;
        let mut flags = if self.class == Class::Elf64 { fields.u32()? } else { 0 };
        let (offset, vaddr, paddr) = (fields.word()?, fields.word()?, fields.word()?);
        let (file_size, memory_size) = (fields.word()?, fields.word()?);
        if self.class == Class::Elf32 {
            flags = fields.u32()?;
        }
        Some(Segment { kind, flags, offset, vaddr, paddr, file_size, memory_size, align: fields.word()? })
    }

    pub fn segment_bytes(self, segment: &Segment) -> Vec<u8> {
        let words = |values: &[u64]| values.iter().flat_map(|value| self.word_bytes(*value)).collect::<Vec<u8>>();
        let places = words(&[segment.offset, segment.vaddr, segment.paddr, segment.file_size, segment.memory_size]);
        let (kind, flags) = (self.u32_bytes(segment.kind), self.u32_bytes(segment.flags));
        let align = self.word_bytes(segment.align);
        match self.class {
            Class::Elf32 => [&kind[..], &places, &flags, &align].concat(),
            Class::Elf64 => [&kind[..], &flags, &places, &align].concat(),
        }
    }

    /// The section header at the start of `bytes`.
    pub fn section(self, bytes: &[u8]) -> Option<Section> {
        let mut fields = Reader { layout: self, bytes, at: 0 };
        Some(Section {
            name: fields.u32()?,
            kind: fields.u32()?,
            flags: fields.word()?,
            addr: fields.word()?,
            offset: fields.word()?,
            size: fields.word()?,
            link: fields.u32()?,
            info: fields.u32()?,
            align: fields.word()?,
            entry_size: fields.word()?,
        })
    }

    pub fn section_bytes(self, section: &Section) -> Vec<u8> {
        let mut bytes = [self.u32_bytes(section.name), self.u32_bytes(section.kind)].concat();
        for value in [section.flags, section.addr, section.offset, section.size] {
            bytes.extend(self.word_bytes(value));
        }
        bytes.extend([self.u32_bytes(section.link), self.u32_bytes(section.info)].concat());
        bytes.extend([self.word_bytes(section.align), self.word_bytes(section.entry_size)].concat());
        bytes
    }

    /// The dynamic entry at the start of `bytes`. The tag of a 32-bit file is widened without its sign: tags are
    /// compared as `u32` there.
    pub fn entry(self, bytes: &[u8]) -> Option<Entry> {
        Some(Entry { tag: self.word(bytes, 0)?, value: self.word(bytes, self.word_size())? })
    }

    pub fn entry_bytes(self, entry: Entry) -> Vec<u8> {
        [self.word_bytes(entry.tag), self.word_bytes(entry.value)].concat()
    }
}
