//! Looks for texts in the read-only data: what is left to tell of a library when the symbols are stripped.
//!
//! Bounded: at most [`LIMIT`] bytes are read, in pieces of constant size. The texts searched for are put together at
//! run time, so that this program does not find them in itself.

use crate::deep::traces::{LibcTag, Subject, Traces, version_prefix};
use crate::raw::Layout;
use crate::window::Window;
use crate::{AllocatorKind, Elf, ElfError, Endian, Evidence, Language, Section, SectionKind, Source};
use bstr::{BString, ByteSlice, Finder};

/// How much of a file is searched, in bytes: all read-only data of nearly every program.
const LIMIT: u64 = 64 << 20;
/// Bytes searched at once.
const PIECE: u64 = 1 << 20;
/// Bytes of a piece that are searched again with the next: longer than any text with what is read behind it.
const OVERLAP: u64 = 256;

/// A text to look for: the first byte apart from the rest.
struct Needle {
    head: u8,
    tail: Vec<u8>,
    subject: Subject,
    /// How the bytes from the match on give a version, or `None` where they show that the match means nothing.
    judge: fn(&[u8]) -> Option<Option<BString>>,
}

fn always(_: &[u8]) -> Option<Option<BString>> {
    Some(None)
}

/// "... release version 2.36." in the banner of glibc.
fn glibc_banner(text: &[u8]) -> Option<Option<BString>> {
    let line = text.lines().next()?;
    let at = line.find("version ")?;
    Some(version_prefix(line.get(at + 8..)?))
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
    use AllocatorKind::{Jemalloc, Mimalloc, MuslMallocng, MuslOldmalloc, Ptmalloc, Snmalloc, Tcmalloc};
    let allocator = Subject::Allocator;
    let text = |head: u8, tail: &str, subject, judge| Needle { head, tail: tail.into(), subject, judge };
    vec![
        text(b'G', "NU C Library (", Subject::Libc(LibcTag::Glibc), glibc_banner),
        text(b'F', "atal error: glibc detected", Subject::Libc(LibcTag::Glibc), always),
        text(b'm', "alloc(): corrupted top size", allocator(Ptmalloc), always),
        text(b'N', "o error information\0", Subject::Libc(LibcTag::Musl), always),
        text(b'm', "usl libc (", Subject::Libc(LibcTag::Musl), always),
        text(b'<', "jemalloc>: ", allocator(Jemalloc), always),
        text(b'm', "imalloc: error: ", allocator(Mimalloc), always),
        text(b'T', "CMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", allocator(Tcmalloc), always),
        text(b'g', "perftools ", allocator(Tcmalloc), gperftools),
        text(b'F', "ailed to initialise snmalloc", allocator(Snmalloc), always),
        text(b'/', "rustc/", Subject::Language(Language::Rust), rust_path),
        Needle {
            head: head_of(endian, 1),
            tail: size_classes(endian),
            subject: allocator(MuslMallocng),
            judge: always,
        },
        Needle { head: 32, tail: bins(), subject: allocator(MuslOldmalloc), judge: always },
    ]
}

fn head_of(endian: Endian, first: u8) -> u8 {
    if endian == Endian::Little { first } else { 0 }
}

/// The start of mallocng's table of size classes, 16 bits each, behind its first byte (`mallocng/malloc.c`).
fn size_classes(endian: Endian) -> Vec<u8> {
    const CLASSES: [u16; 23] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127];
    let rest = CLASSES.into_iter().flat_map(|class| match endian {
        Endian::Little => class.to_le_bytes(),
        Endian::Big => class.to_be_bytes(),
    });
    std::iter::once(if endian == Endian::Little { 0 } else { 1 }).chain(rest).collect()
}

/// The start of oldmalloc's table of bins behind its first byte, 32 (`oldmalloc/malloc.c`).
fn bins() -> Vec<u8> {
    [33, 34, 35, 36, 36, 37, 37, 38, 38, 39, 39].into_iter().chain((40..44).flat_map(|bin| [bin; 4])).collect()
}

/// Searches the read-only data; returns whether it was cut off at the limit.
pub(crate) fn run<S: Source + ?Sized>(
    window: &Window<'_, S>,
    layout: Layout,
    elf: &Elf,
    sections: &[Section],
    traces: &mut Traces,
) -> Result<bool, ElfError> {
    let needles: Vec<(Needle, Finder<'static>)> = needles(layout.endian)
        .into_iter()
        .map(|needle| {
            let whole: Vec<u8> = std::iter::once(needle.head).chain(needle.tail.iter().copied()).collect();
            let finder = Finder::new(&whole).into_owned();
            (needle, finder)
        })
        .collect();
    // Sections may overlap in a malformed file: twice its size is enough for any other.
    let mut left = LIMIT.min(window.len().saturating_mul(2));
    let mut buffer = Vec::new();
    for (start, size) in ranges(elf, sections) {
        let end = start.saturating_add(size).min(window.len());
        let mut at = start;
        while at < end {
            let size = (end - at).min(PIECE);
            if size > left {
                return Ok(true);
            }
            left -= size;
            buffer.resize(usize::try_from(size).unwrap_or(0), 0);
            window.fill(at, &mut buffer, "the read-only data")?;
            needles.iter().for_each(|(needle, finder)| search(&buffer, needle, finder, traces));
            if traces.git_version.is_none() {
                traces.git_version = git_version(&buffer);
            }
            if traces.plain_version.is_none() {
                traces.plain_version = plain_version(&buffer);
            }
            at += if size == PIECE { PIECE - OVERLAP } else { size };
        }
    }
    Ok(false)
}

/// jemalloc's version is made by `git describe --long --abbrev=40`: `5.3.0-0-g` and 40 hexadecimal digits.
fn git_version(bytes: &[u8]) -> Option<BString> {
    bytes.find_iter("-g").find_map(|at| {
        let end = at + 42;
        let hash = bytes.get(at + 2..end)?;
        let start = bytes.get(at.saturating_sub(32)..at)?.iter().rposition(|byte| *byte == 0)?;
        let text = bytes.get(at.saturating_sub(32) + start + 1..end)?;
        let (numbers, _) = text.split_once_str("-")?;
        let complete = hash.iter().all(u8::is_ascii_hexdigit) && bytes.get(end) == Some(&0);
        (complete && is_version(numbers)).then(|| text.into())
    })
}

/// A text that is `1.`, a number, a dot and a number: all that musl's loader says of its version.
fn plain_version(bytes: &[u8]) -> Option<BString> {
    bytes.find_iter("\x001.").find_map(|at| {
        let rest = bytes.get(at + 1..)?;
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
        let text = bytes.get(at + found..).unwrap_or_default();
        at += found + finder.needle().len();
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
        Subject::Allocator(AllocatorKind::MuslMallocng) => Evidence::Table("size classes of mallocng".into()),
        Subject::Allocator(AllocatorKind::MuslOldmalloc) => Evidence::Table("bins of oldmalloc".into()),
        _ => Evidence::Text(text.trim_end_with(|last| last == '\0').into()),
    }
}

/// Read-only data: by the sections, and where there are none by the segments that are not writable.
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
