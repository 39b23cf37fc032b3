//! The loader's view of a file: header, program headers, interpreter, dynamic section.
//!
//! Three small reads for a usual library: the head, the dynamic section, the strings that it names. Sections are never
//! looked at. If a tag occurs twice the last one wins, as in glibc's `elf_get_dynamic_info` (`get-dynamic-info.h`) and
//! musl's `decode_vec` (`ldso/dynlink.c`).

use crate::raw::{Encoding, RawHeader};
use crate::strings::{StringTable, read_strings};
use crate::window::Window;
use crate::{Class, DependencyTag, Dynamic, Elf, ElfError, Endian, Fault, FileOffset, FileType, Ident, Machine};
use crate::{Segment, SegmentKind, Source, Vaddr};
use bstr::BString;
use object::elf;

/// Longest PT_INTERP that the kernel accepts (`fs/binfmt_elf.c`, PATH_MAX).
const INTERPRETER_MAX: u64 = 4096;

pub(crate) fn read_elf<S: Source + ?Sized>(source: &S) -> Result<Elf, ElfError> {
    let window = Window::open(source)?;
    let (encoding, ident_bytes) = read_ident(window.head())?;
    let truncated = || fault_at(Fault::Truncated { what: "the ELF header" }, window.len());
    let header = encoding.header(window.head()).ok_or_else(truncated)?;
    if header.version != 1 {
        return Err(fault_at(Fault::BadHeader { field: "e_version", value: u64::from(header.version) }, 20));
    }
    let ident = Ident {
        class: encoding.class,
        endian: encoding.endian,
        machine: Machine(header.machine),
        file_type: FileType::from_raw(header.kind),
        os_abi: ident_bytes.0,
        abi_version: ident_bytes.1,
        flags: header.flags,
    };
    let mut elf = Elf {
        ident,
        entry: Vaddr(header.entry),
        segments_offset: FileOffset(header.phoff),
        segment_entry_size: header.phentsize,
        segments: read_segments(&window, encoding, &header)?,
        interpreter: None,
        dynamic: None,
    };
    elf.interpreter = read_interpreter(&window, &elf)?;
    elf.dynamic = read_dynamic(&window, encoding, &elf)?;
    Ok(elf)
}

fn fault_at(fault: Fault, offset: u64) -> ElfError {
    ElfError { fault, offset: FileOffset(offset) }
}

/// Class and byte order, and EI_OSABI with EI_ABIVERSION.
pub(crate) fn read_ident(head: &[u8]) -> Result<(Encoding, (u8, u8)), ElfError> {
    let magic = head.get(..4);
    if magic.is_some_and(|magic| magic != elf::ELFMAG) {
        return Err(fault_at(Fault::BadMagic, 0));
    }
    let Some(&[_, _, _, _, class, data, version, os_abi, abi_version]) = head.get(..9) else {
        return Err(fault_at(Fault::Truncated { what: "the ELF header" }, head.len() as u64));
    };
    let bad = |field, value: u8, offset| Err(fault_at(Fault::BadHeader { field, value: u64::from(value) }, offset));
    let class = match class {
        1 => Class::Elf32,
        2 => Class::Elf64,
        _ => return bad("EI_CLASS", class, 4),
    };
    let endian = match data {
        1 => Endian::Little,
        2 => Endian::Big,
        _ => return bad("EI_DATA", data, 5),
    };
    if version != 1 {
        return bad("EI_VERSION", version, 6);
    }
    Ok((Encoding { class, endian }, (os_abi, abi_version)))
}

fn read_segments<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    header: &RawHeader,
) -> Result<Vec<Segment>, ElfError> {
    if header.phnum == 0 {
        return Ok(Vec::new());
    }
    let entry = usize::from(header.phentsize);
    if entry < encoding.segment_size() {
        let offset = if encoding.class == Class::Elf64 { 54 } else { 42 };
        return Err(fault_at(Fault::BadHeader { field: "e_phentsize", value: entry as u64 }, offset));
    }
    let size = u64::from(header.phnum).saturating_mul(entry as u64);
    let bytes = window.range(header.phoff, size, "the program headers")?;
    let mut segments = Vec::with_capacity(usize::from(header.phnum));
    segments.extend(bytes.chunks_exact(entry).filter_map(|bytes| encoding.segment(bytes).map(Segment::from)));
    Ok(segments)
}

