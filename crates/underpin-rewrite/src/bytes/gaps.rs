//! Room in segments that are not writable: padding after them, and holes that patchelf has left inside them.

use super::builder::PatchBuilder;
use super::image::{Image, SectionTable};
use super::sizes::{table_size, whole_steps};
use super::{room, tags};
use underpin_elf::raw::RawSegment;

/// The unit in which memory is mapped, for the purpose of costs.
const PAGE: u64 = 4096;
/// What patchelf fills the old place of a section with: up to 0.14, and since.
const LEFT: [u8; 2] = [b'X', b'Z'];
/// Most zeros before the first fill letter.
const ALIGNMENT: usize = 64;
/// Program headers that another tool may want to add: room after the table stays free for them.
const HEADERS_MORE: usize = 4;
/// Smaller holes are useless.
const HOLE_MIN: u64 = 64;
/// Files with more sections are not searched for holes: each is compared with all.
const SECTIONS_MAX: usize = 512;

/// Room for bytes that are mapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    segment: usize,
    pub offset: u64,
    pub vaddr: u64,
    /// Bytes that may be used.
    pub room: u64,
    /// Whether it begins where its segment ends.
    behind: bool,
}

impl Gap {
    /// The rest of it from an aligned offset on.
    pub fn after(self, used: u64, align: u64) -> Option<Gap> {
        let vaddr = self.vaddr.checked_add(used)?.checked_next_multiple_of(align)?;
        let used = vaddr.checked_sub(self.vaddr)?;
        let room = self.room.checked_sub(used).filter(|room| *room > 0)?;
        Some(Gap { offset: self.offset.checked_add(used)?, vaddr, room, ..self })
    }
}

impl Gap {
    /// Whether it is the padding after the segment that ends at an address.
    pub fn follows(&self, vaddr: u64) -> bool {
        self.behind && self.vaddr == vaddr
    }
}

/// Makes everything up to the first bytes of a gap part of its segment.
pub(super) fn grow(builder: &mut PatchBuilder<'_, '_>, gap: &Gap, size: u64) -> Option<()> {
    if !gap.behind {
        builder.taken.push((gap.offset, gap.offset.checked_add(size)?));
        return Some(());
    }
    let segment = builder.segments.get_mut(gap.segment)?;
    let end = segment.vaddr.checked_add(segment.memory_size)?;
    let new_end = gap.vaddr.checked_add(size)?.max(end);
    let more = new_end.checked_sub(end)?;
    (segment.file_size, segment.memory_size) =
        (segment.file_size.checked_add(more)?, segment.memory_size.checked_add(more)?);
    let pages = new_end.div_ceil(PAGE).saturating_sub(end.div_ceil(PAGE));
    builder.cost.mapped_bytes = builder.cost.mapped_bytes.saturating_add(pages.saturating_mul(PAGE));
    Some(())
}

/// The usable gaps: holes first, then those of read-only segments before those of executable ones.
pub(super) fn gaps(image: &Image<'_>) -> Vec<Gap> {
    let fixed = |segment: &&RawSegment| segment.kind == tags::PT_LOAD && segment.flags & tags::PF_W == 0;
    let all = image.segments.iter().enumerate();
    let mut gaps: Vec<Gap> = all
        .clone()
        .filter(|(_, segment)| fixed(segment) && segment.file_size > 0 && segment.file_size == segment.memory_size)
        .filter_map(|(index, segment)| padding(image, index, segment))
        .collect();
    gaps.sort_by_key(|gap| {
        let executable = image.segments.get(gap.segment).is_some_and(|segment| segment.flags & tags::PF_X != 0);
        (executable, gap.offset)
    });
    let holes = all.filter(|(_, segment)| fixed(segment)).flat_map(|(index, segment)| holes(image, index, segment));
    let holes: Vec<Gap> = holes.collect();
    holes.into_iter().chain(gaps).collect()
}

/// The largest part of each gap that a builder has left, for bytes of an alignment. Only for a builder without a new
/// segment.
pub(super) fn left(builder: &PatchBuilder<'_, '_>, align: u64) -> Vec<Gap> {
    let rest = |gap: Gap| {
        let (old, new) = (builder.image.segments.get(gap.segment)?, builder.segments.get(gap.segment)?);
        let inside = builder
            .taken
            .iter()
            .filter(|(start, _)| *start >= gap.offset && *start < gap.offset.saturating_add(gap.room));
        let hole = inside.map(|(_, end)| end.saturating_sub(gap.offset)).max().unwrap_or(0);
        gap.after(if gap.behind { new.memory_size.saturating_sub(old.memory_size) } else { hole }, align)
    };
    gaps(builder.image).into_iter().filter_map(rest).collect()
}

