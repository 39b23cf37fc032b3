//! What a command's start-up really did: its system calls, when each phase was reached, what each library cost to find,
//! map and relocate, and how much the tracing distorted these figures.
//!
//! [`Session::run`] starts a command under ptrace and returns a [`Trace`], which is pure data. The tracer follows
//! forks, threads and execs, leaves signals and the terminal to the command, and detaches after the requested phase.
//! Invariants: the counts of the traced calls are those of `strace -c -f` over the same set of calls, and nothing runs
//! but the given command. It does not predict (that is `underpin-resolve`) and does not render.
#![forbid(unsafe_code)]

mod calls;
mod error;
mod event;
mod files;
mod image;
mod landmarks;
mod libraries;
mod model;
mod options;
mod recorder;
mod seen;
mod session;
mod shapes;
mod start;
mod summary;
mod symbols;
mod task;
mod tracer;
mod units;

pub use calls::{CallGroup, CallSet, UnknownCall};
pub use error::TraceError;
pub use event::{CallOutcome, Event, Mapping};
pub use model::{
    CallTotal, DirectoryCost, End, FailedTry, Instants, LibraryLoad, MissingLibrary, Phase, PhaseKind, Program, Task,
    TaskKind, Trace, TraceNote, TracingCost,
};
pub use options::{Output, Then, TraceOptions, Until};
pub use session::Session;
pub use underpin_sys::Nanos;
pub use units::{Errno, PathText, Pid, Syscall};