/// PT_INTERP as the kernel reads it: the first one, at most PATH_MAX bytes, NUL at the end (`fs/binfmt_elf.c`). A
/// segment without bytes in the file, as in a detached debug file, does not count.
fn read_interpreter<S: Source + ?Sized>(window: &Window<'_, S>, elf: &Elf) -> Result<Option<BString>, ElfError> {
    let Some(segment) = elf.segment(SegmentKind::Interpreter).filter(|segment| segment.file_size > 0) else {
        return Ok(None);
    };
    let malformed = || fault_at(Fault::BadTable { what: "PT_INTERP" }, segment.offset.0);
    if segment.file_size > INTERPRETER_MAX {
        return Err(malformed());
    }
    let bytes = window.range(segment.offset.0, segment.file_size, "PT_INTERP")?;
    if bytes.last() != Some(&0) {
        return Err(malformed());
    }
    Ok(bytes.split(|byte| *byte == 0).next().map(BString::from))
}

/// The last PT_DYNAMIC that has bytes in the file (`glibc elf/dl-load.c` skips one with `p_filesz` 0, because of
/// detached debug files).
fn read_dynamic<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
) -> Result<Option<Dynamic>, ElfError> {
    let wanted = |segment: &&Segment| segment.kind == SegmentKind::Dynamic && segment.file_size > 0;
    let Some(segment) = elf.segments.iter().rfind(wanted) else {
        return Ok(None);
    };
    // Loaders use the address; the offset counts only if no PT_LOAD covers it.
    let offset = elf.offset_of(segment.vaddr).unwrap_or(segment.offset).0;
    let bytes = window.range(offset, segment.file_size, "the dynamic section")?;
    let (entries, ended) = encoding.dynamic(&bytes);
    let entries = if ended { entries } else { read_past_end(window, encoding, elf, segment, offset)? };
    let mut dynamic = Dynamic::default();
    let wanted = collect(&mut dynamic, &entries);
    if !wanted.is_empty() {
        let table = string_table(elf, &dynamic, offset)?;
        let offsets: Vec<u64> = wanted.iter().map(|(_, offset)| *offset).collect();
        let strings = read_strings(window, table, &offsets)?;
        for ((slot, _), string) in wanted.into_iter().zip(strings) {
            slot.store(&mut dynamic, string);
        }
    }
    Ok(Some(dynamic))
}

/// Loaders stop only at DT_NULL: without one inside the segment they read on to the end of the PT_LOAD, after which a
/// larger memory size means zeros.
fn read_past_end<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    segment: &Segment,
    offset: u64,
) -> Result<Vec<(i64, u64)>, ElfError> {
    let unended = fault_at(Fault::BadTable { what: "the dynamic section (no DT_NULL ends it)" }, offset);
    let Some((load, limit)) = elf.load_of(segment.vaddr) else {
        return Err(unended);
    };
    let bytes = window.up_to(offset, u64::MAX, limit, "the dynamic section")?;
    let (entries, ended) = encoding.dynamic(&bytes);
    let zeros = load.memory_size.saturating_sub(load.file_size);
    if ended || zeros >= encoding.entry_size() as u64 { Ok(entries) } else { Err(unended) }
}

fn string_table<'e>(elf: &'e Elf, dynamic: &Dynamic, dynamic_offset: u64) -> Result<StringTable<'e>, ElfError> {
    let missing = |what| fault_at(Fault::BadTable { what }, dynamic_offset);
    let (vaddr, _) = dynamic.string_table.ok_or_else(|| missing("the dynamic section (no DT_STRTAB)"))?;
    StringTable::new(elf, vaddr).ok_or_else(|| missing("DT_STRTAB (no PT_LOAD holds its address)"))
}

/// Where a string of the dynamic section goes.
#[derive(Clone, Copy)]
enum Slot {
    Dependency(DependencyTag),
    Soname,
    Rpath,
    Runpath,
    Audit,
    Depaudit,
}

