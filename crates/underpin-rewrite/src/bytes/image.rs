//! One file parsed as far as a rewrite needs it: tables with their places, every bound checked.
//!
//! Addresses are translated by PT_LOAD, as loaders do; the section table is optional and only used if it is sound.
//! Nothing here changes a byte.

use super::Refusal;
use super::tags;
use underpin_elf::raw::{Encoding, RawEntry, RawHeader, RawSection, RawSegment};
use underpin_elf::{Class, Elf, ElfError, Fault, FileOffset, FileType, Machine};

/// The kernel refuses larger program header tables (`fs/binfmt_elf.c`, `load_elf_phdrs`).
const SEGMENTS_MAX: usize = 64 << 10;
/// Most entries of DT_VERNEED or DT_VERDEF that are read.
const VERSIONS_MAX: usize = 1 << 16;
/// A section table with longer section names is ignored.
const NAME_MAX: usize = 4096;
/// Most entries of a dynamic section that are read; the largest ones seen in practice have some hundred.
const DYNAMIC_MAX: usize = 1 << 16;

/// A parsed file.
pub(super) struct Image<'a> {
    pub bytes: &'a [u8],
    pub encoding: Encoding,
    /// The loader's view, strings resolved.
    pub elf: Elf,
    pub header: RawHeader,
    pub segments: Vec<RawSegment>,
    /// `None` if there is no section table, or an invalid one.
    pub sections: Option<SectionTable<'a>>,
    pub dynamic: DynamicTable,
    pub strings: StringTable<'a>,
    pub needs: Vec<VersionNeed>,
    /// String offsets of the versions in DT_VERNEED and DT_VERDEF.
    pub version_names: Vec<u32>,
}

/// The section table with its names.
pub(super) struct SectionTable<'a> {
    pub entries: Vec<(&'a [u8], RawSection)>,
    /// Index of the section name table.
    pub names: usize,
    /// Its bytes.
    pub name_bytes: &'a [u8],
}

impl SectionTable<'_> {
    /// Whether symbols take their names from the table of section names.
    pub fn shares_names(&self) -> bool {
        let linked = |section: &RawSection| section.link as usize == self.names && section.kind != tags::SHT_NULL;
        self.names == 0 || self.entries.iter().any(|(_, section)| linked(section))
    }
}

/// The dynamic section.
pub(super) struct DynamicTable {
    pub vaddr: u64,
    /// How many entries fit, DT_NULL included.
    pub capacity: usize,
    /// Those before DT_NULL.
    pub entries: Vec<RawEntry>,
}

/// DT_STRTAB.
#[derive(Clone, Copy)]
pub(super) struct StringTable<'a> {
    pub vaddr: u64,
    /// DT_STRSZ, cut at the end of the segment.
    pub size: u64,
    /// From the table to the end of its segment in the file: what a loader can reach.
    pub reach: &'a [u8],
}

/// One entry of DT_VERNEED.
#[derive(Clone, Copy)]
pub(super) struct VersionNeed {
    /// Address of its `vn_file` field.
    pub field: u64,
    /// The string offset in it.
    pub file: u32,
}

pub(super) fn fault(fault: Fault, offset: u64) -> Refusal {
    Refusal::Elf(ElfError { fault, offset: FileOffset(offset) })
}

impl<'a> StringTable<'a> {
    /// The string at an offset, without its NUL.
    pub fn at(&self, offset: u64) -> Option<&'a [u8]> {
        let rest = self.reach.get(usize::try_from(offset).ok()?..)?;
        rest.get(..rest.iter().position(|byte| *byte == 0)?)
    }

    /// Whether exactly this string is at an offset.
    pub fn is(&self, offset: u64, text: &[u8]) -> bool {
        let rest = usize::try_from(offset).ok().and_then(|start| self.reach.get(start..));
        rest.and_then(|rest| rest.strip_prefix(text)).and_then(<[u8]>::first) == Some(&0)
    }

    /// The bytes that DT_STRSZ counts.
    pub fn counted(&self) -> &'a [u8] {
        usize::try_from(self.size).ok().and_then(|size| self.reach.get(..size)).unwrap_or(self.reach)
    }
}

impl DynamicTable {
    /// The value of the last entry with a tag, which is the one loaders use.
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().rfind(|entry| entry.tag == tag).map(|entry| entry.value)
    }
}

