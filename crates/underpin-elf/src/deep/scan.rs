//! Looks for texts in the read-only data: the only evidence of a library once the symbols are stripped.
//!
//! A text proves nothing by itself: any file may mention it. If one is found, the other texts of the same allocator are
//! looked for, and if its symbols are stripped both together are proof (`identify`). Text inside an ELF file that is
//! embedded in the data belongs to that file, and is skipped.
//!
//! Bounded: at most [`LIMIT`] bytes are read, in pieces of constant size. The texts to search for are composed at run
//! time, so that this program does not find them in itself.

use crate::deep::traces::{LibcTag, Subject, Traces, version_prefix};
use crate::raw::Encoding;
use crate::window::Window;
use crate::{AllocatorKind, Elf, ElfError, Endian, Evidence, Language, Section, SectionKind, Source};
use bstr::{BString, ByteSlice, Finder};
use std::ops::Range;

/// How much of a file is searched, in bytes: all read-only data of nearly every program.
const LIMIT: u64 = 64 << 20;
/// Bytes searched at once.
const PIECE: u64 = 1 << 20;
/// The first bytes of an ELF file.
const MAGIC: [u8; 4] = [0x7f, b'E', b'L', b'F'];
/// Bytes of a piece that are searched again with the next: longer than any text and what is read after it.
const OVERLAP: u64 = 256;

/// A text to look for: the first byte apart from the rest.
struct Needle {
    head: u8,
    tail: Vec<u8>,
    subject: Subject,
    /// Extracts the version from the bytes starting at the match, or returns `None` if they show a false match.
    judge: fn(&[u8]) -> Option<Option<BString>>,
}

fn always(_: &[u8]) -> Option<Option<BString>> {
    Some(None)
}

/// "... release version 2.36." in the banner of glibc.
fn glibc_banner(text: &[u8]) -> Option<Option<BString>> {
    let line = text.lines().next()?;
    let (_, version) = line.split_once_str("version ")?;
    Some(version_prefix(version))
}

/// "/rustc/<40 hexadecimal digits>/": source paths in Rust's panics.
fn rust_path(text: &[u8]) -> Option<Option<BString>> {
    let hash = text.get(7..47)?;
    (hash.iter().all(u8::is_ascii_hexdigit) && text.get(47) == Some(&b'/')).then_some(None)
}

/// gperftools <version>
fn gperftools(text: &[u8]) -> Option<Option<BString>> {
    Some(version_prefix(text.get(11..)?))
}

/// The search list for one byte order.
fn needles(endian: Endian) -> Vec<Needle> {
    use AllocatorKind::{
        Jemalloc, Mimalloc, MuslMallocng, MuslOldmalloc, PartitionAlloc, Ptmalloc, Snmalloc, Tcmalloc,
    };
    let allocator = Subject::Allocator;
    let text = |head: u8, tail: &str, subject, judge| Needle { head, tail: tail.into(), subject, judge };
    vec![
        text(b'G', "NU C Library (", Subject::Libc(LibcTag::Glibc), glibc_banner),
        text(b'F', "atal error: glibc detected", Subject::Libc(LibcTag::Glibc), always),
        text(b'm', "alloc(): corrupted top size", allocator(Ptmalloc), always),
        text(b'N', "o error information\0", Subject::Libc(LibcTag::Musl), always),
        text(b'm', "usl libc (", Subject::Libc(LibcTag::Musl), always),
        text(b'I', MUSL_MESSAGES, Subject::Libc(LibcTag::Musl), always),
        text(b'<', "jemalloc>: ", allocator(Jemalloc), always),
        text(b'm', "imalloc: error: ", allocator(Mimalloc), always),
        text(b'T', "CMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", allocator(Tcmalloc), always),
        text(b'g', "perftools ", allocator(Tcmalloc), gperftools),
        text(b'F', "ailed to initialise snmalloc", allocator(Snmalloc), always),
        text(b'p', "artition_alloc/partitions", allocator(PartitionAlloc), always),
        text(b'/', "rustc/", Subject::Language(Language::Rust), rust_path),
        Needle {
            head: head_of(endian, 1),
            tail: size_classes(endian),
            subject: allocator(MuslMallocng),
            judge: always,
        },
        // `small_cnt_tab` of the same file: blocks in a group, for the nine smallest classes.
        Needle { head: 30, tail: GROUPS.to_vec(), subject: allocator(MuslMallocng), judge: always },
        Needle { head: 32, tail: bins(), subject: allocator(MuslOldmalloc), judge: always },
    ]
}

