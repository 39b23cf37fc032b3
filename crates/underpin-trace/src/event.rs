//! One system call as observed: which task, when, with which arguments, and its result.

use crate::{Errno, Nanos, PathText, PhaseKind, Pid, Syscall};
use serde::Serialize;

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The process (thread group).
    pub pid: Pid,
    /// The thread that made the call.
    pub tid: Pid,
    /// The phase that had been reached when the call began.
    pub phase: PhaseKind,
    /// Which call.
    pub call: Syscall,
    /// The six argument registers, as passed.
    #[serde(skip)]
    pub args: [u64; 6],
    /// The path argument, or the path behind the descriptor argument if its opening was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathText>,
    /// Whether `path` was found through a descriptor (`read`, `mmap`, `close`, `fstat`) rather than passed as text.
    pub by_descriptor: bool,
    /// The result.
    pub outcome: CallOutcome,
    /// When it began, since the start of the trace.
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// From resuming the call to seeing it return. Includes the cost of one stop: see `TracingCost`.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Succeeded with this value.
    Returned(i64),
    /// Failed.
    Failed(Errno),
    /// Was not seen to return: `exit`, `exit_group`, a call cut short by the end of its process. `strace -c` does not
    /// count these, and neither do the totals.
    NotSeen,
}

impl std::fmt::Display for CallOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallOutcome::Returned(value) => value.fmt(f),
            CallOutcome::Failed(errno) => errno.fmt(f),
            CallOutcome::NotSeen => f.pad("?"),
        }
    }
}

/// The arguments of an `mmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where it was mapped; the requested address if the call failed.
    pub address: u64,
    /// Requested length in bytes.
    pub length: u64,
    /// `PROT_*`.
    pub protection: u32,
    /// `MAP_*`.
    pub flags: u32,
    /// The descriptor, `None` for an anonymous mapping.
    pub descriptor: Option<i32>,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

impl Mapping {
    /// `PROT_EXEC` was asked for.
    #[must_use]
    pub fn executable(&self) -> bool {
        self.protection & 4 != 0
    }

    /// Not backed by a file (`MAP_ANONYMOUS`).
    #[must_use]
    pub fn anonymous(&self) -> bool {
        self.descriptor.is_none()
    }
}

impl Event {
    /// The call failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.outcome, CallOutcome::Failed(_))
    }

    /// The name of the call; unknown numbers have none.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.call.name().unwrap_or("")
    }

    /// When the call was seen to return.
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.start + self.duration
    }

    /// The call looked for a path and did not find it (`ENOENT`, `ENOTDIR`).
    #[must_use]
    pub fn failed_lookup(&self) -> bool {
        const ENOTDIR: i32 = 20;
        let not_there =
            matches!(self.outcome, CallOutcome::Failed(errno) if errno.0 == ENOTDIR || errno == Errno::NOENT);
        not_there && !self.by_descriptor && self.path.as_ref().is_some_and(|path| !path.bytes().is_empty())
    }

    /// The arguments of an `mmap`, `None` for other calls.
    #[must_use]
    pub fn mapping(&self) -> Option<Mapping> {
        const MAP_ANONYMOUS: u64 = 0x20;
        if self.name() != "mmap" {
            return None;
        }
        let [address, length, protection, flags, descriptor, offset] = self.args;
        Some(Mapping {
            address: match self.outcome {
                CallOutcome::Returned(at) => at as u64,
                _ => address,
            },
            length,
            protection: protection as u32,
            flags: flags as u32,
            descriptor: (flags & MAP_ANONYMOUS == 0).then_some(descriptor as i32),
            offset,
        })
    }

    /// Heap growth: `brk`, or an anonymous `mmap` (other than a fixed one, which is the zeroed end of a data segment).
    ///
    /// ld.so's own allocations look like this; a prediction of loader calls leaves them out.
    #[must_use]
    pub fn heap_growth(&self) -> bool {
        const MAP_FIXED: u32 = 0x10;
        self.name() == "brk" || self.mapping().is_some_and(|map| map.anonymous() && map.flags & MAP_FIXED == 0)
    }
}
