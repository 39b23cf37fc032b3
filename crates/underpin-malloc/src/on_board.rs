//! Allocators on board: jemalloc, mimalloc and snmalloc as shared objects to preload, inside this binary.
//!
//! Each object serves programs of glibc and of musl alike and needs nothing but the C library that is already there.
//! They are bytes to write out and hand to a loader; nothing of them runs in the process that embeds them.

/// Which allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllocatorKind {
    /// jemalloc 5.
    Jemalloc,
    /// mimalloc 3.
    Mimalloc,
    /// snmalloc.
    Snmalloc,
}

impl AllocatorKind {
    /// The name that a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AllocatorKind::Jemalloc => "jemalloc",
            AllocatorKind::Mimalloc => "mimalloc",
            AllocatorKind::Snmalloc => "snmalloc",
        }
    }
}

/// A shared object inside this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is called.
    pub name: &'static str,
    /// SHA-256 of its bytes, in hexadecimal, taken when it was built.
    pub sha256: &'static str,
    /// The whole file.
    pub bytes: &'static [u8],
}

/// One allocator, and whether it is on board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnBoard {
    /// Which.
    pub kind: AllocatorKind,
    /// Its own version; for snmalloc, that of the crate it came in.
    pub version: &'static str,
    /// What was chosen for it at build time, in words.
    pub settings: &'static str,
    /// The names of its run-time options, as its own source lists them.
    pub options: &'static [&'static str],
    /// The object, or why there is none.
    pub object: Result<Object, &'static str>,
}

static ON_BOARD: &[OnBoard] = include!(concat!(env!("OUT_DIR"), "/on_board.rs"));
static COMPANION: Object = include!(concat!(env!("OUT_DIR"), "/companion.rs"));

/// Every allocator that underpin can include, also those left out of this build.
#[must_use]
pub fn on_board() -> &'static [OnBoard] {
    ON_BOARD
}

/// One of them.
#[must_use]
pub fn allocator(kind: AllocatorKind) -> Option<&'static OnBoard> {
    ON_BOARD.iter().find(|allocator| allocator.kind == kind)
}

/// The object that is preloaded beside an allocator: keeps the preloading from a process's children, and prints
/// statistics at its end.
#[must_use]
pub fn companion() -> &'static Object {
    &COMPANION
}
