//! Combines traces, notes and dependencies into what a file is.

use crate::deep::allocators;
use crate::deep::known::Known;
use crate::deep::linkage;
use crate::deep::symbols::Reader;
use crate::deep::traces::{Finding, LibcTag, Subject, Traces, version_prefix};
use crate::{AllocatorKind, ElfError, Evidence, Identity, Language, LanguageTrace, Libc};
use crate::{LibcKind, LibcPlacement, Linkage, Section, Source, SymbolSource};
use bstr::{BString, ByteSlice};

/// Determines what the file is.
pub(crate) fn run<S: Source + ?Sized>(
    reader: &Reader<'_, '_, S>,
    known: &Known<'_>,
    traces: &mut Traces,
    defects: &mut Vec<ElfError>,
) -> Identity {
    let linkage = linkage::of(known.elf, traces.loader.is_some());
    let compilers = comments(reader, known.sections, defects);
    let go = go_trace(reader, known);
    let libc = libc(known, traces, linkage, go.is_some());
    let mut languages = languages(traces, &compilers);
    languages.extend(go.clone());
    languages.sort_by_key(|trace| trace.language);
    let rust = languages.iter().any(|trace| trace.language == Language::Rust);
    let (allocators, allocator_hints) = allocators::run(reader, known, traces, rust, go);
    let exports_malloc = known.symbols.from == SymbolSource::Dynamic
        && known.symbols.exports.iter().any(|export| export.name == "malloc");
    Identity {
        linkage,
        allocators,
        allocator_hints,
        exports_malloc,
        libc,
        languages,
        compilers,
        allocation_defined: std::mem::take(&mut traces.allocation_defined).into_iter().collect(),
        allocation_imported: std::mem::take(&mut traces.allocation_imported).into_iter().collect(),
        stripped: !known.has_symtab,
        scan_incomplete: known.scan_incomplete,
    }
}

/// The C library: inside for static programs and for C libraries themselves, expected for all else.
fn libc(known: &Known<'_>, traces: &mut Traces, linkage: Linkage, go: bool) -> Option<Libc> {
    if !matches!(linkage, Linkage::Loader | Linkage::RunnableLibrary) && !linkage.is_static() {
        if let Some(libc) = expected_libc(known) {
            return Some(libc);
        }
        if linkage != Linkage::SharedLibrary || !is_glibc_itself(known) {
            return None;
        }
    }
    static_hints(known, traces);
    let inside = LibcTag::ALL.into_iter().find_map(|tag| {
        let finding = traces.findings.get(&Subject::Libc(tag))?;
        let stripped = !known.has_symtab || linkage == Linkage::RunnableLibrary;
        let proven = finding.is_defined() || (stripped && finding.has_two_traces()) || tag == LibcTag::Bionic;
        proven.then(|| (tag.kind(), finding.clone()))
    });
    let (kind, finding) = match inside {
        Some(inside) => inside,
        None if go => (LibcKind::GoRuntime, Finding::default()),
        None if linkage.is_static() && known.has_symtab => (LibcKind::NoLibc, Finding::default()),
        None => return expected_libc(known),
    };
    let version = match (kind, linkage) {
        (LibcKind::Musl, Linkage::Loader) => traces.plain_version.clone(),
        _ => finding.version,
    };
    Some(Libc { kind, version, placement: LibcPlacement::Inside, evidence: finding.evidence })
}

fn is_glibc_itself(known: &Known<'_>) -> bool {
    known
        .elf
        .dynamic
        .as_ref()
        .and_then(|dynamic| dynamic.soname.as_ref())
        .is_some_and(|soname| soname.starts_with(b"libc.so.6"))
}

/// What only start files and a libc's own name reveal.
fn static_hints(known: &Known<'_>, traces: &mut Traces) {
    // glibc's crt1.o carries the ABI tag; musl's and diet libc's do not. But the tag belongs to the ABI, and Free
    // Pascal, for example, writes it without any C library.
    if known.notes.abi.is_some() {
        traces.note(Subject::Libc(LibcTag::Glibc), Evidence::Note("GNU ABI tag".into()));
    }
    // Its malloc is a part of it.
    if let Some(found) = traces.findings.get(&Subject::Allocator(AllocatorKind::Ptmalloc)) {
        let evidence = found.evidence.clone();
        evidence.into_iter().for_each(|piece| traces.note(Subject::Libc(LibcTag::Glibc), piece));
    }
    if known.notes.all.iter().any(|note| note.owner == "Android") {
        traces.note(Subject::Libc(LibcTag::Bionic), Evidence::Note("Android".into()));
    }
    let mallocs = [AllocatorKind::MuslMallocng, AllocatorKind::MuslOldmalloc];
    for kind in mallocs {
        if let Some(found) = traces.findings.get(&Subject::Allocator(kind)) {
            let evidence = found.evidence.clone();
            evidence.into_iter().for_each(|piece| traces.note(Subject::Libc(LibcTag::Musl), piece));
        }
    }
    let soname = known.elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.clone());
    if let Some(soname) = soname.filter(|soname| soname.starts_with(b"ld-linux") || soname.starts_with(b"ld64.so")) {
        traces.note(Subject::Libc(LibcTag::Glibc), Evidence::Soname(soname));
    }
}

