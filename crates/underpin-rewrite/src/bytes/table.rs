//! Room for one more program header.
//!
//! The table stays where it is, right after the file header: strip, eu-strip, llvm-strip, objcopy and patchelf all
//! write it there again whatever the file says, and each of them was seen to break a program whose table had moved. So
//! what follows it is moved: the interpreter's name, notes, the symbol table or a hash table, which are all found by
//! their program header or tag. If that is not possible, the new entry replaces a redundant one. A file that has no
//! room in any of these ways gets no segment.

use super::image::Image;
use super::sizes::length;
use super::{gaps, room, tags};
use std::ops::Range;
use underpin_elf::FileType;
use underpin_elf::raw::{RawSection, RawSegment};

/// Where the table with one more entry goes.
pub(super) enum Room {
    /// Where it was: there are free bytes after it, or an unused entry.
    Free,
    /// Where it was, once these addresses have been moved.
    Displacing(Range<u64>),
    /// Where it was, replacing this entry.
    Instead(usize),
    /// Somewhere else: only for files without a section table, which those tools refuse.
    Elsewhere,
}

/// Most bytes that are moved for one entry.
const LIMIT: u64 = 32 << 10;

/// `None` if there is no room.
pub(super) fn room(image: &Image<'_>) -> Option<Room> {
    let entry = image.encoding.segment_size() as u64;
    let end = (image.segments.len() as u64).checked_mul(entry)?.checked_add(image.header.phoff)?;
    if image.segments.iter().any(|segment| segment.kind == tags::PT_NULL) {
        return Some(Room::Free);
    }
    // Without a section table, zeros inside a segment may be anything.
    let inside = image.loads().any(|load| load.offset <= end && end < load.offset.saturating_add(load.file_size));
    let is_free = (image.sections.is_some() || !inside) && room::zero_room(image, end) >= entry;
    if is_free || gaps::left_room(image, end) >= entry {
        return Some(Room::Free);
    }
    let displaced = displaced(image, end, entry).filter(|range| length(range) <= LIMIT);
    displaced
        .map(Room::Displacing)
        .or_else(|| redundant(image).map(Room::Instead))
        .or_else(|| image.sections.is_none().then_some(Room::Elsewhere))
}

/// A PT_NOTE that only holds the program's properties: kernel and loader read them by PT_GNU_PROPERTY, which is there
/// too (`fs/binfmt_elf.c` since Linux 5.8; glibc since 2.32). Or the PT_PHDR of a library: loaders need only the
/// program's, and find a library's table by the file header (`glibc elf/dl-load.c`, `_dl_map_object_from_fd`).
fn redundant(image: &Image<'_>) -> Option<usize> {
    if !image.is_program() {
        let headers = image.segments.iter().position(|segment| segment.kind == tags::PT_PHDR);
        if headers.is_some() {
            return headers;
        }
    }
    let mut kinds = image.segments.iter().map(|segment| segment.kind);
    let told = kinds.any(|kind| kind == tags::PT_GNU_PROPERTY);
    image.segments.iter().position(|segment| told && is_property(image, segment))
}

/// Whether a segment is one note with properties and nothing else.
fn is_property(image: &Image<'_>, segment: &RawSegment) -> bool {
    let encoding = image.encoding;
    let bytes = usize::try_from(segment.offset).ok().and_then(|start| image.bytes.get(start..));
    let field = |at| bytes.and_then(|bytes| encoding.u32(bytes, at));
    let name = bytes.and_then(|bytes| bytes.get(12..16));
    let size = field(4).map(|content| u64::from(content).saturating_add(16));
    segment.kind == tags::PT_NOTE
        && (field(0), field(8), name) == (Some(4), Some(tags::NT_GNU_PROPERTY_TYPE_0), Some(b"GNU\0"))
        && size == Some(segment.file_size)
}

/// The addresses of the sections that are in the way, whole.
fn displaced(image: &Image<'_>, start: u64, size: u64) -> Option<Range<u64>> {
    let table = image.sections.as_ref()?;
    let behind = start.checked_add(size)?;
    let load = image
        .loads()
        .find(|load| load.offset <= image.header.phoff && behind <= load.offset.saturating_add(load.file_size))?;
    let sections = || table.entries.iter().map(|(_, section)| section).filter(|section| section.size > 0);
    let in_file = |section: &&RawSection| section.kind != tags::SHT_NOBITS && section.kind != tags::SHT_NULL;
    let (mut first, mut end) = (behind, behind);
    // Grows until nothing is split: a note may be in a segment with others.
    loop {
        let before = (first, end);
        let segments = image.segments.iter().filter(|segment| segment.kind != tags::PT_LOAD);
        let pieces = segments
            .filter(|segment| segment.kind != tags::PT_PHDR)
            .map(|segment| (segment.kind == tags::PT_GNU_RELRO, segment.offset, segment.file_size))
            .chain(
                sections().filter(in_file).map(|section| (!is_movable(image, section), section.offset, section.size)),
            );
        for (fixed, offset, size) in pieces.filter(|(_, _, size)| *size > 0) {
            let piece_end = offset.checked_add(size)?;
            if offset < end && piece_end > start {
                if fixed || offset < start {
                    return None;
                }
                first = first.min(offset);
                end = end.max(piece_end);
            }
        }
        if before == (first, end) {
            break;
        }
    }
    let between = image.bytes.get(usize::try_from(start).ok()?..usize::try_from(first).ok()?)?;
    let kinds = image.segments.iter().filter(|segment| segment.offset < end && segment.offset >= first);
    let known = kinds
        .filter(|segment| segment.file_size > 0 && segment.kind != tags::PT_LOAD)
        .all(|segment| [tags::PT_INTERP, tags::PT_NOTE, tags::PT_GNU_PROPERTY].contains(&segment.kind));
    let inside = end <= load.offset.saturating_add(load.file_size);
    let vaddr = |offset: u64| load.vaddr.checked_add(offset.checked_sub(load.offset)?);
    (known && inside && between.iter().all(|byte| *byte == 0)).then_some(vaddr(first)?..vaddr(end)?)
}

