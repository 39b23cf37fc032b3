//! Bytes of a file that belong to nothing.

use super::image::Image;
use super::sizes::table_size;
use super::tags;

/// How many bytes from `offset` on belong to nothing: no segment, section or table, and within the file.
pub(super) fn file_room(image: &Image<'_>, offset: u64) -> u64 {
    let encoding = image.encoding;
    let section_count = image.sections.as_ref().map_or(usize::from(image.header.shnum), |table| table.entries.len());
    let headers = [
        (0, encoding.header_size() as u64),
        (image.header.phoff, table_size(image.segments.len(), encoding.segment_size())),
        (image.header.shoff, table_size(section_count, encoding.section_size())),
        (image.bytes.len() as u64, u64::MAX.saturating_sub(image.bytes.len() as u64)),
    ];
    // A PT_LOAD may cover the offset: that does not matter if the caller looks inside one.
    let loaded = |kind: u32| kind == tags::PT_LOAD;
    let segments = image.segments.iter().filter(|segment| segment.kind != tags::PT_NULL);
    let inside = |start: u64, size: u64| start < offset && start.saturating_add(size) > offset;
    let segments = segments.filter(|segment| !(loaded(segment.kind) && inside(segment.offset, segment.file_size)));
    let sections = image.sections.iter().flat_map(|table| &table.entries).map(|(_, section)| section);
    let sections = sections.filter(|section| section.kind != tags::SHT_NOBITS && section.kind != tags::SHT_NULL);
    let taken = headers
        .into_iter()
        .chain(segments.map(|segment| (segment.offset, segment.file_size)))
        .chain(sections.map(|section| (section.offset, section.size)));
    let mut limit = u64::MAX;
    for (start, size) in taken.filter(|(_, size)| *size > 0) {
        if start >= offset {
            limit = limit.min(start);
        } else if inside(start, size) {
            return 0;
        }
    }
    limit.saturating_sub(offset)
}

/// How many of them are zero.
pub(super) fn zero_room(image: &Image<'_>, offset: u64) -> u64 {
    let size = usize::try_from(file_room(image, offset)).unwrap_or(0);
    let bytes = usize::try_from(offset).ok().and_then(|start| image.bytes.get(start..)).unwrap_or_default();
    bytes.iter().take(size).take_while(|byte| **byte == 0).count() as u64
}
