//! Structures as bytes. A value that does not fit the class is truncated, so callers check addresses of 32-bit files
//! first.

use super::{Encoding, RawEntry, RawHeader, RawSection, RawSegment};
use crate::{Class, Endian};

impl Encoding {
    /// Two bytes.
    #[must_use]
    pub fn u16_bytes(self, value: u16) -> [u8; 2] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    /// Four bytes.
    #[must_use]
    pub fn u32_bytes(self, value: u32) -> [u8; 4] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    /// An address.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "callers keep 32-bit files below 4 GiB")]
    pub fn word_bytes(self, value: u64) -> Vec<u8> {
        match (self.class, self.endian) {
            (Class::Elf32, _) => self.u32_bytes(value as u32).to_vec(),
            (Class::Elf64, Endian::Little) => value.to_le_bytes().to_vec(),
            (Class::Elf64, Endian::Big) => value.to_be_bytes().to_vec(),
        }
    }

    /// The fields of the header that a rewrite changes, with their offsets.
    #[must_use]
    pub fn header_writes(self, header: &RawHeader) -> Vec<(u64, Vec<u8>)> {
        // Offsets of e_phoff, e_shoff, e_phnum, e_shentsize, e_shnum and e_shstrndx (elf(5), Elf32_Ehdr and
        // Elf64_Ehdr).
        let [phoff, shoff, phnum, shentsize, shnum, shstrndx] = match self.class {
            Class::Elf32 => [28, 32, 44, 46, 48, 50],
            Class::Elf64 => [32, 40, 56, 58, 60, 62],
        };
        vec![
            (phoff, self.word_bytes(header.phoff)),
            (shoff, self.word_bytes(header.shoff)),
            (phnum, self.u16_bytes(header.phnum).to_vec()),
            (shentsize, self.u16_bytes(header.shentsize).to_vec()),
            (shnum, self.u16_bytes(header.shnum).to_vec()),
            (shstrndx, self.u16_bytes(header.shstrndx).to_vec()),
        ]
    }

    /// A program header.
    #[must_use]
    pub fn segment_bytes(self, segment: &RawSegment) -> Vec<u8> {
        let words = |values: &[u64]| values.iter().flat_map(|value| self.word_bytes(*value)).collect::<Vec<u8>>();
        let places = words(&[segment.offset, segment.vaddr, segment.paddr, segment.file_size, segment.memory_size]);
        let (kind, flags) = (self.u32_bytes(segment.kind), self.u32_bytes(segment.flags));
        let align = self.word_bytes(segment.align);
        match self.class {
            Class::Elf32 => [&kind[..], &places, &flags, &align].concat(),
            Class::Elf64 => [&kind[..], &flags, &places, &align].concat(),
        }
    }

    /// A section header.
    #[must_use]
    pub fn section_bytes(self, section: &RawSection) -> Vec<u8> {
        let mut bytes = [self.u32_bytes(section.name), self.u32_bytes(section.kind)].concat();
        for value in [section.flags, section.addr, section.offset, section.size] {
            bytes.extend(self.word_bytes(value));
        }
        bytes.extend([self.u32_bytes(section.link), self.u32_bytes(section.info)].concat());
        bytes.extend([self.word_bytes(section.align), self.word_bytes(section.entry_size)].concat());
        bytes
    }

    /// An entry of the dynamic section.
    #[must_use]
    pub fn entry_bytes(self, entry: RawEntry) -> Vec<u8> {
        [self.word_bytes(entry.tag), self.word_bytes(entry.value)].concat()
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a panic is the failing assertion")]
mod tests {
    use super::*;

    /// Reading is the `object` crate's, so it is the oracle of what is written.
    #[test]
    fn what_is_written_is_read_back_in_both_classes_and_orders() {
        for (class, endian) in [
            (Class::Elf32, Endian::Little),
            (Class::Elf32, Endian::Big),
            (Class::Elf64, Endian::Little),
            (Class::Elf64, Endian::Big),
        ] {
            let encoding = Encoding { class, endian };
            let (kind, flags, offset, vaddr) = (1, 5, 0x1000, 0x40_1000);
            let segment =
                RawSegment { kind, flags, offset, vaddr, paddr: 7, file_size: 8, memory_size: 9, align: 0x20_0000 };
            let bytes = encoding.segment_bytes(&segment);
            assert_eq!((bytes.len(), encoding.segment(&bytes)), (encoding.segment_size(), Some(segment)));
            let (addr, size, link, info) = (0x40_0200, 0x33, 4, 5);
            let section =
                RawSection { name: 1, kind: 2, flags: 3, addr, offset, size, link, info, align: 16, entry_size: 24 };
            let bytes = encoding.section_bytes(&section);
            assert_eq!((bytes.len(), encoding.section(&bytes)), (encoding.section_size(), Some(section)));
            let entry = RawEntry { tag: 0x6fff_fffe, value: 0x1234_5678 };
            let bytes = encoding.entry_bytes(entry);
            assert_eq!((bytes.len(), encoding.entry(&bytes)), (encoding.entry_size(), Some(entry)));
            assert_eq!(encoding.dynamic(&bytes), (vec![(0x6fff_fffe, 0x1234_5678)], false));
            let mut bytes = vec![0; encoding.header_size()];
            let mut header = encoding.header(&bytes).expect("zeros are a header");
            (header.phoff, header.shoff, header.phnum) = (64, 0x8000, 13);
            (header.shentsize, header.shnum, header.shstrndx) = (40, 30, 29);
            for (at, field) in encoding.header_writes(&header) {
                let at = usize::try_from(at).expect("a header is small");
                bytes[at..][..field.len()].copy_from_slice(&field);
            }
            assert_eq!(encoding.header(&bytes), Some(header));
        }
    }
}
