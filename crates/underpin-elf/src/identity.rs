//! What a file is: linkage, the C library and allocator inside it, the languages it came from.
//!
//! Nothing here is certain the way a header field is: every statement carries its evidence, and nothing is claimed
//! without a trace.

use bstr::BString;
use serde::Serialize;
use std::fmt;

/// What one file is and what is linked into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// How it was linked.
    pub linkage: Linkage,
    /// The C library inside it or expected by it; `None` if there is no evidence.
    pub libc: Option<Libc>,
    /// Allocators whose code is in this file. Usually none (the allocator is in libc.so) or one. Each is proven: by a
    /// definition, or, if the symbols are stripped, by two independent traces.
    pub allocators: Vec<Allocator>,
    /// Allocators for which a single trace was found, such as a text. Other files mention them too: no proof.
    pub allocator_hints: Vec<Allocator>,
    /// The file defines `malloc` in its dynamic symbol table: a loader may bind every object's calls to it.
    pub exports_malloc: bool,
    /// Languages whose compilers or runtimes left traces, except C.
    pub languages: Vec<LanguageTrace>,
    /// The lines of `.comment`: compilers and linkers that took part, in file order, duplicates left out.
    pub compilers: Vec<BString>,
    /// The allocation functions that this file defines (it interposes or provides them), in name order.
    pub allocation_defined: Vec<BString>,
    /// The allocation functions that this file imports, in name order.
    pub allocation_imported: Vec<BString>,
    /// `.symtab` is absent: what is known comes from dynamic symbols, notes and text.
    pub stripped: bool,
    /// The text scan stopped at its limit before the end of the read-only data.
    pub scan_incomplete: bool,
}

/// How a file was linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Linkage {
    /// ET_EXEC with PT_INTERP.
    DynamicExecutable,
    /// ET_DYN with PT_INTERP, meant as a program.
    DynamicPie,
    /// ET_EXEC without PT_INTERP.
    StaticExecutable,
    /// ET_DYN without PT_INTERP, meant as a program (DF_1_PIE or DT_DEBUG).
    StaticPie,
    /// ET_DYN without PT_INTERP, not meant as a program.
    SharedLibrary,
    /// A shared library with PT_INTERP, which can be run: `libc.so.6`.
    RunnableLibrary,
    /// A dynamic loader: `ld-linux-x86-64.so.2`, musl's `libc.so`.
    Loader,
    /// ET_REL: an object file or a kernel module.
    Relocatable,
    /// ET_CORE.
    CoreDump,
    /// Debug information split from its program: the segments have no bytes here.
    DebugFile,
    /// Any other `e_type`.
    Other,
}

impl Linkage {
    /// The kernel maps it and jumps to it, with or without an interpreter.
    #[must_use]
    pub fn is_program(self) -> bool {
        use Linkage::{DynamicExecutable, DynamicPie, StaticExecutable, StaticPie};
        matches!(self, DynamicExecutable | DynamicPie | StaticExecutable | StaticPie)
    }

    /// A program that needs no loader.
    #[must_use]
    pub fn is_static(self) -> bool {
        matches!(self, Linkage::StaticExecutable | Linkage::StaticPie)
    }
}

impl fmt::Display for Linkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Linkage::DynamicExecutable => "dynamic executable",
            Linkage::DynamicPie => "dynamic PIE",
            Linkage::StaticExecutable => "static executable",
            Linkage::StaticPie => "static PIE",
            Linkage::SharedLibrary => "shared library",
            Linkage::RunnableLibrary => "shared library that can be run",
            Linkage::Loader => "dynamic loader",
            Linkage::Relocatable => "object file",
            Linkage::CoreDump => "core dump",
            Linkage::DebugFile => "detached debug file",
            Linkage::Other => "unknown type of file",
        })
    }
}

/// The C library of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Libc {
    /// Which one.
    pub kind: LibcKind,
    /// Its version, if it is inside the file and left one.
    pub version: Option<BString>,
    /// Whether its code is in this file, or the file expects to find it.
    pub placement: LibcPlacement,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

/// Which C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibcKind {
    /// GNU C library.
    Glibc,
    /// musl.
    Musl,
    /// Android's.
    Bionic,
    /// uClibc or uClibc-ng.
    Uclibc,
    /// diet libc.
    Dietlibc,
    /// None: Go's runtime makes its system calls itself.
    GoRuntime,
    /// None: the file needs nothing, and its symbols are there and name no C library.
    NoLibc,
}

