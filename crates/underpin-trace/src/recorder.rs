//! Collects events and counts while the command runs. Nothing is derived here: that is `summary`'s work afterwards.

use crate::{CallOutcome, CallTotal, Errno, Event, Nanos, PhaseKind, Syscall};
use std::time::Instant;

/// The time of the trace: real time, minus the time during which the only live task was stopped by the tracer.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
    left_out: u64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { origin: Instant::now(), left_out: 0 }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    /// The trace time of a recent instant.
    pub(crate) fn at(&self, instant: Instant) -> Nanos {
        let elapsed = instant.saturating_duration_since(self.origin);
        Nanos((elapsed.as_nanos() as u64).saturating_sub(self.left_out))
    }

    pub(crate) fn leave_out(&mut self, time: Nanos) {
        self.left_out += time.0;
    }

    pub(crate) fn restart(&mut self) {
        *self = Clock::new();
    }
}

/// The number of phases.
const PHASES: usize = 5;

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: u64,
    errors: u64,
    time: u64,
}

/// Events and tallies.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    pub(crate) dropped: u64,
    limit: usize,
    tallies: [Vec<Tally>; PHASES],
    /// When each phase began, in order.
    pub(crate) phases: Vec<(PhaseKind, Nanos)>,
    stops: [u64; PHASES],
    pub(crate) handling: Nanos,
}

impl Recorder {
    pub(crate) fn new(limit: usize) -> Recorder {
        Recorder {
            events: Vec::new(),
            dropped: 0,
            limit,
            tallies: Default::default(),
            phases: vec![(PhaseKind::Exec, Nanos(0))],
            stops: [0; PHASES],
            handling: Nanos(0),
        }
    }

    pub(crate) fn phase(&self) -> PhaseKind {
        self.phases.last().map_or(PhaseKind::Exec, |&(kind, _)| kind)
    }

    /// Counts stops in the phase that has been reached.
    pub(crate) fn stopped(&mut self, times: u64) {
        self.stops[self.phase() as usize] += times;
    }

    /// Stops of one phase, or of all.
    pub(crate) fn stops(&self, phase: Option<PhaseKind>) -> u64 {
        phase.map_or_else(|| self.stops.iter().sum(), |phase| self.stops[phase as usize])
    }

    pub(crate) fn enter_phase(&mut self, kind: PhaseKind, at: Nanos) {
        if self.phase() < kind {
            self.phases.push((kind, at));
        }
    }

    /// Records the event of a call that begins; returns its index, or `None` beyond the limit.
    pub(crate) fn begin(&mut self, event: Event) -> Option<usize> {
        if self.events.len() >= self.limit {
            self.dropped += 1;
            return None;
        }
        self.events.push(event);
        Some(self.events.len() - 1)
    }

    /// Counts a call that returned, and completes its event.
    pub(crate) fn finish(
        &mut self,
        event: Option<usize>,
        call: Syscall,
        phase: PhaseKind,
        outcome: CallOutcome,
        time: Nanos,
    ) {
        let tallies = &mut self.tallies[phase as usize];
        let number = call.0 as usize;
        if tallies.len() <= number {
            tallies.resize(number + 1, Tally::default());
        }
        tallies[number].calls += 1;
        tallies[number].errors += u64::from(matches!(outcome, CallOutcome::Failed(_)));
        tallies[number].time += time.0;
        if let Some(event) = event.and_then(|index| self.events.get_mut(index)) {
            event.outcome = outcome;
            event.duration = time;
        }
    }

    /// Totals of one phase, or of all; most time first.
    pub(crate) fn totals(&self, phase: Option<PhaseKind>) -> Vec<CallTotal> {
        let chosen = |index: usize| phase.is_none_or(|phase| phase as usize == index);
        let longest = self.tallies.iter().map(Vec::len).max().unwrap_or(0);
        let mut totals: Vec<CallTotal> = (0..longest)
            .filter_map(|number| {
                let mut total = CallTotal { name: Syscall(number as u32), calls: 0, errors: 0, time: Nanos(0) };
                for (index, tallies) in self.tallies.iter().enumerate().filter(|&(index, _)| chosen(index)) {
                    debug_assert!(index < PHASES);
                    let tally = tallies.get(number).copied().unwrap_or_default();
                    total.calls += tally.calls;
                    total.errors += tally.errors;
                    total.time += Nanos(tally.time);
                }
                (total.calls > 0).then_some(total)
            })
            .collect();
        totals.sort_by(|a, b| b.time.cmp(&a.time).then(b.calls.cmp(&a.calls)).then(a.name.cmp(&b.name)));
        totals
    }
}

/// The result of a call from what the kernel reports at its return.
pub(crate) fn outcome(value: i64, is_error: bool) -> CallOutcome {
    if is_error { CallOutcome::Failed(Errno((-value) as i32)) } else { CallOutcome::Returned(value) }
}
