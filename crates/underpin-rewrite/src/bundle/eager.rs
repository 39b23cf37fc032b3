//! The part of a library that a loader reads before any code of the library runs. In the file form only that part is
//! copied at each start; the rest is mapped from the bundle's file before the first initialiser (DT_PREINIT_ARRAY;
//! glibc `elf/dl-init.c`).
//!
//! The loader reads tables of the dynamic section, notes, and everything writable. It runs code before initialisers
//! only to resolve STT_GNU_IFUNC symbols, to start the C library (`__libc_early_init`) and to allocate by the program's
//! malloc; a copy relocation reads data that may be beside code. Libraries with any of that are copied whole, and so is
//! all that they need.

use super::graft::loaded_size;
use super::head::as_usize;
use super::model::Item;
use bstr::{BString, ByteSlice};
use std::collections::BTreeSet;
use underpin_elf::{Elf, Machine, SegmentKind, Vaddr};

/// Entries of the dynamic section (`<elf.h>`).
mod tag {
    pub const PLTRELSZ: u64 = 2;
    pub const HASH: u64 = 4;
    pub const STRTAB: u64 = 5;
    pub const SYMTAB: u64 = 6;
    pub const RELA: u64 = 7;
    pub const RELASZ: u64 = 8;
    pub const STRSZ: u64 = 10;
    pub const JMPREL: u64 = 23;
    pub const PREINIT_ARRAY: u64 = 32;
    pub const RELRSZ: u64 = 35;
    pub const RELR: u64 = 36;
    pub const GNU_HASH: u64 = 0x6fff_fef5;
    pub const VERSYM: u64 = 0x6fff_fff0;
    pub const VERDEF: u64 = 0x6fff_fffc;
    pub const VERNEED: u64 = 0x6fff_fffe;
}

/// Tables, with the tag of their size if they have one.
const TABLES: [(u64, Option<u64>); 10] = [
    (tag::HASH, None),
    (tag::STRTAB, Some(tag::STRSZ)),
    (tag::SYMTAB, None),
    (tag::RELA, Some(tag::RELASZ)),
    (tag::JMPREL, Some(tag::PLTRELSZ)),
    (tag::RELR, Some(tag::RELRSZ)),
    (tag::GNU_HASH, None),
    (tag::VERSYM, None),
    (tag::VERDEF, None),
    (tag::VERNEED, None),
];

/// Relocations of x86-64.
const COPY: u32 = 5;
const IRELATIVE: u32 = 37;
/// `STT_GNU_IFUNC`.
const IFUNC: u8 = 10;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

/// What is examined of an object.
struct Object<'a> {
    bytes: &'a [u8],
    elf: Elf,
    entries: Vec<(u64, u64)>,
}

/// How many bytes from the start of each library are copied, in the order of the libraries; `None` if every one is
/// copied whole and the loader does not call the launcher before the first initialiser.
pub(super) fn sizes(program: &[u8], libraries: &[(&Item, Vec<u8>)]) -> Option<Vec<u64>> {
    let program = Object::read(program)?;
    if program.elf.ident.machine != Machine::X86_64 || program.value(tag::PREINIT_ARRAY).is_some() {
        return None;
    }
    let objects: Vec<Object<'_>> = libraries.iter().map(|(_, bytes)| Object::read(bytes)).collect::<Option<_>>()?;
    let initialises_first =
        |object: &Object<'_>| object.elf.dynamic.as_ref().is_none_or(|dynamic| dynamic.flags.initialise_first());
    if program.runs_early()? || objects.iter().any(initialises_first) {
        return None;
    }
    let copied = program.copied()?;
    let mut whole: BTreeSet<usize> = BTreeSet::new();
    for (index, object) in objects.iter().enumerate() {
        let names = object.defined()?;
        let early = [&b"malloc"[..], b"__libc_early_init"].iter().any(|name| names.contains(name));
        if early || object.runs_early()? {
            whole.insert(index);
        }
    }
    let index_of = |name: &BString| libraries.iter().position(|(item, _)| item.name.as_ref() == Some(name));
    let mut pending: Vec<usize> = whole.iter().copied().collect();
    while let Some(index) = pending.pop() {
        let needed = objects[index].elf.dynamic.iter().flat_map(|dynamic| &dynamic.needed);
        pending.extend(needed.filter_map(index_of).filter(|index| whole.insert(*index)));
    }
    // A copy relocation runs no code, and what it reads from the writable part is copied anyway.
    for (index, object) in objects.iter().enumerate() {
        if object.has_constant(&copied)? {
            whole.insert(index);
        }
    }
    let size = |(index, object): (usize, &Object<'_>)| {
        let all = loaded_size(&object.elf);
        if whole.contains(&index) { all } else { object.tables_end().map_or(all, |end| end.min(all)) }
    };
    Some(objects.iter().enumerate().map(size).collect())
}

impl<'a> Object<'a> {
    fn read(bytes: &'a [u8]) -> Option<Object<'a>> {
        let elf = Elf::read(bytes).ok()?;
        let segment = elf.segment(SegmentKind::Dynamic)?;
        let words = bytes.get(as_usize(segment.offset.0)..)?.get(..as_usize(segment.file_size))?;
        let (words, _) = words.as_chunks::<16>();
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let entries = words.iter().map(|pair| (word(&pair[..8]), word(&pair[8..]))).take_while(|pair| pair.0 != 0);
        Some(Object { bytes, entries: entries.collect(), elf })
    }

    fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// The bytes of a table whose size is known.
    fn table(&self, tag: u64, size: u64) -> Option<&'a [u8]> {
        let offset = self.elf.offset_of(Vaddr(self.value(tag)?))?;
        self.bytes.get(as_usize(offset.0)..)?.get(..as_usize(size))
    }

