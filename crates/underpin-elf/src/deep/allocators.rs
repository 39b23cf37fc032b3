//! Which allocators are in a file, on what evidence, and by which names they are called.
//!
//! A definition is proof. In a file that was stripped of its symbols two independent traces are. All else is a hint:
//! help texts, log filters and embedded data mention allocators that are not in use.

use crate::deep::known::Known;
use crate::deep::symbols::Reader;
use crate::deep::traces::{Finding, LibcTag, MallocAlias, Subject, Traces};
use crate::{Allocator, AllocatorKind, AllocatorNames, Class, Evidence, LanguageTrace, Machine, Source};
use bstr::BString;

/// The allocators inside and those with only hints, each in the order of their kinds.
pub(crate) fn run<S: Source + ?Sized>(
    reader: &Reader<'_, '_, S>,
    known: &Known<'_>,
    traces: &Traces,
    rust: bool,
    go: Option<LanguageTrace>,
) -> (Vec<Allocator>, Vec<Allocator>) {
    let found = traces.findings.iter().filter_map(|(subject, finding)| match subject {
        Subject::Allocator(kind) => Some((*kind, finding)),
        _ => None,
    });
    let (proven, hints): (Vec<_>, Vec<_>) =
        found.partition(|(kind, finding)| is_proven(*kind, finding, traces, !known.has_symtab));
    let record = |(kind, finding): (AllocatorKind, &Finding)| Allocator {
        kind,
        version: match kind {
            AllocatorKind::Mimalloc => mimalloc_version(reader, traces),
            AllocatorKind::Jemalloc => traces.git_version.clone(),
            _ => finding.version.clone(),
        },
        page_size: traces.jemalloc_pages.filter(|_| kind == AllocatorKind::Jemalloc).and_then(jemalloc_page_size),
        names: names(kind, traces, rust),
        evidence: finding.evidence.clone(),
    };
    let mut list: Vec<Allocator> = proven.into_iter().map(record).collect();
    leave_out_taken_over(&mut list);
    if let Some(go) = go {
        list.push(Allocator {
            kind: AllocatorKind::GoRuntime,
            version: go.version,
            page_size: None,
            names: AllocatorNames::Own,
            evidence: go.evidence,
        });
    }
    list.extend(simple_malloc(&list, traces));
    settle_malloc(&mut list, traces);
    (list, hints.into_iter().map(record).collect())
}

/// Removes jemalloc or mimalloc if only its entries are there, beside an allocator that left its texts: the entries
/// lead to that one (`underpin build` links such entries in). The real ones leave texts or internal names.
fn leave_out_taken_over(list: &mut Vec<Allocator>) {
    let leaves_texts =
        |kind| matches!(kind, AllocatorKind::Jemalloc | AllocatorKind::Mimalloc | AllocatorKind::Snmalloc);
    let is_entry = |piece: &Evidence| match piece {
        Evidence::Defines(name) => {
            let entries: [&[u8]; 7] = [
                b"mallocx",
                b"mallctl",
                b"_rjem_malloc",
                b"_rjem_mallocx",
                b"_rjem_mallctl",
                b"mi_heap_malloc",
                b"mi_version",
            ];
            entries.contains(&name.as_slice())
        }
        _ => false,
    };
    let is_real = |allocator: &Allocator| !allocator.evidence.iter().all(is_entry);
    if list.iter().any(|allocator| leaves_texts(allocator.kind) && is_real(allocator)) {
        list.retain(|allocator| !leaves_texts(allocator.kind) || is_real(allocator));
    }
}

fn is_proven(kind: AllocatorKind, finding: &Finding, traces: &Traces, stripped: bool) -> bool {
    let libc = |tag| {
        let other = traces.findings.get(&Subject::Libc(tag));
        // Evidence of the C library other than its malloc.
        other.is_some_and(|libc| libc.evidence.iter().any(|piece| !finding.evidence.contains(piece)))
    };
    let corroborated = match kind {
        AllocatorKind::Ptmalloc => libc(LibcTag::Glibc),
        AllocatorKind::MuslMallocng | AllocatorKind::MuslOldmalloc => libc(LibcTag::Musl),
        _ => false,
    };
    finding.is_defined() || (stripped && (finding.has_two_traces() || corroborated))
}

