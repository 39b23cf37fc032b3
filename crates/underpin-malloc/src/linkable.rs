//! Allocators as objects to link in.
//!
//! Each is one relocatable object that goes first on a link line, whole. It defines malloc and all its relatives, and the
//! names by which C libraries call them from within, so that no C library's own malloc is linked beside it. It needs
//! nothing that only one C library has: the same object serves static and dynamic programs of musl and of glibc.
//!
//! Beside an allocator go two smaller objects. [`takeover`] redirects the names of allocators that a program brings
//! (`_rjem_*`, `mi_*`, `sn_*`) to malloc. [`glibc_static`] is for static glibc programs only.

use crate::on_board::{AllocatorKind, Object};
use std::fmt;
use std::str::FromStr;

/// What a program's allocator is tuned for: one cannot be both fastest and smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// Large caches.
    Speed,
    /// Little memory: the C library's own malloc, which is musl's in a static program.
    Memory,
    /// Small caches.
    Balanced,
}

impl Goal {
    /// All goals, in the order in which help texts name them.
    pub const ALL: [Goal; 3] = [Goal::Speed, Goal::Memory, Goal::Balanced];

    /// The name that a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Speed => "speed",
            Goal::Memory => "memory",
            Goal::Balanced => "balanced",
        }
    }

    /// The allocator for this goal if none was named; `None` is the C library's own. docs/bench/broker.md has the figures.
    #[must_use]
    pub fn allocator(self) -> Option<AllocatorKind> {
        match self {
            Goal::Memory => None,
            Goal::Speed | Goal::Balanced => Some(AllocatorKind::Mimalloc),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Goal, String> {
        let found = Goal::ALL.into_iter().find(|goal| goal.name() == text);
        found.ok_or_else(|| format!("invalid goal `{text}`: expected speed, memory or balanced"))
    }
}

/// An allocator to link in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linkable {
    /// Its own version; for snmalloc, that of the crate it came in.
    pub version: &'static str,
    /// What was chosen for it, in words.
    pub settings: &'static str,
    /// The relocatable object.
    pub object: &'static Object,
}

/// Why there is no object to link in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLinkable {
    /// Not wanted: the goal is the C library's own malloc.
    #[error("the goal `memory` keeps the C library's own malloc")]
    OwnMalloc,
    /// Not on board; the text says why.
    #[error("{0}")]
    Absent(&'static str),
}

struct Entry {
    processor: &'static str,
    kind: AllocatorKind,
    goal: Goal,
    outcome: Result<Linkable, &'static str>,
}

struct Beside {
    processor: &'static str,
    takeover: Result<&'static Object, &'static str>,
    glibc_static: Result<&'static Object, &'static str>,
}

include!(concat!(env!("OUT_DIR"), "/linkable.rs"));

const UNKNOWN_PROCESSOR: &str = "underpin has no allocators for this processor, only for x86_64 and aarch64";

/// The allocator as an object for `processor`, by the kernel's name for it (`x86_64`, `aarch64`).
///
/// # Errors
/// There is none for that goal or that processor.
pub fn linkable(kind: AllocatorKind, goal: Goal, processor: &str) -> Result<&'static Linkable, NotLinkable> {
    if goal == Goal::Memory {
        return Err(NotLinkable::OwnMalloc);
    }
    let found = LINKABLE.iter().find(|entry| (entry.processor, entry.kind, entry.goal) == (processor, kind, goal));
    match found.map(|entry| entry.outcome.as_ref()) {
        Some(Ok(linkable)) => Ok(linkable),
        Some(Err(reason)) => Err(NotLinkable::Absent(reason)),
        None => Err(NotLinkable::Absent(UNKNOWN_PROCESSOR)),
    }
}

fn beside(processor: &str) -> Result<&'static Beside, &'static str> {
    BESIDE.iter().find(|beside| beside.processor == processor).ok_or(UNKNOWN_PROCESSOR)
}

/// The object by which an allocator takes the place of one that the program brings, as Rust's crates tikv-jemallocator,
/// mimalloc and snmalloc-rs do. It changes nothing in a program that brings none.
///
/// # Errors
/// There is none for that processor; the text says why.
pub fn takeover(processor: &str) -> Result<&'static Object, &'static str> {
    beside(processor)?.takeover
}

/// What a static program of glibc needs beside an allocator: mallinfo, mallopt and others that are in the same file of
/// glibc's libc.a as its malloc. A dynamic program, or one of musl, must not have it.
///
/// # Errors
/// There is none for that processor; the text says why.
pub fn glibc_static(processor: &str) -> Result<&'static Object, &'static str> {
    beside(processor)?.glibc_static
}
