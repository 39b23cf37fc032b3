//! What start-up really did: the system calls of a command, when each phase of its start was reached, what each
//! library cost to find, map and relocate, and how much the watching distorted all that.
//!
//! [`Session::run`] starts a command under ptrace and returns a [`Trace`], which is pure data. The tracer follows
//! forks, threads and execs, leaves signals and the terminal to the command, and lets go of it after the phase asked
//! for. Invariants: the counts of the traced calls are those of `strace -c -f` over the same set of calls, and
//! nothing runs but the command given. It does not predict (that is `underpin-resolve`) and does not render.
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
