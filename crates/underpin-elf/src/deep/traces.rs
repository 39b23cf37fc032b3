//! Which symbol names and texts reveal a C library, an allocator or a language.
//!
//! Symbols are examined as they are read, so nothing is kept that does not matter. Each finding keeps the first few
//! pieces of evidence. The tables below are facts about released versions; sources are given beside them.

use crate::{AllocatorKind, Evidence, Language, LibcKind, Vaddr};
use bstr::{BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

/// What a trace is evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Libc(LibcTag),
    Allocator(AllocatorKind),
    Language(Language),
}

/// [`LibcKind`] with an order, to be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LibcTag {
    Glibc,
    Musl,
    Bionic,
    Uclibc,
    Dietlibc,
}

impl LibcTag {
    pub(crate) const ALL: [LibcTag; 5] =
        [LibcTag::Dietlibc, LibcTag::Uclibc, LibcTag::Bionic, LibcTag::Musl, LibcTag::Glibc];

    pub(crate) fn kind(self) -> LibcKind {
        match self {
            LibcTag::Glibc => LibcKind::Glibc,
            LibcTag::Musl => LibcKind::Musl,
            LibcTag::Bionic => LibcKind::Bionic,
            LibcTag::Uclibc => LibcKind::Uclibc,
            LibcTag::Dietlibc => LibcKind::Dietlibc,
        }
    }
}

/// What was found about a subject.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    pub evidence: Vec<Evidence>,
    pub version: Option<BString>,
}

impl Finding {
    /// Whether it is proven by a symbol or by the file's own name.
    pub(crate) fn is_defined(&self) -> bool {
        self.evidence.iter().any(|piece| matches!(piece, Evidence::Defines(_) | Evidence::Soname(_)))
    }

    /// Whether there are two independent traces: texts, names and notes count once each, but every table counts, since
    /// prose does not repeat tables.
    pub(crate) fn has_two_traces(&self) -> bool {
        let any = |wanted: fn(&Evidence) -> bool| self.evidence.iter().find(|piece| wanted(piece));
        let tables = self.evidence.iter().filter(|piece| matches!(piece, Evidence::Table(_)));
        let text = any(|piece| matches!(piece, Evidence::Text(_)));
        let names = any(|piece| matches!(piece, Evidence::Names(_)));
        let note = any(|piece| matches!(piece, Evidence::Note(_)));
        tables.chain(text).chain(names).chain(note).count() >= 2
    }
}

/// What a symbol table entry says besides its name.
pub(crate) struct Seen {
    pub defined: bool,
    pub value: Vaddr,
    pub size: u64,
}

/// Everything that the symbols revealed.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub findings: BTreeMap<Subject, Finding>,
    /// `__stack_chk_fail` is imported.
    pub canary_used: bool,
    /// `__stack_chk_fail`, or the helper by which position-independent 32-bit code calls it, is defined.
    pub canary_defined: bool,
    pub loader: Option<BString>,
    pub allocation_defined: BTreeSet<BString>,
    pub allocation_imported: BTreeSet<BString>,
    pub fortified: BTreeSet<BString>,
    pub fortifiable: BTreeSet<BString>,
    /// Where mimalloc's `mi_version` is: its code holds the number.
    pub mimalloc_version: Option<Vaddr>,
    /// A text as `git describe` makes it, with a full hash: jemalloc's version, if this is jemalloc.
    pub git_version: Option<BString>,
    /// A text of three numbers on its own: musl's version, if this is musl's loader.
    pub plain_version: Option<BString>,
    /// Size in bytes of jemalloc's table of page size classes: it depends on the page size.
    pub jemalloc_pages: Option<u64>,
    /// The address of `malloc`, if the file defines it.
    pub malloc: Option<Vaddr>,
    /// The addresses of the other names under which an allocator may have defined `malloc`.
    pub malloc_aliases: Vec<(MallocAlias, Vaddr)>,
    /// jemalloc defines `malloc` without a prefix.
    pub plain_jemalloc: bool,
    /// jemalloc has the prefix that Rust's bindings give it.
    pub rust_jemalloc: bool,
}

/// Whose `malloc` it is, as shown by a second name at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MallocAlias {
    /// The C library's.
    Libc,
    /// An allocator's.
    Of(AllocatorKind),
}

