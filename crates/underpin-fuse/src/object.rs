//! What one library says of itself, as far as a fusion needs it: segments, dynamic symbols with their versions,
//! relocations, initialisers.

use crate::machine::{Kind, Processor};
use crate::{Closure, Refusal};
use underpin_elf::raw::Encoding;
use underpin_elf::{Class, Elf, Endian, Segment, SegmentKind, Vaddr};

/// No member is larger than this.
const LIMIT: u64 = 1 << 40;

/// The only encoding that is fused.
pub(crate) const ENCODING: Encoding = Encoding { class: Class::Elf64, endian: Endian::Little };

/// A file that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at {at:#x})")]
pub struct Malformed {
    /// What is wrong.
    pub what: String,
    /// The address or offset.
    pub at: u64,
}

pub(crate) fn malformed<T>(what: &str, at: u64) -> Result<T, Malformed> {
    Err(Malformed { what: what.to_owned(), at })
}

/// A version of a symbol: the name, its hash as the file has it, and whether a reference insists on it (`vna_other`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Version<'a> {
    pub name: &'a [u8],
    pub insists: bool,
    /// The file that a verneed names; `None` for a definition.
    pub file: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a [u8],
    pub info: u8,
    pub other: u8,
    pub section: u16,
    pub value: u64,
    pub size: u64,
    /// The raw entry of `.gnu.version`; `None` if the file has no such table.
    pub version: Option<u16>,
}

/// STT_ and STB_ values, SHN_ABS, visibilities.
pub(crate) const STT_TLS: u8 = 6;
pub(crate) const STT_IFUNC: u8 = 10;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STB_LOCAL: u8 = 0;
pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;
pub(crate) const STB_GNU_UNIQUE: u8 = 10;
pub(crate) const SHN_ABS: u16 = 0xfff1;
pub(crate) const STV_PROTECTED: u8 = 3;

impl Symbol<'_> {
    pub fn kind(&self) -> u8 {
        self.info & 15
    }
    pub fn binding(&self) -> u8 {
        self.info >> 4
    }
    pub fn visibility(&self) -> u8 {
        self.other & 3
    }
    pub fn is_defined(&self) -> bool {
        self.section != 0
    }
    /// Whether a reference through it never leaves its own object (`dl_symbol_visibility_binds_local_p`).
    pub fn binds_local(&self) -> bool {
        self.binding() == STB_LOCAL || matches!(self.visibility(), 1 | 2)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reloc {
    pub at: u64,
    pub kind: Kind,
    pub symbol: usize,
    pub addend: i64,
}

/// One parsed object.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub bytes: &'a [u8],
    pub elf: Elf,
    pub processor: Processor,
    pub symbols: Vec<Symbol<'a>>,
    /// By version index; entry 0 and 1 have none.
    pub versions: Vec<Option<Version<'a>>>,
    pub relocs: Vec<Reloc>,
    pub init: Option<u64>,
    pub fini: Option<u64>,
    pub init_array: (u64, u64),
    pub fini_array: (u64, u64),
    pub needed: Vec<&'a [u8]>,
    pub flags: u64,
    pub symbolic: bool,
    /// The entries of its dynamic section that say something by being there ([`Processor::is_mark`]).
    pub marks: Vec<u64>,
}

pub(crate) fn read_all<'a>(closure: &Closure<'a>) -> Result<Vec<Object<'a>>, Refusal> {
    let read = |member: &crate::Member<'a>| {
        let refused = |error| Refusal::Malformed { path: member.path.clone(), error };
        let elf = Elf::read(member.bytes).map_err(|error| Malformed { what: error.to_string(), at: 0 });
        let elf = elf.map_err(refused)?;
        let processor = Processor::of(&elf.ident).ok_or_else(|| Refusal::Machine { path: member.path.clone() })?;
        Object::read(member.bytes, elf, processor).map_err(refused)
    };
    closure.objects.iter().map(read).collect()
}

/// The entries of a dynamic section that are not in [`underpin_elf::Dynamic`].
#[derive(Default)]
struct Tags {
    rela: (u64, u64),
    jmprel: (u64, u64),
    relr: (u64, u64),
    init: Option<u64>,
    fini: Option<u64>,
    init_array: (u64, u64),
    fini_array: (u64, u64),
    needed: Vec<u64>,
    flags: u64,
    symbolic: bool,
    marks: Vec<u64>,
}

