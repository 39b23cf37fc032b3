//! From the tracer's [`Trace`] to the trace document: nanoseconds to seconds, calls and errors to their names.

use super::SchemaTag;
use super::trace::*;
use crate::bytes::Raw;
use underpin_trace::{
    CallOutcome, CallTotal, DirectoryCost, End, Event, FailedTry, Instants, LibraryLoad, MissingLibrary, Nanos,
    PathText, Phase, PhaseKind, Task, TaskKind, Trace, TracingCost, Until,
};

impl TraceDocument {
    /// The document of a trace, without the single calls.
    #[must_use]
    pub fn new(trace: &Trace) -> TraceDocument {
        let libraries: Vec<LibraryRecord> = trace.libraries.iter().map(LibraryRecord::from).collect();
        let missing: Vec<MissingRecord> = trace.missing.iter().map(MissingRecord::from).collect();
        let to_the_end = trace.until == Until::Exit && trace.events_dropped == 0;
        TraceDocument {
            schema: SchemaTag::new(),
            command: trace.command.iter().map(raw).collect(),
            program: raw(&trace.program),
            interpreter: trace.interpreter.as_ref().map(raw),
            until: match trace.until {
                Until::Entry => UntilRecord::Entry,
                Until::Main => UntilRecord::Main,
                Until::Exit => UntilRecord::Exit,
            },
            traced: trace.traced.clone(),
            end: trace.end.into(),
            instants: InstantsRecord::from(&trace.instants),
            phases: trace.phases.iter().map(PhaseRecord::from).collect(),
            syscalls: trace.totals.iter().map(SyscallRecord::from).collect(),
            lookups: LookupsRecord::of(&libraries, &missing, to_the_end),
            libraries,
            missing,
            directories: trace.directories.iter().map(DirectoryRecord::from).collect(),
            tasks: trace.tasks.iter().map(TaskRecord::from).collect(),
            notes: trace.notes.iter().map(ToString::to_string).collect(),
            binding: None,
            advice: Vec::new(),
            doubt: DoubtRecord::from(&trace.doubt),
            not_returned: not_returned(&trace.events),
            events: None,
            events_dropped: trace.events_dropped,
        }
    }

    /// The same document with every recorded call.
    #[must_use]
    pub fn with_events(mut self, trace: &Trace) -> TraceDocument {
        self.events = Some(trace.events.iter().map(EventRecord::from).collect());
        self
    }

    /// The same document with the calls up to `main`: a whole run may have hundreds of thousands.
    #[must_use]
    pub fn with_events_of_the_start(mut self, trace: &Trace) -> TraceDocument {
        let start = trace.events.iter().filter(|event| event.phase < PhaseKind::Main);
        self.events = Some(start.map(EventRecord::from).collect());
        self
    }
}

/// Names of the calls that did not return, each once, in order of their first appearance.
fn not_returned(events: &[Event]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for event in events.iter().filter(|event| event.outcome == CallOutcome::NotSeen) {
        if !names.iter().any(|name| name == event.name()) {
            names.push(event.name().to_owned());
        }
    }
    names
}

fn raw(path: &PathText) -> Raw {
    Raw::from(path.bytes())
}

impl From<PhaseKind> for PhaseName {
    fn from(kind: PhaseKind) -> PhaseName {
        match kind {
            PhaseKind::Exec => PhaseName::Exec,
            PhaseKind::Loader => PhaseName::Loader,
            PhaseKind::Initialisers => PhaseName::Initialisers,
            PhaseKind::Main => PhaseName::Main,
            PhaseKind::AfterOutput => PhaseName::AfterOutput,
        }
    }
}

impl From<End> for EndRecord {
    fn from(end: End) -> EndRecord {
        match end {
            End::Exited(status) => EndRecord::Exited { status },
            End::Signalled(signal) => EndRecord::Signalled { signal },
            End::Stopped => EndRecord::Stopped,
        }
    }
}