/// Names that are at the address of `malloc` if the file's `malloc` is that allocator's: glibc's `__libc_malloc`
/// (`malloc/malloc.c`), musl's `default_malloc` (`src/malloc/lite_malloc.c`), the functions that mimalloc and
/// gperftools make `malloc` an alias of, jemalloc's if it has a prefix.
const MALLOC_ALIASES: &[(&str, MallocAlias)] = &[
    ("__libc_malloc", MallocAlias::Libc),
    ("default_malloc", MallocAlias::Libc),
    ("__simple_malloc", MallocAlias::Libc),
    // By Zig's names: a file, and a function in it.
    ("c.malloc.malloc", MallocAlias::Of(AllocatorKind::Zig)),
    ("mi_malloc", MallocAlias::Of(AllocatorKind::Mimalloc)),
    ("tc_malloc", MallocAlias::Of(AllocatorKind::Tcmalloc)),
    ("je_malloc", MallocAlias::Of(AllocatorKind::Jemalloc)),
];

/// Pieces of evidence kept per subject.
const EVIDENCE: usize = 4;

/// Symbols whose definition reveals a subject.
const DEFINED: &[(&str, Subject)] = {
    use AllocatorKind::{Jemalloc, Mimalloc, MuslMallocng, MuslOldmalloc, Ptmalloc, Tcmalloc, Zig};
    use Subject::{Allocator, Libc};
    &[
        ("__libc_setup_tls", Libc(LibcTag::Glibc)),
        ("_IO_2_1_stdout_", Libc(LibcTag::Glibc)),
        ("gnu_get_libc_version", Libc(LibcTag::Glibc)),
        ("__init_libc", Libc(LibcTag::Musl)),
        ("__libc_start_init", Libc(LibcTag::Musl)),
        ("libc_start_main_stage2", Libc(LibcTag::Musl)),
        ("__dls2b", Libc(LibcTag::Musl)),
        ("__uClibc_main", Libc(LibcTag::Uclibc)),
        ("__uClibc_init", Libc(LibcTag::Uclibc)),
        ("__libc_init", Libc(LibcTag::Bionic)),
        ("__libc_init_main_thread_early", Libc(LibcTag::Bionic)),
        ("__you_tried_to_link_a_dietlibc_object_against_glibc", Libc(LibcTag::Dietlibc)),
        ("_int_malloc", Allocator(Ptmalloc)),
        ("main_arena", Allocator(Ptmalloc)),
        ("ptmalloc_init", Allocator(Ptmalloc)),
        // musl src/malloc/mallocng/glue.h
        ("__malloc_context", Allocator(MuslMallocng)),
        ("__malloc_alloc_meta", Allocator(MuslMallocng)),
        ("__malloc_size_classes", Allocator(MuslMallocng)),
        // musl src/malloc/oldmalloc/malloc.c
        ("__bin_chunk", Allocator(MuslOldmalloc)),
        ("__expand_heap", Allocator(MuslOldmalloc)),
        ("bin_index_up", Allocator(MuslOldmalloc)),
        ("c.malloc.malloc", Allocator(Zig)),
        ("mallctl", Allocator(Jemalloc)),
        ("mallocx", Allocator(Jemalloc)),
        ("je_mallctl", Allocator(Jemalloc)),
        ("je_arena_boot", Allocator(Jemalloc)),
        ("_rjem_malloc", Allocator(Jemalloc)),
        ("_rjem_mallctl", Allocator(Jemalloc)),
        ("_rjem_mallocx", Allocator(Jemalloc)),
        ("_rjem_je_arena_boot", Allocator(Jemalloc)),
        // Not mi_malloc: memory profilers define it too, to intercept it.
        ("mi_heap_malloc", Allocator(Mimalloc)),
        ("_mi_malloc_generic", Allocator(Mimalloc)),
        ("mi_version", Allocator(Mimalloc)),
        ("tc_malloc", Allocator(Tcmalloc)),
        ("tc_version", Allocator(Tcmalloc)),
        ("rust_eh_personality", Subject::Language(Language::Rust)),
        ("rust_begin_unwind", Subject::Language(Language::Rust)),
    ]
};

/// Prefixes of mangled names whose definition reveals a subject.
const DEFINED_PREFIXES: &[(&str, Subject)] = &[
    ("_ZN8snmalloc", Subject::Allocator(AllocatorKind::Snmalloc)),
    ("_ZNK8snmalloc", Subject::Allocator(AllocatorKind::Snmalloc)),
    // gperftools shares the rest of the namespace with its profiler.
    ("_ZN8tcmalloc8PageHeap", Subject::Allocator(AllocatorKind::Tcmalloc)),
    ("_ZN8tcmalloc17tcmalloc_internal", Subject::Allocator(AllocatorKind::Tcmalloc)),
    ("_ZNSt8ios_base4Init", Subject::Language(Language::Cpp)),
    ("__gxx_personality_v0", Subject::Language(Language::Cpp)),
];

/// Imports that only C++ code makes.
const CPP_IMPORTS: &[&str] =
    &["__gxx_personality_v0", "__cxa_throw", "__cxa_pure_virtual", "_ZSt9terminatev", "__cxa_begin_catch"];

