//! From the recorded events to a [`Trace`]: phases, directories, tasks, tracing cost. Libraries are in `libraries`.

use crate::libraries;
use crate::recorder::Recorder;
use crate::tracer::Tracer;
use crate::{CallOutcome, DirectoryCost, End, Event, Nanos, PathText, Phase, Trace, TraceNote, TracingCost, Until};
use std::collections::HashMap;

/// What the session knows and the tracer does not.
pub(crate) struct Given {
    pub(crate) command: Vec<PathText>,
    pub(crate) program: PathText,
    pub(crate) until: Until,
    pub(crate) traced: String,
    pub(crate) end: End,
}

pub(crate) fn trace(mut tracer: Tracer, given: Given) -> Trace {
    if !tracer.foreign.is_empty() {
        tracer.notes.push(TraceNote::ForeignCalls { tasks: tracer.foreign.len() as u64 });
    }
    let recorder = &mut tracer.recorder;
    let events = std::mem::take(&mut recorder.events);
    let doubt = doubt(recorder, &events);
    let image = tracer.image.unwrap_or_default();
    let loaded = libraries::find(&events, tracer.leader, &image.range);
    Trace {
        command: given.command,
        program: given.program,
        interpreter: image.interpreter,
        until: given.until,
        traced: given.traced,
        end: given.end,
        instants: tracer.instants,
        phases: phases(recorder, tracer.instants.end, doubt.per_call),
        totals: recorder.totals(None),
        libraries: loaded.libraries,
        program_relocate: loaded.program_relocate,
        missing: loaded.missing,
        directories: directories(&events),
        tasks: tracer.records,
        doubt,
        events_dropped: recorder.dropped,
        events,
        notes: tracer.notes,
    }
}

fn phases(recorder: &Recorder, end: Nanos, per_stop: Nanos) -> Vec<Phase> {
    let ends = recorder.phases.iter().skip(1).map(|&(_, start)| start).chain([end]);
    recorder
        .phases
        .iter()
        .zip(ends)
        .map(|(&(kind, start), end)| {
            let syscalls = recorder.totals(Some(kind));
            let stops = recorder.stops(Some(kind));
            Phase {
                kind,
                start,
                duration: end - start,
                stops,
                tracing: Nanos(stops.saturating_mul(per_stop.0)).min(end - start),
                calls: syscalls.iter().map(|total| total.calls).sum(),
                errors: syscalls.iter().map(|total| total.errors).sum(),
                in_calls: syscalls.iter().fold(Nanos(0), |sum, total| sum + total.time),
                syscalls,
            }
        })
        .collect()
}

fn directories(events: &[Event]) -> Vec<DirectoryCost> {
    let mut costs: HashMap<&[u8], (u64, Nanos)> = HashMap::new();
    for event in events.iter().filter(|event| event.failed_lookup()) {
        let Some(path) = &event.path else { continue };
        let cost = costs.entry(path.directory()).or_default();
        cost.0 += 1;
        cost.1 += event.duration;
    }
    let mut sorted: Vec<DirectoryCost> = costs
        .into_iter()
        .map(|(directory, (failed, time))| DirectoryCost { directory: PathText::new(directory), failed, time })
        .collect();
    sorted.sort_by(|a, b| b.failed.cmp(&a.failed).then(b.time.cmp(&a.time)).then(a.directory.cmp(&b.directory)));
    sorted
}

fn doubt(recorder: &Recorder, events: &[Event]) -> TracingCost {
    const SAMPLES: usize = 20_000;
    let stops = recorder.stops(None);
    let returned = events.iter().filter(|event| event.outcome != CallOutcome::NotSeen);
    let mut times: Vec<Nanos> = returned.take(SAMPLES).map(|event| event.duration).collect();
    let fifth = times.len() / 20;
    let per_call = if times.is_empty() { Nanos(0) } else { *times.select_nth_unstable(fifth).1 };
    let mean = Nanos(recorder.handling.0.checked_div(stops).unwrap_or(0));
    let per_stop = mean + per_call;
    let total = Nanos(per_stop.0.saturating_mul(stops));
    TracingCost { stops, handling: recorder.handling, per_call, per_stop, total }
}