impl<'a> Image<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Image<'a>, Refusal> {
        let elf = Elf::read(bytes)?;
        if !matches!(elf.ident.file_type, FileType::Executable | FileType::Dynamic) {
            return Err(Refusal::NotLoadable);
        }
        let encoding = Encoding { class: elf.ident.class, endian: elf.ident.endian };
        let truncated = || fault(Fault::Truncated { what: "the ELF header" }, bytes.len() as u64);
        let header = encoding.header(bytes).ok_or_else(truncated)?;
        let segments = read_segments(bytes, encoding, &header)?;
        let dynamic = read_dynamic(bytes, encoding, &segments, &elf)?;
        let strings = read_strings(bytes, &segments, &dynamic)?;
        let mut image = Image {
            bytes,
            encoding,
            header,
            segments,
            sections: read_sections(bytes, encoding, &header),
            dynamic,
            strings,
            needs: Vec::new(),
            version_names: Vec::new(),
            elf,
        };
        image.read_needs()?;
        image.read_definitions()?;
        Ok(image)
    }

    /// The bytes from an address on, up to the end of its PT_LOAD in the file.
    pub fn bytes_at(&self, vaddr: u64) -> Option<&'a [u8]> {
        let (start, end) = reach(&self.segments, vaddr, self.bytes.len())?;
        self.bytes.get(start..end)
    }

    /// File offset of an address.
    pub fn offset_of(&self, vaddr: u64) -> Option<u64> {
        reach(&self.segments, vaddr, self.bytes.len()).map(|(start, _)| start as u64)
    }

    pub fn loads(&self) -> impl Iterator<Item = &RawSegment> {
        self.segments.iter().filter(|segment| segment.kind == tags::PT_LOAD)
    }

    /// The largest alignment of a PT_LOAD: the page size that the file was made for.
    pub fn page(&self) -> u64 {
        self.loads().map(|load| load.align).filter(|align| align.is_power_of_two()).max().unwrap_or(4096).max(4096)
    }

    /// The index of the section that is DT_STRTAB: the one that the dynamic section links to, if it does.
    pub fn string_section(&self) -> Option<usize> {
        let table = self.sections.as_ref()?;
        let fits = |section: &RawSection| {
            section.kind == tags::SHT_STRTAB
                && section.flags & tags::SHF_ALLOC != 0
                && section.addr == self.strings.vaddr
        };
        let dynamic = table.entries.iter().find(|(_, section)| section.kind == tags::SHT_DYNAMIC);
        let linked = dynamic.map(|(_, section)| section.link as usize);
        let linked = linked.filter(|index| table.entries.get(*index).is_some_and(|(_, section)| fits(section)));
        linked.or_else(|| table.entries.iter().position(|(_, section)| fits(section)))
    }

    /// `sh_offset` of a section.
    pub fn section_offset(&self, index: usize) -> Option<u64> {
        self.sections.as_ref()?.entries.get(index).map(|(_, section)| section.offset)
    }

    fn read_needs(&mut self) -> Result<(), Refusal> {
        let encoding = self.encoding;
        let (Some(first), Some(count)) =
            (self.dynamic.value(tags::DT_VERNEED), self.dynamic.value(tags::DT_VERNEEDNUM))
        else {
            return Ok(());
        };
        let broken = || fault(Fault::BadTable { what: "DT_VERNEED" }, self.offset_of(first).unwrap_or(0));
        let mut at = first;
        let (mut needs, mut names) = (Vec::new(), Vec::new());
        let budget = (self.bytes.len() / 16).min(VERSIONS_MAX);
        for _ in 0..count {
            let entry = self.bytes_at(at).ok_or_else(broken)?;
            let field = |offset| encoding.u32(entry, offset).ok_or_else(broken);
            let (file, aux, next) = (field(4)?, field(8)?, field(12)?);
            let versions = encoding.u16(entry, 2).ok_or_else(broken)?;
            needs.push(VersionNeed { field: at.wrapping_add(4), file });
            let mut version = at.checked_add(u64::from(aux)).ok_or_else(broken)?;
            for _ in 0..versions {
                let entry = self.bytes_at(version).ok_or_else(broken)?;
                names.push(encoding.u32(entry, 8).ok_or_else(broken)?);
                match encoding.u32(entry, 12).ok_or_else(broken)? {
                    0 => break,
                    step => version = version.checked_add(u64::from(step)).ok_or_else(broken)?,
                }
            }
            if needs.len().saturating_add(names.len()) > budget {
                return Err(broken());
            }
            match next {
                0 => break,
                step => at = at.checked_add(u64::from(step)).ok_or_else(broken)?,
            }
        }
        self.needs = needs;
        self.version_names.append(&mut names);
        Ok(())
    }

    fn read_definitions(&mut self) -> Result<(), Refusal> {
        let encoding = self.encoding;
        let (Some(first), Some(count)) = (self.dynamic.value(tags::DT_VERDEF), self.dynamic.value(tags::DT_VERDEFNUM))
        else {
            return Ok(());
        };
        let broken = || fault(Fault::BadTable { what: "DT_VERDEF" }, self.offset_of(first).unwrap_or(0));
        let mut at = first;
        let mut names = Vec::new();
        for _ in 0..count {
            let entry = self.bytes_at(at).ok_or_else(broken)?;
            let parents = encoding.u16(entry, 6).ok_or_else(broken)?;
            let (aux, next) =
                (encoding.u32(entry, 12).ok_or_else(broken)?, encoding.u32(entry, 16).ok_or_else(broken)?);
            let mut name = at.checked_add(u64::from(aux)).ok_or_else(broken)?;
            for _ in 0..parents {
                let entry = self.bytes_at(name).ok_or_else(broken)?;
                names.push(encoding.u32(entry, 0).ok_or_else(broken)?);
                match encoding.u32(entry, 4).ok_or_else(broken)? {
                    0 => break,
                    step => name = name.checked_add(u64::from(step)).ok_or_else(broken)?,
                }
            }
            if names.len() > (self.bytes.len() / 8).min(VERSIONS_MAX) {
                return Err(broken());
            }
            match next {
                0 => break,
                step => at = at.checked_add(u64::from(step)).ok_or_else(broken)?,
            }
        }
        self.version_names.append(&mut names);
        Ok(())
    }
}

