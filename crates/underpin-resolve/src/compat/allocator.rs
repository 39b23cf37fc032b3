//! Which allocator serves a program: one inside the file, one that it needs as a library, or the C library's own.
//!
//! Read from the file alone. What `LD_PRELOAD` would put in front at run time is not known here.

use super::platform::LibcFamily;
use super::subject::Subject;
use bstr::BString;
use serde::Serialize;
use underpin_elf::AllocatorKind;

/// The allocator of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocatorFinding {
    /// Which one; `None` where the file does not tell.
    pub kind: Option<AllocatorKind>,
    /// Where it comes from.
    pub origin: AllocatorOrigin,
}

/// Where an allocator comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "origin")]
pub enum AllocatorOrigin {
    /// Code in the program itself. A library that the program loads may still use the C library's.
    InFile,
    /// A needed library, which takes over `malloc` because it is searched before the C library.
    NeededLibrary {
        /// Its soname.
        soname: BString,
        /// The object that needs it.
        needed_by: BString,
    },
    /// The C library that the target brings. For musl that is mallocng from 1.2.1 on, which every system of the table
    /// has, and oldmalloc before.
    Libc {
        /// Which C library.
        libc: LibcFamily,
    },
    /// The file does not tell.
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

/// The allocator that a needed library brings, if it is one.
fn allocator_library(soname: &[u8]) -> Option<AllocatorKind> {
    LIBRARIES.iter().find(|(prefix, _)| soname.starts_with(prefix.as_bytes())).map(|(_, kind)| *kind)
}

/// Finds the allocator of a program.
#[must_use]
pub fn allocator_of(subject: &Subject) -> AllocatorFinding {
    if let Some(kind) = inside(&subject.program.allocators) {
        return AllocatorFinding { kind: Some(kind), origin: AllocatorOrigin::InFile };
    }
    let needed = subject.objects().flat_map(|object| object.needed.iter().map(move |soname| (object, soname)));
    for (object, soname) in needed {
        if let Some(kind) = allocator_library(soname) {
            let origin = AllocatorOrigin::NeededLibrary { soname: soname.clone(), needed_by: object.name.clone() };
            return AllocatorFinding { kind: Some(kind), origin };
        }
    }
    let kind = |libc| match libc {
        LibcFamily::Glibc => AllocatorKind::Ptmalloc,
        LibcFamily::Musl => AllocatorKind::MuslMallocng,
    };
    match subject.libc() {
        Some(libc) => AllocatorFinding { kind: Some(kind(libc)), origin: AllocatorOrigin::Libc { libc } },
        None => AllocatorFinding { kind: None, origin: AllocatorOrigin::Unknown },
    }
}

/// An allocator that somebody chose stands before the one that came with the C library.
fn inside(kinds: &[AllocatorKind]) -> Option<AllocatorKind> {
    use AllocatorKind::{MuslMallocng, MuslOldmalloc, Ptmalloc};
    let of_libc = |kind: &&AllocatorKind| matches!(kind, Ptmalloc | MuslOldmalloc | MuslMallocng);
    kinds.iter().find(|kind| !of_libc(kind)).or_else(|| kinds.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::super::platform::Arch;
    use super::super::subject::ObjectFacts;
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
        let origin = AllocatorOrigin::Libc { libc: LibcFamily::Glibc };
        assert_eq!(finding, AllocatorFinding { kind: Some(AllocatorKind::Ptmalloc), origin });
    }

    #[test]
    fn an_allocator_that_was_chosen_stands_before_the_libcs_own() {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        program.allocators = vec![AllocatorKind::MuslMallocng, AllocatorKind::Jemalloc];
        assert_eq!(allocator_of(&Subject::alone(program.clone())).kind, Some(AllocatorKind::Jemalloc));
        program.allocators = vec![AllocatorKind::MuslMallocng];
        assert_eq!(allocator_of(&Subject::alone(program.clone())).kind, Some(AllocatorKind::MuslMallocng));
        program.allocators.clear();
        assert_eq!(allocator_of(&Subject::alone(program)).kind, None);
    }
}
