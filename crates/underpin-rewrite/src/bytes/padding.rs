//! Names in the padding of a page: zeros behind a segment that is not writable, up to the next page or segment.
//!
//! Such bytes are mapped already, whatever the segment's size says, because pages are mapped whole; raising the size
//! makes them part of the segment by the letter. Several gaps are used where one does not suffice.

use super::draft::Draft;
use super::image::Image;
use super::layout::{Section, Segment};
use super::{Strategy, tags};
use bstr::BString;

/// Room behind a segment.
#[derive(Clone, Copy, Debug)]
struct Gap {
    segment: usize,
    offset: u64,
    vaddr: u64,
    /// Bytes that may be used.
    room: u64,
}

/// Places all strings, or says that there is no room.
pub(super) fn place(draft: &mut Draft<'_, '_>, texts: &[BString]) -> Option<()> {
    let image = draft.image;
    let mut gaps = gaps(image);
    gaps.retain(|gap| gap.vaddr > draft.strtab);
    // Whole names are never split: the longest first, each in the first gap that still takes it.
    let mut order: Vec<&BString> = texts.iter().collect();
    order.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut used = vec![0u64; gaps.len()];
    for text in order {
        let size = text.len() as u64 + 1;
        let (gap, used) = gaps.iter().zip(&mut used).find(|(gap, used)| gap.room - **used >= size)?;
        draft.place(text, gap.vaddr + *used, gap.offset + *used, Strategy::PagePadding);
        *used += size;
    }
    for (gap, used) in gaps.iter().zip(used).filter(|(_, used)| *used > 0) {
        let page = image.page().min(4096);
        let segment = draft.segments.get_mut(gap.segment)?;
        let pages = |size: u64| (segment.vaddr + size).div_ceil(page);
        draft.cost.mapped_bytes += (pages(segment.file_size + used) - pages(segment.file_size)) * page;
        segment.file_size += used;
        segment.memory_size += used;
        let registered = Section {
            kind: tags::SHT_PROGBITS,
            flags: tags::SHF_ALLOC,
            addr: gap.vaddr,
            offset: gap.offset,
            size: used,
            align: 1,
            ..Section::default()
        };
        if let Some(sections) = &mut draft.sections {
            sections.push((b".underpin.names".to_vec(), registered));
        }
    }
    Some(())
}

/// The usable gaps: read-only segments before executable ones.
fn gaps(image: &Image<'_>) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = image
        .segments
        .iter()
        .enumerate()
        .filter(|(_, segment)| segment.kind == tags::PT_LOAD && segment.flags & tags::PF_W == 0)
        .filter(|(_, segment)| segment.file_size > 0 && segment.file_size == segment.memory_size)
        .filter_map(|(index, segment)| gap(image, index, segment))
        .collect();
    gaps.sort_by_key(|gap| {
        let executable = image.segments.get(gap.segment).is_some_and(|segment| segment.flags & tags::PF_X != 0);
        (executable, gap.offset)
    });
    gaps
}

fn gap(image: &Image<'_>, index: usize, segment: &Segment) -> Option<Gap> {
    let offset = segment.offset.checked_add(segment.file_size)?;
    let vaddr = segment.vaddr.checked_add(segment.memory_size)?;
    let room = file_room(image, offset)?.min(memory_room(image, segment, vaddr)?);
    let start = usize::try_from(offset).ok()?;
    let bytes = image.bytes.get(start..)?.get(..usize::try_from(room).ok()?)?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count() as u64;
    (zeros > 0).then_some(Gap { segment: index, offset, vaddr, room: zeros })
}

/// How many bytes from `offset` on belong to nothing: no segment, section, table or the end of the file.
fn file_room(image: &Image<'_>, offset: u64) -> Option<u64> {
    let layout = image.layout;
    let headers = [
        (0, layout.header_size() as u64),
        (image.header.phoff, image.segments.len() as u64 * layout.segment_size() as u64),
        (image.header.shoff, u64::from(image.header.shnum) * layout.section_size() as u64),
        (image.bytes.len() as u64, u64::MAX - image.bytes.len() as u64),
    ];
    let segments = image.segments.iter().filter(|segment| segment.kind != tags::PT_NULL);
    let sections = image.sections.iter().flat_map(|table| &table.entries).map(|(_, section)| section);
    let sections = sections.filter(|section| section.kind != tags::SHT_NOBITS && section.kind != tags::SHT_NULL);
    let taken = headers
        .into_iter()
        .chain(segments.map(|segment| (segment.offset, segment.file_size)))
        .chain(sections.map(|section| (section.offset, section.size)));
    let mut limit = u64::MAX;
    for (start, size) in taken.filter(|(_, size)| *size > 0) {
        let end = start.saturating_add(size);
        if start >= offset {
            limit = limit.min(start);
        } else if end > offset {
            return None;
        }
    }
    limit.checked_sub(offset).filter(|room| *room > 0)
}

/// How many addresses from `vaddr` on are free: up to the page of the next segment, or to the end of the own page
/// where there is none.
fn memory_room(image: &Image<'_>, segment: &Segment, vaddr: u64) -> Option<u64> {
    let page = image.page();
    let mut limit = vaddr.checked_next_multiple_of(page)?.min(image.layout.highest());
    let others = image.loads().filter(|load| **load != *segment);
    let next = others.filter(|load| load.vaddr >= segment.vaddr).map(|load| load.vaddr).min();
    if let Some(next) = next {
        limit = (next / page * page).min(image.layout.highest());
    }
    limit.checked_sub(vaddr).filter(|room| *room > 0)
}
