//! A slow, counting, read-only mirror of a folder: a file system server in a box, for tests and benchmarks.
//!
//! Every request that reaches it is counted, waits in one queue for all clients if a capacity is set, and is answered
//! after a set delay; delays of different clients overlap. What reaches it is what the kernel does not answer from its
//! own caches, and those caches are set by the times to live. Programs can be executed from it. It never writes.
//! Not part of the underpin binary.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use underpin_slowfs::{Options, SlowFs};
//!
//! let options = Options::default().with_delay(Duration::from_micros(100));
//! let mounted = SlowFs::mount(Path::new("/opt/tree"), Path::new("/mnt/slow"), &options)?;
//! let before = mounted.counts();
//! std::process::Command::new("/mnt/slow/bin/program").status()?;
//! let taken = mounted.counts() - before;
//! println!("{} lookups, {} of them of names that do not exist", taken.lookups, taken.absent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod counts;
mod mirror;
mod mount;
mod nodes;
mod options;
mod pace;

pub use counts::Counts;
pub use mount::{MountError, Mounted, SlowFs};
pub use options::{Delays, Options};
