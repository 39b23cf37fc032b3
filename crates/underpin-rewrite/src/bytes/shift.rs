//! A string table that grows where it stands: what follows it makes way.
//!
//! Linkers and readers see one `.dynstr` that holds every string at its old offset and the names behind, as they do if
//! the whole table moves; but only the small tables behind it have moved (those of versions, which are found by their
//! tags). The string table itself may be megabytes.

use super::draft::Draft;
use super::image::Image;
use super::{PlacedString, Strategy, table};
use bstr::BString;
use std::ops::Range;
use underpin_elf::FileOffset;

/// Most bytes that make way.
const LIMIT: u64 = 1 << 20;
/// Most bytes between two sections that alignment explains.
const ALIGNMENT: u64 = 64;

/// The sections that have to make way, as addresses; empty if there is room without.
pub(super) fn in_the_way(image: &Image<'_>, texts: &[BString]) -> Option<Range<u64>> {
    let wanted: u64 = texts.iter().map(|text| text.len() as u64 + 1).sum();
    let index = image.string_section()?;
    let sections = &image.sections.as_ref()?.entries;
    let (_, strings) = sections.get(index)?;
    let own_offset = image.offset_of(strings.addr)?;
    if strings.size != image.strings.counted().len() as u64 || strings.offset != own_offset {
        return None;
    }
    let start = strings.addr.checked_add(strings.size)?;
    let mut behind: Vec<_> = sections
        .iter()
        .map(|(_, section)| section)
        .filter(|section| section.addr >= start && table::is_allocated(section))
        .collect();
    behind.sort_by_key(|section| section.addr);
    let (mut first, mut end) = (None, start);
    let mut behind = behind.into_iter();
    loop {
        // The end of a segment is for its padding: that is another place.
        let next = behind.next()?;
        is_alignment(image, end, next.addr)?;
        if next.addr - start >= wanted {
            break;
        }
        let size = next.addr.checked_add(next.size)?;
        let in_step = image.offset_of(next.addr) == Some(next.offset) && next.offset >= own_offset;
        if !(in_step && table::is_movable(image, next) && size - start <= LIMIT) {
            return None;
        }
        first.get_or_insert(next.addr);
        end = size;
    }
    // No program header but those of whole segments may point into what is written over.
    let over = start..start.checked_add(wanted)?.max(end);
    let crossed = table::crosses(image, &over) || image.offset_of(over.end) != own_offset.checked_add(over.end - strings.addr);
    (!crossed).then_some(first.unwrap_or(end)..end)
}

/// Zeros up to the next section.
fn is_alignment(image: &Image<'_>, end: u64, next: u64) -> Option<()> {
    let size = next.checked_sub(end).filter(|size| *size < ALIGNMENT)?;
    let bytes = if size == 0 { &[][..] } else { image.bytes_at(end)?.get(..usize::try_from(size).ok()?)? };
    bytes.iter().all(|byte| *byte == 0).then_some(())
}

/// Writes the names behind the table, once nothing is in the way.
pub(super) fn extend(draft: &mut Draft<'_, '_>, texts: &[BString], strategy: Strategy) -> Option<()> {
    let image = draft.image;
    let before = image.strings.counted().len() as u64;
    let offset = image.offset_of(image.strings.vaddr)?.checked_add(before)?;
    let mut names = Vec::new();
    for text in texts {
        let at = names.len() as u64;
        draft.offsets.insert(text.clone(), before + at);
        draft.placed.push(PlacedString { text: text.clone(), offset: FileOffset(offset + at), strategy });
        names.extend_from_slice(text);
        names.push(0);
    }
    draft.strsz = before + names.len() as u64;
    draft.write(offset, names);
    let section = draft.sections.as_mut()?.headers.get_mut(image.string_section()?)?;
    section.size = draft.strsz;
    Some(())
}
