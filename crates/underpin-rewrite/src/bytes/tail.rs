//! Names after the last writable segment, whose zeros (bss) are then in the file.
//!
//! No segment is added, and if the zeros had a mapping of their own, one is saved. What follows the segment in the file
//! is moved if possible (sections outside of all segments); else the content of the segment is copied to the end of the
//! file and the segment points there: same addresses, other offsets.

use super::block::{ALIGN, Block};
use super::builder::PatchBuilder;
use super::{Strategy, cut, tags};
use underpin_elf::raw::{RawSection, RawSegment};

/// Most bytes that are copied, written out as zeros or skipped for alignment: beyond this a new segment costs less,
/// unless the file is so large that they hardly matter.
const LIMIT: u64 = 256 << 10;
/// The unit in which memory is mapped, for the purpose of costs.
const PAGE: u64 = 4096;

/// Places a block; `None` if the segment is too large or not the last. `slid` bytes stay free before it, for what
/// slides there.
pub(super) fn place(builder: &mut PatchBuilder<'_, '_>, block: &Block<'_>, slid: u64) -> Option<()> {
    let image = builder.image;
    let index = last_writable(builder)?;
    let old = *builder.segments.get(index)?;
    let end = old.vaddr.checked_add(old.memory_size)?.checked_add(slid)?;
    let at = end.checked_next_multiple_of(ALIGN)?.checked_sub(old.vaddr)?;
    if at.saturating_sub(old.file_size) > LIMIT.max(image.bytes.len() as u64 / 128) {
        return None;
    }
    let size = at.checked_add(block.size(image)?)?;
    old.vaddr.checked_add(size).filter(|end| *end <= image.encoding.highest())?;
    let offset = content(builder, &old)?;
    // Nothing slides into zeros, nor into a copy, nor out of another segment: it has to be in the segment that grows.
    let is_of_strings = (old.vaddr..end).contains(&image.strings.vaddr);
    if slid > 0 && (!is_of_strings || offset != old.offset || old.file_size != old.memory_size) {
        return None;
    }
    builder.pad_to(offset.checked_add(size)?);
    let new = RawSegment { offset, file_size: size, memory_size: size, ..old };
    *builder.segments.get_mut(index)? = new;
    repoint(builder, &old, &new);
    block.write(builder, new.vaddr.checked_add(at)?, new.offset.checked_add(at)?, Strategy::DataTail)?;
    let pages = |end: u64| old.vaddr.saturating_add(end).div_ceil(PAGE);
    let more = pages(size).saturating_sub(pages(old.memory_size)).saturating_mul(PAGE);
    builder.cost.mapped_bytes = builder.cost.mapped_bytes.saturating_add(more);
    // glibc maps zeros beyond the last page of the file's content separately (`elf/dl-map-segments.h`).
    let had_zeros = pages(old.memory_size) > pages(old.file_size);
    let saved = i32::from(had_zeros && !image.is_program());
    builder.cost.mmap_calls = builder.cost.mmap_calls.saturating_sub(saved);
    Some(())
}

/// Ensures that the content of the segment is the last thing in the file, and returns where it begins.
fn content(builder: &mut PatchBuilder<'_, '_>, old: &RawSegment) -> Option<u64> {
    let image = builder.image;
    let behind = old.offset.checked_add(old.file_size)?;
    if let Some(cut) = builder.sections.as_ref().and_then(|_| cut::at(image, behind)) {
        builder.cut(cut);
        return Some(old.offset);
    }
    let align = old.align.max(1);
    let offset = builder.end().checked_next_multiple_of(align)?.checked_add(old.vaddr.checked_rem(align)?)?;
    // No further away than needed.
    let offset = offset.checked_sub(align).filter(|offset| *offset >= builder.end()).unwrap_or(offset);
    // What was already written into the content would be left at the old place.
    if offset.saturating_sub(builder.end()) > LIMIT || old.file_size > LIMIT || builder.has_written(old.offset..behind)
    {
        return None;
    }
    builder.pad_to(offset);
    let content = image.bytes.get(usize::try_from(old.offset).ok()?..)?.get(..usize::try_from(old.file_size).ok()?)?;
    builder.tail.extend_from_slice(content);
    Some(offset)
}

/// The PT_LOAD with the highest addresses, if it is writable, has content and overlaps no other.
fn last_writable(builder: &PatchBuilder<'_, '_>) -> Option<usize> {
    let loads = builder.segments.iter().enumerate().filter(|(_, segment)| segment.kind == tags::PT_LOAD);
    let (index, last) = loads.max_by_key(|(_, segment)| segment.vaddr)?;
    let sound = last.flags & tags::PF_W != 0
        && last.file_size > 0
        && last.file_size <= last.memory_size
        && last.align.max(1).is_power_of_two()
        && last.vaddr.checked_rem(last.align.max(1)) == last.offset.checked_rem(last.align.max(1));
    sound.then_some(index)
}

/// Points segments and sections inside the moved one to the new place of their bytes. Loaders use addresses, tools use
/// offsets. Zeros that are now in the file are no longer SHT_NOBITS, or strip would drop them and what follows.
fn repoint(builder: &mut PatchBuilder<'_, '_>, old: &RawSegment, new: &RawSegment) {
    let end = old.vaddr.saturating_add(old.memory_size);
    let inside = |vaddr: u64| vaddr >= old.vaddr && vaddr < end;
    let moved = |vaddr: u64| new.offset.saturating_add(vaddr.saturating_sub(old.vaddr));
    let others = builder.segments.iter_mut().filter(|segment| segment.kind != tags::PT_LOAD);
    for segment in others.filter(|segment| inside(segment.vaddr) && segment.memory_size > 0) {
        segment.offset = moved(segment.vaddr);
        // RELRO may extend into the former zeros.
        if segment.kind == tags::PT_GNU_RELRO {
            segment.file_size = segment.memory_size;
        }
    }
    let allocated = |section: &&mut RawSection| section.flags & tags::SHF_ALLOC != 0;
    for section in builder.section_headers().filter(allocated) {
        let at_end = section.addr == end && section.size == 0;
        if !(inside(section.addr) || at_end) {
            continue;
        }
        section.offset = moved(section.addr);
        if section.kind == tags::SHT_NOBITS && section.flags & tags::SHF_TLS == 0 {
            section.kind = tags::SHT_PROGBITS;
        }
    }
}