impl<'a> Object<'a> {
    fn read(bytes: &'a [u8], elf: Elf, processor: Processor) -> Result<Object<'a>, Malformed> {
        let mut object = Object {
            bytes,
            elf,
            processor,
            symbols: Vec::new(),
            versions: Vec::new(),
            relocs: Vec::new(),
            init: None,
            fini: None,
            init_array: (0, 0),
            fini_array: (0, 0),
            needed: Vec::new(),
            flags: 0,
            symbolic: false,
            marks: Vec::new(),
        };
        let Some(dynamic) = object.elf.dynamic.clone() else { return malformed("no dynamic section", 0) };
        let tags = object.tags()?;
        let Some((table, size)) = dynamic.string_table else { return malformed("no DT_STRTAB", 0) };
        let strings = object.memory(table.0, size)?;
        for offset in &tags.needed {
            object.needed.push(string(strings, *offset)?);
        }
        object.relocs = object.read_relocs(&tags)?;
        // A file that defines nothing may hash nothing: its undefined symbols are known from its relocations alone.
        let used = object.relocs.iter().map(|reloc| reloc.symbol as u64 + 1).max().unwrap_or(0);
        object.symbols = object.read_symbols(strings, &dynamic, used)?;
        object.versions = object.read_versions(strings, &dynamic)?;
        object.init = tags.init.filter(|at| *at != 0 && *at < LIMIT);
        object.fini = tags.fini.filter(|at| *at != 0 && *at < LIMIT);
        (object.init_array, object.fini_array) = (tags.init_array, tags.fini_array);
        (object.flags, object.symbolic) = (tags.flags, tags.symbolic || tags.flags & 2 != 0);
        object.marks = tags.marks;
        object.check()?;
        Ok(object)
    }

    /// Every address and size lies in the object itself, so that sums of them cannot overflow.
    fn check(&self) -> Result<(), Malformed> {
        let size = self.bytes.len() as u64;
        let mut last = 0;
        for load in self.loads() {
            let fits = load.vaddr.0 < LIMIT && load.memory_size < LIMIT && load.file_size <= load.memory_size;
            let in_file = load.offset.0.checked_add(load.file_size).is_some_and(|end| end <= size);
            if !fits || !in_file || load.vaddr.0 < last {
                return malformed("a segment out of order or beyond the file", load.vaddr.0);
            }
            last = load.vaddr.0 + load.memory_size;
        }
        let inside = |at: u64, size: u64| at.checked_add(size).is_some_and(|end| end <= last);
        for kind in [SegmentKind::Tls, SegmentKind::Relro] {
            if let Some(segment) = self.segment(kind)
                && (!(segment.vaddr.0 < LIMIT && segment.memory_size < LIMIT && segment.align <= 1 << 20)
                    || segment.file_size > segment.memory_size
                    || segment.align > 1 && !segment.align.is_power_of_two())
            {
                return malformed("a segment of impossible size", segment.vaddr.0);
            }
        }
        let (init, fini) = (self.init_array, self.fini_array);
        if !inside(init.0, init.1) || !inside(fini.0, fini.1) {
            return malformed("initialisers beyond the end", init.0);
        }
        if let Some(reloc) = self.relocs.iter().find(|reloc| reloc.at > last) {
            return malformed("a relocation beyond the end", reloc.at);
        }
        let wild = |symbol: &&Symbol| symbol.is_defined() && symbol.section != SHN_ABS && symbol.value > LIMIT;
        self.symbols.iter().find(wild).map_or(Ok(()), |symbol| malformed("a symbol beyond the end", symbol.value))
    }

    pub fn loads(&self) -> Vec<Segment> {
        self.elf.loads().copied().filter(|load| load.memory_size > 0).collect()
    }

    pub fn segment(&self, kind: SegmentKind) -> Option<&Segment> {
        self.elf.segment(kind)
    }

    /// The file offset of an address that has content.
    pub fn offset(&self, at: u64) -> Result<usize, Malformed> {
        match self.elf.offset_of(Vaddr(at)) {
            Some(offset) => Ok(offset.0 as usize),
            None => malformed("an address without content in the file", at),
        }
    }

    /// The bytes of a range of addresses.
    pub fn memory(&self, at: u64, size: u64) -> Result<&'a [u8], Malformed> {
        let start = self.offset(at)?;
        let slice = start.checked_add(size as usize).and_then(|end| self.bytes.get(start..end));
        slice.map_or_else(|| malformed("a table beyond the end of the file", at), Ok)
    }

