//! `underpin.trace/1`: what start-up really did. Times are in seconds since the moment before `execve`.

use super::check::AdviceRecord;
use super::gain::BindingGain;
use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use crate::units::thousands;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin trace`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceDocument {
    /// Always `underpin.trace/1`.
    pub schema: SchemaTag<TraceDocument>,
    /// The command as given.
    pub command: Vec<Raw>,
    /// The file that was executed.
    pub program: Raw,
    /// The loader named in PT_INTERP; null for a static program.
    pub interpreter: Option<Raw>,
    /// How far the command was traced.
    pub until: UntilRecord,
    /// The calls that were traced, as strace's `-e trace=` takes them.
    pub traced: String,
    /// How the command ended.
    pub end: EndRecord,
    /// When each point was reached.
    pub instants: InstantsRecord,
    /// The phases that the program has, in order.
    pub phases: Vec<PhaseRecord>,
    /// Totals over the whole trace, most time first.
    pub syscalls: Vec<SyscallRecord>,
    /// The libraries that the first program image mapped, in order.
    pub libraries: Vec<LibraryRecord>,
    /// Libraries that were looked for and never found.
    pub missing: Vec<MissingRecord>,
    /// Lookups for libraries: those of the start, and those of dlopen(3).
    pub lookups: LookupsRecord,
    /// Directories with failing lookups, most first.
    pub directories: Vec<DirectoryRecord>,
    /// Every process and thread, in order of appearance.
    pub tasks: Vec<TaskRecord>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Names of calls that did not return (exit_group, a call cut short by the end of its process); like `strace -c`, the
    /// totals leave them out.
    pub not_returned: Vec<String>,
    /// What binding would save; absent if it was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<BindingGain>,
    /// What to do about it.
    pub advice: Vec<AdviceRecord>,
    /// How much tracing distorted the figures.
    pub doubt: DoubtRecord,
    /// The calls one by one; of a whole run those up to `main`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventRecord>>,
    /// Calls beyond the limit of `events`; they are in the totals.
    pub events_dropped: u64,
}

impl TraceDocument {
    /// The same, with what binding would save; advised if it is worth it.
    #[must_use]
    pub fn with_binding(mut self, gain: BindingGain) -> TraceDocument {
        self.advice = crate::advice::binding_advice(&self.program, &gain);
        self.binding = Some(gain);
        self
    }
}

impl Document for TraceDocument {
    const VERB: Verb = Verb::Trace;
}

/// How far a command was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UntilRecord {
    /// To the entry point.
    Entry,
    /// To `main`.
    Main,
    /// To the end of the last process.
    Exit,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum EndRecord {
    /// By itself.
    Exited {
        /// Its exit status.
        status: i32,
    },
    /// By a signal.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// Ended by the tracer after the phase asked for.
    Stopped,
}

/// When each point was reached, in seconds; null if the program has no such point or it was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct InstantsRecord {
    /// `execve` returned.
    pub exec_done_seconds: Option<f64>,
    /// Everything is mapped and relocated.
    pub loader_ready_seconds: Option<f64>,
    /// The entry point was reached.
    pub entry_seconds: Option<f64>,
    /// `main` was reached.
    pub main_seconds: Option<f64>,
    /// The first successful write to standard output or error.
    pub first_output_seconds: Option<f64>,
    /// The last event that was traced.
    pub end_seconds: f64,
}

/// The phases of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// The kernel maps the program and its loader.
    Exec,
    /// The loader searches, maps and relocates.
    Loader,
    /// Initialisers up to `main`.
    Initialisers,
    /// From `main` to the first output or the end.
    Main,
    /// After the first output.
    AfterOutput,
}

impl PhaseName {
    /// The phase as text.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            PhaseName::Exec => "exec",
            PhaseName::Loader => "loader",
            PhaseName::Initialisers => "initialisers",
            PhaseName::Main => "main",
            PhaseName::AfterOutput => "after output",
        }
    }
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseRecord {
    /// Which.
    pub name: PhaseName,
    /// When it began.
    pub start_seconds: f64,
    /// How long it took.
    pub seconds: f64,
    /// How many times the tracer stopped a task in it.
    pub stops: u64,
    /// Estimate of what those stops added to `seconds`.
    pub tracing_seconds: f64,
    /// Traced calls that began in it.
    pub calls: u64,
    /// Number of those that failed.
    pub errors: u64,
    /// Time spent in them.
    pub in_calls_seconds: f64,
    /// The calls by name, most time first.
    pub syscalls: Vec<SyscallRecord>,
}

/// The calls of one name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SyscallRecord {
    /// The kernel's name.
    pub name: String,
    /// How often it was made and returned.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time inside it.
    pub seconds: f64,
}

/// What it took to find, map and relocate one library.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LibraryRecord {
    /// The name looked for.
    pub name: Raw,
    /// The path that was opened.
    pub path: Raw,
    /// The phase in which it was mapped.
    pub phase: PhaseName,
    /// The lookups that failed before it was found.
    pub failed: Vec<FailedLookup>,
    /// Time in them.
    pub search_seconds: f64,
    /// When it was opened.
    pub opened_seconds: f64,
    /// From its opening to the end of its last mapping.
    pub map_seconds: f64,
    /// Number of its `mmap` calls.
    pub mappings: u32,
    /// Its share of the relocation, by attribution; null if it is not known.
    pub relocate_seconds: Option<f64>,
}

impl LibraryRecord {
    /// Search, mapping and relocation together, in seconds.
    #[must_use]
    pub fn total_seconds(&self) -> f64 {
        self.search_seconds + self.map_seconds + self.relocate_seconds.unwrap_or(0.0)
    }
}

/// A lookup that failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailedLookup {
    /// The path tried.
    pub path: Raw,
    /// The call.
    pub call: String,
    /// The error's name.
    pub error: String,
    /// How long it took.
    pub seconds: f64,
}

/// A library that was looked for and never found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MissingRecord {
    /// The name.
    pub name: Raw,
    /// The phase of the first try.
    pub phase: PhaseName,
    /// Its lookups.
    pub failed: Vec<FailedLookup>,
}

/// Lookups for libraries, of the first program image of the command itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookupsRecord {
    /// Lookups of the loader, before the first initialiser.
    pub start: LookupCount,
    /// Lookups after that: by dlopen(3), in initialisers and while the program ran.
    pub later: LookupCount,
    /// Whether the program was traced to its end, and every call was kept.
    pub to_the_end: bool,
}

/// Calls that look for libraries by path: `openat`, and if it failed the check whether the directory exists, if
/// the answer is no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookupCount {
    /// All such calls.
    pub calls: u64,
    /// Calls that found nothing.
    pub failing: u64,
    /// Libraries that were found.
    pub libraries: u64,
}

impl LookupsRecord {
    /// `start 24, opened later 1,209 (1,180 failing)`.
    #[must_use]
    pub fn words(&self) -> String {
        let part = |name: &str, count: LookupCount| match count.failing {
            0 => format!("{name} {}", thousands(count.calls)),
            failing => format!("{name} {} ({} failing)", thousands(count.calls), thousands(failing)),
        };
        let end = if self.to_the_end { "" } else { "; not watched to its end (--until exit)" };
        format!("{}, {}{end}", part("start", self.start), part("opened later", self.later))
    }

    /// The sums of what each library took.
    pub(crate) fn of(libraries: &[LibraryRecord], missing: &[MissingRecord], to_the_end: bool) -> LookupsRecord {
        let mut lookups = LookupsRecord { to_the_end, ..LookupsRecord::default() };
        let found = libraries.iter().map(|library| (library.phase, library.failed.len(), 1));
        for (phase, failing, found) in found.chain(missing.iter().map(|it| (it.phase, it.failed.len(), 0))) {
            let of_start = matches!(phase, PhaseName::Exec | PhaseName::Loader);
            let count = if of_start { &mut lookups.start } else { &mut lookups.later };
            count.calls += failing as u64 + found;
            count.failing += failing as u64;
            count.libraries += found;
        }
        lookups
    }
}

/// The failing lookups in one directory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DirectoryRecord {
    /// The directory.
    pub directory: Raw,
    /// Number of failing lookups.
    pub failed: u64,
    /// Time spent in them.
    pub seconds: f64,
}

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskRecord {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The process that made it; null for the command itself.
    pub parent: Option<i32>,
    /// Whether it shares its process's memory: a thread.
    pub thread: bool,
    /// When it was first seen.
    pub start_seconds: f64,
    /// When it ended, if that was seen.
    pub end_seconds: Option<f64>,
    /// The programs that it executed.
    pub programs: Vec<Raw>,
    /// How it ended, if that was seen.
    pub ended: Option<EndRecord>,
}

/// How much the tracer's stops distort a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DoubtRecord {
    /// How many times the tracer stopped a task.
    pub stops: u64,
    /// Time that the tracer spent on stops, measured. While only one task lives, it is subtracted from all times.
    pub handling_seconds: f64,
    /// About how much of every call's time is the tracer's.
    pub per_call_seconds: f64,
    /// Estimated cost of one stop to the stopped task, handling included.
    pub per_stop_seconds: f64,
    /// Estimate for all stops: how much longer the command took than without a tracer.
    pub total_seconds: f64,
}

/// One system call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventRecord {
    /// The thread that made it.
    pub tid: i32,
    /// The phase in which it began.
    pub phase: PhaseName,
    /// The kernel's name.
    pub call: String,
    /// The path passed to it, or the one behind its descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Raw>,
    /// Its return value, if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<i64>,
    /// The error's name, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it began.
    pub start_seconds: f64,
    /// How long it took, including one stop of the tracer.
    pub seconds: f64,
}

impl TraceDocument {
    /// Calls and errors of all names together.
    #[must_use]
    pub fn total(&self) -> (u64, u64) {
        self.syscalls.iter().fold((0, 0), |(calls, errors), call| (calls + call.calls, errors + call.errors))
    }

    /// Estimate of what the tracer's stops added to the times of the document, in seconds: the switches of every stop,
    /// and with several tasks the handling too, which cannot be left out then.
    #[must_use]
    pub fn added_seconds(&self) -> f64 {
        let switches: f64 = self.phases.iter().map(|phase| phase.tracing_seconds).sum();
        if self.tasks.len() > 1 { switches + self.doubt.handling_seconds } else { switches }
    }

    /// All lookups that failed: of libraries that were found later and of those that never were.
    #[must_use]
    pub fn failed_lookups(&self) -> u64 {
        self.directories.iter().map(|directory| directory.failed).sum()
    }
}

/// Libraries by what they cost, the most expensive first.
pub(crate) fn by_cost(libraries: &[LibraryRecord]) -> Vec<&LibraryRecord> {
    let mut sorted: Vec<&LibraryRecord> = libraries.iter().collect();
    sorted.sort_by(|a, b| b.total_seconds().partial_cmp(&a.total_seconds()).unwrap_or(std::cmp::Ordering::Equal));
    sorted
}
