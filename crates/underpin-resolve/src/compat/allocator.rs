//! Which allocators serve a program, and which of its code each of them serves.
//!
//! The rule is the loader's: a call of `malloc` goes to the first object in load order that defines it, and in a static
//! file to what the linker put there. Besides, an allocator may serve one language under names of its own, as jemalloc
//! does in Rust programs. An allocator that the file merely mentions is not reported.

use super::platform::LibcFamily;
use super::subject::{BuiltWith, MallocProvider, ObjectFacts, Subject};
use bstr::BString;
use serde::Serialize;
use underpin_elf::{Allocator, AllocatorKind, AllocatorNames};

/// An allocator of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocatorFinding {
    /// Which one; `None` if the file does not show it, or it is the program's own.
    pub kind: Option<AllocatorKind>,
    /// Where it comes from.
    pub origin: AllocatorOrigin,
    /// Which code it serves.
    pub serves: Served,
    /// The evidence, each item a clause.
    pub evidence: Vec<String>,
}

/// The code that an allocator serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// Code that calls `malloc`: C, C++ and what is built on them.
    Malloc,
    /// The Rust code of the program.
    Rust,
    /// The Go code of the program.
    Go,
    /// Code that calls it by its own names.
    OwnNames,
}

/// Where an allocator comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "origin")]
pub enum AllocatorOrigin {
    /// Code in the program itself.
    InFile,
    /// A library, which takes over `malloc` because it is searched before the C library.
    NeededLibrary {
        /// Its soname.
        soname: BString,
        /// The object that needs it.
        needed_by: BString,
    },
    /// The target's C library. For musl that is mallocng from 1.2.1 on, which every system of the table has, and
    /// oldmalloc before.
    Libc {
        /// Which C library.
        libc: LibcFamily,
    },
    /// The file does not show it.
    Unknown,
}

/// The allocators that come as a library of their own, by the start of their file name.
const LIBRARIES: [(&str, AllocatorKind); 5] = [
    ("libjemalloc", AllocatorKind::Jemalloc),
    ("libmimalloc", AllocatorKind::Mimalloc),
    ("libtcmalloc", AllocatorKind::Tcmalloc),
    ("libsnmalloc", AllocatorKind::Snmalloc),
    ("libgoogle_tcmalloc", AllocatorKind::Tcmalloc),
];

/// The allocator in a needed library, if it is one of these.
fn allocator_library(soname: &[u8]) -> Option<AllocatorKind> {
    LIBRARIES.iter().find(|(prefix, _)| soname.starts_with(prefix.as_bytes())).map(|(_, kind)| *kind)
}

/// Finds the allocators of a program, that of `malloc` first.
#[must_use]
pub fn allocators_of(subject: &Subject) -> Vec<AllocatorFinding> {
    let program = &subject.program;
    let malloc = if is_static(program) { malloc_inside(program) } else { malloc_loaded(subject) };
    let mut found: Vec<AllocatorFinding> = malloc.into_iter().collect();
    let taken = found.first().filter(|first| first.origin == AllocatorOrigin::InFile).and_then(|first| first.kind);
    for allocator in &program.allocators {
        // If another allocator has replaced the C library's own, that one serves only the C library itself.
        if Some(allocator.kind) != taken && !allocator.kind.is_of_libc() {
            let serves = serves(allocator, program);
            found.push(inside(Some(allocator.kind), serves, words(allocator)));
        }
    }
    // A Go program without C has its own allocator.
    if program.imports_malloc.is_none() && found.iter().any(|finding| finding.serves == Served::Go) {
        found.retain(|finding| finding.serves != Served::Malloc || finding.origin == AllocatorOrigin::InFile);
    }
    found
}

/// The allocator of `malloc`, or the only one.
#[must_use]
pub fn allocator_of(subject: &Subject) -> AllocatorFinding {
    let unknown =
        AllocatorFinding { kind: None, origin: AllocatorOrigin::Unknown, serves: Served::Malloc, evidence: Vec::new() };
    allocators_of(subject).into_iter().next().unwrap_or(unknown)
}

fn is_static(program: &ObjectFacts) -> bool {
    program.interpreter.is_none() && program.needed.is_empty()
}

fn inside(kind: Option<AllocatorKind>, serves: Served, evidence: Vec<String>) -> AllocatorFinding {
    AllocatorFinding { kind, origin: AllocatorOrigin::InFile, serves, evidence }
}

fn words(allocator: &Allocator) -> Vec<String> {
    allocator.evidence.iter().map(ToString::to_string).collect()
}

fn serves(allocator: &Allocator, program: &ObjectFacts) -> Served {
    match allocator.kind {
        AllocatorKind::GoRuntime => Served::Go,
        _ if allocator.names == AllocatorNames::Rust || program.toolchain == BuiltWith::Rust => Served::Rust,
        _ => Served::OwnNames,
    }
}

