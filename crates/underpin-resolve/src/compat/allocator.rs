//! Which allocator serves a program: one that it needs as a library, one inside the file, or the C library's own.
//!
//! Read from the file alone. What `LD_PRELOAD` would put in front at run time is not known here.

use super::platform::LibcKind;
use super::subject::{Allocator, EmbeddedLibc, Linkage, Subject};
use super::version::Number;
use bstr::BString;
use serde::Serialize;

/// The allocator of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocatorFinding {
    /// Which one; `None` where the file does not tell.
    pub allocator: Option<Allocator>,
    /// Where it comes from.
    pub origin: AllocatorOrigin,
}

/// Where an allocator comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "origin")]
pub enum AllocatorOrigin {
    /// A needed library that comes before the C library and so takes over `malloc`.
    NeededLibrary {
        /// Its soname.
        soname: BString,
        /// The object that needs it.
        needed_by: BString,
    },
    /// Code in the program itself. A library that the program loads may still use the C library's.
    InFile,
    /// The C library's own.
    Libc,
    /// The file does not tell.
    Unknown,
}

/// The allocators that come as a library of their own, by the start of their file name.
const LIBRARIES: [(&str, Allocator); 5] = [
    ("libjemalloc", Allocator::Jemalloc),
    ("libmimalloc", Allocator::Mimalloc),
    ("libtcmalloc", Allocator::Tcmalloc),
    ("libsnmalloc", Allocator::Snmalloc),
    ("libgoogle_tcmalloc", Allocator::Tcmalloc),
];

/// The allocator that a needed library brings, if it is one.
#[must_use]
pub fn allocator_library(soname: &[u8]) -> Option<Allocator> {
    LIBRARIES.iter().find(|(prefix, _)| soname.starts_with(prefix.as_bytes())).map(|(_, allocator)| *allocator)
}

/// Finds the allocator of a program.
#[must_use]
pub fn allocator_of(subject: &Subject) -> AllocatorFinding {
    let program = &subject.program;
    if let Some(allocator) = program.embedded_allocator {
        return AllocatorFinding { allocator: Some(allocator), origin: AllocatorOrigin::InFile };
    }
    if program.linkage == Linkage::Static {
        return in_static_file(program.embedded_libc.as_ref());
    }
    let needed = subject.objects().flat_map(|object| object.needed.iter().map(move |soname| (object, soname)));
    for (object, soname) in needed {
        if let Some(allocator) = allocator_library(soname) {
            let origin = AllocatorOrigin::NeededLibrary { soname: soname.clone(), needed_by: object.name.clone() };
            return AllocatorFinding { allocator: Some(allocator), origin };
        }
    }
    match subject.libc() {
        Some(LibcKind::Glibc) => AllocatorFinding { allocator: Some(Allocator::Glibc), origin: AllocatorOrigin::Libc },
        Some(LibcKind::Musl) => AllocatorFinding { allocator: Some(Allocator::Musl), origin: AllocatorOrigin::Libc },
        None => AllocatorFinding { allocator: None, origin: AllocatorOrigin::Unknown },
    }
}

fn in_static_file(libc: Option<&EmbeddedLibc>) -> AllocatorFinding {
    let (allocator, origin) = match libc {
        Some(EmbeddedLibc::Glibc { .. }) => (Some(Allocator::Glibc), AllocatorOrigin::Libc),
        Some(EmbeddedLibc::Musl { version }) => (Some(musl_allocator(version.as_ref())), AllocatorOrigin::Libc),
        Some(EmbeddedLibc::Go) => (Some(Allocator::Go), AllocatorOrigin::InFile),
        Some(EmbeddedLibc::None) | None => (None, AllocatorOrigin::Unknown),
    };
    AllocatorFinding { allocator, origin }
}

/// mallocng is the default since musl 1.2.1; oldmalloc stayed a build option, so a newer version is no proof.
fn musl_allocator(version: Option<&Number>) -> Allocator {
    match version {
        Some(version) if *version < Number::new(&[1, 2, 1]) => Allocator::MuslOldmalloc,
        Some(_) => Allocator::MuslMallocng,
        None => Allocator::Musl,
    }
}

#[cfg(test)]
mod tests {
    use super::super::platform::Arch;
    use super::super::subject::ObjectFacts;
    use super::*;

    fn dynamic(needed: &[&str]) -> Subject {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        program.linkage = Linkage::Dynamic;
        program.interpreter = Some("/lib64/ld-linux-x86-64.so.2".into());
        program.needed = needed.iter().map(|name| (*name).into()).collect();
        Subject::alone(program)
    }

    #[test]
    fn a_needed_allocator_takes_over_from_the_libc() {
        let finding = allocator_of(&dynamic(&["libjemalloc.so.2", "libc.so.6"]));
        assert_eq!(finding.allocator, Some(Allocator::Jemalloc));
        let finding = allocator_of(&dynamic(&["libtcmalloc_minimal.so.4", "libc.so.6"]));
        assert_eq!(finding.allocator, Some(Allocator::Tcmalloc));
    }

    #[test]
    fn without_one_the_libc_serves() {
        let finding = allocator_of(&dynamic(&["libc.so.6"]));
        assert_eq!((finding.allocator, finding.origin), (Some(Allocator::Glibc), AllocatorOrigin::Libc));
    }

    #[test]
    fn a_static_file_has_what_its_libc_has() {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        for (version, expected) in [("1.1.24", Allocator::MuslOldmalloc), ("1.2.5", Allocator::MuslMallocng)] {
            program.embedded_libc = Some(EmbeddedLibc::Musl { version: Number::parse(version) });
            assert_eq!(allocator_of(&Subject::alone(program.clone())).allocator, Some(expected), "{version}");
        }
        program.embedded_libc = None;
        assert_eq!(allocator_of(&Subject::alone(program)).allocator, None);
    }
}
