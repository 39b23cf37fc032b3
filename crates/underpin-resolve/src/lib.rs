//! What the loader named in PT_INTERP will load, in load order, from where and why, and every path tried on the way.
//!
//! glibc and musl are two policies over one [`Root`]. The search emits its system calls as it goes ([`Calls`]), so
//! the predicted number of calls is the model itself. Nothing is ever run: what is compiled into a loader is read
//! from its bytes. The tests compare the result with the real loader; see `tests/`.
#![forbid(unsafe_code)]

pub mod cache;
pub mod calls;
pub mod closure;
pub mod compat;
pub mod conf;
mod environment;
mod files;
mod findings;
mod glibc;
mod hash;
mod hwcaps;
mod initialise;
mod libc_version;
pub mod loader;
mod musl;
mod pages;
mod resolution;
mod resolver;
pub mod root;
pub mod storm;
mod tokens;
mod unique;
pub mod unwinder;

pub use calls::{Call, CallCount, CallName, Calls};
pub use closure::*;
pub use environment::Environment;
pub use hwcaps::Processor;
pub use initialise::InitialiserSort;
pub use libc_version::LibcVersion;
pub use loader::{Loader, LoaderKind};
pub use resolution::Depth;
pub use resolver::{ResolveError, Resolver};
pub use root::{FileId, HostRoot, MemoryRoot, OverlayRoot, PathError, Root};
pub use underpin_elf::IsaLevel;