/// The allocator whose `malloc` a file without a loader calls.
fn malloc_inside(program: &ObjectFacts) -> Option<AllocatorFinding> {
    let of = |allocator: &Allocator| inside(Some(allocator.kind), Served::Malloc, words(allocator));
    let list = &program.allocators;
    if let Some(named) = list.iter().find(|allocator| allocator.names == AllocatorNames::Malloc) {
        return Some(of(named));
    }
    if program.defines_malloc {
        return Some(inside(None, Served::Malloc, vec!["defines malloc".to_owned()]));
    }
    // Without symbols: an allocator that is not the C library's was chosen on purpose, in Rust programs for Rust alone.
    let open = |allocator: &&Allocator| allocator.names == AllocatorNames::Unknown;
    let of_libc = list.iter().filter(open).find(|allocator| allocator.kind.is_of_libc());
    let chosen = list.iter().filter(open).find(|allocator| !allocator.kind.is_of_libc());
    match (chosen, of_libc) {
        (Some(_), Some(of_libc)) if program.toolchain == BuiltWith::Rust => Some(of(of_libc)),
        (Some(chosen), _) => Some(of(chosen)),
        (None, of_libc) => of_libc.map(of),
    }
}

/// The allocator whose `malloc` the loader binds calls to.
fn malloc_loaded(subject: &Subject) -> Option<AllocatorFinding> {
    let program = &subject.program;
    if program.defines_malloc {
        let own = program.allocators.iter().find(|allocator| allocator.kind != AllocatorKind::GoRuntime);
        let mut evidence = vec!["exports malloc".to_owned()];
        evidence.extend(own.iter().flat_map(|allocator| words(allocator)));
        return Some(inside(own.map(|allocator| allocator.kind), Served::Malloc, evidence));
    }
    let of_libc = |first: &MallocProvider| {
        LibcFamily::of_soname(&first.soname).is_some() || first.kind.is_some_and(AllocatorKind::is_of_libc)
    };
    if let Some(first) = subject.mallocs.first().filter(|first| !of_libc(first)) {
        return Some(library(first.kind.or_else(|| allocator_library(&first.soname)), &first.soname, &first.needed_by));
    }
    // The loader's order is breadth-first; the dependencies of libraries that are not shipped along are unknown.
    let needed = subject.objects().flat_map(|object| object.needed.iter().map(move |soname| (object, soname)));
    let before_libc = needed.take_while(|(_, soname)| LibcFamily::of_soname(soname).is_none());
    for (object, soname) in before_libc.filter(|_| subject.mallocs.is_empty()) {
        if let Some(kind) = allocator_library(soname) {
            return Some(library(Some(kind), soname, &object.name));
        }
    }
    let libc = subject.libc()?;
    let kind = match libc {
        LibcFamily::Glibc => AllocatorKind::Ptmalloc,
        LibcFamily::Musl => AllocatorKind::MuslMallocng,
    };
    let evidence = program.imports_malloc.iter().map(|name| format!("imports {name}")).collect();
    Some(AllocatorFinding {
        kind: Some(kind),
        origin: AllocatorOrigin::Libc { libc },
        serves: Served::Malloc,
        evidence,
    })
}

fn library(kind: Option<AllocatorKind>, soname: &BString, needed_by: &BString) -> AllocatorFinding {
    let origin = AllocatorOrigin::NeededLibrary { soname: soname.clone(), needed_by: needed_by.clone() };
    AllocatorFinding {
        kind,
        origin,
        serves: Served::Malloc,
        evidence: vec![format!("{soname} comes before the C library")],
    }
}

#[cfg(test)]
mod tests {
    use super::super::platform::Arch;
    use super::*;
    use underpin_elf::Linkage;

    fn dynamic(needed: &[&str]) -> Subject {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        program.linkage = Linkage::DynamicPie;
        program.interpreter = Some("/lib64/ld-linux-x86-64.so.2".into());
        program.needed = needed.iter().map(|name| (*name).into()).collect();
        Subject::alone(program)
    }

    #[test]
    fn a_needed_allocator_takes_over_from_the_libc() {
        for (soname, kind) in [
            ("libjemalloc.so.2", AllocatorKind::Jemalloc),
            ("libtcmalloc_minimal.so.4", AllocatorKind::Tcmalloc),
            ("libmimalloc.so.2", AllocatorKind::Mimalloc),
        ] {
            assert_eq!(allocator_of(&dynamic(&[soname, "libc.so.6"])).kind, Some(kind), "{soname}");
        }
    }

    #[test]
    fn without_one_the_libc_serves() {
        let finding = allocator_of(&dynamic(&["libc.so.6"]));
        assert_eq!(finding.kind, Some(AllocatorKind::Ptmalloc));
        assert_eq!(finding.origin, AllocatorOrigin::Libc { libc: LibcFamily::Glibc });
    }

