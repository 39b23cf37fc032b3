//! What a file itself is, as records: linkage, C library, allocator, languages, hardening.

use super::{
    AllocatorOrigin, AllocatorRecord, AllocatorServes, CheckInput, ClaimRecord, FileRecord, HardeningRecord,
    HardeningState, LibcRecord, PartRecord,
};
use crate::bytes::Raw;
use crate::units::count;
use underpin_elf::{
    Allocator, AllocatorKind, Canary, Class, Endian, Evidence, Fortify, Hardening, Language, LibcPlacement, Linkage,
    Notes, Relro, StackProtection,
};
use underpin_resolve::compat;

/// The record of the program's file.
pub(super) fn file_record(input: &CheckInput<'_>, allocators: &[compat::AllocatorFinding]) -> FileRecord {
    let (ident, identity) = (&input.elf.ident, &input.details.identity);
    let served_by: Vec<AllocatorRecord> = allocators.iter().map(allocator_record).collect();
    FileRecord {
        machine: ident.machine.to_string(),
        class_bits: match ident.class {
            Class::Elf32 => 32,
            Class::Elf64 => 64,
        },
        byte_order: match ident.endian {
            Endian::Little => "little".to_owned(),
            Endian::Big => "big".to_owned(),
        },
        linkage: identity.linkage.to_string(),
        bytes: input.bytes,
        interpreter: input.elf.interpreter.as_ref().map(Raw::from),
        libc: identity.libc.as_ref().map(|libc| LibcRecord {
            name: libc.kind.name().to_owned(),
            version: libc.version.as_ref().map(Raw::from),
            inside: libc.placement == LibcPlacement::Inside,
            evidence: evidence(&libc.evidence),
        }),
        allocator: served_by.first().cloned().unwrap_or_default(),
        served_by,
        allocators: parts(&identity.allocators),
        allocator_hints: parts(&identity.allocator_hints),
        languages: identity
            .languages
            .iter()
            .map(|part| PartRecord {
                name: language_name(part.language).to_owned(),
                version: part.version.as_ref().map(Raw::from),
                evidence: evidence(&part.evidence),
            })
            .collect(),
        stripped: identity.stripped,
        build_id: input.details.notes.build_id.as_ref().map(ToString::to_string),
        claims: claims(&input.details.notes),
        hardening: hardening(&input.details.hardening, identity.linkage),
    }
}

fn claims(notes: &Notes) -> Vec<ClaimRecord> {
    let record = |(key, value): &(bstr::BString, bstr::BString)| ClaimRecord { key: key.into(), value: value.into() };
    notes.build.iter().flat_map(|note| &note.claims).map(record).collect()
}

fn parts(allocators: &[Allocator]) -> Vec<PartRecord> {
    let record = |part: &Allocator| PartRecord {
        name: allocator_name(part.kind).to_owned(),
        version: part.version.as_ref().map(Raw::from),
        evidence: evidence(&part.evidence),
    };
    allocators.iter().map(record).collect()
}

fn evidence(evidence: &[Evidence]) -> Vec<String> {
    evidence.iter().map(ToString::to_string).collect()
}

const fn allocator_name(kind: AllocatorKind) -> &'static str {
    match kind {
        AllocatorKind::Ptmalloc => "glibc's malloc",
        AllocatorKind::MuslOldmalloc => "musl's old malloc",
        AllocatorKind::MuslMallocng => "musl's mallocng",
        AllocatorKind::MuslSimple => "musl's malloc that never frees",
        AllocatorKind::Zig => "the malloc of zig's C library",
        AllocatorKind::Jemalloc => "jemalloc",
        AllocatorKind::Mimalloc => "mimalloc",
        AllocatorKind::Tcmalloc => "tcmalloc",
        AllocatorKind::Snmalloc => "snmalloc",
        AllocatorKind::PartitionAlloc => "PartitionAlloc",
        AllocatorKind::GoRuntime => "Go's runtime",
    }
}