/// Whether the string table of a program at a fixed address should stay where it is.
///
/// patchelf before 0.19 collects what it replaces before the first section that it does not touch, and stops looking at
/// the one after `.dynstr`. If `.dynstr` is not among the first, it finds enough room on the first page and puts the
/// dynamic section there, and the loader, which writes DT_DEBUG, crashes with SIGSEGV.
pub(super) fn pins_strings(image: &Image<'_>) -> bool {
    let Some(sections) = &image.sections else { return false };
    let first_is_fixed = image.loads().next().is_some_and(|load| load.flags & tags::PF_W == 0);
    if image.elf.ident.file_type != FileType::Executable || !first_is_fixed {
        return false;
    }
    let stops = |name: &[u8], section: &RawSection| section.kind == tags::SHT_PROGBITS && name != b".interp";
    let allocated = || sections.entries.iter().filter(|(_, section)| is_allocated(section));
    let reserved = allocated().filter(|(name, section)| stops(name, section)).map(|(_, section)| section.offset).min();
    let needed = allocated()
        .filter(|(_, section)| reserved.is_some_and(|end| section.offset < end) || section.kind == tags::SHT_DYNAMIC)
        .fold(image.header.phoff, |sum, (_, section)| sum.saturating_add(section.size));
    reserved.is_some_and(|reserved| needed <= reserved)
}

/// Whether a section occupies memory and has content in the file.
pub(super) fn is_allocated(section: &RawSection) -> bool {
    let filled = section.kind != tags::SHT_NOBITS && section.kind != tags::SHT_NULL;
    section.flags & tags::SHF_ALLOC != 0 && filled && section.size > 0
}

/// Whether a program header other than PT_LOAD covers some of these addresses and also others, or may not follow what
/// it describes.
pub(super) fn cuts(image: &Image<'_>, range: &Range<u64>) -> bool {
    let others = image.segments.iter().filter(|segment| segment.kind != tags::PT_LOAD && segment.memory_size > 0);
    others.into_iter().any(|segment| {
        let end = segment.vaddr.saturating_add(segment.memory_size);
        let known = [tags::PT_INTERP, tags::PT_NOTE, tags::PT_GNU_PROPERTY, tags::PT_DYNAMIC].contains(&segment.kind);
        let inside = segment.vaddr >= range.start && end <= range.end;
        segment.vaddr < range.end && end > range.start && !(known && inside)
    })
}

/// Whether a section is only found by a program header or a tag that this crate can change.
pub(super) fn is_movable(image: &Image<'_>, section: &RawSection) -> bool {
    let by_tag = |tag| image.dynamic.value(tag) == Some(section.addr);
    if section.flags & tags::SHF_ALLOC == 0 || section.flags & tags::SHF_WRITE != 0 {
        return false;
    }
    match section.kind {
        tags::SHT_NOTE => {
            let holds = |kind| {
                image.segments.iter().any(|segment| {
                    segment.kind == kind
                        && segment.vaddr <= section.addr
                        && section.addr.saturating_add(section.size)
                            <= segment.vaddr.saturating_add(segment.memory_size)
                })
            };
            holds(tags::PT_NOTE)
        }
        tags::SHT_PROGBITS => image.segments.iter().any(|segment| {
            segment.kind == tags::PT_INTERP && segment.vaddr == section.addr && segment.file_size == section.size
        }),
        tags::SHT_DYNSYM => by_tag(tags::DT_SYMTAB),
        tags::SHT_HASH => by_tag(tags::DT_HASH),
        tags::SHT_GNU_HASH => by_tag(tags::DT_GNU_HASH),
        tags::SHT_RELA => by_tag(tags::DT_RELA) || by_tag(tags::DT_JMPREL),
        tags::SHT_REL => by_tag(tags::DT_REL) || by_tag(tags::DT_JMPREL),
        tags::SHT_RELR => by_tag(tags::DT_RELR),
        tags::SHT_GNU_VERSYM => by_tag(tags::DT_VERSYM),
        tags::SHT_GNU_VERDEF => by_tag(tags::DT_VERDEF),
        tags::SHT_GNU_VERNEED => by_tag(tags::DT_VERNEED),
        _ => false,
    }
}
