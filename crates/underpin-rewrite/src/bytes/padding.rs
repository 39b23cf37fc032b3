//! Names in the padding of a page: zeros behind a segment that is not writable, up to the next page or segment.
//!
//! Such bytes are mapped already, whatever the segment's size says, because pages are mapped whole; raising the size
//! makes them part of the segment by the letter. Where a gap takes the whole string table with the names, it moves
//! there; else the names alone do, over several gaps where one does not suffice, and [`view`] serves the tools.

use super::block::Block;
use super::draft::Draft;
use super::image::Image;
use super::layout::{Section, Segment};
use super::{Strategy, room, tags, view};
use bstr::BString;

/// The unit in which memory is mapped, as far as the cost is concerned.
const PAGE: u64 = 4096;

/// Room behind a segment.
#[derive(Clone, Copy, Debug)]
struct Gap {
    segment: usize,
    offset: u64,
    vaddr: u64,
    /// Bytes that may be used.
    room: u64,
}

/// Moves the whole string table into one gap, or says that there is no room.
pub(super) fn place_table(draft: &mut Draft<'_, '_>, texts: &[BString]) -> Option<()> {
    let block = Block { displaced: None, entries: None, texts };
    let size = block.size(draft.image);
    let gap = gaps(draft.image).into_iter().find(|gap| gap.room >= size)?;
    grow(draft, &gap, size)?;
    block.write(draft, gap.vaddr, gap.offset, Strategy::PagePadding)
}

/// Places the names alone, or says that there is no room.
pub(super) fn place_names(draft: &mut Draft<'_, '_>, texts: &[BString]) -> Option<()> {
    let mut gaps = gaps(draft.image);
    gaps.retain(|gap| gap.vaddr > draft.strtab);
    // Whole names are never split: the longest first, each in the first gap that still takes it. The loader's name comes
    // last: `.interp` describes it, and strip pulls sections apart that lie over each other.
    let interpreter = draft.interpreter.clone();
    let is_interpreter = |text: &BString| interpreter.as_ref() == Some(text);
    let mut order: Vec<&BString> = texts.iter().collect();
    order.sort_by_key(|text| (is_interpreter(text), std::cmp::Reverse(text.len())));
    let mut used = vec![(0u64, 0u64); gaps.len()];
    for text in order {
        let size = text.len() as u64 + 1;
        let (gap, (used, named)) = gaps.iter().zip(&mut used).find(|(gap, (used, _))| gap.room - used >= size)?;
        draft.place(text, gap.vaddr + *used, gap.offset + *used, Strategy::PagePadding);
        *used += size;
        if !is_interpreter(text) {
            *named = *used;
        }
    }
    for (gap, (used, named)) in gaps.iter().zip(used).filter(|(_, (used, _))| *used > 0) {
        grow(draft, gap, used)?;
        let registered = Section {
            kind: tags::SHT_PROGBITS,
            flags: tags::SHF_ALLOC,
            addr: gap.vaddr,
            offset: gap.offset,
            size: named,
            align: 1,
            ..Section::default()
        };
        if let Some(sections) = draft.sections.as_mut().filter(|_| named > 0) {
            sections.add(view::NAMES, registered);
        }
    }
    view::register(draft)
}

/// Makes the first bytes of a gap part of its segment.
fn grow(draft: &mut Draft<'_, '_>, gap: &Gap, size: u64) -> Option<()> {
    let segment = draft.segments.get_mut(gap.segment)?;
    let end = segment.vaddr + segment.memory_size;
    draft.cost.mapped_bytes += ((end + size).div_ceil(PAGE) - end.div_ceil(PAGE)) * PAGE;
    segment.file_size += size;
    segment.memory_size += size;
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
    let room = room::zero_room(image, offset).min(memory_room(image, segment, vaddr)?);
    // Another segment over the same bytes would map the names where nothing knows them.
    let shared = image.loads().any(|load| {
        load != segment && load.offset < offset + room && load.offset.saturating_add(load.file_size) > offset
    });
    (room > 0 && !shared).then_some(Gap { segment: index, offset, vaddr, room })
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