/// Functions by which a file allocates, or replaces the C library's allocation.
const ALLOCATION: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "cfree",
    "free_sized",
    "free_aligned_sized",
    "_Znwm",
    "_Znwj",
    "_Znam",
    "_Znaj",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdlPvj",
    "_ZdaPvm",
    "_ZdaPvj",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "__libc_malloc",
    "__libc_free",
];

/// Functions for which glibc has a `__*_chk` variant (its `debug` directory; checked against libc.so.6 by a test).
pub(crate) const FORTIFIABLE: &[&str] = &[
    "asprintf",
    "confstr",
    "dprintf",
    "explicit_bzero",
    "fdelt",
    "fgets",
    "fgets_unlocked",
    "fgetws",
    "fgetws_unlocked",
    "fprintf",
    "fread",
    "fread_unlocked",
    "fwprintf",
    "getcwd",
    "getdomainname",
    "getgroups",
    "gethostname",
    "getlogin_r",
    "gets",
    "getwd",
    "longjmp",
    "mbsnrtowcs",
    "mbsrtowcs",
    "mbstowcs",
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "obstack_printf",
    "obstack_vprintf",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "printf",
    "ptsname_r",
    "read",
    "readlink",
    "readlinkat",
    "realpath",
    "recv",
    "recvfrom",
    "snprintf",
    "sprintf",
    "stpcpy",
    "stpncpy",
    "strcat",
    "strcpy",
    "strlcat",
    "strlcpy",
    "strncat",
    "strncpy",
    "swprintf",
    "syslog",
    "ttyname_r",
    "vasprintf",
    "vdprintf",
    "vfprintf",
    "vfwprintf",
    "vprintf",
    "vsnprintf",
    "vsprintf",
    "vswprintf",
    "vsyslog",
    "vwprintf",
    "wcpcpy",
    "wcpncpy",
    "wcrtomb",
    "wcscat",
    "wcscpy",
    "wcslcat",
    "wcslcpy",
    "wcsncat",
    "wcsncpy",
    "wcsnrtombs",
    "wcsrtombs",
    "wcstombs",
    "wctomb",
    "wmemcpy",
    "wmemmove",
    "wmempcpy",
    "wmemset",
    "wprintf",
    "inet_ntop",
    "inet_pton",
];

/// The meaning of a name; one table, since most names of most files are not in it.
#[derive(Clone, Copy)]
enum Meaning {
    Gives(Subject),
    CppImport,
    Allocation,
    Fortifiable,
    Canary,
    Loader,
    MimallocVersion,
    JemallocPages,
    PlainJemalloc,
    RustJemalloc,
    Malloc,
    Alias(MallocAlias),
}

static MEANINGS: LazyLock<HashMap<&'static [u8], Vec<Meaning>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static [u8], Vec<Meaning>> = HashMap::new();
    let mut add = |name: &'static str, meaning| table.entry(name.as_bytes()).or_default().push(meaning);
    DEFINED.iter().for_each(|(name, subject)| add(name, Meaning::Gives(*subject)));
    CPP_IMPORTS.iter().for_each(|name| add(name, Meaning::CppImport));
    ALLOCATION.iter().for_each(|name| add(name, Meaning::Allocation));
    FORTIFIABLE.iter().for_each(|name| add(name, Meaning::Fortifiable));
    for name in ["__stack_chk_fail", "__stack_chk_fail_local"] {
        add(name, Meaning::Canary);
    }
    for name in ["_dlstart", "_rtld_global", "_rtld_global_ro"] {
        add(name, Meaning::Loader);
    }
    add("mi_version", Meaning::MimallocVersion);
    for name in ["je_sz_pind2sz_tab", "_rjem_je_sz_pind2sz_tab", "sz_pind2sz_tab"] {
        add(name, Meaning::JemallocPages);
    }
    add("mallocx", Meaning::PlainJemalloc);
    add("_rjem_malloc", Meaning::RustJemalloc);
    add("_rjem_mallocx", Meaning::RustJemalloc);
    add("malloc", Meaning::Malloc);
    MALLOC_ALIASES.iter().for_each(|(name, alias)| add(name, Meaning::Alias(*alias)));
    table
});

impl Traces {
    /// Examines one symbol.
    pub(crate) fn see(&mut self, name: &[u8], seen: &Seen) {
        if let Some(meanings) = MEANINGS.get(name) {
            for meaning in meanings {
                self.apply(name, *meaning, seen);
            }
        }
        if name.starts_with(b"_") {
            self.see_reserved(name, seen);
        }
    }

