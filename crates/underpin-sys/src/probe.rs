//! What this machine allows, found out by trying it: ptrace, hardware counters; and the settings that limit them.
//!
//! `doctor` shows these. A probe never changes a setting. If a file is absent the answer is `None`, not a guess.

use crate::error::{SysError, check};
use crate::{Denied, Launch, LaunchError, Resume, Stop, wait_for};
use std::ffi::OsString;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn setting<T: std::str::FromStr>(path: &str) -> Option<T> {
    read_to_string(path).ok()?.trim().parse().ok()
}

/// `kernel.yama.ptrace_scope`; `None` if the kernel is built without Yama.
#[must_use]
pub fn yama_ptrace_scope() -> Option<u32> {
    setting("/proc/sys/kernel/yama/ptrace_scope")
}

/// `kernel.perf_event_paranoid`; `None` if the kernel is built without perf events.
#[must_use]
pub fn perf_event_paranoid() -> Option<i32> {
    setting("/proc/sys/kernel/perf_event_paranoid")
}

/// The frequency governor of the first CPU; `None` if there is none (virtual machines).
#[must_use]
pub fn cpu_governor() -> Option<String> {
    setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Address space randomisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AslrProbe {
    /// `kernel.randomize_va_space`: 0 off, 1 without the heap, 2 all.
    pub setting: Option<u32>,
    /// Switched off for this process and its children (`setarch -R`).
    pub off_for_us: bool,
}

/// Address space randomisation, as set and as it holds for this process.
#[must_use]
pub fn aslr() -> AslrProbe {
    const QUERY: libc::c_ulong = 0xffff_ffff;
    // SAFETY: this argument only asks.
    let personality = unsafe { libc::personality(QUERY) };
    AslrProbe {
        setting: setting("/proc/sys/kernel/randomize_va_space"),
        off_for_us: personality != -1 && personality & libc::ADDR_NO_RANDOMIZE != 0,
    }
}

/// The effective capabilities, as a bit set (`capabilities(7)`).
#[must_use]
pub fn effective_capabilities() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
}

/// Whether this process can trace a child, and what a stop costs.
#[derive(Debug)]
pub enum PtraceProbe {
    /// It can.
    Works(StopCost),
    /// It is not allowed to.
    Denied(Denied),
    /// Something else went wrong.
    Failed(String),
}

/// What one stop of a traced task costs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopCost {
    /// Median time from resuming a task to its next stop at the boundary of a system call, over those of one run of
    /// a shell.
    pub median: Duration,
    /// Stops measured.
    pub stops: usize,
}

/// Traces a real child (`/bin/sh -c :`) to its end.
#[must_use]
pub fn ptrace_probe() -> PtraceProbe {
    // A thread of its own: waiting for "any child of this thread" must not meet the caller's children.
    match std::thread::spawn(trace_a_shell).join() {
        Ok(Ok(cost)) => PtraceProbe::Works(cost),
        Ok(Err(LaunchError::Denied(denied))) => PtraceProbe::Denied(denied),
        Ok(Err(error)) => PtraceProbe::Failed(error.to_string()),
        Err(_) => PtraceProbe::Failed("the probe's thread ended early".to_owned()),
    }
}

fn trace_a_shell() -> Result<StopCost, LaunchError> {
    let launch = Launch {
        program: PathBuf::from("/bin/sh"),
        arguments: ["sh", "-c", ":"].map(OsString::from).to_vec(),
        environment: Vec::new(),
        input: None,
        output: None,
        directory: None,
        filter: None,
    };
    let task = launch.start()?.task;
    let mut times = Vec::new();
    let mut signal = 0;
    loop {
        let before = Instant::now();
        task.resume(Resume::ToCall, signal)?;
        let Some(report) = wait_for(task.0)? else { break };
        signal = 0;
        match report.stop {
            Stop::Call => times.push(before.elapsed()),
            Stop::Signal(number) => signal = number,
            Stop::Exited(_) | Stop::Signalled(_) => break,
            _ => {}
        }
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied();
    median
        .map(|median| StopCost { median, stops: times.len() })
        .ok_or_else(|| SysError { what: "no stop at a system call was seen", errno: libc::ENOSYS }.into())
}

/// A hardware counter that benchmarks commonly want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HardwareCounter {
    /// CPU cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Last-level cache references.
    CacheReferences,
    /// Last-level cache misses.
    CacheMisses,
    /// Branches retired.
    Branches,
    /// Mispredicted branches.
    BranchMisses,
    /// Bus cycles.
    BusCycles,
    /// Cycles in which the front end stalled.
    StalledFrontend,
    /// Cycles in which the back end stalled.
    StalledBackend,
}

