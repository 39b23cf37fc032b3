//! What moves to a new place as one piece: displaced sections, a longer dynamic section, the whole string table, the
//! record.
//!
//! If the old string table moves, it is copied in front of the new names, so every offset in use stays valid and tools
//! that know only the section find every string.

use super::builder::{Moved, PatchBuilder, Place};
use super::image::Image;
use super::sizes::{length, table_size, with_nul};
use super::{PlacedString, Strategy, tags};
use bstr::BString;
use std::ops::Range;
use underpin_elf::FileOffset;
use underpin_elf::raw::RawSegment;

/// The start of a block that holds anything but strings is aligned to this.
pub(super) const ALIGN: u64 = 16;

/// The content of a block, in this order: strings, dynamic section, displaced sections, record.
pub(super) struct Block<'t> {
    /// The whole string table, followed by the new names; `None` if it stays.
    pub texts: Option<&'t [BString]>,
    /// How many entries the dynamic section needs, if it has no room for them.
    pub entries: Option<usize>,
    /// Addresses that are displaced.
    pub displaced: Vec<Range<u64>>,
    /// Bytes reserved for the record.
    pub reserve: u64,
}

impl Block<'_> {
    /// Its size, from an aligned start on. The strings come first: llvm-objcopy takes a PT_INTERP that starts where its
    /// PT_LOAD does for the outer of the two, and then loses the alignment of the PT_LOAD (measured with LLVM 14).
    pub fn size(&self, image: &Image<'_>) -> Option<u64> {
        let end = match self.displaced_at(image)?.last() {
            Some((range, at)) => at.checked_add(length(range))?,
            None => self.behind_dynamic(image)?,
        };
        if self.reserve == 0 { Some(end) } else { end.checked_next_multiple_of(4)?.checked_add(self.reserve) }
    }

    fn strings_size(&self, image: &Image<'_>) -> u64 {
        let Some(texts) = self.texts else { return 0 };
        let counted = image.strings.counted().len() as u64;
        texts.iter().fold(counted, |sum, text| sum.saturating_add(with_nul(text)))
    }

    fn dynamic_at(&self, image: &Image<'_>) -> Option<u64> {
        let strings = self.strings_size(image);
        if self.entries.is_none() { Some(strings) } else { strings.checked_next_multiple_of(ALIGN) }
    }

    fn behind_dynamic(&self, image: &Image<'_>) -> Option<u64> {
        self.dynamic_at(image)?.checked_add(table_size(self.entries.unwrap_or(0), image.encoding.entry_size()))
    }

    /// What is displaced and where it goes, each with its old alignment.
    fn displaced_at(&self, image: &Image<'_>) -> Option<Vec<(&Range<u64>, u64)>> {
        let mut end = self.behind_dynamic(image)?;
        let mut places = Vec::new();
        for range in &self.displaced {
            let at = end.checked_next_multiple_of(ALIGN)?.checked_add(range.start % ALIGN)?;
            places.push((range, at));
            end = at.checked_add(length(range))?;
        }
        Some(places)
    }

    /// Writes it to a place that a segment of the builder covers, and points everything that refers to its parts there.
    pub fn write(&self, builder: &mut PatchBuilder<'_, '_>, vaddr: u64, offset: u64, strategy: Strategy) -> Option<()> {
        let image = builder.image;
        for (range, at) in self.displaced_at(image)? {
            displace(builder, range, vaddr.checked_add(at)?, offset.checked_add(at)?)?;
        }
        if let Some(entries) = self.entries {
            let at = self.dynamic_at(image)?;
            move_dynamic(builder, entries, vaddr.checked_add(at)?, offset.checked_add(at)?);
        }
        if self.reserve > 0 {
            let at = self.size(image)?.checked_sub(self.reserve)?;
            let (vaddr, offset) = (vaddr.checked_add(at)?, offset.checked_add(at)?);
            builder.record = Some(Place { vaddr, offset, size: self.reserve });
        }
        let Some(texts) = self.texts else { return Some(()) };
        let mut table = image.strings.counted().to_vec();
        builder.strtab = vaddr;
        builder.strsz = table.len() as u64;
        for text in texts {
            builder.offsets.insert(text.clone(), table.len() as u64);
            let offset = FileOffset(offset.checked_add(table.len() as u64)?);
            builder.placed.push(PlacedString { text: text.clone(), offset, strategy });
            table.extend_from_slice(text);
            table.push(0);
            if builder.interpreter.as_ref() != Some(text) {
                builder.strsz = table.len() as u64;
            }
        }
        builder.write(offset, table);
        if let (Some(sections), Some(index)) = (&mut builder.sections, image.string_section()) {
            let section = sections.headers.get_mut(index)?;
            (section.addr, section.offset, section.size) = (builder.strtab, offset, builder.strsz);
        }
        Some(())
    }
}

/// Copies a range of addresses, and points segments (other than PT_LOAD), sections and tags inside it to the copy.
///
/// What is inside is decided by the addresses of the original: what slid into the place of a displaced section has an
/// address in that range by now, and must not be moved with it.
pub(super) fn displace(builder: &mut PatchBuilder<'_, '_>, range: &Range<u64>, vaddr: u64, offset: u64) -> Option<()> {
    let size = usize::try_from(length(range)).ok()?;
    vaddr.checked_add(length(range)).and(offset.checked_add(length(range)))?;
    // A distance within the range, added to either place, cannot overflow from here on.
    let moved = |address: u64, to: u64| to.saturating_add(address.saturating_sub(range.start));
    builder.write(offset, builder.image.bytes_at(range.start)?.get(..size)?.to_vec());
    let image = builder.image;
    let inside = |start: u64, size: u64| start >= range.start && start.saturating_add(size) <= range.end && size > 0;
    let stays = |one: &RawSegment| image.segments.iter().any(|was| (was.kind, was.vaddr) == (one.kind, one.vaddr));
    for segment in builder.segments.iter_mut().filter(|segment| segment.kind != tags::PT_LOAD) {
        if inside(segment.vaddr, segment.memory_size) && stays(segment) {
            let to = moved(segment.vaddr, vaddr);
            (segment.offset, segment.vaddr, segment.paddr) = (moved(segment.vaddr, offset), to, to);
        }
    }
    let originals = image.sections.iter().flat_map(|table| &table.entries);
    for (section, (_, was)) in builder.section_headers().zip(originals) {
        if was.flags & tags::SHF_ALLOC != 0 && inside(was.addr, was.size) {
            (section.offset, section.addr) = (moved(was.addr, offset), moved(was.addr, vaddr));
        }
    }
    if range.contains(&builder.dynamic.0) && builder.dynamic.0 == image.dynamic.vaddr {
        builder.dynamic.0 = moved(builder.dynamic.0, vaddr);
    }
    builder.moved.push(Moved { from: range.clone(), to: vaddr });
    Some(())
}

fn move_dynamic(builder: &mut PatchBuilder<'_, '_>, entries: usize, vaddr: u64, offset: u64) {
    let size = table_size(entries, builder.image.encoding.entry_size());
    let old = builder.dynamic.0;
    for segment in builder.segments.iter_mut().filter(|segment| segment.kind == tags::PT_DYNAMIC) {
        *segment = RawSegment { offset, vaddr, paddr: vaddr, file_size: size, memory_size: size, ..*segment };
    }
    for section in builder.section_headers() {
        if section.kind == tags::SHT_DYNAMIC && section.addr == old {
            (section.addr, section.offset, section.size) = (vaddr, offset, size);
        }
    }
    builder.dynamic = (vaddr, entries);
}
