//! The predicted system calls of a loader: what it searches, opens, reads, stats, maps and closes.
//!
//! The search engine emits these one by one while it resolves, in the loader's own order, so the prediction is the
//! model itself, not a separate formula. ld.so's own heap growth is left out: it depends on the length of strings in
//! memory, not on the files.

use bstr::BString;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use underpin_elf::Machine;

/// A system call of a loader, by its kernel name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallName {
    /// access(2).
    Access,
    /// close(2).
    Close,
    /// faccessat(2), on machines without access(2).
    Faccessat,
    /// fcntl(2).
    Fcntl,
    /// fstat(2).
    Fstat,
    /// mmap(2) of a file, or anonymous memory inside an object's span (bss).
    Mmap,
    /// mprotect(2).
    Mprotect,
    /// munmap(2).
    Munmap,
    /// newfstatat(2), which glibc also uses for fstat from 2.33 on.
    Newfstatat,
    /// open(2).
    Open,
    /// openat(2).
    Openat,
    /// pread64(2).
    Pread64,
    /// read(2).
    Read,
    /// readlink(2).
    Readlink,
    /// readlinkat(2), on machines without readlink(2).
    Readlinkat,
    /// stat(2).
    Stat,
}

impl CallName {
    /// The kernel's name of the call.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CallName::Access => "access",
            CallName::Close => "close",
            CallName::Faccessat => "faccessat",
            CallName::Fcntl => "fcntl",
            CallName::Fstat => "fstat",
            CallName::Mmap => "mmap",
            CallName::Mprotect => "mprotect",
            CallName::Munmap => "munmap",
            CallName::Newfstatat => "newfstatat",
            CallName::Open => "open",
            CallName::Openat => "openat",
            CallName::Pread64 => "pread64",
            CallName::Read => "read",
            CallName::Readlink => "readlink",
            CallName::Readlinkat => "readlinkat",
            CallName::Stat => "stat",
        }
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the kernel of a machine still has open, stat, access and readlink beside their `at` forms.
pub(crate) fn has_calls_without_at(machine: Machine) -> bool {
    matches!(machine, Machine::X86_64 | Machine::I386 | Machine::PPC64 | Machine::S390 | Machine::ARM)
}

/// One predicted call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Its name.
    pub name: CallName,
    /// The path passed to it, or the path behind its descriptor or mapping.
    pub path: BString,
    /// Whether it fails.
    pub failed: bool,
}

/// How often one system call is made, and how often it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// How many are made.
    pub calls: u64,
    /// How many of them fail.
    pub errors: u64,
}

/// Every predicted call, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// In the loader's order, if the resolver was asked to keep it ([`crate::Resolver::with_sequence`]).
    #[serde(skip)]
    pub sequence: Option<Vec<Call>>,
    /// Per name.
    pub counts: BTreeMap<CallName, CallCount>,
    /// Whether the loader's version is one whose calls are modelled.
    pub modelled: bool,
}

impl Calls {
    /// Adds one call.
    pub(crate) fn push(&mut self, name: CallName, path: &[u8], failed: bool) {
        let count = self.counts.entry(name).or_default();
        count.calls += 1;
        count.errors += u64::from(failed);
        if let Some(sequence) = &mut self.sequence {
            sequence.push(Call { name, path: path.into(), failed });
        }
    }

    /// All calls together.
    #[must_use]
    pub fn total(&self) -> CallCount {
        self.counts.values().fold(CallCount::default(), |sum, count| CallCount {
            calls: sum.calls + count.calls,
            errors: sum.errors + count.errors,
        })
    }
}
