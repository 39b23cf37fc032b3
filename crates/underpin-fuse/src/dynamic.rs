//! The dynamic section, and the tables that it leads to.

use crate::arrays::Arrays;
use crate::layout::{DYNAMIC_ENTRIES, Layout, up};
use crate::machine::{Kind, Processor};
use crate::relocate::{NewReloc, Relocated};
use crate::sections::{
    SHT_DYNSYM, SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED, SHT_GNU_VERSYM, SHT_RELA, SHT_RELR, SHT_STRTAB, SYMBOL,
    Section,
};
use crate::tables::Tables;
use std::mem::take;

pub(crate) const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_RELAENT: u64 = 9;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
pub(crate) const DT_SONAME: u64 = 14;
pub(crate) const DT_RPATH: u64 = 15;
const DT_INIT_ARRAY: u64 = 25;
const DT_FINI_ARRAY: u64 = 26;
const DT_INIT_ARRAYSZ: u64 = 27;
const DT_FINI_ARRAYSZ: u64 = 28;
const DT_FLAGS: u64 = 30;
const DT_RELRSZ: u64 = 35;
const DT_RELR: u64 = 36;
const DT_RELRENT: u64 = 37;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_RELACOUNT: u64 = 0x6fff_fff9;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERDEFNUM: u64 = 0x6fff_fffd;
const DT_VERNEED: u64 = 0x6fff_fffe;
const DT_VERNEEDNUM: u64 = 0x6fff_ffff;

const DF_BIND_NOW: u64 = 8;
const DF_STATIC_TLS: u64 = 0x10;
const DF_1_NOW: u64 = 1;
const DF_1_NODELETE: u64 = 8;

/// The size of a relocation in bytes.
const RELA: u64 = 24;
/// The size of a word of the short form of relative ones.
const RELR: u64 = 8;

// The section is laid out before its entries are known: those that are not DT_NEEDED, and the one that ends it.
const _: () = assert!(DYNAMIC_ENTRIES >= 32);

/// The entries of the dynamic section.
#[derive(Default)]
pub(crate) struct Dynamic(Vec<u8>);

impl Dynamic {
    /// Adds one.
    pub(crate) fn add(&mut self, tag: u64, value: u64) {
        self.0.extend(tag.to_le_bytes());
        self.0.extend(value.to_le_bytes());
    }

    /// Adds what the loader does once everything is relocated, and how it relocates.
    pub(crate) fn add_start(&mut self, layout: &Layout, arrays: &Arrays, relocated: &Relocated) {
        let has_static_tls = relocated.relocs.iter().any(|reloc| reloc.kind == Kind::ThreadOffset);
        self.add(DT_INIT_ARRAY, layout.init_array);
        self.add(DT_INIT_ARRAYSZ, arrays.init_size());
        self.add(DT_FLAGS, DF_BIND_NOW | if has_static_tls { DF_STATIC_TLS } else { 0 });
        self.add(DT_FLAGS_1, DF_1_NOW | DF_1_NODELETE);
        if arrays.fini_size() > 0 {
            self.add(DT_FINI_ARRAY, layout.fini_array);
            self.add(DT_FINI_ARRAYSZ, arrays.fini_size());
        }
    }

    /// The section without the entry that ends it, which is zeros.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The parts of the segment of tables: file offset and content of each.
#[derive(Default)]
pub(crate) struct Parts {
    pub parts: Vec<(u64, Vec<u8>)>,
    /// The address and file offset behind the last one.
    pub at: u64,
    pub file: u64,
}

impl Parts {
    /// Takes a table and says where it lies.
    fn add(&mut self, bytes: Vec<u8>) -> (u64, u64) {
        let (address, size) = (self.at, bytes.len() as u64);
        self.parts.push((self.file, bytes));
        self.at = up(self.at + size, 16);
        self.file = up(self.file + size, 16);
        (address, size)
    }
}

/// How a section refers to others: the size of its entries, the index of a section, and what else its kind says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Link {
    entry: u64,
    link: u32,
    info: u32,
}

/// What the loader reads, and the sections of the file so far.
pub(crate) struct Loaded {
    pub parts: Parts,
    pub list: Vec<Section>,
}

impl Loaded {
    pub fn new(layout: &Layout, list: Vec<Section>) -> Loaded {
        Loaded { parts: Parts { at: layout.tables.0, file: layout.tables.1, ..Parts::default() }, list }
    }

