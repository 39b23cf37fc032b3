//! What moves to a new place as one piece: sections that made way, a longer dynamic section, the whole string table.
//!
//! The old string table is copied in front of the new names, so every offset in use stays valid and tools that know
//! only the section find every string.

use super::draft::{Draft, Moved};
use super::image::Image;
use super::layout::Segment;
use super::{PlacedString, Strategy, tags};
use bstr::BString;
use std::ops::Range;
use underpin_elf::FileOffset;

/// The start of a block with anything but strings in it is aligned to this.
pub(super) const ALIGN: u64 = 16;

/// The content of a block, in this order.
pub(super) struct Block<'t> {
    /// Addresses that make way.
    pub displaced: Option<Range<u64>>,
    /// How many entries the dynamic section needs, where it has no room for them.
    pub entries: Option<usize>,
    /// The new names.
    pub texts: &'t [BString],
}

impl Block<'_> {
    /// Its size, from an aligned start on.
    pub fn size(&self, image: &Image<'_>) -> u64 {
        let displaced = self.displaced.as_ref().map_or(0, |range| range.end - range.start + range.start % ALIGN);
        self.displaced_at(image).saturating_add(displaced)
    }

    fn strings_size(&self, image: &Image<'_>) -> u64 {
        let texts: u64 = self.texts.iter().map(|text| text.len() as u64 + 1).sum();
        texts.saturating_add(image.strings.counted().len() as u64)
    }

    /// Strings come first: llvm-objcopy takes a PT_INTERP that starts where its PT_LOAD does for the outer of the two,
    /// and then loses the alignment of the PT_LOAD (measured with LLVM 14).
    fn dynamic_at(&self, image: &Image<'_>) -> u64 {
        let strings = self.strings_size(image);
        let alone = self.displaced.is_none() && self.entries.is_none();
        if alone { strings } else { strings.next_multiple_of(ALIGN) }
    }

    fn displaced_at(&self, image: &Image<'_>) -> u64 {
        let dynamic = (self.entries.unwrap_or(0) * image.layout.entry_size()) as u64;
        let behind = self.dynamic_at(image).saturating_add(dynamic);
        if self.displaced.is_none() { behind } else { behind.next_multiple_of(ALIGN) }
    }

    /// Writes it to a place that a segment of the draft holds, and points all that refers to its parts there.
    pub fn write(&self, draft: &mut Draft<'_, '_>, vaddr: u64, offset: u64, strategy: Strategy) -> Option<()> {
        let image = draft.image;
        if let Some(range) = &self.displaced {
            // Keeps the alignment of what moves.
            let at = self.displaced_at(image) + range.start % ALIGN;
            let size = usize::try_from(range.end - range.start).ok()?;
            draft.write(offset + at, image.bytes_at(range.start)?.get(..size)?.to_vec());
            displace(draft, range, vaddr + at, offset + at);
        }
        if let Some(entries) = self.entries {
            let at = self.dynamic_at(image);
            move_dynamic(draft, entries, vaddr + at, offset + at);
        }
        let mut table = image.strings.counted().to_vec();
        draft.strtab = vaddr;
        draft.strsz = table.len() as u64;
        for text in self.texts {
            draft.offsets.insert(text.clone(), table.len() as u64);
            let offset = FileOffset(offset + table.len() as u64);
            draft.placed.push(PlacedString { text: text.clone(), offset, strategy });
            table.extend_from_slice(text);
            table.push(0);
            if draft.interpreter.as_ref() != Some(text) {
                draft.strsz = table.len() as u64;
            }
        }
        draft.write(offset, table);
        if let (Some(sections), Some(index)) = (&mut draft.sections, image.string_section()) {
            let section = sections.headers.get_mut(index)?;
            (section.addr, section.offset, section.size) = (draft.strtab, offset, draft.strsz);
        }
        Some(())
    }
}

/// Points segments (other than PT_LOAD), sections and tags that lie in a range of addresses to its copy.
fn displace(draft: &mut Draft<'_, '_>, range: &Range<u64>, vaddr: u64, offset: u64) {
    let inside = |start: u64, size: u64| start >= range.start && start.saturating_add(size) <= range.end && size > 0;
    for segment in draft.segments.iter_mut().filter(|segment| segment.kind != tags::PT_LOAD) {
        if inside(segment.vaddr, segment.memory_size) {
            let within = segment.vaddr - range.start;
            (segment.offset, segment.vaddr, segment.paddr) = (offset + within, vaddr + within, vaddr + within);
        }
    }
    for section in draft.section_headers() {
        if section.flags & tags::SHF_ALLOC != 0 && inside(section.addr, section.size) {
            let within = section.addr - range.start;
            (section.offset, section.addr) = (offset + within, vaddr + within);
        }
    }
    draft.moved = Some(Moved { from: range.clone(), to: vaddr });
}

fn move_dynamic(draft: &mut Draft<'_, '_>, entries: usize, vaddr: u64, offset: u64) {
    let size = (entries * draft.image.layout.entry_size()) as u64;
    let old = draft.dynamic.0;
    for segment in draft.segments.iter_mut().filter(|segment| segment.kind == tags::PT_DYNAMIC) {
        *segment = Segment { offset, vaddr, paddr: vaddr, file_size: size, memory_size: size, ..*segment };
    }
    for section in draft.section_headers() {
        if section.kind == tags::SHT_DYNAMIC && section.addr == old {
            (section.addr, section.offset, section.size) = (vaddr, offset, size);
        }
    }
    draft.dynamic = (vaddr, entries);
}