/// By which names an allocator is called, as far as its symbols show.
fn names(kind: AllocatorKind, traces: &Traces, rust: bool) -> AllocatorNames {
    let aliases = || traces.malloc_aliases.iter().filter(|(_, at)| Some(*at) == traces.malloc);
    let is_alias = aliases().any(|(alias, _)| match alias {
        MallocAlias::Libc => kind.is_of_libc(),
        MallocAlias::Of(owner) => *owner == kind,
    });
    if is_alias {
        return AllocatorNames::Malloc;
    }
    match kind {
        AllocatorKind::Jemalloc if traces.plain_jemalloc => AllocatorNames::Malloc,
        AllocatorKind::Jemalloc if traces.rust_jemalloc => AllocatorNames::Rust,
        AllocatorKind::Mimalloc | AllocatorKind::Snmalloc | AllocatorKind::Jemalloc
            if rust && !traces.malloc_aliases.is_empty() =>
        {
            AllocatorNames::Rust
        }
        _ => AllocatorNames::Unknown,
    }
}

/// musl's simple allocator, if `malloc` is the C library's and no allocator that frees was linked in.
fn simple_malloc(list: &[Allocator], traces: &Traces) -> Option<Allocator> {
    let is_libcs = |(alias, at): &(MallocAlias, _)| *alias == MallocAlias::Libc && Some(*at) == traces.malloc;
    let alone = !list.iter().any(|allocator| allocator.kind.is_of_libc());
    // Others define glibc's names as well, to catch its internal callers (Chromium's shim): musl cannot be inferred
    // from that.
    let is_musl = traces.findings.contains_key(&Subject::Libc(LibcTag::Musl));
    (alone && is_musl && traces.malloc_aliases.iter().any(is_libcs)).then(|| Allocator {
        kind: AllocatorKind::MuslSimple,
        version: None,
        page_size: None,
        names: AllocatorNames::Malloc,
        evidence: vec![Evidence::Defines("default_malloc".into())],
    })
}

/// If the file defines `malloc` and no other name shows whose it is: that of the allocator that the program was linked
/// with, or else of the C library inside.
fn settle_malloc(list: &mut [Allocator], traces: &Traces) {
    if traces.malloc.is_none() || list.iter().any(|allocator| allocator.names == AllocatorNames::Malloc) {
        return;
    }
    let open = |allocator: &&mut Allocator| {
        allocator.names == AllocatorNames::Unknown && allocator.kind != AllocatorKind::GoRuntime
    };
    let chosen = list.iter_mut().filter(open).find(|allocator| !allocator.kind.is_of_libc());
    if let Some(chosen) = chosen {
        chosen.names = AllocatorNames::Malloc;
        return;
    }
    // glibc's own name for malloc has another address: this malloc is the program's.
    let glibc_elsewhere = traces.malloc_aliases.iter().any(|(alias, _)| *alias == MallocAlias::Libc);
    if let Some(of_libc) =
        list.iter_mut().filter(open).find(|allocator| allocator.kind != AllocatorKind::Ptmalloc || !glibc_elsewhere)
    {
        of_libc.names = AllocatorNames::Malloc;
    }
}

/// jemalloc 5 has `SC_NPSIZES + 1` entries in `sz_pind2sz_tab`, with SC_NPSIZES = 4 * (62 - (LG_PAGE + 2)) + 7 on
/// 64-bit machines (`include/jemalloc/internal/sc.h`).
fn jemalloc_page_size(table: u64) -> Option<u64> {
    let sizes = (table / 8).checked_sub(1)?.checked_sub(7)?;
    let lg_page = 60_u64.checked_sub(sizes / 4)?;
    (table.is_multiple_of(8) && sizes.is_multiple_of(4) && (12..=21).contains(&lg_page)).then(|| 1 << lg_page)
}

/// `mi_version` returns a constant: on x86-64 its code is `mov eax, <number>; ret`. Up to 999 the number is one digit
/// each of major, minor and patch (`include/mimalloc.h`, MI_MALLOC_VERSION), above two digits for minor and patch.
fn mimalloc_version<S: Source + ?Sized>(reader: &Reader<'_, '_, S>, traces: &Traces) -> Option<BString> {
    if reader.elf.ident.machine != Machine::X86_64 || reader.elf.ident.class != Class::Elf64 {
        return None;
    }
    let code = reader.bytes_at(traces.mimalloc_version?, 16)?;
    let code = code.strip_prefix(b"\xf3\x0f\x1e\xfa").unwrap_or(&code);
    let [0xb8, number @ .., 0xc3] = code.get(..6)? else { return None };
    let number = u32::from_le_bytes(number.try_into().ok()?);
    let (major, minor, patch) = match number {
        100..=999 => (number / 100, number / 10 % 10, number % 10),
        10_000..=99_999 => (number / 10_000, number / 100 % 100, number % 100),
        _ => return None,
    };
    Some(format!("{major}.{minor}.{patch}").into())
}