    /// Takes a table as a section, and says where it lies: address and size.
    pub fn put(&mut self, name: &[u8], kind: u32, link: Link, bytes: Vec<u8>) -> (u64, u64) {
        let file = self.parts.file;
        let (address, size) = self.parts.add(bytes);
        let Link { entry, link, info } = link;
        self.list.push(Section { link, info, entry, ..Section::allocated(name, kind, address, file, size) });
        (address, size)
    }

    /// Takes the tables by which symbols are found, and gives the index of the section of names.
    pub fn add_lookup(&mut self, dynamic: &mut Dynamic, tables: &mut Tables) -> u32 {
        let dynsym = self.list.len() as u32 + 1;
        let dynstr = dynsym + 1;
        let of_symbols = Link { link: dynsym, ..Link::default() };
        let first_global = Link { entry: SYMBOL, link: dynstr, info: 1 };
        let symbols = self.put(b".dynsym", SHT_DYNSYM, first_global, take(&mut tables.symbols));
        let strings = self.put(b".dynstr", SHT_STRTAB, Link::default(), take(&mut tables.strings));
        let hash = self.put(b".gnu.hash", SHT_GNU_HASH, of_symbols, take(&mut tables.hash));
        let halves = Link { entry: 2, ..of_symbols };
        let versym = self.put(b".gnu.version", SHT_GNU_VERSYM, halves, take(&mut tables.versym));
        for (name, kind, [at, number], (records, count)) in [
            (b".gnu.version_d".as_slice(), SHT_GNU_VERDEF, [DT_VERDEF, DT_VERDEFNUM], take(&mut tables.verdef)),
            (b".gnu.version_r", SHT_GNU_VERNEED, [DT_VERNEED, DT_VERNEEDNUM], take(&mut tables.verneed)),
        ] {
            if count > 0 {
                let records = self.put(name, kind, Link { entry: 0, link: dynstr, info: count as u32 }, records);
                dynamic.add(at, records.0);
                dynamic.add(number, count);
            }
        }
        dynamic.add(DT_STRTAB, strings.0);
        dynamic.add(DT_STRSZ, strings.1);
        dynamic.add(DT_SYMTAB, symbols.0);
        dynamic.add(DT_SYMENT, SYMBOL);
        dynamic.add(DT_GNU_HASH, hash.0);
        dynamic.add(DT_VERSYM, versym.0);
        dynstr
    }

    /// Takes the relative relocations in their short form, if there are any.
    pub fn add_relative(&mut self, dynamic: &mut Dynamic, table: Vec<u8>) {
        if !table.is_empty() {
            let relr = self.put(b".relr.dyn", SHT_RELR, Link { entry: RELR, ..Link::default() }, table);
            dynamic.add(DT_RELR, relr.0);
            dynamic.add(DT_RELRSZ, relr.1);
            dynamic.add(DT_RELRENT, RELR);
        }
    }

    /// Takes the relocations; `dynsym` is the index of the section of symbols.
    pub fn add_relocations(
        &mut self,
        dynamic: &mut Dynamic,
        relocated: &mut Relocated,
        processor: Processor,
        dynsym: u32,
    ) {
        let (bytes, relative) = relocations(relocated, processor);
        let rela = self.put(b".rela.dyn", SHT_RELA, Link { entry: RELA, link: dynsym, info: 0 }, bytes);
        dynamic.add(DT_RELA, rela.0);
        dynamic.add(DT_RELASZ, rela.1);
        dynamic.add(DT_RELAENT, RELA);
        dynamic.add(DT_RELACOUNT, relative);
    }
}

/// Relative ones first, then look-ups by symbol (the loader remembers its last one), then what functions decide.
fn relocations(relocated: &mut Relocated, processor: Processor) -> (Vec<u8>, u64) {
    let order = |reloc: &NewReloc| {
        let number = processor.number_of(reloc.kind);
        match reloc.kind {
            Kind::Relative => (0, 0, number, reloc.at),
            Kind::Indirect => (2, 0, number, reloc.at),
            _ => (1, reloc.outside.map_or(0, |outside| outside + 1), number, reloc.at),
        }
    };
    relocated.relocs.sort_by_key(order);
    let mut out = Vec::with_capacity(relocated.relocs.len() * RELA as usize);
    for reloc in &relocated.relocs {
        let symbol = reloc.outside.map_or(0, |outside| outside as u64 + 1);
        out.extend(reloc.at.to_le_bytes());
        out.extend((symbol << 32 | u64::from(processor.number_of(reloc.kind))).to_le_bytes());
        out.extend(reloc.addend.to_le_bytes());
    }
    let relative = relocated.relocs.iter().filter(|reloc| reloc.kind == Kind::Relative).count();
    (out, relative as u64)
}
