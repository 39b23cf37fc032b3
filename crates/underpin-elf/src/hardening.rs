//! Hardening: the compiler's and linker's measures against exploits, determined so that it holds for musl and static
//! files too.
//!
//! What cannot be known from the file is reported as unknown, never guessed: fortify-headers of musl leave no trace,
//! and a stripped static file does not show whether it has stack canaries.

use bstr::BString;
use serde::Serialize;

/// The hardening facts of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hardening {
    /// Loaded at a random address: PIE, static PIE or a shared library.
    pub position_independent: bool,
    /// How much of the relocated data is read-only after start-up.
    pub relro: Relro,
    /// All symbols are bound before the program starts.
    pub bind_now: bool,
    /// Whether the stack is executable.
    pub stack: StackProtection,
    /// Whether functions check a canary before they return.
    pub canary: Canary,
    /// Whether calls are replaced by ones that check buffer sizes.
    pub fortify: Fortify,
    /// Entries of RPATH and RUNPATH that another user may be able to write to.
    pub search_path_risks: Vec<SearchPathRisk>,
    /// The loader makes code writable while it relocates.
    pub text_relocations: bool,
    /// Segments that are writable and executable at once.
    pub writable_code: bool,
    /// x86: indirect branch tracking.
    pub ibt: bool,
    /// x86: shadow stack.
    pub shadow_stack: bool,
    /// AArch64: branch target identification.
    pub bti: bool,
    /// AArch64: return address signing.
    pub pac: bool,
}

/// Read-only relocated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relro {
    /// No PT_GNU_RELRO.
    None,
    /// PT_GNU_RELRO, but lazily bound: the procedure linkage table stays writable.
    Partial,
    /// PT_GNU_RELRO and nothing left to bind later. musl always binds at start, so there it does not need BIND_NOW.
    Full,
}

/// The stack's permissions as PT_GNU_STACK states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StackProtection {
    /// Stated, without PF_X.
    NotExecutable,
    /// Stated, with PF_X.
    Executable,
    /// Not stated: the kernel decides by architecture; on x86 it makes the stack executable.
    Unstated,
}

/// Stack canaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Canary {
    /// `__stack_chk_fail` is imported, or defined other than by a C library.
    Present,
    /// There are symbols, and it is not among them.
    Absent,
    /// There are no symbols, or a C library is inside, which has the function whether it is called or not.
    Unknown,
}

/// `_FORTIFY_SOURCE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fortify {
    /// glibc: which functions are checked, and which are not although they could be.
    Glibc {
        /// Distinct `__*_chk` functions.
        checked: Vec<BString>,
        /// Distinct plain functions for which glibc has a checked variant. Some stay plain because the compiler proved
        /// them safe, so this is not a count of mistakes.
        plain: Vec<BString>,
    },
    /// Unknown, with the reason.
    NotApplicable(FortifyUnknown),
}

/// Why nothing is known about `_FORTIFY_SOURCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FortifyUnknown {
    /// musl has no `__*_chk` functions; fortify-headers are inlined.
    Musl,
    /// No C library is used.
    NoLibc,
    /// A static file: glibc's own checked functions are inside, whether they are called or not.
    StaticLibc,
    /// A C library for which no rule is known.
    OtherLibc,
}

/// An entry of RPATH or RUNPATH that another user may be able to write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchPathRisk {
    /// The entry.
    pub entry: BString,
    /// What is wrong with it.
    pub kind: SearchPathRiskKind,
}

/// Why a search path entry is a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchPathRiskKind {
    /// Empty or relative: depends on the directory in which the program is started.
    WorkingDirectory,
    /// Below a directory in which every user may create files (/tmp, /var/tmp, /dev/shm).
    WorldWritable,
}
