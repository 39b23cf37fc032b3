//! Determines hardening from what the other modules read.

use crate::deep::traces::Traces;
use crate::{Canary, Elf, FileType, Fortify, FortifyUnknown, Hardening, Identity, LibcKind, LibcPlacement, Notes};
use crate::{Relro, SearchPathRisk, SearchPathRiskKind, SegmentKind, StackProtection, SymbolSource};
use bstr::ByteSlice;

/// Determines which measures against exploits a file has.
pub(crate) fn run(
    elf: &Elf,
    notes: &Notes,
    identity: &Identity,
    traces: &mut Traces,
    symbols: SymbolSource,
) -> Hardening {
    let dynamic = elf.dynamic.as_ref();
    let bind_now = dynamic.is_some_and(|dynamic| dynamic.bind_now);
    Hardening {
        position_independent: elf.ident.file_type == FileType::Dynamic,
        relro: relro(elf, identity, bind_now),
        bind_now,
        stack: match elf.segment(SegmentKind::Stack) {
            Some(segment) if segment.flags.execute => StackProtection::Executable,
            Some(_) => StackProtection::NotExecutable,
            None => StackProtection::Unstated,
        },
        canary: canary(traces, identity, symbols),
        fortify: fortify(traces, identity),
        search_path_risks: search_path_risks(elf),
        text_relocations: dynamic.is_some_and(|dynamic| dynamic.text_relocations),
        writable_code: elf.loads().any(|load| load.flags.write && load.flags.execute),
        ibt: notes.properties.ibt,
        shadow_stack: notes.properties.shadow_stack,
        bti: notes.properties.bti,
        pac: notes.properties.pac,
    }
}

/// Full if nothing is bound later: BIND_NOW, static files, and musl, whose loader binds all symbols at start
/// (`ldso/dynlink.c`, no lazy binding).
fn relro(elf: &Elf, identity: &Identity, bind_now: bool) -> Relro {
    if elf.segment(SegmentKind::Relro).is_none() {
        return Relro::None;
    }
    let musl = identity.libc.as_ref().is_some_and(|libc| libc.kind == LibcKind::Musl);
    if bind_now || musl || identity.linkage.is_static() { Relro::Full } else { Relro::Partial }
}

/// A C library defines `__stack_chk_fail` whether it is called or not (in musl it shares an object file with the
/// start-up code): if one is inside, the definition says nothing.
fn canary(traces: &Traces, identity: &Identity, symbols: SymbolSource) -> Canary {
    let inside = identity.libc.as_ref().is_some_and(|libc| {
        libc.placement == LibcPlacement::Inside && !matches!(libc.kind, LibcKind::NoLibc | LibcKind::GoRuntime)
    });
    if traces.canary_used || traces.canary_defined && !inside {
        Canary::Present
    } else if inside || symbols == SymbolSource::None || identity.linkage.is_static() && identity.stripped {
        Canary::Unknown
    } else {
        Canary::Absent
    }
}

fn fortify(traces: &mut Traces, identity: &Identity) -> Fortify {
    let unknown = match identity.libc.as_ref().map(|libc| (libc.kind, libc.placement)) {
        Some((LibcKind::Glibc, LibcPlacement::Loaded)) => {
            return Fortify::Glibc {
                checked: std::mem::take(&mut traces.fortified).into_iter().collect(),
                plain: std::mem::take(&mut traces.fortifiable).into_iter().collect(),
            };
        }
        Some((LibcKind::Glibc, LibcPlacement::Inside)) => FortifyUnknown::StaticLibc,
        Some((LibcKind::Musl, _)) => FortifyUnknown::Musl,
        Some((LibcKind::NoLibc | LibcKind::GoRuntime, _)) | None => FortifyUnknown::NoLibc,
        Some(_) => FortifyUnknown::OtherLibc,
    };
    Fortify::NotApplicable(unknown)
}

/// Entries of the list that the loader uses: RUNPATH hides RPATH (`glibc elf/get-dynamic-info.h`).
fn search_path_risks(elf: &Elf) -> Vec<SearchPathRisk> {
    let Some(dynamic) = elf.dynamic.as_ref() else {
        return Vec::new();
    };
    let Some(list) = dynamic.runpath.as_ref().or(dynamic.rpath.as_ref()) else {
        return Vec::new();
    };
    let risk = |entry: &[u8]| Some(SearchPathRisk { kind: risk_of(entry)?, entry: entry.into() });
    list.split_str(":").filter_map(risk).collect()
}

fn risk_of(entry: &[u8]) -> Option<SearchPathRiskKind> {
    let below = |directory: &str| {
        entry.strip_prefix(directory.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    if ["/tmp", "/var/tmp", "/dev/shm"].into_iter().any(below) {
        Some(SearchPathRiskKind::WorldWritable)
    } else if !entry.starts_with(b"/") && !entry.starts_with(b"$ORIGIN") && !entry.starts_with(b"${ORIGIN}") {
        Some(SearchPathRiskKind::WorkingDirectory)
    } else {
        None
    }
}