/// musl's messages for the first error numbers, in the order of its table (`src/errno/__strerror.h`, all releases),
/// after the first byte: no other text has these sentences in a row, and `strerror` is in nearly every program. glibc
/// words two of them differently.
const MUSL_MESSAGES: &str = "llegal byte sequence\0Domain error\0Result not representable\0";

/// mallocng's table of group sizes after its first byte (`mallocng/malloc.c`).
const GROUPS: [u8; 26] =
    [30, 30, 31, 15, 15, 20, 10, 10, 31, 15, 7, 25, 12, 6, 21, 10, 5, 18, 8, 4, 31, 15, 7, 28, 14, 6];

/// Texts found together in an allocator's code, and how many of them must be there to count as a second trace: names of
/// options and messages that other texts have no reason to repeat. Each ends with a zero byte, as strings in C do,
/// except for PartitionAlloc's, which are prefixes.
fn pool(kind: AllocatorKind) -> Option<(&'static str, usize, &'static [&'static [u8]])> {
    match kind {
        AllocatorKind::Jemalloc => Some((
            "names of jemalloc's options",
            4,
            &[b"muzzy_decay_ms\0", b"percpu_arena\0", b"metadata_thp\0", b"oversize_threshold\0", b"lg_tcache_max\0"],
        )),
        AllocatorKind::Mimalloc => Some((
            "names of mimalloc's options",
            4,
            &[
                b"reserve_huge_os_pages\0",
                b"use_numa_nodes\0",
                b"max_warnings\0",
                b"destroy_on_exit\0",
                b"limit_os_alloc\0",
            ],
        )),
        AllocatorKind::Tcmalloc => Some((
            "names of tcmalloc's variables",
            3,
            &[
                b"TCMALLOC_RELEASE_RATE\0",
                b"TCMALLOC_HEAP_LIMIT_MB\0",
                b"TCMALLOC_TRANSFER_NUM_OBJ\0",
                b"TCMALLOC_SKIP_SBRK\0",
            ],
        )),
        AllocatorKind::Ptmalloc => Some((
            "messages of glibc's malloc",
            3,
            &[
                b"double free or corruption (!prev)\0",
                b"munmap_chunk(): invalid pointer\0",
                b"malloc(): unsorted double linked list corrupted\0",
                b"corrupted size vs. prev_size\0",
            ],
        )),
        AllocatorKind::PartitionAlloc => Some((
            "names of PartitionAlloc's figures",
            4,
            &[
                b"PartitionAlloc.Partitions.",
                b"PartitionAlloc.Fragmentation.",
                b"PartitionAlloc.MaxCommittedSize.",
                b"PartitionAlloc.AddressSpace.",
                b"PartitionAlloc.BRPQuarantined",
            ],
        )),
        _ => None,
    }
}

fn head_of(endian: Endian, first: u8) -> u8 {
    if endian == Endian::Little { first } else { 0 }
}

/// The start of mallocng's table of size classes, 16 bits each, after its first byte (`mallocng/malloc.c`).
fn size_classes(endian: Endian) -> Vec<u8> {
    const CLASSES: [u16; 23] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127];
    let rest = CLASSES.into_iter().flat_map(|class| match endian {
        Endian::Little => class.to_le_bytes(),
        Endian::Big => class.to_be_bytes(),
    });
    std::iter::once(if endian == Endian::Little { 0 } else { 1 }).chain(rest).collect()
}

/// The start of oldmalloc's table of bins after its first byte, 32 (`oldmalloc/malloc.c`).
fn bins() -> Vec<u8> {
    [33, 34, 35, 36, 36, 37, 37, 38, 38, 39, 39].into_iter().chain((40..44).flat_map(|bin| [bin; 4])).collect()
}

