//! A program with its loader and its closure, to run on a machine whose C library is older, or another one.
//!
//! Two forms. A **directory** holds the program in `bin/`, its loader and libraries in `lib/`; it works from any place,
//! moved, copied or linked to. A **file** is the program alone, with all of it behind its end; libraries come from
//! memory files at start, nothing is unpacked to a disk.
//!
//! How it starts: the program's copy carries a launcher (`underpin-sys`, `launcher/`) in place of its PT_INTERP. The
//! kernel maps the program as usual, so `/proc/self/exe`, `argv[0]`, the heap, the environment and every signal are
//! those of a plain start; the launcher maps the bundle's loader, as the kernel would have, and lets the program's
//! dynamic section name the bundle's libraries by absolute path, in load order, in memory alone. Libraries find each
//! other by soname among those. So no LD_LIBRARY_PATH is needed, nothing leaks to children, and no shell is.
//!
//! What always holds: the closure is the resolver's; no object of it comes from the host; the program is never run, its
//! loader is asked to list what it maps ([`check`]). What a bundle cannot carry (drivers, data found by compiled-in
//! paths) is told as a [`Notice`], never passed over in silence.

mod check;
mod collect;
mod copies;
mod eager;
mod error;
mod graft;
mod head;
mod locale_archive;
mod locales;
mod model;
mod notice;
mod plan;
mod plugins;
mod scan;
mod taken;
mod texts;
mod tree;
mod wrapper;
mod write;

pub use check::{BundleCheck, check};
pub use error::BundleError;
pub use head::Launcher;
pub use model::{BundlePlan, Form, IncludedBecause, Item, Wish};
pub use notice::{NoLocale, Notice};
pub use plan::plan;
pub use write::{Written, write};
