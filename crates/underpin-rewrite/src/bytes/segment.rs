//! A new read-only segment at the end of the file, holding a new program header table and a whole new string table.
//!
//! The old string table is copied in front of the new names, so every offset in use stays valid and tools that know
//! only the section find every string.

use super::draft::Draft;
use super::layout::Segment;
use super::{Strategy, tags};
use bstr::BString;

/// What glibc reads at first of a file (`glibc elf/dl-load.h`, `struct filebuf`, 64 bit): a program header table that
/// ends behind it costs a pread64 at each of the two places that look at it.
const FIRST_READ: u64 = 832;

/// Places all strings, or says that there is no room in the address space.
pub(super) fn place(draft: &mut Draft<'_, '_>, texts: &[BString]) -> Option<()> {
    let image = draft.image;
    let layout = image.layout;
    let page = image.page();
    let end = image.loads().map(|load| load.vaddr.saturating_add(load.memory_size)).max()?;
    let count = image.segments.len() as u64 + 1;
    draft.pad_to(draft.end().next_multiple_of(8));
    let offset = draft.end();
    let vaddr = end.checked_next_multiple_of(page)?.checked_add(offset % page)?;
    let table = count * layout.segment_size() as u64;
    let old = image.strings.counted();
    let strings = table + old.len() as u64;
    draft.pad_to(offset + table);
    draft.tail.extend_from_slice(old);
    draft.strtab = vaddr + table;
    draft.strsz = old.len() as u64;
    let mut at = strings;
    for text in texts {
        draft.pad_to(offset + at + text.len() as u64 + 1);
        draft.place(text, vaddr + at, offset + at, Strategy::NewSegment);
        at += text.len() as u64 + 1;
    }
    vaddr.checked_add(at).filter(|end| *end <= layout.highest())?;
    let load = Segment {
        kind: tags::PT_LOAD,
        flags: tags::PF_R,
        offset,
        vaddr,
        paddr: vaddr,
        file_size: at,
        memory_size: at,
        align: page,
    };
    let last = draft.segments.iter().rposition(|segment| segment.kind == tags::PT_LOAD)?;
    draft.segments.insert(last + 1, load);
    for segment in draft.segments.iter_mut().filter(|segment| segment.kind == tags::PT_PHDR) {
        (segment.offset, segment.vaddr, segment.paddr) = (offset, vaddr, vaddr);
        (segment.file_size, segment.memory_size) = (table, table);
    }
    draft.phoff = offset;
    let index = image.string_section();
    if let (Some(sections), Some(index)) = (&mut draft.sections, index) {
        let (_, section) = sections.get_mut(index)?;
        (section.addr, section.offset, section.size) = (draft.strtab, offset + table, at - table);
    }
    draft.cost.segments += 1;
    draft.cost.mmap_calls += 1;
    draft.cost.mapped_bytes += at;
    draft.cost.read_calls += if image.header.phoff.saturating_add(table) <= FIRST_READ { 2 } else { 0 };
    Some(())
}
