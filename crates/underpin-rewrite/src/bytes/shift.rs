//! A string table that grows in place: what follows it moves.
//!
//! Linkers and readers see one `.dynstr` that holds every string at its old offset, followed by the names, as if the
//! file had been linked like that. The string table is followed by other tables, of versions and relocations, which
//! loaders find by tags and which do not contain their own addresses: so they slide by a few bytes, up to the padding
//! at the end of the segment, or up to one of them that is large enough to make room and small enough to move somewhere
//! else. The string table itself may be megabytes, and is not copied.

use super::block::displace;
use super::builder::PatchBuilder;
use super::gaps::{Gap, gaps, grow};
use super::image::Image;
use super::sizes::{length, whole_steps, with_nul};
use super::{PlacedString, Strategy, table, tags};
use bstr::BString;
use std::ops::Range;
use underpin_elf::FileOffset;
use underpin_elf::raw::{RawSection, RawSegment};

/// Most bytes that slide.
const LIMIT: u64 = 64 << 20;
/// Most bytes that move somewhere else.
const OUT_LIMIT: u64 = 256 << 10;
/// Most bytes between two sections that alignment can account for.
const ALIGNMENT: u64 = 64;
/// Sections slide by a multiple of this, which no section's alignment exceeds.
const STEP: u64 = 16;
/// Most sections after the table that are looked at.
const SECTIONS_MAX: usize = 16;

/// How the names get room after the table.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Addresses that slide, and by how many bytes.
    slides: Vec<(Range<u64>, u64)>,
    /// The padding after the segment, and how much of it the last range needs.
    padding: Option<(Gap, u64)>,
    /// Addresses that move somewhere else; may be empty.
    pub out: Range<u64>,
    /// How many bytes slide beyond the end of the segment.
    pub beyond: u64,
}

/// What follows the string table and can be moved.
struct Behind<'i> {
    /// The end of the table.
    start: u64,
    sections: Vec<&'i RawSection>,
    /// Start of the first thing that cannot be moved; `None` if nothing follows in the segment.
    stop: Option<u64>,
}

impl Behind<'_> {
    fn read<'i>(image: &'i Image<'_>) -> Option<Behind<'i>> {
        let entries = &image.sections.as_ref()?.entries;
        let (_, strings) = entries.get(image.string_section()?)?;
        let offset = image.offset_of(strings.addr)?;
        if strings.size != image.strings.counted().len() as u64 || strings.offset != offset {
            return None;
        }
        let start = strings.addr.checked_add(strings.size)?;
        let load_end = |load: &&RawSegment| load.vaddr.saturating_add(load.file_size);
        let load = image.loads().find(|load| load.vaddr <= strings.addr && start <= load_end(load))?;
        let load_end = load_end(&load);
        let mut behind: Vec<&RawSection> = entries
            .iter()
            .map(|(_, section)| section)
            .filter(|section| section.addr >= start && section.addr < load_end)
            .filter(|section| table::is_allocated(section))
            .collect();
        behind.sort_by_key(|section| section.addr);
        let (mut end, mut sections, mut stop) = (start, Vec::new(), None);
        for section in behind {
            let next = section.addr.checked_add(section.size)?;
            let in_step = section.offset.checked_sub(offset) == section.addr.checked_sub(strings.addr);
            let movable = table::is_movable(image, section) || is_dynamic(image, section);
            let can = in_step && movable && section.align <= STEP && length(&(start..next)) <= LIMIT;
            is_alignment(image, end, section.addr)?;
            if !can || sections.len() >= SECTIONS_MAX || table::cuts(image, &(section.addr..next)) {
                stop = Some(section.addr);
                break;
            }
            sections.push(section);
            end = next;
        }
        if stop.is_none() && end != load_end {
            // The end of the segment is in use.
            stop = Some(end);
        }
        (!table::cuts(image, &(start..end.max(start.saturating_add(1))))).then_some(Behind { start, sections, stop })
    }

    fn end(&self) -> u64 {
        self.sections.last().map_or(self.start, |section| section.addr.saturating_add(section.size))
    }
}

/// Whether it is the dynamic section, which may slide, but not leave its segment for one that is not writable.
fn is_dynamic(image: &Image<'_>, section: &RawSection) -> bool {
    section.kind == tags::SHT_DYNAMIC && section.addr == image.dynamic.vaddr
}

/// Zeros up to the next section.
fn is_alignment(image: &Image<'_>, end: u64, next: u64) -> Option<()> {
    let size = next.checked_sub(end).filter(|size| *size < ALIGNMENT)?;
    let bytes = if size == 0 { &[][..] } else { image.bytes_at(end)?.get(..usize::try_from(size).ok()?)? };
    bytes.iter().all(|byte| *byte == 0).then_some(())
}