impl From<&Instants> for InstantsRecord {
    fn from(instants: &Instants) -> InstantsRecord {
        InstantsRecord {
            exec_done_seconds: instants.exec_done.map(Nanos::seconds),
            loader_ready_seconds: instants.loader_ready.map(Nanos::seconds),
            entry_seconds: instants.entry.map(Nanos::seconds),
            main_seconds: instants.main.map(Nanos::seconds),
            first_output_seconds: instants.first_output.map(Nanos::seconds),
            end_seconds: instants.end.seconds(),
        }
    }
}

impl From<&Phase> for PhaseRecord {
    fn from(phase: &Phase) -> PhaseRecord {
        PhaseRecord {
            name: phase.kind.into(),
            start_seconds: phase.start.seconds(),
            seconds: phase.duration.seconds(),
            stops: phase.stops,
            tracing_seconds: phase.tracing.seconds(),
            calls: phase.calls,
            errors: phase.errors,
            in_calls_seconds: phase.in_calls.seconds(),
            syscalls: phase.syscalls.iter().map(SyscallRecord::from).collect(),
        }
    }
}

impl From<&CallTotal> for SyscallRecord {
    fn from(total: &CallTotal) -> SyscallRecord {
        SyscallRecord {
            name: total.name.to_string(),
            calls: total.calls,
            errors: total.errors,
            seconds: total.time.seconds(),
        }
    }
}

impl From<&LibraryLoad> for LibraryRecord {
    fn from(library: &LibraryLoad) -> LibraryRecord {
        LibraryRecord {
            name: raw(&library.name),
            path: raw(&library.path),
            phase: library.phase.into(),
            failed: library.failed.iter().map(FailedLookup::from).collect(),
            search_seconds: library.search.seconds(),
            opened_seconds: library.opened.seconds(),
            map_seconds: library.map.seconds(),
            mappings: library.mappings,
            relocate_seconds: library.relocate.map(Nanos::seconds),
        }
    }
}

impl From<&FailedTry> for FailedLookup {
    fn from(tried: &FailedTry) -> FailedLookup {
        FailedLookup {
            path: raw(&tried.path),
            call: tried.call.to_string(),
            error: tried.errno.to_string(),
            seconds: tried.duration.seconds(),
        }
    }
}

impl From<&MissingLibrary> for MissingRecord {
    fn from(missing: &MissingLibrary) -> MissingRecord {
        MissingRecord {
            name: raw(&missing.name),
            phase: missing.phase.into(),
            failed: missing.failed.iter().map(FailedLookup::from).collect(),
        }
    }
}

impl From<&DirectoryCost> for DirectoryRecord {
    fn from(cost: &DirectoryCost) -> DirectoryRecord {
        DirectoryRecord { directory: raw(&cost.directory), failed: cost.failed, seconds: cost.time.seconds() }
    }
}

impl From<&Task> for TaskRecord {
    fn from(task: &Task) -> TaskRecord {
        TaskRecord {
            pid: task.pid.0,
            tid: task.tid.0,
            parent: task.parent.map(|parent| parent.0),
            thread: task.kind == TaskKind::Thread,
            start_seconds: task.start.seconds(),
            end_seconds: task.end.map(Nanos::seconds),
            programs: task.programs.iter().filter_map(|program| program.path.as_ref().map(raw)).collect(),
            ended: task.ended.map(EndRecord::from),
        }
    }
}

impl From<&TracingCost> for DoubtRecord {
    fn from(doubt: &TracingCost) -> DoubtRecord {
        DoubtRecord {
            stops: doubt.stops,
            handling_seconds: doubt.handling.seconds(),
            per_call_seconds: doubt.per_call.seconds(),
            per_stop_seconds: doubt.per_stop.seconds(),
            total_seconds: doubt.total.seconds(),
        }
    }
}

impl From<&Event> for EventRecord {
    fn from(event: &Event) -> EventRecord {
        let (returned, error) = match event.outcome {
            CallOutcome::Returned(value) => (Some(value), None),
            CallOutcome::Failed(errno) => (None, Some(errno.to_string())),
            CallOutcome::NotSeen => (None, None),
        };
        EventRecord {
            tid: event.tid.0,
            phase: event.phase.into(),
            call: event.call.to_string(),
            path: event.path.as_ref().map(raw),
            returned,
            error,
            start_seconds: event.start.seconds(),
            seconds: event.duration.seconds(),
        }
    }
}
