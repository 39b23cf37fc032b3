//! Reads the section table.

use crate::budget::{Budget, Strings};
use crate::raw::{Encoding, RawSection};
use crate::region::Region;
use crate::window::Window;
use crate::{ElfError, Fault, FileOffset, Section, SectionKind, Source, Vaddr};
use bstr::BString;

/// The value of `e_shstrndx` meaning that the index is in `sh_link` of section 0.
const INDEX_ELSEWHERE: u16 = 0xffff;

/// The sections; a file without a table has none. Invalid names are left empty and reported in `defects`.
pub(crate) fn read<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    defects: &mut Vec<ElfError>,
) -> Result<Vec<Section>, ElfError> {
    let Some(header) = encoding.header(window.head()).filter(|header| header.shoff != 0) else {
        return Ok(Vec::new());
    };
    let entry = usize::from(header.shentsize);
    if entry < encoding.section_size() {
        let fault = Fault::BadHeader { field: "e_shentsize", value: entry as u64 };
        return Err(ElfError { fault, offset: FileOffset(if encoding.word_size() == 8 { 58 } else { 46 }) });
    }
    let first = window.range(header.shoff, entry as u64, "the section table")?;
    let zero = encoding.section(&first).unwrap_or(EMPTY);
    let count = if header.shnum == 0 { zero.size } else { u64::from(header.shnum) };
    let names = if header.shstrndx == INDEX_ELSEWHERE { zero.link } else { u32::from(header.shstrndx) };
    let size = count.saturating_mul(entry as u64);
    let bytes = window.range(header.shoff, size, "the section table")?;
    let raw: Vec<RawSection> = bytes.chunks_exact(entry).filter_map(|bytes| encoding.section(bytes)).collect();
    Ok(with_names(window, &raw, names, defects))
}

const EMPTY: RawSection =
    RawSection { name: 0, kind: 0, flags: 0, addr: 0, offset: 0, size: 0, link: 0, info: 0, align: 0, entry_size: 0 };

fn with_names<S: Source + ?Sized>(
    window: &Window<'_, S>,
    raw: &[RawSection],
    names: u32,
    defects: &mut Vec<ElfError>,
) -> Vec<Section> {
    let what = "the section names";
    let table = usize::try_from(names).ok().and_then(|index| raw.get(index)).filter(|_| names != 0);
    let region = table.map(|table| Region::new(window, what, table.offset, end_of(table), table.size));
    let mut region = region.and_then(|region| region.map_err(|error| defects.push(error)).ok());
    let mut budget = Budget::of(window.len());
    let mut sections = Vec::with_capacity(raw.len());
    for section in raw {
        let name = region.as_mut().map(|region| region.string(u64::from(section.name), &mut budget).map(BString::from));
        let name = match name {
            Some(Ok(name)) => name,
            Some(Err(error)) => {
                defects.push(error);
                region = None;
                BString::default()
            }
            None => BString::default(),
        };
        sections.push(section_of(section, name));
    }
    sections
}

fn end_of(section: &RawSection) -> u64 {
    section.offset.saturating_add(section.size)
}

fn section_of(raw: &RawSection, name: BString) -> Section {
    Section {
        name,
        kind: SectionKind::from_raw(raw.kind),
        flags: raw.flags,
        vaddr: Vaddr(raw.addr),
        offset: FileOffset(raw.offset),
        size: raw.size,
        link: raw.link,
        info: raw.info,
        align: raw.align,
        entry_size: raw.entry_size,
    }
}