fn size_of(texts: &[BString]) -> u64 {
    texts.iter().fold(0, |sum, text| sum.saturating_add(with_nul(text)))
}

/// How far the names exceed the available room, in whole steps.
fn missing(texts: &[BString], room: &Range<u64>) -> Option<u64> {
    size_of(texts).saturating_sub(length(room)).checked_next_multiple_of(STEP)
}

/// As few bytes as possible move somewhere else, ideally none; what is before them slides by the missing bytes, and
/// what is after them by as many as the padding has.
pub(super) fn way(image: &Image<'_>, texts: &[BString]) -> Option<Way> {
    let behind = Behind::read(image)?;
    let end = behind.end();
    let first = behind.sections.first().map_or(behind.stop.unwrap_or(end), |first| first.addr);
    let missing = missing(texts, &(behind.start..first))?;
    let padding = gaps(image).into_iter().find(|gap| behind.stop.is_none() && gap.follows(end));
    let padded = padding.map_or(0, |gap| whole_steps(gap.room, STEP));
    if padded >= missing {
        let padding = padding.filter(|_| missing > 0).map(|gap| (gap, missing));
        return Some(Way { slides: vec![(first..end, missing)], padding, out: end..end, beyond: 0 });
    }
    let runs = (0..behind.sections.len()).flat_map(|from| (from..behind.sections.len()).map(move |to| (from, to)));
    let way = |(from, to): (usize, usize)| {
        let (out, last) = (behind.sections.get(from)?.addr, behind.sections.get(to)?);
        if behind.sections.get(from..=to)?.iter().any(|section| is_dynamic(image, section)) {
            return None;
        }
        let out = out..last.addr.checked_add(last.size)?;
        let next = behind.sections.get(to.checked_add(1)?).map(|next| next.addr);
        let room = whole_steps(next.or(behind.stop).unwrap_or(out.end).saturating_sub(out.start), STEP);
        let rest = missing.saturating_sub(room);
        let padding = padding.filter(|_| rest > 0).map(|gap| (gap, rest));
        let slides = vec![(first..out.start, missing), (next.unwrap_or(end)..end, rest)];
        (rest <= padded && length(&out) <= OUT_LIMIT).then_some(Way { slides, padding, out, beyond: 0 })
    };
    runs.filter_map(way).min_by_key(|way| length(&way.out))
}

/// Everything slides beyond the end of a segment that will grow.
pub(super) fn beyond_the_end(image: &Image<'_>, texts: &[BString]) -> Option<Way> {
    let behind = Behind::read(image).filter(|behind| behind.stop.is_none())?;
    let end = behind.end();
    let first = behind.sections.first().map_or(end, |first| first.addr);
    let beyond = missing(texts, &(behind.start..first))?;
    Some(Way { slides: vec![(first..end, beyond)], padding: None, out: end..end, beyond })
}

/// Makes room after the table and writes the names there.
pub(super) fn extend(
    builder: &mut PatchBuilder<'_, '_>,
    way: &Way,
    texts: &[BString],
    strategy: Strategy,
) -> Option<()> {
    let image = builder.image;
    let before = image.strings.counted().len() as u64;
    let offset = image.offset_of(image.strings.vaddr)?.checked_add(before)?;
    let start = image.strings.vaddr.checked_add(before)?;
    if let Some((gap, size)) = &way.padding {
        grow(builder, gap, *size)?;
    }
    let slides = || way.slides.iter().filter(|(range, by)| !range.is_empty() && *by > 0);
    if let Some(end) = slides().map(|(range, by)| range.end.saturating_add(*by)).max() {
        // In one piece with the names, so that no byte is written twice.
        let size = usize::try_from(end.checked_sub(start)?).ok()?;
        let from = usize::try_from(offset).ok()?;
        let last = slides().map(|(range, _)| range.end).max()?.checked_sub(start)?;
        let mut piece = image.bytes.get(from..)?.get(..size.min(usize::try_from(last).ok()?))?.to_vec();
        piece.resize(size, 0);
        builder.write(offset, piece);
        for (range, by) in slides() {
            let at = offset.checked_add(range.start.checked_sub(start)?)?;
            let to = at.checked_add(*by)?;
            displace(builder, range, range.start.checked_add(*by)?, to)?;
            builder.slid(at, to, length(range));
        }
    }
    let mut names = Vec::new();
    for text in texts {
        let at = names.len() as u64;
        builder.offsets.insert(text.clone(), before.checked_add(at)?);
        let offset = FileOffset(offset.checked_add(at)?);
        builder.placed.push(PlacedString { text: text.clone(), offset, strategy });
        names.extend_from_slice(text);
        names.push(0);
    }
    builder.strsz = before.checked_add(names.len() as u64)?;
    builder.write(offset, names);
    let section = builder.sections.as_mut()?.headers.get_mut(image.string_section()?)?;
    section.size = builder.strsz;
    Some(())
}
