//! The system calls of underpin: launching, ptrace, seccomp, process memory, procfs, and probes of what this machine
//! allows.
//!
//! The only library of underpin with `unsafe`; all of its interface is safe. It knows nothing of libraries, phases or
//! reports: it returns what the kernel says. Errors carry the call that failed and its error number.

mod answer;
mod background;
mod elsewhere;
mod end_requests;
mod error;
mod exec_refusal;
mod launch;
mod launcher;
mod memory;
mod memory_use;
mod output_watch;
mod perf;
mod probe;
mod procfs;
mod ptrace;
mod reap;
mod registers;
mod replace;
mod seccomp;
mod signals;
mod spawn;
mod supervise;
mod units;
mod wait;
mod watchdog;
mod zeros;

pub use answer::{CHORE_LIMIT, QUESTION_LIMIT, answer, answer_to};
pub use background::Background;
pub use elsewhere::elsewhere;
pub use end_requests::{EndAtOnce, end_requests, end_signal};
pub use error::{Denied, LaunchError, SysError};
pub use exec_refusal::ExecRefusal;
pub use launch::{Launch, Suspended, find_program};
pub use launcher::{LauncherMachine, launcher, locale_library};
pub use memory::{read_memory, read_string, write_byte_patch};
pub use memory_use::{MemoryUse, memory_use, peak_rss};
pub use output_watch::{OutputWatch, Watchable};
pub use perf::{CountedEvent, Counter, Reading};
pub use probe::{
    AslrProbe, CounterProbe, HardwareCounter, PerfProbe, PtraceProbe, StopCost, aslr, cpu_governor,
    effective_capabilities, hardware_counters, perf_event_paranoid, ptrace_probe, yama_ptrace_scope,
};
pub use procfs::{AuxVector, MapRange, Process, auxv, bytes_written, maps, process_group, process_tree, thread_group};
pub use ptrace::{CallStop, Resume, Tracee};
pub use reap::{Limits, Waited};
pub use registers::{BREAKPOINT, Registers};
pub use replace::{Replace, Watched};
pub use seccomp::{CallFilter, NATIVE_AUDIT_ARCH};
pub use signals::IgnoreInterrupts;
pub use spawn::{Run, RunEnd, Spawn, Started, Streams, Usage};
pub use supervise::{Supervised, supervise, supervise_twice, work_alone};
pub use units::Nanos;
pub use wait::{Reported, Stop, wait_any, wait_for};
pub use watchdog::Watchdog;
pub use zeros::zeros;

/// A process or thread id.
pub type RawPid = i32;
