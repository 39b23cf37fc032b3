//! What the tests of every crate share: fixtures built from source, skips that fail in CI, the real loader as judge.
//!
//! For `[dev-dependencies]` only. A function here panics with a sentence if a test cannot go on, because a panic is
//! how a test fails. Nothing here decides what is right: the judges are the loader, strace, readelf and the like.
//!
//! ```no_run
//! use underpin_test_support::{Fixture, need};
//!
//! #[test]
//! fn rpath_is_searched_before_ld_library_path() {
//!     need!("cc", "readelf");
//!     let dir = Fixture::new();
//!     dir.write("a.c", "int a(void){return 1;}");
//!     dir.cc(["-shared", "-fPIC", "-o", "liba.so", "a.c"]);
//! }
//! ```
#![forbid(unsafe_code)]

mod allocator;
mod browser;
mod fixture;
mod loader;
mod need;
mod random;

pub use allocator::prefixed_jemalloc;
pub use browser::{Browser, Look};
pub use fixture::{Fixture, Output};
pub use loader::{Traced, traced_objects};
pub use need::{
    PATCHELF_VERSIONS, ZIG_VERSIONS, all_required, auditwheel, available, missing, patchelfs, path_with_board, skip,
    skip_without_target, zigs,
};
pub use random::Random;