    /// The symbol table, up to the string table: linkers place the two next to each other.
    fn symbols(&self) -> Option<&'a [u8]> {
        let size = self.value(tag::STRTAB)?.checked_sub(self.value(tag::SYMTAB)?)?;
        self.table(tag::SYMTAB, size - size % SYMBOL as u64)
    }

    fn name(&self, symbol: &[u8]) -> Option<&'a [u8]> {
        let strings = self.table(tag::STRTAB, self.value(tag::STRSZ)?)?;
        let start = u32::from_le_bytes(*symbol.first_chunk()?);
        strings.get(start as usize..)?.split_str("\0").next()
    }

    /// Names that it defines.
    fn defined(&self) -> Option<BTreeSet<&'a [u8]>> {
        let is_defined = |symbol: &&[u8]| symbol[6..8] != [0, 0];
        Some(self.symbols()?.chunks_exact(SYMBOL).filter(is_defined).filter_map(|symbol| self.name(symbol)).collect())
    }

    /// Whether it defines one of these names in read-only data.
    fn has_constant(&self, names: &BTreeSet<Vec<u8>>) -> Option<bool> {
        let is_constant = |symbol: &[u8]| {
            let address = symbol[8..16].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            let holds =
                |load: &&underpin_elf::Segment| (load.vaddr.0..load.vaddr.0 + load.memory_size).contains(&address);
            self.elf.loads().find(holds).is_none_or(|load| !load.flags.write)
        };
        let is_named = |symbol: &[u8]| self.name(symbol).is_some_and(|name| names.contains(name));
        let defined = self.symbols()?.chunks_exact(SYMBOL).filter(|symbol| symbol[6..8] != [0, 0]);
        Some(defined.into_iter().any(|symbol| is_constant(symbol) && is_named(symbol)))
    }

    /// Types and symbols of its relocations.
    fn relocations(&self) -> Option<Vec<(u32, u32)>> {
        let mut all = Vec::new();
        for (table, size) in [(tag::RELA, tag::RELASZ), (tag::JMPREL, tag::PLTRELSZ)] {
            if self.value(table).is_some() {
                let bytes = self.table(table, self.value(size)?)?;
                let half = |bytes: &[u8]| bytes.first_chunk().map_or(0, |half| u32::from_le_bytes(*half));
                all.extend(bytes.chunks_exact(RELOCATION).map(|entry| (half(&entry[8..]), half(&entry[12..]))));
            }
        }
        Some(all)
    }

    /// Whether relocating it runs its code.
    fn runs_early(&self) -> Option<bool> {
        let resolver =
            self.symbols()?.chunks_exact(SYMBOL).any(|symbol| symbol[4] & 0xf == IFUNC && symbol[6..8] != [0, 0]);
        let writes_code = self.elf.dynamic.as_ref().is_none_or(|dynamic| dynamic.text_relocations);
        Some(resolver || writes_code || self.relocations()?.iter().any(|(kind, _)| *kind == IRELATIVE))
    }

    /// Names of data that the program holds a copy of (copy relocations).
    fn copied(&self) -> Option<BTreeSet<Vec<u8>>> {
        let symbols = self.symbols()?;
        let name = |symbol: u32| self.name(symbols.chunks_exact(SYMBOL).nth(symbol as usize)?).map(<[u8]>::to_vec);
        let relocations = self.relocations()?;
        relocations.into_iter().filter(|(kind, _)| *kind == COPY).map(|(_, symbol)| name(symbol)).collect()
    }

    /// The end in the file of everything read-only that the loader reads; `None` if it cannot be determined.
    fn tables_end(&self) -> Option<u64> {
        let mut tables: Vec<(u64, Option<u64>)> = Vec::new();
        for (table, size) in TABLES {
            if let Some(start) = self.value(table) {
                let size = size.and_then(|tag| self.value(tag));
                tables.push((start, size));
            }
        }
        let starts: Vec<u64> = tables.iter().map(|table| table.0).collect();
        let mut end = self.elf.segments_offset.0 + self.elf.segments.len() as u64 * 56;
        for (start, size) in tables {
            let load = self.elf.loads().find(|load| (load.vaddr.0..load.vaddr.0 + load.file_size).contains(&start))?;
            if load.flags.write {
                continue;
            }
            let load_end = load.vaddr.0 + load.file_size;
            // A table without a size ends where the next one starts, or with its segment.
            let next = starts.iter().copied().filter(|other| *other > start && *other < load_end).min();
            let table_end = size.map_or(next.unwrap_or(load_end), |size| start.saturating_add(size).min(load_end));
            end = end.max(table_end - load.vaddr.0 + load.offset.0);
        }
        for segment in &self.elf.segments {
            let reads = match segment.kind {
                SegmentKind::Load | SegmentKind::Stack | SegmentKind::Relro | SegmentKind::EhFrame => false,
                _ => !self.elf.loads().any(|load| {
                    load.flags.write
                        && load.offset.0 <= segment.offset.0
                        && segment.offset.0 + segment.file_size <= load.offset.0 + load.file_size
                }),
            };
            if reads {
                end = end.max(segment.offset.0.saturating_add(segment.file_size));
            }
        }
        Some(end)
    }
}
