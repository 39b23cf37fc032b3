//! Where a file is cut: what is after that place is written again, after what is added.
//!
//! The section table with its names is usually the last thing in a file. Written again at the new end, it costs only
//! its changes; a copy would cost all of it. The same holds for sections outside of all segments (`.comment`, symbols,
//! debug information): they are moved if the last segment grows.

use super::image::Image;
use super::sizes::table_size;
use super::tags;
use underpin_elf::raw::RawSection;

/// Most bytes of sections that are moved: beyond this, what needs their place goes somewhere else.
const LIMIT: u64 = 4 << 20;

/// A section after the cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Index of the section.
    pub index: usize,
    /// Its place and size in the original.
    pub offset: u64,
    pub size: u64,
    pub align: u64,
}

/// A place at which a file can be cut.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// Bytes that stay where they are.
    pub kept: u64,
    /// What has to be written again, in this order.
    pub pieces: Vec<Piece>,
}

impl Cut {
    /// Everything stays, and everything new goes after the end.
    pub fn none(image: &Image<'_>) -> Cut {
        Cut { kept: image.bytes.len() as u64, pieces: Vec::new() }
    }
}

/// Before the section table and its names, or before the part of them that is at the end of the file.
pub(super) fn before_sections(image: &Image<'_>) -> Cut {
    let Some(table) = &image.sections else { return Cut::none(image) };
    let names = table.entries.get(table.names).map(|(_, section)| section.offset);
    let names = names.filter(|_| !table.shares_names());
    let places = names.into_iter().filter(|offset| *offset < image.header.shoff).chain([image.header.shoff]);
    places.into_iter().find_map(|kept| at(image, kept)).unwrap_or_else(|| Cut::none(image))
}

/// At an offset; `None` if something after it cannot be moved.
pub(super) fn at(image: &Image<'_>, kept: u64) -> Option<Cut> {
    let (table, encoding) = (image.sections.as_ref()?, image.encoding);
    let end = |offset: u64, size: u64| offset.saturating_add(size);
    let segments = image.segments.iter().filter(|segment| segment.kind != tags::PT_NULL && segment.file_size > 0);
    let headers = end(image.header.phoff, table_size(image.segments.len(), encoding.segment_size()));
    let fixed = segments.map(|segment| end(segment.offset, segment.file_size));
    if fixed.chain([headers, encoding.header_size() as u64]).any(|end| end > kept) {
        return None;
    }
    let own = (image.header.shoff, table_size(table.entries.len(), encoding.section_size()));
    // A table before the cut stays there, unused.
    let mut behind = vec![own];
    behind.retain(|(offset, size)| end(*offset, *size) > kept);
    let mut pieces = Vec::new();
    for (index, (_, section)) in table.entries.iter().enumerate().filter(|(_, (_, section))| has_bytes(section)) {
        if end(section.offset, section.size) <= kept {
            continue;
        }
        if section.flags & tags::SHF_ALLOC != 0 {
            return None;
        }
        behind.push((section.offset, section.size));
        if index != table.names || table.shares_names() {
            // Its old place says more than the requested alignment, which may be anything.
            let align = section.align.clamp(1, 4096);
            let align = if align.is_power_of_two() { align } else { 1 };
            pieces.push(Piece { index, offset: section.offset, size: section.size, align });
        }
    }
    pieces.sort_by_key(|piece| piece.offset);
    let small = pieces.iter().map(|piece| piece.size).fold(0, u64::saturating_add) <= LIMIT;
    (small && is_all(image, kept, behind)).then_some(Cut { kept, pieces })
}

fn has_bytes(section: &RawSection) -> bool {
    section.kind != tags::SHT_NULL && section.kind != tags::SHT_NOBITS && section.size > 0
}

/// Whether some ranges, which do not overlap, are all that a file holds from an offset on, apart from zeros.
fn is_all(image: &Image<'_>, kept: u64, mut ranges: Vec<(u64, u64)>) -> bool {
    ranges.sort_unstable();
    ranges.push((image.bytes.len() as u64, 0));
    let mut at = kept;
    for (offset, size) in ranges {
        let (Ok(from), Ok(to)) = (usize::try_from(at), usize::try_from(offset)) else { return false };
        let between = image.bytes.get(from..to);
        if !between.is_some_and(|between| between.iter().all(|byte| *byte == 0)) {
            return false;
        }
        at = offset.saturating_add(size);
    }
    at == image.bytes.len() as u64
}