fn padding(image: &Image<'_>, index: usize, segment: &RawSegment) -> Option<Gap> {
    let offset = segment.offset.checked_add(segment.file_size)?;
    let vaddr = segment.vaddr.checked_add(segment.memory_size)?;
    let room = room::zero_room(image, offset).min(memory_room(image, segment, vaddr)?);
    // Another segment over the same bytes would map the names where nothing expects them.
    let shared = image.loads().any(|load| {
        load != segment
            && load.offset < offset.saturating_add(room)
            && load.offset.saturating_add(load.file_size) > offset
    });
    (room > 0 && !shared).then_some(Gap { segment: index, offset, vaddr, room, behind: true })
}

/// How many addresses from `vaddr` on are free: up to the page of the next segment, or to the end of its own page if
/// there is none.
fn memory_room(image: &Image<'_>, segment: &RawSegment, vaddr: u64) -> Option<u64> {
    let page = image.page();
    let mut limit = vaddr.checked_next_multiple_of(page)?.min(image.encoding.highest());
    let others = image.loads().filter(|load| **load != *segment);
    let next = others.filter(|load| load.vaddr >= segment.vaddr).map(|load| load.vaddr).min();
    if let Some(next) = next {
        limit = whole_steps(next, page).min(image.encoding.highest());
    }
    limit.checked_sub(vaddr).filter(|room| *room > 0)
}

/// What patchelf has left of sections that it moved away: no section covers it, nothing refers to it, and it is filled
/// with one letter.
fn holes(image: &Image<'_>, index: usize, load: &RawSegment) -> Vec<Gap> {
    let few = |table: &&SectionTable<'_>| table.entries.len() <= SECTIONS_MAX;
    let Some(table) = image.sections.as_ref().filter(few) else { return Vec::new() };
    let end = load.offset.saturating_add(load.file_size).min(image.bytes.len() as u64);
    let starts = table.entries.iter().map(|(_, section)| section.offset.saturating_add(section.size));
    let headers = table_size(image.segments.len().saturating_add(HEADERS_MORE), image.encoding.segment_size());
    let mut starts: Vec<u64> = starts.chain([image.header.phoff.saturating_add(headers)]).collect();
    starts.retain(|start| *start >= load.offset && *start < end);
    starts.sort_unstable();
    starts.dedup();
    let hole = |offset: u64| {
        let room = left_room(image, offset).min(end.saturating_sub(offset));
        let vaddr = load.vaddr.checked_add(offset.checked_sub(load.offset)?)?;
        let inside = |address: u64| address.checked_sub(vaddr).is_some_and(|within| within < room);
        let addressed = image.dynamic.entries.iter().filter(|entry| tags::ADDRESS_TAGS.contains(&entry.tag));
        let mut addresses = addressed.map(|entry| entry.value).chain([image.header.entry, image.strings.vaddr]);
        let free = room >= HOLE_MIN && !addresses.any(inside) && !is_shared(image, index, offset, room);
        free.then_some(Gap { segment: index, offset, vaddr, room, behind: false })
    };
    starts.into_iter().filter_map(hole).collect()
}

fn is_shared(image: &Image<'_>, index: usize, offset: u64, room: u64) -> bool {
    let others = image.segments.iter().enumerate().filter(|(at, other)| *at != index && other.kind == tags::PT_LOAD);
    others.into_iter().any(|(_, load)| {
        load.offset < offset.saturating_add(room) && load.offset.saturating_add(load.file_size) > offset
    })
}

/// How many bytes from an offset on belong to nothing and are what patchelf leaves: one letter, and the zeros that were
/// between two sections.
pub(super) fn left_room(image: &Image<'_>, offset: u64) -> u64 {
    let bytes = usize::try_from(offset).ok().and_then(|start| image.bytes.get(start..)).unwrap_or_default();
    let letter = bytes.iter().take(ALIGNMENT).find(|byte| **byte != 0);
    let Some(letter) = letter.filter(|letter| LEFT.contains(letter) && image.sections.is_some()) else { return 0 };
    let size = usize::try_from(room::file_room(image, offset)).unwrap_or(0);
    bytes.iter().take(size).take_while(|byte| **byte == 0 || *byte == letter).count() as u64
}