impl HardwareCounter {
    /// Every counter, in the kernel's numbering (`PERF_COUNT_HW_*`).
    pub const ALL: [HardwareCounter; 9] = [
        HardwareCounter::Cycles,
        HardwareCounter::Instructions,
        HardwareCounter::CacheReferences,
        HardwareCounter::CacheMisses,
        HardwareCounter::Branches,
        HardwareCounter::BranchMisses,
        HardwareCounter::BusCycles,
        HardwareCounter::StalledFrontend,
        HardwareCounter::StalledBackend,
    ];

    /// perf's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HardwareCounter::Cycles => "cycles",
            HardwareCounter::Instructions => "instructions",
            HardwareCounter::CacheReferences => "cache-references",
            HardwareCounter::CacheMisses => "cache-misses",
            HardwareCounter::Branches => "branches",
            HardwareCounter::BranchMisses => "branch-misses",
            HardwareCounter::BusCycles => "bus-cycles",
            HardwareCounter::StalledFrontend => "stalled-cycles-frontend",
            HardwareCounter::StalledBackend => "stalled-cycles-backend",
        }
    }
}

/// Whether a counter could be opened for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterProbe {
    /// Which.
    pub counter: HardwareCounter,
    /// The answer.
    pub answer: PerfProbe,
}

/// The answer of `perf_event_open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfProbe {
    /// It counts.
    Works,
    /// The processor (or the virtual machine) has no such counter: `ENOENT`, `EOPNOTSUPP`, `ENODEV`.
    NotThere {
        /// The error number.
        errno: i32,
    },
    /// Not allowed: `EACCES`, `EPERM` (`kernel.perf_event_paranoid`, a container's seccomp filter).
    Denied {
        /// The error number.
        errno: i32,
    },
    /// Another error.
    Failed {
        /// The error number.
        errno: i32,
    },
}

/// Opens each common hardware counter for this process, user space only, as an unprivileged benchmark would.
#[must_use]
pub fn hardware_counters() -> Vec<CounterProbe> {
    HardwareCounter::ALL.map(|counter| CounterProbe { counter, answer: open_counter(counter) }).to_vec()
}

fn open_counter(counter: HardwareCounter) -> PerfProbe {
    /// `PERF_ATTR_SIZE_VER1`, in words; older kernels take it too.
    const WORDS: usize = 9;
    const DISABLED_EXCLUDE_KERNEL_HV: u64 = 1 | 1 << 5 | 1 << 6;
    let mut attribute = [0u64; WORDS];
    // type = PERF_TYPE_HARDWARE (0) in the low half, size in the high half; then config; then, at word 5, the flags.
    let size = (WORDS * 8) as u64;
    attribute[0] = if cfg!(target_endian = "little") { size << 32 } else { size };
    attribute[1] = HardwareCounter::ALL.iter().position(|&other| other == counter).unwrap_or(0) as u64;
    attribute[5] = DISABLED_EXCLUDE_KERNEL_HV;
    // SAFETY: `attribute` is a perf_event_attr of the size that it states and lives through the call.
    let opened = unsafe { libc::syscall(libc::SYS_perf_event_open, attribute.as_ptr(), 0, -1, -1, 0) };
    match check("perf_event_open", opened) {
        Ok(descriptor) => {
            // SAFETY: the descriptor was opened above and is not used elsewhere.
            unsafe { libc::close(descriptor as i32) };
            PerfProbe::Works
        }
        Err(SysError { errno: errno @ (libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV), .. }) => {
            PerfProbe::NotThere { errno }
        }
        Err(SysError { errno: errno @ (libc::EACCES | libc::EPERM), .. }) => PerfProbe::Denied { errno },
        Err(SysError { errno, .. }) => PerfProbe::Failed { errno },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_of_ptrace_traces_or_says_why_not() {
        match ptrace_probe() {
            PtraceProbe::Works(cost) => assert!(cost.stops > 10 && cost.median > Duration::ZERO, "{cost:?}"),
            PtraceProbe::Denied(denied) => assert!(!denied.to_string().is_empty()),
            PtraceProbe::Failed(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn every_counter_answers() {
        for probe in hardware_counters() {
            assert!(!matches!(probe.answer, PerfProbe::Failed { .. }), "{probe:?}");
        }
    }

    #[test]
    fn settings_match_their_files() {
        let shown = std::process::Command::new("cat").arg("/proc/sys/kernel/randomize_va_space").output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap().trim().parse().ok();
        assert_eq!(aslr().setting, shown);
        assert!(effective_capabilities().is_some());
    }
}
