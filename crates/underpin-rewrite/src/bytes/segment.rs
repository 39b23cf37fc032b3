//! A new read-only segment at the end of the file.
//!
//! It is writable only if the dynamic section has to move into it, since the loader writes DT_DEBUG there.

use super::block::{ALIGN, Block};
use super::builder::PatchBuilder;
use super::sizes::table_size;
use super::table::{self, Room};
use super::{Caution, Strategy, tags};
use std::ops::Range;
use underpin_elf::raw::RawSegment;

/// How much glibc reads of a file at first (`glibc elf/dl-load.h`, `struct filebuf`): a program header table that ends
/// beyond it costs a pread64 at each of the two places that look at it.
const FIRST_READ: u64 = 832;

/// Places a block; `None` if there is no room in the address space or for another program header.
pub(super) fn place(builder: &mut PatchBuilder<'_, '_>, mut block: Block<'_>) -> Option<()> {
    let image = builder.image;
    let page = image.page();
    let end = image.loads().map(|load| load.vaddr.saturating_add(load.memory_size)).max()?;
    let room = table::room(image)?;
    let unused = image.segments.iter().position(|segment| segment.kind == tags::PT_NULL);
    let unused = if let Room::Instead(index) = room { Some(index) } else { unused };
    let count = image.segments.len().saturating_add(usize::from(unused.is_none()));
    let new_table = table_size(count, image.encoding.segment_size());
    if let Room::Displacing(range) = &room {
        // Not twice what comes right behind a table that grows.
        if builder.moved.iter().map(|moved| &moved.from).chain(&block.displaced).any(|other| overlap(other, range)) {
            return None;
        }
        block.displaced.push(range.clone());
    }
    builder.pad_to(builder.end().checked_next_multiple_of(ALIGN)?);
    let offset = builder.end();
    let vaddr = end.checked_next_multiple_of(page)?.checked_add(offset.checked_rem(page)?)?;
    let ahead = if matches!(room, Room::Elsewhere) { new_table.next_multiple_of(ALIGN) } else { 0 };
    let size = ahead.checked_add(block.size(image)?)?;
    vaddr.checked_add(size).filter(|end| *end <= image.encoding.highest())?;
    builder.pad_to(offset.checked_add(size)?);
    let flags = if block.entries.is_some() { tags::PF_R | tags::PF_W } else { tags::PF_R };
    let (file_size, memory_size, paddr) = (size, size, vaddr);
    let load = RawSegment { kind: tags::PT_LOAD, flags, offset, vaddr, paddr, file_size, memory_size, align: page };
    if let Some(unused) = unused {
        builder.segments.remove(unused);
    }
    let last = builder.segments.iter().rposition(|segment| segment.kind == tags::PT_LOAD)?;
    builder.segments.insert(last.checked_add(1)?, load);
    block.write(builder, vaddr.checked_add(ahead)?, offset.checked_add(ahead)?, Strategy::NewSegment)?;
    for header in builder.segments.iter_mut().filter(|segment| segment.kind == tags::PT_PHDR) {
        if ahead > 0 {
            (header.offset, header.vaddr, header.paddr) = (offset, vaddr, vaddr);
        }
        (header.file_size, header.memory_size) = (new_table, new_table);
    }
    if ahead > 0 {
        builder.phoff = offset;
        builder.cautions.push(Caution::TableMoved);
        let first = image.loads().map(|load| load.vaddr.wrapping_sub(load.offset)).next()?;
        if image.is_program() && vaddr.wrapping_sub(offset) != first {
            builder.cautions.push(Caution::NeedsKernel5_18);
        }
    }
    let cost = &mut builder.cost;
    cost.segments = cost.segments.saturating_add(1);
    cost.mapped_bytes = cost.mapped_bytes.saturating_add(size);
    if !image.is_program() {
        cost.mmap_calls = cost.mmap_calls.saturating_add(1);
        let old_table = table_size(image.segments.len(), image.encoding.segment_size());
        let was_read = image.header.phoff.saturating_add(old_table) <= FIRST_READ;
        let is_read = builder.phoff.saturating_add(new_table) <= FIRST_READ;
        cost.read_calls = cost.read_calls.saturating_add(if was_read && !is_read { 2 } else { 0 });
    }
    Some(())
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