    fn from(&self, at: u64) -> Result<&'a [u8], Malformed> {
        let start = self.offset(at)?;
        self.bytes.get(start..).map_or_else(|| malformed("a table beyond the end of the file", at), Ok)
    }

    fn tags(&self) -> Result<Tags, Malformed> {
        let mut tags = Tags::default();
        let Some(segment) = self.segment(SegmentKind::Dynamic) else { return malformed("no PT_DYNAMIC", 0) };
        for entry in self.memory(segment.vaddr.0, segment.file_size)?.chunks_exact(16) {
            let Some(entry) = ENCODING.entry(entry) else { break };
            let value = entry.value;
            match entry.tag {
                0 => break,
                1 => tags.needed.push(value),
                7 => tags.rela.0 = value,
                8 => tags.rela.1 = value,
                12 => tags.init = Some(value),
                13 => tags.fini = Some(value),
                16 => tags.symbolic = true,
                2 => tags.jmprel.1 = value,
                23 => tags.jmprel.0 = value,
                25 => tags.init_array.0 = value,
                26 => tags.fini_array.0 = value,
                27 => tags.init_array.1 = value,
                28 => tags.fini_array.1 = value,
                30 => tags.flags = value,
                35 => tags.relr.1 = value,
                36 => tags.relr.0 = value,
                17 => return malformed("relocations without addends (DT_REL)", value),
                tag if self.processor.is_mark(tag) => tags.marks.push(tag),
                _ => {}
            }
        }
        Ok(tags)
    }

    fn read_symbols(
        &self,
        strings: &'a [u8],
        dynamic: &underpin_elf::Dynamic,
        used: u64,
    ) -> Result<Vec<Symbol<'a>>, Malformed> {
        let Some(table) = dynamic.symbol_table else { return malformed("no DT_SYMTAB", 0) };
        let count = self.symbol_count(dynamic)?.max(used);
        let bytes = self.memory(table.0, count.saturating_mul(24))?;
        let versions = match dynamic.versym {
            Some(at) => Some(self.memory(at.0, count.saturating_mul(2))?),
            None => None,
        };
        let mut symbols = Vec::with_capacity(bytes.len() / 24);
        for (index, raw) in bytes.chunks_exact(24).enumerate() {
            symbols.push(Symbol {
                name: string(strings, u64::from(u32_at(raw, 0)))?,
                info: raw[4],
                other: raw[5],
                section: u16_at(raw, 6),
                value: u64_at(raw, 8),
                size: u64_at(raw, 16),
                version: versions.map(|table| u16_at(table, index * 2)),
            });
        }
        Ok(symbols)
    }

    /// The hash tables are what says how many dynamic symbols there are; relocations may name some below the first
    /// hashed one only.
    fn symbol_count(&self, dynamic: &underpin_elf::Dynamic) -> Result<u64, Malformed> {
        if let Some(hash) = dynamic.hash {
            return Ok(u64::from(u32_at(self.memory(hash.0, 8)?, 4)));
        }
        let Some(hash) = dynamic.gnu_hash else { return malformed("no hash table", 0) };
        let head = self.memory(hash.0, 16)?;
        let (buckets, first, bloom) = (u32_at(head, 0), u32_at(head, 4), u32_at(head, 8));
        let table = self.from(hash.0)?;
        let chains = 16 + bloom as usize * 8 + buckets as usize * 4;
        let Some(heads) = table.get(16 + bloom as usize * 8..chains) else { return malformed("a short hash", hash.0) };
        let Some(mut last) = heads.chunks_exact(4).map(|bucket| u32_at(bucket, 0)).max().filter(|last| *last >= first)
        else {
            return Ok(u64::from(first));
        };
        loop {
            let at = chains + (last - first) as usize * 4;
            let Some(word) = table.get(at..at + 4) else { return malformed("a hash chain without end", hash.0) };
            last += 1;
            if word[0] & 1 != 0 {
                return Ok(u64::from(last));
            }
        }
    }

    fn read_versions(
        &self,
        strings: &'a [u8],
        dynamic: &underpin_elf::Dynamic,
    ) -> Result<Vec<Option<Version<'a>>>, Malformed> {
        let mut versions: Vec<Option<Version<'a>>> = vec![None; 2];
        let mut set = |index: u16, version| {
            let index = usize::from(index & 0x7fff);
            versions.resize(versions.len().max(index + 1), None);
            versions[index] = Some(version);
        };
        if let Some((at, count)) = dynamic.verneed {
            let table = self.from(at.0)?;
            let mut entry = 0;
            for _ in 0..count {
                let head = part(table, entry, 16)?;
                let file = string(strings, u64::from(u32_at(head, 4)))?;
                let mut aux = entry + u32_at(head, 8) as usize;
                for _ in 0..u16_at(head, 2) {
                    let raw = part(table, aux, 16)?;
                    let other = u16_at(raw, 6);
                    let name = string(strings, u64::from(u32_at(raw, 8)))?;
                    set(other, Version { name, insists: other & 0x8000 != 0, file: Some(file) });
                    aux += u32_at(raw, 12) as usize;
                }
                entry += u32_at(head, 12) as usize;
            }
        }
        if let Some((at, count)) = dynamic.verdef {
            let table = self.from(at.0)?;
            let mut entry = 0;
            for _ in 0..count {
                let head = part(table, entry, 20)?;
                let aux = part(table, entry + u32_at(head, 12) as usize, 8)?;
                let name = string(strings, u64::from(u32_at(aux, 0)))?;
                if u16_at(head, 2) & 1 == 0 {
                    set(u16_at(head, 4), Version { name, insists: false, file: None });
                }
                entry += u32_at(head, 16) as usize;
            }
        }
        Ok(versions)
    }

    fn read_relocs(&self, tags: &Tags) -> Result<Vec<Reloc>, Malformed> {
        let mut relocs = Vec::new();
        for (at, size) in [tags.rela, tags.jmprel] {
            // Some linkers count .rela.plt into DT_RELASZ.
            if size == 0
                || (at == tags.jmprel.0 && at != tags.rela.0 && at >= tags.rela.0 && at - tags.rela.0 < tags.rela.1)
            {
                continue;
            }
            for raw in self.memory(at, size)?.chunks_exact(24) {
                let info = u64_at(raw, 8);
                let symbol = (info >> 32) as usize;
                let kind = self.processor.kind(info as u32);
                let (at, addend) = (u64_at(raw, 0), u64_at(raw, 16).cast_signed());
                relocs.push(Reloc { at, kind, symbol, addend });
            }
        }
        self.read_relr(tags.relr, &mut relocs)?;
        Ok(relocs)
    }

    fn read_relr(&self, (at, size): (u64, u64), relocs: &mut Vec<Reloc>) -> Result<(), Malformed> {
        if size == 0 {
            return Ok(());
        }
        let mut next = 0u64;
        let mut push = |at: u64| -> Result<(), Malformed> {
            let addend = u64_at(self.memory(at, 8)?, 0).cast_signed();
            relocs.push(Reloc { at, kind: Kind::Relative, symbol: 0, addend });
            Ok(())
        };
        for raw in self.memory(at, size)?.chunks_exact(8) {
            let word = u64_at(raw, 0);
            if word & 1 == 0 {
                push(word)?;
                next = word.wrapping_add(8);
                continue;
            }
            for bit in (0..63).filter(|bit| word >> (bit + 1) & 1 != 0) {
                push(next.wrapping_add(bit * 8))?;
            }
            next = next.wrapping_add(63 * 8);
        }
        Ok(())
    }

    /// The version that a reference or definition of the symbol asks for.
    pub fn version_of(&self, symbol: &Symbol) -> Option<Version<'a>> {
        self.versions.get(usize::from(symbol.version? & 0x7fff)).copied().flatten()
    }
}

fn part(table: &[u8], at: usize, size: usize) -> Result<&[u8], Malformed> {
    at.checked_add(size).and_then(|end| table.get(at..end)).map_or_else(|| malformed("a short table", at as u64), Ok)
}

fn string(strings: &[u8], offset: u64) -> Result<&[u8], Malformed> {
    let tail = usize::try_from(offset).ok().and_then(|start| strings.get(start..));
    match tail.and_then(|tail| tail.split(|byte| *byte == 0).next()) {
        Some(name) => Ok(name),
        None => malformed("a name beyond the string table", offset),
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    ENCODING.u16(bytes, at).unwrap_or_default()
}
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    ENCODING.u32(bytes, at).unwrap_or_default()
}
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    ENCODING.u64(bytes, at).unwrap_or_default()
}