impl LibcKind {
    /// Its display name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LibcKind::Glibc => "glibc",
            LibcKind::Musl => "musl",
            LibcKind::Bionic => "bionic",
            LibcKind::Uclibc => "uClibc",
            LibcKind::Dietlibc => "diet libc",
            LibcKind::GoRuntime => "none: Go's runtime",
            LibcKind::NoLibc => "none: system calls of its own",
        }
    }
}

/// Where the C library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibcPlacement {
    /// Linked in (or: this file is the C library).
    Inside,
    /// Loaded at run time.
    Loaded,
}

/// An allocator whose code is in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Allocator {
    /// Which one.
    pub kind: AllocatorKind,
    /// Its version, if it left one.
    pub version: Option<BString>,
    /// The page size in bytes that it was built for (jemalloc aborts on a machine with larger pages).
    pub page_size: Option<u64>,
    /// By which names the code around it calls it.
    pub names: AllocatorNames,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

/// By which names an allocator in a file is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorNames {
    /// It is the file's `malloc`.
    Malloc,
    /// By the names that Rust's bindings give it (`_rjem_malloc`), or by its own (`mi_malloc`) in a Rust program.
    Rust,
    /// By names of its own; `malloc` belongs to another allocator.
    Own,
    /// Unknown: the file's symbols are stripped.
    Unknown,
}

/// Which allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorKind {
    /// glibc's malloc.
    Ptmalloc,
    /// musl's malloc up to 1.2.0, still chosen by `--with-malloc=oldmalloc`.
    MuslOldmalloc,
    /// musl's malloc since 1.2.1.
    MuslMallocng,
    /// musl's replacement for malloc in a static program that never frees (`src/malloc/lite_malloc.c`).
    MuslSimple,
    /// The malloc of zig's own C library, which is in its musl since 0.16 instead of musl's (`lib/c/malloc.zig`).
    Zig,
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// gperftools or Google tcmalloc.
    Tcmalloc,
    /// snmalloc.
    Snmalloc,
    /// Chromium's PartitionAlloc.
    PartitionAlloc,
    /// Go's runtime.
    GoRuntime,
}

impl AllocatorKind {
    /// Whether it comes as a part of a C library.
    #[must_use]
    pub fn is_of_libc(self) -> bool {
        use AllocatorKind::{MuslMallocng, MuslOldmalloc, MuslSimple, Ptmalloc, Zig};
        matches!(self, Ptmalloc | MuslOldmalloc | MuslMallocng | MuslSimple | Zig)
    }
}

/// A language whose compiler or runtime left traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LanguageTrace {
    /// Which one.
    pub language: Language,
    /// Compiler or runtime version, if it left one.
    pub version: Option<BString>,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// C++.
    Cpp,
    /// Go.
    Go,
    /// Rust.
    Rust,
}

/// A piece of evidence for a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A defined symbol.
    Defines(BString),
    /// An imported symbol.
    Imports(BString),
    /// A needed library.
    Needs(BString),
    /// PT_INTERP.
    Interpreter(BString),
    /// The file's own soname.
    Soname(BString),
    /// A needed or defined version.
    Version(BString),
    /// A section of this name.
    Section(BString),
    /// A note of this owner.
    Note(BString),
    /// Text in the read-only data.
    Text(BString),
    /// Several texts that belong together, such as the names of an allocator's options.
    Names(BString),
    /// A table of numbers in the read-only data.
    Table(BString),
    /// Text in `.comment`.
    Comment(BString),
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Defines(name) => write!(f, "defines {name}"),
            Evidence::Imports(name) => write!(f, "imports {name}"),
            Evidence::Needs(name) => write!(f, "needs {name}"),
            Evidence::Interpreter(name) => write!(f, "interpreter {name}"),
            Evidence::Soname(name) => write!(f, "soname {name}"),
            Evidence::Version(name) => write!(f, "version {name}"),
            Evidence::Section(name) => write!(f, "section {name}"),
            Evidence::Note(name) => write!(f, "note of {name}"),
            Evidence::Text(text) => write!(f, "text {:?}", text),
            Evidence::Names(text) => write!(f, "texts: {text}"),
            Evidence::Table(text) => write!(f, "data: {text}"),
            Evidence::Comment(text) => write!(f, "comment {:?}", text),
        }
    }
}
