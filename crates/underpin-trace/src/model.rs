//! The result of a trace: pure data, in the order in which things happened.
//! Times count from the moment before the command's `execve`. Sums never include calls that were not seen to return.

use crate::{Errno, Event, Nanos, PathText, Pid, Syscall, Until};
use serde::{Serialize, Serializer};

/// What a command's start (or whole run) did.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The command as given.
    pub command: Vec<PathText>,
    /// The file that was executed.
    pub program: PathText,
    /// The loader named in the program's PT_INTERP, `None` for a static program.
    pub interpreter: Option<PathText>,
    /// How far it was watched.
    pub until: Until,
    /// The calls that were traced, in strace's notation for `-e trace=` (`all` for every call).
    pub traced: String,
    /// How the command ended.
    pub end: End,
    /// When each point was reached.
    pub instants: Instants,
    /// The phases, in order; those that the program does not have are left out.
    pub phases: Vec<Phase>,
    /// Totals over the whole trace, most time first.
    #[serde(rename = "syscalls")]
    pub totals: Vec<CallTotal>,
    /// The libraries that the first program image mapped, in the order of mapping.
    pub libraries: Vec<LibraryLoad>,
    /// The program's own share of the relocation, attributed as in [`LibraryLoad::relocate`].
    #[serde(rename = "program_relocate_ns")]
    pub program_relocate: Option<Nanos>,
    /// Library names that were looked for and never found.
    pub missing: Vec<MissingLibrary>,
    /// Directories with failing lookups, most first.
    pub directories: Vec<DirectoryCost>,
    /// Every process and thread, in order of appearance; the first is the command itself.
    pub tasks: Vec<Task>,
    /// The calls, in order of their start.
    pub events: Vec<Event>,
    /// Events beyond the limit, which are in the totals only.
    pub events_dropped: u64,
    /// What the reader should know about this trace.
    pub notes: Vec<TraceNote>,
    /// How much the watching distorted the figures.
    pub doubt: TracingCost,
}

impl Trace {
    /// The calls of the loader, from the end of `execve` to the point where everything is mapped and relocated, in
    /// order. Empty if that point is not known (a static program has none).
    pub fn loader_events(&self) -> impl Iterator<Item = &Event> {
        let ready = self.instants.loader_ready.or(self.instants.entry);
        let first = self.tasks.first().map(|task| task.tid);
        self.events.iter().filter(move |event| {
            event.phase == PhaseKind::Loader && Some(event.tid) == first && ready.is_some_and(|at| event.start < at)
        })
    }

    /// The phase of that kind, if the program had one and it was watched.
    #[must_use]
    pub fn phase(&self, kind: PhaseKind) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.kind == kind)
    }
}

/// When each point of the start was reached. `None`: the program has no such point, it was not reached, or it could not
/// be determined; a [`TraceNote`] says which if it is not obvious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Instants {
    /// `execve` returned in the new program.
    #[serde(rename = "exec_done_ns")]
    pub exec_done: Option<Nanos>,
    /// Everything is mapped and relocated; no initialiser has run.
    #[serde(rename = "loader_ready_ns")]
    pub loader_ready: Option<Nanos>,
    /// The program's entry point. glibc has run the libraries' initialisers by now, musl has not.
    #[serde(rename = "entry_ns")]
    pub entry: Option<Nanos>,
    /// The first instruction of `main`.
    #[serde(rename = "main_ns")]
    pub main: Option<Nanos>,
    /// The first successful write to the command's standard output or error. Exact if every call stops; else the
    /// moment when inotify reported it, some ten microseconds late. What goes to `/dev/null` does not count as output.
    #[serde(rename = "first_output_ns")]
    pub first_output: Option<Nanos>,
    /// The end of the trace: the point of `Until`, or the end of the last process.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
}

/// A stretch of a program's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// From before `execve` to its return: the kernel opens and maps the program and its loader.
    Exec,
    /// The loader searches, maps and relocates. Dynamic programs only.
    Loader,
    /// Initialisers of the libraries and of the program, and the C library's own set-up, up to `main`.
    Initialisers,
    /// From `main` (or the entry point, if there is no `main`) to the first output or the end.
    Main,
    /// After the first output.
    AfterOutput,
}

/// One phase: when, how long, and its calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Which phase.
    pub kind: PhaseKind,
    /// When it began.
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// How long it took.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
    /// How often the tracer stopped a task in it.
    pub stops: u64,
    /// Estimate of what those stops added to `duration`: `stops` times [`TracingCost::per_call`].
    #[serde(rename = "tracing_ns")]
    pub tracing: Nanos,
    /// Traced calls that began in it, of all processes.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// Time inside them; with several processes it may exceed the duration.
    #[serde(rename = "in_calls_ns")]
    pub in_calls: Nanos,
    /// By call, most time first.
    pub syscalls: Vec<CallTotal>,
}

/// The calls of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallTotal {
    /// Which call.
    pub name: Syscall,
    /// How often it was made and returned.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time inside it.
    #[serde(rename = "seconds", serialize_with = "as_seconds")]
    pub time: Nanos,
}

fn as_seconds<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.seconds())
}

