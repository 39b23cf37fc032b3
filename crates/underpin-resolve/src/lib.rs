//! What the loader named in PT_INTERP will load, in load order, from where and why, and every path tried on the way.
//!
//! glibc and musl are two policies over one [`Root`]. The search emits its system calls as it goes ([`Calls`]), so
//! the predicted number of calls is the model itself. Nothing is ever run: what is compiled into a loader is read
//! from its bytes. The real loader is the judge; see `tests/` for the comparison.
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
mod hwcaps;
mod initialise;
pub mod loader;
mod musl;
mod pages;
mod resolver;
pub mod root;
pub mod storm;
mod tokens;
mod unique;

pub use calls::{Call, CallCount, CallName, Calls};
pub use closure::*;
pub use environment::Environment;
pub use hwcaps::Processor;
pub use initialise::InitialiserSort;
pub use loader::{LibcVersion, Loader, LoaderKind};
pub use resolver::{Depth, ResolveError, Resolver};
pub use root::{Errno, FileId, HostRoot, MemoryRoot, OverlayRoot, Root};
pub use underpin_elf::IsaLevel;
