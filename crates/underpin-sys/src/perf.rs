//! Counting events of commands with `perf_event_open(2)`.
//!
//! The counters belong to the calling thread, disabled, inherited by every task that it makes from then on, and enabled
//! by exec: so they count the command and all its children, and nothing of this process. What a task counted is added
//! when it ends. Inherited counters cannot be read as a group, so each is a descriptor of its own, read with the times
//! for which it was wanted and for which it was on a real counter.

use crate::HardwareCounter;
use crate::error::{SysError, check};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// An event that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountedEvent {
    /// The processor's own, in user space.
    Hardware(HardwareCounter),
    /// Page faults, counted by the kernel.
    PageFaults,
    /// Nanoseconds on a processor.
    TaskClock,
}

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_SOFTWARE`.
const TYPES: (u64, u64) = (0, 1);
/// `PERF_COUNT_SW_TASK_CLOCK` and `PERF_COUNT_SW_PAGE_FAULTS`.
const SOFTWARE: (u64, u64) = (1, 2);
/// `PERF_ATTR_SIZE_VER1`, in words.
const WORDS: usize = 9;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`.
const FORMAT: u64 = 1 | 2;
/// disabled, inherit, enable_on_exec.
const FLAGS: u64 = 1 | 1 << 1 | 1 << 12;
/// exclude_kernel, exclude_hv: what an unprivileged user may count.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;

/// One open counter.
#[derive(Debug)]
pub struct Counter {
    /// What it counts.
    pub event: CountedEvent,
    descriptor: File,
}

/// What a counter has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Events.
    pub count: u64,
    /// Nanoseconds for which it was to count.
    pub enabled: u64,
    /// Nanoseconds for which it did: less if more counters are wanted than the processor has.
    pub running: u64,
}

impl Reading {
    /// What was counted between an earlier reading and this one.
    #[must_use]
    pub fn since(self, earlier: Reading) -> Reading {
        Reading {
            count: self.count.wrapping_sub(earlier.count),
            enabled: self.enabled.wrapping_sub(earlier.enabled),
            running: self.running.wrapping_sub(earlier.running),
        }
    }

    /// Whether it counted all the time; otherwise the count is only a part.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.enabled == self.running
    }
}

impl Counter {
    /// Opens a counter for the commands that this thread will start.
    ///
    /// # Errors
    /// `ENOENT` if the machine has no such counter, `EACCES` or `EPERM` if it is not allowed.
    pub fn open(event: CountedEvent) -> Result<Counter, SysError> {
        let (kind, config, scope) = match event {
            CountedEvent::Hardware(counter) => (TYPES.0, counter as u64, USER_ONLY),
            CountedEvent::TaskClock => (TYPES.1, SOFTWARE.0, 0),
            CountedEvent::PageFaults => (TYPES.1, SOFTWARE.1, 0),
        };
        match open(kind, config, FLAGS | scope) {
            // Not allowed to look into the kernel: the user part, then.
            Err(SysError { errno: libc::EACCES, .. }) if scope == 0 => open(kind, config, FLAGS | USER_ONLY),
            other => other,
        }
        .map(|descriptor| Counter { event, descriptor })
    }

    /// What it has counted up to now, of the tasks that have ended.
    ///
    /// # Errors
    /// Whatever reading the descriptor reports.
    pub fn read(&self) -> Result<Reading, SysError> {
        let mut bytes = [0u8; 24];
        (&self.descriptor).read_exact(&mut bytes).map_err(|error| SysError::io("reading a perf counter", &error))?;
        let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        Ok(Reading { count: word(0), enabled: word(8), running: word(16) })
    }
}

fn open(kind: u64, config: u64, flags: u64) -> Result<File, SysError> {
    const CLOSE_ON_EXEC: u64 = 8;
    let mut attribute = [0u64; WORDS];
    let size = (WORDS * 8) as u64;
    // The type and the size share the first word.
    attribute[0] = if cfg!(target_endian = "little") { size << 32 | kind } else { kind << 32 | size };
    attribute[1] = config;
    attribute[4] = FORMAT;
    attribute[5] = flags;
    // SAFETY: `attribute` is a perf_event_attr of the size that it states and lives through the call.
    let opened =
        unsafe { libc::syscall(libc::SYS_perf_event_open, attribute.as_ptr(), 0i64, -1i64, -1i64, CLOSE_ON_EXEC) };
    let descriptor = check("perf_event_open", opened)?;
    // SAFETY: the kernel has just made it, and nothing else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spawn, Streams};

    /// The kernel's two ways of counting the same thing agree. Linux 6.18 loses the count of a child at times (it then
    /// reads as never enabled, or as one child's of two), so some runs may disagree; but a count may never be too high.
    #[test]
    fn page_faults_of_a_command_and_its_children_are_those_of_rusage() {
        let counter = match Counter::open(CountedEvent::PageFaults) {
            Ok(counter) => counter,
            Err(error) => {
                assert!([libc::EACCES, libc::EPERM, libc::ENOSYS].contains(&error.errno), "{error}");
                return;
            }
        };
        let arguments = ["sh", "-c", "/bin/true; /bin/true"].map(std::ffi::OsString::from);
        let command = Spawn::new("/bin/sh".into(), &arguments, &[], Streams::default()).unwrap();
        let agrees = || {
            let before = counter.read().unwrap();
            let run = command.run(&[], crate::Limits::NONE).unwrap();
            let counted = counter.read().unwrap().since(before);
            let faults = run.usage.minor_faults + run.usage.major_faults;
            assert!(counted.count <= faults, "{counted:?} {faults}");
            // rusage also has the faults between fork and exec of the shell itself, a page or two.
            counted.count + 16 >= faults && counted.is_whole()
        };
        assert!((0..100).any(|_| agrees()), "no run of a hundred was counted in full");
    }

    #[test]
    fn a_counter_that_is_not_there_says_why() {
        for counter in HardwareCounter::ALL {
            if let Err(error) = Counter::open(CountedEvent::Hardware(counter)) {
                assert_ne!(error.errno, libc::EINVAL, "{}: the request itself must be sound", counter.name());
            }
        }
    }
}
