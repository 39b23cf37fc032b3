//! Section headers and a symbol table, for debuggers and profilers, and so that objcopy keeps every byte: each segment of
//! a member is a section.

use crate::layout::Layout;
use crate::object::{Object, SHN_ABS, STT_TLS};
use crate::tables::push_symbol;
use bstr::BString;
use underpin_elf::Segment;

/// One section header with its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub name: Vec<u8>,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entry: u64,
}

impl Section {
    /// One that is part of the memory image.
    pub fn allocated(name: &[u8], kind: u32, address: u64, offset: u64, size: u64) -> Section {
        Section { name: name.into(), kind, flags: ALLOC, address, offset, size, align: 1, ..Section::default() }
    }
}

pub(crate) const SHT_PROGBITS: u32 = 1;
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_STRTAB: u32 = 3;
pub(crate) const SHT_RELA: u32 = 4;
pub(crate) const SHT_DYNAMIC: u32 = 6;
pub(crate) const SHT_NOTE: u32 = 7;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_DYNSYM: u32 = 11;
pub(crate) const SHT_INIT_ARRAY: u32 = 14;
pub(crate) const SHT_FINI_ARRAY: u32 = 15;
pub(crate) const SHT_RELR: u32 = 19;
pub(crate) const SHT_GNU_HASH: u32 = 0x6fff_fff6;
pub(crate) const SHT_GNU_VERDEF: u32 = 0x6fff_fffd;
pub(crate) const SHT_GNU_VERNEED: u32 = 0x6fff_fffe;
pub(crate) const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;

/// The size of a symbol in bytes.
pub(crate) const SYMBOL: u64 = 24;

pub(crate) const WRITE: u64 = 1;
pub(crate) const ALLOC: u64 = 2;
pub(crate) const EXECUTE: u64 = 4;
pub(crate) const TLS: u64 = 0x400;

/// The sections of all members, and which of them holds an address of a member.
pub(crate) struct MemberSections {
    /// The sections; the first has index 1.
    pub sections: Vec<Section>,
    of: Vec<Vec<(u64, u64, u16)>>,
}

impl MemberSections {
    pub fn new(objects: &[Object], layout: &Layout, names: &[BString]) -> MemberSections {
        let mut all = MemberSections { sections: Vec::new(), of: vec![Vec::new(); objects.len()] };
        for place in &layout.members {
            let file = names[place.object].rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            for load in objects[place.object].loads() {
                all.of[place.object].push((
                    load.vaddr.0,
                    load.vaddr.0 + load.memory_size,
                    all.sections.len() as u16 + 1,
                ));
                all.push(&load, place.base, place.file_of(&load), file);
            }
        }
        all
    }

    fn push(&mut self, load: &Segment, base: u64, offset: u64, of: &[u8]) {
        let (start, flags): (&[u8], u64) = match load.flags {
            flags if flags.execute => (b".text.", ALLOC | EXECUTE),
            flags if flags.write => (b".data.", ALLOC | WRITE),
            _ => (b".rodata.", ALLOC),
        };
        let section = Section {
            name: [start, of].concat(),
            kind: 1,
            flags,
            address: load.vaddr.0.wrapping_add(base),
            offset,
            size: load.file_size,
            align: 1,
            ..Section::default()
        };
        let zeros = load.memory_size - load.file_size.min(load.memory_size);
        let (end, offset) = (section.address + section.size, section.offset + section.size);
        if section.size > 0 {
            self.sections.push(section);
        }
        if zeros > 0 {
            let name = [b".bss.", of].concat();
            let bss =
                Section { name, kind: 8, flags, address: end, offset, size: zeros, align: 1, ..Section::default() };
            self.sections.push(bss);
        }
    }

    /// The section index of an address of a member.
    pub fn index(&self, object: usize, at: u64) -> u16 {
        let ranges = &self.of[object];
        let found = ranges.iter().find(|(start, end, _)| (*start..=*end).contains(&at)).or(ranges.first());
        found.map_or(SHN_ABS, |(_, _, index)| *index)
    }
}

/// `.symtab` and `.strtab`: the functions and data of all members, as their dynamic symbols name them.
pub(crate) fn symbols(objects: &[Object], layout: &Layout, sections: &MemberSections) -> (Vec<u8>, Vec<u8>) {
    let (mut table, mut strings) = (vec![0; 24], vec![0]);
    for place in &layout.members {
        for symbol in objects[place.object].symbols.iter().skip(1) {
            let plain = symbol.is_defined() && symbol.section != SHN_ABS && symbol.kind() != STT_TLS;
            if !plain || symbol.name.is_empty() {
                continue;
            }
            let name = strings.len() as u32;
            strings.extend_from_slice(symbol.name);
            strings.push(0);
            // Local to this table: names of several members may be equal.
            let (value, section) = (symbol.value.wrapping_add(place.base), sections.index(place.object, symbol.value));
            push_symbol(&mut table, name, [symbol.kind(), 0], section, value, symbol.size);
        }
    }
    (table, strings)
}

/// The headers and their names: `(.shstrtab, headers without their offset)`.
pub(crate) fn headers(sections: &[Section]) -> (Vec<u8>, Vec<u8>) {
    let (mut names, mut out) = (vec![0u8], vec![0u8; 64]);
    for section in sections {
        out.extend((names.len() as u32).to_le_bytes());
        names.extend_from_slice(&section.name);
        names.push(0);
        out.extend(section.kind.to_le_bytes());
        for word in [section.flags, section.address, section.offset, section.size] {
            out.extend(word.to_le_bytes());
        }
        out.extend(section.link.to_le_bytes());
        out.extend(section.info.to_le_bytes());
        out.extend(section.align.to_le_bytes());
        out.extend(section.entry.to_le_bytes());
    }
    (names, out)
}
