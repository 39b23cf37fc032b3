//! How many requests of each kind arrived.

use serde::Serialize;
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests since the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// LOOKUP: one path component, found or not.
    pub lookups: u64,
    /// Those of them that found nothing.
    pub absent: u64,
    /// OPEN.
    pub opens: u64,
    /// GETATTR.
    pub getattrs: u64,
    /// READ.
    pub reads: u64,
    /// Bytes handed out by READ.
    pub bytes_read: u64,
    /// READLINK.
    pub readlinks: u64,
    /// OPENDIR and READDIR.
    pub directories: u64,
    /// RELEASE and RELEASEDIR: no client waits for them, and they may come long after the close.
    pub releases: u64,
    /// ACCESS, GETXATTR, FLUSH and the like: refused once, after which the kernel no longer asks.
    pub refused: u64,
}

impl Counts {
    /// Requests that a client waits for and that the queue holds.
    #[must_use]
    pub fn waited_for(&self) -> u64 {
        self.lookups + self.opens + self.getattrs + self.reads + self.readlinks + self.directories
    }
}

impl Sub for Counts {
    type Output = Counts;

    /// What came after `earlier`.
    fn sub(self, earlier: Counts) -> Counts {
        Counts {
            lookups: self.lookups.saturating_sub(earlier.lookups),
            absent: self.absent.saturating_sub(earlier.absent),
            opens: self.opens.saturating_sub(earlier.opens),
            getattrs: self.getattrs.saturating_sub(earlier.getattrs),
            reads: self.reads.saturating_sub(earlier.reads),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
            readlinks: self.readlinks.saturating_sub(earlier.readlinks),
            directories: self.directories.saturating_sub(earlier.directories),
            releases: self.releases.saturating_sub(earlier.releases),
            refused: self.refused.saturating_sub(earlier.refused),
        }
    }
}

/// The same as counters that grow.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub lookups: AtomicU64,
    pub absent: AtomicU64,
    pub opens: AtomicU64,
    pub getattrs: AtomicU64,
    pub reads: AtomicU64,
    pub bytes_read: AtomicU64,
    pub readlinks: AtomicU64,
    pub directories: AtomicU64,
    pub releases: AtomicU64,
    pub refused: AtomicU64,
}

impl Counters {
    pub fn snapshot(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            lookups: of(&self.lookups),
            absent: of(&self.absent),
            opens: of(&self.opens),
            getattrs: of(&self.getattrs),
            reads: of(&self.reads),
            bytes_read: of(&self.bytes_read),
            readlinks: of(&self.readlinks),
            directories: of(&self.directories),
            releases: of(&self.releases),
            refused: of(&self.refused),
        }
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
