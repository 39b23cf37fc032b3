//! Memory of a process tree at one moment.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Memory at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// Since the start of the run.
    pub at_ns: Nanos,
    /// Resident.
    pub rss: Bytes,
    /// Proportional.
    pub pss: Bytes,
    /// Private and written to.
    pub private_dirty: Bytes,
    /// How many processes these are the sums of; 0 in records of older versions.
    #[serde(default)]
    pub processes: usize,
}

impl MemoryPoint {
    /// What the processes hold: resident memory of one; of several, which share pages, proportional memory, so that no
    /// page counts twice.
    #[must_use]
    pub fn held(&self) -> Bytes {
        if self.processes > 1 { self.pss } else { self.rss }
    }

    /// Growth from this moment to another, in bytes. Both are read in the same way, even if the number of
    /// processes has changed between them.
    pub(crate) fn growth_to(&self, end: &MemoryPoint) -> f64 {
        let of = if self.processes.max(end.processes) > 1 {
            |point: &MemoryPoint| point.pss
        } else {
            |point: &MemoryPoint| point.rss
        };
        of(end).0 as f64 - of(self).0 as f64
    }
}