    fn apply(&mut self, name: &[u8], meaning: Meaning, seen: &Seen) {
        match meaning {
            Meaning::Gives(subject) if seen.defined => self.note(subject, Evidence::Defines(name.into())),
            Meaning::CppImport if !seen.defined => {
                self.note(Subject::Language(Language::Cpp), Evidence::Imports(name.into()));
            }
            Meaning::Allocation if seen.defined => drop(self.allocation_defined.insert(name.into())),
            Meaning::Allocation => drop(self.allocation_imported.insert(name.into())),
            Meaning::Fortifiable if !seen.defined => drop(self.fortifiable.insert(name.into())),
            Meaning::Canary if seen.defined => self.canary_defined = true,
            Meaning::Canary => self.canary_used = true,
            Meaning::Loader if seen.defined => self.loader = Some(name.into()),
            Meaning::MimallocVersion if seen.defined => self.mimalloc_version = Some(seen.value),
            Meaning::JemallocPages if seen.defined => self.jemalloc_pages = Some(seen.size),
            Meaning::PlainJemalloc if seen.defined => self.plain_jemalloc = true,
            Meaning::RustJemalloc if seen.defined => self.rust_jemalloc = true,
            Meaning::Malloc if seen.defined => self.malloc = Some(seen.value),
            // A handful of names, so a handful of entries; the dynamic and the static table have them both.
            Meaning::Alias(alias) if seen.defined && self.malloc_aliases.len() < 64 => {
                self.malloc_aliases.push((alias, seen.value));
            }
            _ => {}
        }
    }

    /// Mangled names, and `__*_chk`.
    fn see_reserved(&mut self, name: &[u8], seen: &Seen) {
        if seen.defined {
            let prefix = DEFINED_PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix.as_bytes()));
            // One mangled name is enough, and they are long.
            if let Some((_, subject)) = prefix.filter(|(_, subject)| !self.findings.contains_key(subject)) {
                self.note(*subject, Evidence::Defines(name.into()));
            }
        } else if name.starts_with(b"__") && name.ends_with(b"_chk") || name == b"__open_2" || name == b"__open64_2" {
            self.fortified.insert(name.into());
        }
    }

    /// Adds a piece of evidence.
    pub(crate) fn note(&mut self, subject: Subject, evidence: Evidence) {
        let finding = self.findings.entry(subject).or_default();
        if finding.evidence.len() < EVIDENCE && !finding.evidence.contains(&evidence) {
            finding.evidence.push(evidence);
        }
    }

    /// The allocators for which there are only texts and tables.
    pub(crate) fn unproven_allocators(&self) -> Vec<AllocatorKind> {
        let found = self.findings.iter().filter(|(_, finding)| !finding.is_defined());
        let kind = |(subject, _): (&Subject, &Finding)| match subject {
            Subject::Allocator(kind) => Some(*kind),
            _ => None,
        };
        found.filter_map(kind).collect()
    }

    /// Adds a version, unless one is known.
    pub(crate) fn set_version(&mut self, subject: Subject, version: BString) {
        self.findings.entry(subject).or_default().version.get_or_insert(version);
    }
}

/// The prefix of `text` that looks like a version: digits, dots, dashes, letters.
pub(crate) fn version_prefix(text: &[u8]) -> Option<BString> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'~');
    let end = text.iter().position(|byte| !is_part(*byte)).unwrap_or(text.len());
    let version = text.get(..end)?.trim_end_with(|last| !last.is_ascii_alphanumeric());
    version.first().is_some_and(u8::is_ascii_digit).then(|| version.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Details, Elf};
    use underpin_test_support::need;

    #[test]
    fn every_checked_function_of_libc_has_its_plain_one_in_the_table() {
        const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";
        need!(LIBC);
        let bytes = std::fs::read(LIBC).expect("libc can be read");
        let elf = Elf::read(&bytes).expect("libc is a good file");
        let details = Details::read(&bytes, &elf).expect("libc is a good file");
        // These check something other than a buffer's size in a call of the same name.
        let special = ["____longjmp_chk", "__longjmp_chk", "__fdelt_chk", "__fdelt_warn"];
        let mut compared = 0;
        for export in &details.exports {
            let plain = export.name.strip_prefix(b"__").and_then(|name| name.strip_suffix(b"_chk"));
            if let Some(plain) = plain.filter(|_| !special.iter().any(|name| export.name == *name)) {
                assert!(FORTIFIABLE.iter().any(|name| name.as_bytes() == plain), "{} is missing", export.name);
                compared += 1;
            }
        }
        assert!(compared > 60, "libc has {compared} checked functions only");
    }

    #[test]
    fn versions_end_where_the_text_goes_on() {
        assert_eq!(version_prefix(b"2.36.\nCopyright"), Some("2.36".into()));
        assert_eq!(version_prefix(b"2.10\0"), Some("2.10".into()));
        assert_eq!(version_prefix(b"unknown"), None);
        assert_eq!(version_prefix(b""), None);
    }
}
