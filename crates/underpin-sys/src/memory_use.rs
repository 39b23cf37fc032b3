//! What a process holds in memory, from `/proc/PID/smaps_rollup` and `/proc/PID/status`.
//!
//! `smaps_rollup` walks the page tables and is exact at that moment; it takes the memory map's lock, so it does
//! not belong in a timed run. `VmHWM` is the peak since the last exec; on kernels that count pages per processor it can
//! lag by some tens of pages.

use crate::RawPid;
use crate::error::SysError;

/// Memory of one process at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Resident: every page of it that is in memory.
    pub rss: u64,
    /// Proportional: each page divided by the number of processes that map it.
    pub pss: u64,
    /// Pages that only this process maps and has written to.
    pub private_dirty: u64,
    /// Pages in swap.
    pub swap: u64,
}

impl std::ops::AddAssign for MemoryUse {
    fn add_assign(&mut self, other: MemoryUse) {
        self.rss += other.rss;
        self.pss += other.pss;
        self.private_dirty += other.private_dirty;
        self.swap += other.swap;
    }
}

/// Memory of a process now (`smaps_rollup`, Linux 4.14).
///
/// # Errors
/// If the process is gone (or has no memory any more), or may not be looked at.
pub fn memory_use(pid: RawPid) -> Result<MemoryUse, SysError> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
        .map_err(|error| SysError::io("reading smaps_rollup", &error))?;
    let field = |name: &str| kibibytes(&text, name).unwrap_or(0);
    Ok(MemoryUse {
        rss: field("Rss:"),
        pss: field("Pss:"),
        private_dirty: field("Private_Dirty:"),
        swap: field("Swap:"),
    })
}

/// The peak of a process's resident memory since its exec, in bytes (`VmHWM`); `None` if it has no memory.
#[must_use]
pub fn peak_rss(pid: RawPid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    kibibytes(&text, "VmHWM:")
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|figure| figure * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_to_is_private_dirty() {
        let pid = std::process::id() as RawPid;
        let before = memory_use(pid).unwrap();
        let written = vec![1u8; 32 << 20];
        let after = memory_use(pid).unwrap();
        std::hint::black_box(&written);
        let grown = after.private_dirty - before.private_dirty;
        assert!(grown >= 31 << 20, "{grown}");
        assert!(after.rss >= after.pss && after.pss >= after.private_dirty, "{after:?}");
        assert!(peak_rss(pid).unwrap() + (1 << 20) >= after.rss);
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory() {
        assert!(memory_use(RawPid::MAX).is_err());
        assert_eq!(peak_rss(RawPid::MAX), None);
    }
}