/// File offset of an address, and the end of its segment in the file.
pub(super) fn reach(segments: &[RawSegment], vaddr: u64, len: usize) -> Option<(usize, usize)> {
    segments.iter().filter(|segment| segment.kind == tags::PT_LOAD).find_map(|load| {
        let within = vaddr.checked_sub(load.vaddr).filter(|within| *within < load.file_size)?;
        let start = usize::try_from(load.offset.checked_add(within)?).ok()?;
        let end = usize::try_from(load.offset.checked_add(load.file_size)?).ok()?.min(len);
        (start < end).then_some((start, end))
    })
}

fn read_segments(bytes: &[u8], encoding: Encoding, header: &RawHeader) -> Result<Vec<RawSegment>, Refusal> {
    let bad = || fault(Fault::BadTable { what: "the program headers" }, header.phoff);
    // A larger entry is legal in the format, but no loader accepts it (`glibc elf/dl-load.c`, `open_verify`).
    if usize::from(header.phentsize) != encoding.segment_size() || header.phnum == u16::MAX {
        return Err(bad());
    }
    let size = usize::from(header.phnum).saturating_mul(encoding.segment_size());
    if size > SEGMENTS_MAX {
        return Err(bad());
    }
    let table = usize::try_from(header.phoff).ok().and_then(|start| bytes.get(start..)?.get(..size)).ok_or_else(bad)?;
    Ok(table.chunks_exact(encoding.segment_size()).filter_map(|entry| encoding.segment(entry)).collect())
}