/// One library (a file mapped executable by the program itself): what it took to find, map and relocate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibraryLoad {
    /// The name looked for: the last component of the path that was opened.
    pub name: PathText,
    /// The path that was opened.
    pub path: PathText,
    /// The phase in which it was mapped: `Loader`, or a later one for `dlopen`.
    pub phase: PhaseKind,
    /// The lookups that failed before it was found, in order.
    pub failed: Vec<FailedTry>,
    /// Time in the failing lookups.
    #[serde(rename = "search_ns")]
    pub search: Nanos,
    /// When it was opened.
    #[serde(rename = "opened_ns")]
    pub opened: Nanos,
    /// From its opening to the end of the last call on its descriptor or its fresh mapping.
    #[serde(rename = "map_ns")]
    pub map: Nanos,
    /// Its `mmap` calls.
    pub mappings: u32,
    /// Its share of the relocation, `None` if it cannot be determined (no RELRO segment, not in the loader's phase).
    ///
    /// An attribution: the loader relocates one object after the other and ends each with the `mprotect` of its RELRO
    /// segment, so the time between two of them is the share of the second, and of objects without RELRO before it.
    #[serde(rename = "relocate_ns")]
    pub relocate: Option<Nanos>,
}

/// A lookup that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedTry {
    /// The path tried.
    pub path: PathText,
    /// The call.
    pub call: Syscall,
    /// Why it failed.
    pub errno: Errno,
    /// How long it took.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
}

/// A library name that was looked for and never found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingLibrary {
    /// The name.
    pub name: PathText,
    /// The phase of the first try.
    pub phase: PhaseKind,
    /// The lookups, all failed, in order.
    pub failed: Vec<FailedTry>,
}

/// The failing lookups in one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectoryCost {
    /// The directory as it appears in the paths tried.
    pub directory: PathText,
    /// Failing lookups.
    pub failed: u64,
    /// Time in them.
    #[serde(rename = "duration_ns")]
    pub time: Nanos,
}

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The process.
    pub pid: Pid,
    /// The thread; equal to `pid` for a process's first thread.
    pub tid: Pid,
    /// The process that made it, `None` for the command itself.
    pub parent: Option<Pid>,
    /// Process or thread.
    pub kind: TaskKind,
    /// When it was first seen.
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// When it ended, if that was seen.
    #[serde(rename = "end_ns")]
    pub end: Option<Nanos>,
    /// The programs that it executed, in order.
    pub programs: Vec<Program>,
    /// How it ended, if that was seen.
    pub ended: Option<End>,
}

/// What kind of task it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A process (`fork`, `vfork`).
    Process,
    /// A thread.
    Thread,
}

/// A program that a task executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The path given to `execve`, if it was seen.
    pub path: Option<PathText>,
    /// When `execve` returned in it.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Killed by the tracer after the phase asked for, as the options said.
    Stopped,
}

impl End {
    /// The exit status that a shell would report: 128 plus the number for a signal.
    #[must_use]
    pub fn status(self) -> i32 {
        match self {
            End::Exited(code) => code,
            End::Signalled(signal) => 128 + signal,
            End::Stopped => 0,
        }
    }
}

/// What the reader should know about a trace. `Display` gives one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TraceNote {
    /// The program has no loader: its phases begin with its own entry point.
    Static,
    /// The moment when the loader was ready could not be determined.
    LoaderReadyUnknown {
        /// Why.
        reason: String,
    },
    /// `main` could not be found; its phase begins at the entry point.
    MainUnknown {
        /// Why.
        reason: String,
    },
    /// The search for the first output was given up, to keep the cost down.
    FirstOutputGivenUp {
        /// Calls looked at since `main`.
        calls: u64,
    },
    /// Set-user-id programs run without their privileges under a tracer.
    PrivilegesDropped {
        /// The program.
        path: PathText,
    },
    /// Calls made through another table (32-bit code) were not traced.
    ForeignCalls {
        /// Tasks in which such calls were seen.
        tasks: u64,
    },
    /// The command ended before the phase asked for was reached.
    EndedEarly,
}

impl std::fmt::Display for TraceNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TraceNote::Static => f.write_str("static program: no loader, its phases begin at its entry point"),
            TraceNote::LoaderReadyUnknown { reason } => write!(f, "end of the loader's work not known: {reason}"),
            TraceNote::MainUnknown { reason } => {
                write!(f, "`main` not known: {reason}; its phase begins at the entry point")
            }
            TraceNote::FirstOutputGivenUp { calls } => {
                write!(f, "no output within {calls} calls after `main`; not looked for further, to keep the cost down")
            }
            TraceNote::PrivilegesDropped { path } => {
                write!(f, "{path} is set-user-id or has capabilities: a traced program runs without them")
            }
            TraceNote::ForeignCalls { tasks } => {
                write!(f, "{tasks} tasks ran code of another call table (32 bit): not traced")
            }
            TraceNote::EndedEarly => f.write_str("the command ended before the phase asked for was reached"),
        }
    }
}

/// How much the tracer's stops distort a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TracingCost {
    /// How often a task was stopped.
    pub stops: u64,
    /// Measured time that the tracer spent handling stops while the stopped task waited. It is left out of all times of
    /// the trace while a single task lives; with several the clock runs on, since the others do.
    #[serde(rename = "handling_ns")]
    pub handling: Nanos,
    /// The shortest time from resuming a call to seeing it return (fifth percentile over the calls of this run). Cheap
    /// calls take a fraction of a microsecond, so this is about the tracer's share in the time of every call.
    #[serde(rename = "per_call_ns")]
    pub per_call: Nanos,
    /// Estimate of one stop's cost to the stopped task: mean handling plus `per_call` for the switches.
    #[serde(rename = "per_stop_ns")]
    pub per_stop: Nanos,
    /// Estimate for all stops: `stops` times `per_stop`.
    #[serde(rename = "total_ns")]
    pub total: Nanos,
}