/// The C library that a dynamic file expects.
fn expected_libc(known: &Known<'_>) -> Option<Libc> {
    let mut found: Option<(LibcKind, Vec<Evidence>)> = None;
    let mut add = |kind, evidence| match &mut found {
        Some((known, list)) if *known == kind => list.push(evidence),
        Some(_) => {}
        None => found = Some((kind, vec![evidence])),
    };
    if let Some(path) = &known.elf.interpreter
        && let Some(kind) = interpreter_kind(path)
    {
        add(kind, Evidence::Interpreter(path.clone()));
    }
    let android = known.notes.all.iter().any(|note| note.owner == "Android");
    let needed = known.elf.dynamic.iter().flat_map(|dynamic| &dynamic.needed);
    for name in needed {
        if let Some(kind) = needed_kind(name, android) {
            add(kind, Evidence::Needs(name.clone()));
        }
    }
    if let Some(need) = known.symbols.versions.needs.iter().find(|need| need.version.starts_with(b"GLIBC_")) {
        add(LibcKind::Glibc, Evidence::Version(need.version.clone()));
    }
    let (kind, evidence) = found?;
    Some(Libc { kind, version: None, placement: LibcPlacement::Loaded, evidence })
}

fn interpreter_kind(path: &[u8]) -> Option<LibcKind> {
    let name = path.rsplit_str("/").next()?;
    let starts = |prefix: &str| name.starts_with(prefix.as_bytes());
    if starts("ld-musl-") {
        Some(LibcKind::Musl)
    } else if starts("ld-uClibc") || starts("ld64-uClibc") {
        Some(LibcKind::Uclibc)
    } else if name == b"linker" || name == b"linker64" {
        Some(LibcKind::Bionic)
    } else if starts("ld-linux") || starts("ld64.so") || name == b"ld.so.1" || starts("ld-2.") {
        Some(LibcKind::Glibc)
    } else {
        None
    }
}

fn needed_kind(name: &[u8], android: bool) -> Option<LibcKind> {
    match name {
        b"libc.so" if android => Some(LibcKind::Bionic),
        b"libc.so" => Some(LibcKind::Musl),
        b"libc.so.0" => Some(LibcKind::Uclibc),
        b"libc.so.6" | b"libc.so.6.1" => Some(LibcKind::Glibc),
        _ if name.starts_with(b"libc.musl-") => Some(LibcKind::Musl),
        _ => None,
    }
}

/// The distinct lines of `.comment`.
fn comments<S: Source + ?Sized>(
    reader: &Reader<'_, '_, S>,
    sections: &[Section],
    defects: &mut Vec<ElfError>,
) -> Vec<BString> {
    /// A comment is a few lines; a file with many compilers has some kilobytes.
    const MOST: u64 = 64 * 1024;
    let Some(section) = sections.iter().find(|section| section.name == ".comment") else {
        return Vec::new();
    };
    let bytes = match reader.window.range(section.offset.0, section.size.min(MOST), "the comment section") {
        Ok(bytes) => bytes,
        Err(error) => {
            defects.push(error);
            return Vec::new();
        }
    };
    let mut lines: Vec<BString> = Vec::new();
    for line in bytes.split_str("\0").filter(|line| !line.is_empty()).take(1024) {
        if !lines.iter().any(|known| known == line) {
            lines.push(line.into());
        }
    }
    lines
}

fn languages(traces: &Traces, compilers: &[BString]) -> Vec<LanguageTrace> {
    let mut list = Vec::new();
    for language in [Language::Cpp, Language::Rust] {
        let finding = traces.findings.get(&Subject::Language(language));
        let mut trace = LanguageTrace {
            language,
            version: None,
            evidence: finding.map(|finding| finding.evidence.clone()).unwrap_or_default(),
        };
        if language == Language::Rust
            && let Some(line) = compilers.iter().find(|line| line.starts_with(b"rustc version "))
        {
            trace.version = line.get(14..).and_then(version_prefix);
            trace.evidence.push(Evidence::Comment(line.clone()));
        }
        if !trace.evidence.is_empty() {
            list.push(trace);
        }
    }
    list
}

/// Go leaves a note (internal linker) and `.go.buildinfo` with the version of the toolchain.
fn go_trace<S: Source + ?Sized>(reader: &Reader<'_, '_, S>, known: &Known<'_>) -> Option<LanguageTrace> {
    let section = known.sections.iter().find(|section| section.name == ".go.buildinfo");
    let mut evidence = Vec::new();
    if known.notes.go_build_id.is_some() {
        evidence.push(Evidence::Note("Go".into()));
    }
    if let Some(section) = section {
        evidence.push(Evidence::Section(section.name.clone()));
    }
    if evidence.is_empty() {
        return None;
    }
    let version = section.and_then(|section| {
        let bytes = reader.window.range(section.offset.0, section.size.min(256), "the Go build information").ok()?;
        go_version(&bytes)
    });
    Some(LanguageTrace { language: Language::Go, version, evidence })
}

/// Go 1.18 and later: magic, flags in byte 15 with bit 1 for inline strings, and at offset 32 the version after its
/// length (`debug/buildinfo`). Earlier versions hold pointers, which are not followed.
fn go_version(bytes: &[u8]) -> Option<BString> {
    if !bytes.starts_with(b"\xff Go buildinf:") || bytes.get(15)? & 2 == 0 {
        return None;
    }
    let length = usize::from(*bytes.get(32)?);
    let text = bytes.get(33..)?.get(..length)?;
    text.starts_with(b"go").then(|| text.into())
}