fn read_dynamic(bytes: &[u8], encoding: Encoding, segments: &[RawSegment], elf: &Elf) -> Result<DynamicTable, Refusal> {
    let wanted = |segment: &&RawSegment| segment.kind == tags::PT_DYNAMIC && segment.file_size > 0;
    let (Some(segment), true) = (segments.iter().rfind(wanted), elf.dynamic.is_some()) else {
        return Err(Refusal::Static);
    };
    let bad = || fault(Fault::BadTable { what: "the dynamic section" }, segment.offset);
    let (start, end) = reach(segments, segment.vaddr, bytes.len()).ok_or_else(bad)?;
    let size = usize::try_from(segment.file_size).map_err(|_| bad())?.min(end.saturating_sub(start));
    let table = bytes.get(start..).and_then(|rest| rest.get(..size)).ok_or_else(bad)?;
    let entries: Vec<RawEntry> = table
        .chunks_exact(encoding.entry_size())
        .filter_map(|entry| encoding.entry(entry))
        .take_while(|entry| entry.tag != tags::DT_NULL)
        .take(DYNAMIC_MAX)
        .collect();
    let capacity = size.checked_div(encoding.entry_size()).unwrap_or(0);
    if entries.len() >= capacity {
        return Err(bad());
    }
    Ok(DynamicTable { vaddr: segment.vaddr, capacity, entries })
}

fn read_strings<'a>(
    bytes: &'a [u8],
    segments: &[RawSegment],
    dynamic: &DynamicTable,
) -> Result<StringTable<'a>, Refusal> {
    let vaddr = dynamic.value(tags::DT_STRTAB).ok_or(Refusal::NoStrings)?;
    let (start, mut end) = reach(segments, vaddr, bytes.len()).ok_or(Refusal::NoStrings)?;
    // patchelf puts the table of an ET_EXEC before its content, across the border of two segments that are adjacent
    // both in the file and in memory.
    let follows = |end: usize| {
        let address = vaddr.checked_add(end.checked_sub(start)? as u64)?;
        reach(segments, address, bytes.len()).filter(|(next, _)| *next == end)
    };
    while let Some((_, next)) = follows(end) {
        end = next;
    }
    let reach = bytes.get(start..end).ok_or(Refusal::NoStrings)?;
    let size = dynamic.value(tags::DT_STRSZ).unwrap_or(0).min(reach.len() as u64);
    Ok(StringTable { vaddr, size, reach })
}

/// The section table, if all of it is in the file.
fn read_sections<'a>(bytes: &'a [u8], encoding: Encoding, header: &RawHeader) -> Option<SectionTable<'a>> {
    if header.shoff == 0 || usize::from(header.shentsize) != encoding.section_size() {
        return None;
    }
    let rest = bytes.get(usize::try_from(header.shoff).ok()?..)?;
    let first = encoding.section(rest)?;
    let count = if header.shnum == 0 { usize::try_from(first.size).ok()? } else { usize::from(header.shnum) };
    let table = rest.get(..count.checked_mul(encoding.section_size())?)?;
    let sections: Vec<RawSection> =
        table.chunks_exact(encoding.section_size()).filter_map(|entry| encoding.section(entry)).collect();
    let names = if header.shstrndx == u16::MAX { first.link as usize } else { usize::from(header.shstrndx) };
    let strings = sections.get(names).filter(|section| section.kind == tags::SHT_STRTAB)?;
    let strings = file_bytes(bytes, strings)?;
    let entries = sections
        .iter()
        .map(|section| {
            let sound = section.kind == tags::SHT_NULL
                || section.kind == tags::SHT_NOBITS
                || file_bytes(bytes, section).is_some();
            let name = strings.get(section.name as usize..)?;
            let name = name.get(..name.iter().take(NAME_MAX).position(|byte| *byte == 0)?)?;
            sound.then_some((name, *section))
        })
        .collect::<Option<Vec<_>>>()?;
    Some(SectionTable { entries, names, name_bytes: strings })
}

fn file_bytes<'a>(bytes: &'a [u8], section: &RawSection) -> Option<&'a [u8]> {
    let start = usize::try_from(section.offset).ok()?;
    bytes.get(start..)?.get(..usize::try_from(section.size).ok()?)
}

impl Image<'_> {
    /// Whether the kernel maps the file, not the loader: then no mapping call is seen.
    pub fn is_program(&self) -> bool {
        let pie = self.elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.flags.pie());
        self.elf.ident.file_type == FileType::Executable || pie || self.elf.interpreter.is_some()
    }

    /// Whether DT_HASH has entries of 8 bytes, as on 64-bit s390 and Alpha.
    pub fn has_wide_hash(&self) -> bool {
        const ALPHA: Machine = Machine(0x9026);
        let machine = self.elf.ident.machine;
        self.encoding.class == Class::Elf64 && (machine == Machine::S390 || machine == ALPHA)
    }
}