/// Searches the read-only data; returns whether it was cut off at the limit.
pub(crate) fn run<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    sections: &[Section],
    traces: &mut Traces,
) -> Result<bool, ElfError> {
    let needles: Vec<(Needle, Finder<'static>)> = needles(encoding.endian)
        .into_iter()
        .map(|needle| {
            let whole: Vec<u8> = std::iter::once(needle.head).chain(needle.tail.iter().copied()).collect();
            let finder = Finder::new(&whole).into_owned();
            (needle, finder)
        })
        .collect();
    let ranges = ranges(elf, sections);
    let cut_off = pieces(window, &ranges, |buffer| {
        needles.iter().for_each(|(needle, finder)| search(buffer, needle, finder, traces));
        if traces.git_version.is_none() {
            traces.git_version = git_version(buffer);
        }
        if traces.plain_version.is_none() {
            traces.plain_version = plain_version(buffer);
        }
    })?;
    second_traces(window, &ranges, traces)?;
    Ok(cut_off)
}

/// Looks for the texts of an allocator for which only one trace is known.
fn second_traces<S: Source + ?Sized>(
    window: &Window<'_, S>,
    ranges: &[(u64, u64)],
    traces: &mut Traces,
) -> Result<(), ElfError> {
    for kind in traces.unproven_allocators() {
        let Some((what, enough, texts)) = pool(kind) else { continue };
        let finders: Vec<Finder<'_>> = texts.iter().map(Finder::new).collect();
        let mut seen = vec![false; finders.len()];
        pieces(window, ranges, |buffer| {
            for (finder, seen) in finders.iter().zip(&mut seen) {
                *seen |= finder.find(buffer).is_some();
            }
        })?;
        if seen.iter().filter(|seen| **seen).count() >= enough {
            traces.note(Subject::Allocator(kind), Evidence::Names(what.into()));
        }
    }
    Ok(())
}

/// Reads ranges piece by piece, without embedded ELF files; returns whether that ended at the limit.
fn pieces<S: Source + ?Sized>(
    window: &Window<'_, S>,
    ranges: &[(u64, u64)],
    mut look: impl FnMut(&[u8]),
) -> Result<bool, ElfError> {
    // Sections may overlap in a malformed file: twice the file's size is enough for any other.
    let mut left = LIMIT.min(window.len().saturating_mul(2));
    let mut buffer = Vec::new();
    for (start, size) in ranges {
        let end = start.saturating_add(*size).min(window.len());
        let (mut at, mut embedded_until) = (*start, 0);
        while at < end {
            let size = end.saturating_sub(at).min(PIECE);
            let Some(rest) = left.checked_sub(size) else { return Ok(true) };
            left = rest;
            let taken = usize::try_from(size).unwrap_or(0);
            // What is in memory is copied only where something has to be blanked.
            let whole = |bytes: &&[u8]| embedded_until <= at && bytes.find(MAGIC).is_none();
            if let Some(bytes) = window.in_memory(at, taken).filter(whole) {
                look(bytes);
            } else {
                buffer.resize(taken, 0);
                window.fill(at, &mut buffer, "the read-only data")?;
                blank_embedded(&mut buffer, at, &mut embedded_until);
                look(&buffer);
            }
            at = at.saturating_add(if size == PIECE { PIECE - OVERLAP } else { size });
        }
    }
    Ok(false)
}

/// Overwrites what belongs to ELF files embedded in the data. `at` is the file offset of the buffer, `until` the end of
/// the embedded file that reaches furthest.
fn blank_embedded(buffer: &mut [u8], at: u64, until: &mut u64) {
    let inside = |until: u64| usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
    let mut from = inside(*until).min(buffer.len());
    blank(buffer, 0..from);
    while let Some(found) = buffer.get(from..).and_then(|rest| rest.find(MAGIC)) {
        let start = from.saturating_add(found);
        let place = at.saturating_add(start as u64);
        let size = buffer.get(start..).and_then(embedded_size).filter(|_| place > 0);
        from = size.map_or(start.saturating_add(MAGIC.len()), |size| {
            *until = place.saturating_add(size).max(*until);
            inside(*until).min(buffer.len())
        });
        if size.is_some() {
            blank(buffer, start..from);
        }
    }
}

fn blank(buffer: &mut [u8], range: Range<usize>) {
    buffer.get_mut(range).unwrap_or_default().fill(0);
}

/// The size of an ELF file that begins here, from its section headers, which are at its end; only 64-bit little-endian
/// files, which is what is embedded in practice. `None` if it is not such a file.
fn embedded_size(bytes: &[u8]) -> Option<u64> {
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..)?.get(..size)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let identified = bytes.get(4..7)? == [2, 1, 1] && number(0x14, 4)? == 1 && number(0x34, 2)? == 64;
    let sections = number(0x28, 8)?.checked_add(number(0x3a, 2)?.checked_mul(number(0x3c, 2)?)?)?;
    // A file stripped of its sections has its program headers right after its header, and its size is unknown.
    let segments = number(0x38, 2).unwrap_or(0).saturating_mul(56).saturating_add(64);
    identified.then(|| sections.max(segments))
}

