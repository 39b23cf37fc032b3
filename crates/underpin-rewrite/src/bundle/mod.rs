//! A program with its loader and its closure, to run on a machine with an older or a different C library.
//!
//! Two forms. A **directory** holds the program in `bin/`, its loader and libraries in `lib/`; it works from any place,
//! moved, copied or linked to. A **file** is the program with everything else appended to it; libraries are mapped from it
//! (`hooks`), or loaded from memory files at start where the loader cannot do that, and nothing is unpacked to a disk.
//!
//! How it starts: the program's copy carries a launcher (`underpin-sys`, `launcher/`) in place of its PT_INTERP. The
//! kernel maps the program as usual, so `/proc/self/exe`, `argv[0]`, the heap, the environment and every signal are
//! those of a plain start; the launcher maps the bundle's loader, as the kernel would have, and makes the program's
//! dynamic section name the bundle's libraries by absolute path, in load order, only in memory. Libraries find each
//! other by soname among those. So it needs neither LD_LIBRARY_PATH nor a shell, and nothing leaks to children.
//!
//! Invariants: the closure is the resolver's; no object of it comes from the host; the program is never run, only its
//! loader is asked to list what it maps ([`check`]). What a bundle cannot carry (drivers, data found by compiled-in
//! paths) is reported as a [`Notice`], never silently dropped.

mod check;
mod collect;
mod copies;
mod eager;
mod error;
mod graft;
mod head;
mod hooks;
mod locale_archive;
mod locales;
mod merge;
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
pub use model::{BundlePlan, Form, IncludedBecause, Item, Merge, Merged, Wish};
pub use notice::{NoLocale, Notice};
pub use plan::plan;
pub use write::{Written, write};