impl Slot {
    fn store(self, dynamic: &mut Dynamic, string: BString) {
        match self {
            Slot::Dependency(tag) => {
                let list = match tag {
                    DependencyTag::Needed => &mut dynamic.needed,
                    DependencyTag::Filter => &mut dynamic.filters,
                    DependencyTag::Auxiliary => &mut dynamic.auxiliaries,
                };
                list.push(string.clone());
                dynamic.dependencies.push((tag, string));
            }
            Slot::Soname => dynamic.soname = Some(string),
            Slot::Rpath => dynamic.rpath = Some(string),
            Slot::Runpath => dynamic.runpath = Some(string),
            Slot::Audit => dynamic.audit = Some(string),
            Slot::Depaudit => dynamic.depaudit = Some(string),
        }
    }
}

/// Numbers are stored in `dynamic` at once; strings are returned with their offsets, single ones only for the last
/// entry of their tag, since no loader looks at the others.
fn collect(dynamic: &mut Dynamic, entries: &[(i64, u64)]) -> Vec<(Slot, u64)> {
    let mut dependencies = Vec::new();
    let mut singles: [Option<(Slot, u64)>; 5] = [None; 5];
    let mut table = Table::default();
    for &(tag, value) in entries {
        match elf::DynamicTag(tag) {
            elf::DT_NEEDED => dependencies.push((Slot::Dependency(DependencyTag::Needed), value)),
            elf::DT_FILTER => dependencies.push((Slot::Dependency(DependencyTag::Filter), value)),
            elf::DT_AUXILIARY => dependencies.push((Slot::Dependency(DependencyTag::Auxiliary), value)),
            elf::DT_SONAME => singles[0] = Some((Slot::Soname, value)),
            elf::DT_RPATH => singles[1] = Some((Slot::Rpath, value)),
            elf::DT_RUNPATH => singles[2] = Some((Slot::Runpath, value)),
            elf::DT_AUDIT => singles[3] = Some((Slot::Audit, value)),
            elf::DT_DEPAUDIT => singles[4] = Some((Slot::Depaudit, value)),
            other => number(dynamic, &mut table, other, value),
        }
    }
    table.store(dynamic);
    dependencies.extend(singles.into_iter().flatten());
    dependencies
}

/// Tags that form one fact in pairs.
#[derive(Default)]
struct Table {
    strings: (Option<u64>, u64),
    verneed: (Option<u64>, u64),
    verdef: (Option<u64>, u64),
}

impl Table {
    fn store(self, dynamic: &mut Dynamic) {
        let pair = |(vaddr, count): (Option<u64>, u64)| vaddr.map(|vaddr| (Vaddr(vaddr), count));
        dynamic.string_table = pair(self.strings);
        dynamic.verneed = pair(self.verneed);
        dynamic.verdef = pair(self.verdef);
        dynamic.text_relocations |= dynamic.flags.flags & elf::DF_TEXTREL.0 != 0;
        dynamic.bind_now |= dynamic.flags.bind_now();
    }
}

fn number(dynamic: &mut Dynamic, table: &mut Table, tag: elf::DynamicTag, value: u64) {
    match tag {
        elf::DT_STRTAB => table.strings.0 = Some(value),
        elf::DT_STRSZ => table.strings.1 = value,
        elf::DT_SYMTAB => dynamic.symbol_table = Some(Vaddr(value)),
        elf::DT_HASH => dynamic.hash = Some(Vaddr(value)),
        elf::DT_GNU_HASH => dynamic.gnu_hash = Some(Vaddr(value)),
        elf::DT_VERSYM => dynamic.versym = Some(Vaddr(value)),
        elf::DT_VERNEED => table.verneed.0 = Some(value),
        elf::DT_VERNEEDNUM => table.verneed.1 = value,
        elf::DT_VERDEF => table.verdef.0 = Some(value),
        elf::DT_VERDEFNUM => table.verdef.1 = value,
        elf::DT_FLAGS => dynamic.flags.flags = value,
        elf::DT_FLAGS_1 => dynamic.flags.flags_1 = value,
        elf::DT_RELR => dynamic.relr = true,
        elf::DT_TEXTREL => dynamic.text_relocations = true,
        elf::DT_BIND_NOW => dynamic.bind_now = true,
        elf::DT_DEBUG => dynamic.debug = true,
        _ => {}
    }
}