const fn language_name(language: Language) -> &'static str {
    match language {
        Language::Cpp => "C++",
        Language::Go => "Go",
        Language::Rust => "Rust",
    }
}

fn allocator_record(finding: &compat::AllocatorFinding) -> AllocatorRecord {
    let (origin, library) = match &finding.origin {
        compat::AllocatorOrigin::InFile => (AllocatorOrigin::InFile, None),
        compat::AllocatorOrigin::NeededLibrary { soname, .. } => {
            (AllocatorOrigin::NeededLibrary, Some(Raw::from(soname)))
        }
        compat::AllocatorOrigin::Libc { libc } => (AllocatorOrigin::Libc, Some(Raw::from(libc.to_string().as_str()))),
        compat::AllocatorOrigin::Unknown => (AllocatorOrigin::Unknown, None),
    };
    let serves = match finding.serves {
        compat::Served::Malloc => AllocatorServes::Malloc,
        compat::Served::Rust => AllocatorServes::Rust,
        compat::Served::Go => AllocatorServes::Go,
        compat::Served::OwnNames => AllocatorServes::OwnNames,
    };
    let name = finding.kind.map(|kind| allocator_name(kind).to_owned());
    AllocatorRecord { name, origin, library, serves, evidence: finding.evidence.clone() }
}

/// The hardening facts in the order of their weight. What only newer processors enforce is listed only if present.
fn hardening(facts: &Hardening, linkage: Linkage) -> Vec<HardeningRecord> {
    use HardeningState::{Bad, Good, Unknown, Weak};
    let mut records = Vec::new();
    let mut add = |name: &str, state, text: &str| {
        records.push(HardeningRecord { name: name.to_owned(), state, text: text.to_owned() });
    };
    match facts.position_independent {
        true => add("pie", Good, "random address"),
        false => add("pie", Bad, "fixed address"),
    }
    match facts.relro {
        Relro::Full => add("relro", Good, "full RELRO"),
        Relro::Partial => add("relro", Weak, "partial RELRO"),
        Relro::None if linkage.is_static() => add("relro", Weak, "no RELRO"),
        Relro::None => add("relro", Bad, "no RELRO"),
    }
    match facts.stack {
        StackProtection::NotExecutable => add("stack", Good, "stack not executable"),
        StackProtection::Executable => add("stack", Bad, "executable stack"),
        StackProtection::Unstated => add("stack", Weak, "stack permissions not stated"),
    }
    match facts.canary {
        Canary::Present => add("canary", Good, "stack canaries"),
        Canary::Absent => add("canary", Weak, "no stack canaries"),
        Canary::Unknown => add("canary", Unknown, "stack canaries not known"),
    }
    match &facts.fortify {
        Fortify::Glibc { checked, plain } if checked.is_empty() && plain.is_empty() => {
            add("fortify", Unknown, "nothing to fortify");
        }
        Fortify::Glibc { checked, .. } if checked.is_empty() => add("fortify", Weak, "not fortified"),
        Fortify::Glibc { checked, .. } => {
            add("fortify", Good, &format!("fortified ({})", count(checked.len(), "function", "functions")));
        }
        Fortify::NotApplicable(_) => add("fortify", Unknown, "fortify cannot be told"),
    }
    if facts.text_relocations {
        add("text_relocations", Bad, "text relocations");
    }
    if facts.writable_code {
        add("writable_code", Bad, "writable code");
    }
    for risk in &facts.search_path_risks {
        add("search_path", Bad, &format!("search path entry {:?} can be filled by others", risk.entry));
    }
    for (there, name, text) in [
        (facts.ibt, "ibt", "IBT"),
        (facts.shadow_stack, "shadow_stack", "shadow stack"),
        (facts.bti, "bti", "BTI"),
        (facts.pac, "pac", "PAC"),
    ] {
        if there {
            add(name, Good, text);
        }
    }
    records
}