/// jemalloc's version is made by `git describe --long --abbrev=40`: `5.3.0-0-g` and 40 hexadecimal digits.
fn git_version(bytes: &[u8]) -> Option<BString> {
    bytes.find_iter("-g").find_map(|at| {
        let end = at.checked_add(42)?;
        let hash = bytes.get(at..end)?.get(2..)?;
        let before = bytes.get(at.saturating_sub(32)..end)?;
        let start = before.get(..before.len().checked_sub(42)?)?.iter().rposition(|byte| *byte == 0)?;
        let text = before.get(start.checked_add(1)?..)?;
        let (numbers, _) = text.split_once_str("-")?;
        let complete = hash.iter().all(u8::is_ascii_hexdigit) && bytes.get(end) == Some(&0);
        (complete && is_version(numbers)).then(|| text.into())
    })
}

/// A text that is `1.`, a number, a dot and a number: musl's loader gives no more of its version.
fn plain_version(bytes: &[u8]) -> Option<BString> {
    bytes.find_iter("\x001.").find_map(|at| {
        let rest = bytes.get(at.checked_add(1)?..)?;
        let text = rest.get(..rest.iter().take(16).position(|byte| *byte == 0)?)?;
        is_version(text).then(|| text.into())
    })
}

/// Three numbers with dots between.
fn is_version(text: &[u8]) -> bool {
    let number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    text.split_str(".").count() == 3 && text.split_str(".").all(number)
}

fn search(bytes: &[u8], needle: &Needle, finder: &Finder<'_>, traces: &mut Traces) {
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
        let place = at.saturating_add(found);
        let text = bytes.get(place..).unwrap_or_default();
        at = place.saturating_add(finder.needle().len());
        let Some(version) = (needle.judge)(text.get(..OVERLAP as usize).unwrap_or(text)) else { continue };
        traces.note(needle.subject, evidence(needle, finder.needle()));
        if let Some(version) = version {
            traces.set_version(needle.subject, version);
        }
        return;
    }
}

fn evidence(needle: &Needle, text: &[u8]) -> Evidence {
    match needle.subject {
        Subject::Allocator(AllocatorKind::MuslMallocng) if text.starts_with(&[30, 30, 30]) => {
            Evidence::Table("group sizes of mallocng".into())
        }
        Subject::Allocator(AllocatorKind::MuslMallocng) => Evidence::Table("size classes of mallocng".into()),
        Subject::Allocator(AllocatorKind::MuslOldmalloc) => Evidence::Table("bins of oldmalloc".into()),
        Subject::Libc(LibcTag::Musl) if text.get(1..) == Some(MUSL_MESSAGES.as_bytes()) => {
            Evidence::Table("musl's messages of error numbers".into())
        }
        _ => Evidence::Text(text.trim_end_with(|last| last == '\0').into()),
    }
}

/// Read-only data: by the sections, and if there are none by the segments that are not writable.
fn ranges(elf: &Elf, sections: &[Section]) -> Vec<(u64, u64)> {
    let data = |section: &&Section| {
        let loaded = section.is_allocated() && !section.is_writable() && !section.is_executable();
        loaded && section.kind == SectionKind::ProgramBits && !section.name.starts_with(b".eh_frame")
    };
    let found: Vec<(u64, u64)> = sections.iter().filter(data).map(|section| (section.offset.0, section.size)).collect();
    if !found.is_empty() {
        return found;
    }
    let loads = elf.loads().filter(|load| !load.flags.write && load.file_size > 0);
    loads.map(|load| (load.offset.0, load.file_size)).collect()
}