    /// What the loader does (LD_DEBUG=bindings): breadth first, so the C library that the program itself needs comes
    /// before what its libraries need.
    #[test]
    fn an_allocator_behind_the_c_library_serves_nobody() {
        assert_eq!(allocator_of(&dynamic(&["libc.so.6", "libjemalloc.so.2"])).kind, Some(AllocatorKind::Ptmalloc));
        let mut subject = dynamic(&["libfoo.so", "libc.so.6"]);
        let mut library = ObjectFacts::new("libfoo.so", Arch::X86_64);
        library.needed = vec!["libjemalloc.so.2".into(), "libc.so.6".into()];
        subject.companions.push(library);
        assert_eq!(allocator_of(&subject).kind, Some(AllocatorKind::Ptmalloc));
    }

    #[test]
    fn the_first_malloc_in_load_order_serves() {
        let mut subject = dynamic(&["libown.so", "libc.so.6"]);
        let provider = |soname: &str, kind| MallocProvider { soname: soname.into(), needed_by: "prog".into(), kind };
        subject.mallocs = vec![provider("libown.so", None), provider("libc.so.6", Some(AllocatorKind::Ptmalloc))];
        let finding = allocator_of(&subject);
        assert_eq!(finding.kind, None);
        assert!(matches!(&finding.origin, AllocatorOrigin::NeededLibrary { soname, .. } if soname == "libown.so"));
        subject.mallocs.reverse();
        assert_eq!(allocator_of(&subject).kind, Some(AllocatorKind::Ptmalloc));
    }

    fn allocator(kind: AllocatorKind, names: AllocatorNames) -> Allocator {
        Allocator { kind, version: None, page_size: None, names, evidence: Vec::new() }
    }

    fn served(subject: &Subject) -> Vec<(Option<AllocatorKind>, Served)> {
        allocators_of(subject).into_iter().map(|finding| (finding.kind, finding.serves)).collect()
    }

    #[test]
    fn a_program_that_exports_malloc_is_served_by_its_own() {
        let mut subject = dynamic(&["libjemalloc.so.2", "libc.so.6"]);
        subject.program.defines_malloc = true;
        assert_eq!(served(&subject), [(None, Served::Malloc)]);
        assert_eq!(allocator_of(&subject).evidence, ["exports malloc"]);
        subject.program.allocators = vec![allocator(AllocatorKind::PartitionAlloc, AllocatorNames::Unknown)];
        assert_eq!(served(&subject), [(Some(AllocatorKind::PartitionAlloc), Served::Malloc)]);
    }

    #[test]
    fn two_allocators_are_both_named_with_whom_they_serve() {
        use AllocatorKind::{GoRuntime, Jemalloc, Mimalloc, MuslMallocng, Ptmalloc};
        use AllocatorNames::{Malloc, Own, Rust, Unknown};
        let mut subject = dynamic(&["libc.so.6"]);
        subject.program.imports_malloc = Some("malloc".into());
        subject.program.allocators = vec![allocator(Jemalloc, Rust)];
        assert_eq!(served(&subject), [(Some(Ptmalloc), Served::Malloc), (Some(Jemalloc), Served::Rust)]);
        subject.program.allocators = vec![allocator(GoRuntime, Own)];
        assert_eq!(served(&subject), [(Some(Ptmalloc), Served::Malloc), (Some(GoRuntime), Served::Go)]);
        subject.program.imports_malloc = None;
        assert_eq!(served(&subject), [(Some(GoRuntime), Served::Go)]);
        let mut fixed = Subject::alone(ObjectFacts::new("prog", Arch::X86_64));
        fixed.program.allocators =
            vec![allocator(MuslMallocng, Unknown), allocator(Jemalloc, Rust), allocator(Mimalloc, Malloc)];
        assert_eq!(served(&fixed), [(Some(Mimalloc), Served::Malloc), (Some(Jemalloc), Served::Rust)]);
    }

    #[test]
    fn in_a_stripped_static_file_the_one_that_somebody_chose_serves() {
        use AllocatorKind::{Jemalloc, MuslMallocng};
        let unknown = |kind| allocator(kind, AllocatorNames::Unknown);
        let mut subject = Subject::alone(ObjectFacts::new("prog", Arch::X86_64));
        subject.program.allocators = vec![unknown(MuslMallocng), unknown(Jemalloc)];
        assert_eq!(served(&subject), [(Some(Jemalloc), Served::Malloc)]);
        subject.program.toolchain = BuiltWith::Rust;
        assert_eq!(served(&subject), [(Some(MuslMallocng), Served::Malloc), (Some(Jemalloc), Served::Rust)]);
        subject.program.allocators = vec![unknown(MuslMallocng)];
        assert_eq!(served(&subject), [(Some(MuslMallocng), Served::Malloc)]);
        subject.program.allocators.clear();
        assert_eq!(served(&subject), []);
        assert_eq!(allocator_of(&subject).kind, None);
    }
}
