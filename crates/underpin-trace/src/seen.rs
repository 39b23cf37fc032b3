//! What is recorded of a call at its entry and at its return.

use crate::recorder::outcome;
use crate::shapes::{Effect, Shape};
use crate::task::InCall;
use crate::tracer::Tracer;
use crate::{CallOutcome, Event, Nanos, PathText, PhaseKind, Pid, Syscall};
use underpin_sys::{RawPid, read_string};

const AT_FDCWD: i32 = -100;
const O_CLOEXEC: u64 = 0o2_000_000;
const F_DUPFD: u64 = 0;
const F_DUPFD_CLOEXEC: u64 = 1030;

impl Tracer {
    pub(crate) fn call_begins(&mut self, tid: RawPid, call: Syscall, args: [u64; 6], arrived: Nanos) {
        let first = !std::mem::replace(&mut self.begun, true);
        if first {
            // The execve of the command itself: the trace begins here.
            self.clock.restart();
        }
        let start = if first { Nanos(0) } else { arrived };
        let recorded = match &self.chosen {
            Some(table) => table.get(call.0 as usize).copied().unwrap_or(false),
            None => true,
        };
        self.look_for_output();
        let phase = self.recorder.phase();
        let (shape, _) = self.shapes.of(call);
        let is_exec = self.instants.exec_done.is_none();
        let (path, by_descriptor) = if recorded || is_exec { self.path_of(tid, shape, &args) } else { (None, false) };
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        let event = recorded.then(|| {
            self.recorder.begin(Event {
                pid: Pid(task.pid),
                tid: Pid(tid),
                phase,
                call,
                args,
                path: path.clone(),
                by_descriptor,
                outcome: CallOutcome::NotSeen,
                start,
                duration: Nanos(0),
            })
        });
        let event = event.flatten();
        task.in_call =
            Some(InCall { call, args, path, recorded, event, phase, start: first.then_some(start), done: None });
    }

    /// With a filter, calls outside it stop only during the search for the first output, and that search is bounded.
    fn look_for_output(&mut self) {
        if self.filtered && self.stepping {
            self.output_search = self.output_search.saturating_sub(1);
            if self.output_search == 0 {
                self.stepping = false;
                self.notes.push(crate::TraceNote::FirstOutputGivenUp { calls: crate::tracer::OUTPUT_SEARCH });
            }
        }
    }

    pub(crate) fn call_returns(&mut self, tid: RawPid, value: i64, is_error: bool, arrived: Nanos) {
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        // The child's side of a fork returns from a call that it did not begin.
        let Some(done) = task.in_call.take() else { return };
        let start = done.start.unwrap_or(arrived);
        let time = done.done.unwrap_or(arrived) - start;
        if done.recorded {
            self.recorder.finish(done.event, done.call, done.phase, outcome(value, is_error), time);
        }
        if !is_error {
            self.take_effect(tid, &done, value, arrived);
        }
    }

    fn take_effect(&mut self, tid: RawPid, done: &InCall, value: i64, arrived: Nanos) {
        let (_, effect) = self.shapes.of(done.call);
        let Some(task) = self.tasks.get(&tid) else { return };
        let first = done.args[0] as i32;
        match effect {
            Effect::Open(flags) => {
                let flags = flags.map_or(0, |at| done.args[usize::from(at)]);
                match &done.path {
                    Some(path) => task.files.opened(value as i32, path.clone(), flags & O_CLOEXEC != 0),
                    None => task.files.closed(value as i32),
                }
            }
            Effect::Close => task.files.closed(first),
            Effect::Duplicate => task.files.duplicated(first, value as i32),
            Effect::Control if matches!(done.args[1], F_DUPFD | F_DUPFD_CLOEXEC) => {
                task.files.duplicated(first, value as i32);
            }
            Effect::Output(at) if value > 0 && self.instants.first_output.is_none() => {
                let descriptor = done.args[usize::from(at)] as i32;
                if self.is_output(task.pid, descriptor) {
                    self.first_output(arrived);
                }
            }
            Effect::Output(_) | Effect::Control | Effect::None => {}
        }
    }

    /// Whether a descriptor is the command's standard output or error, and not a pipe that took its place.
    fn is_output(&self, pid: RawPid, descriptor: i32) -> bool {
        use std::os::unix::fs::MetadataExt;
        matches!(descriptor, 1 | 2)
            && std::fs::metadata(format!("/proc/{pid}/fd/{descriptor}"))
                .is_ok_and(|file| self.outputs.contains(&(file.dev(), file.ino())))
    }

    fn path_of(&mut self, tid: RawPid, shape: Shape, args: &[u64; 6]) -> (Option<PathText>, bool) {
        match shape {
            Shape::Plain => (None, false),
            Shape::Path(at) => (self.string(tid, args[usize::from(at)]), false),
            Shape::PathAt(at, path) => self.path_at(tid, args[usize::from(at)] as i32, args[usize::from(path)]),
            Shape::Descriptor(at) => {
                // Only mmap has its descriptor in another position than the first.
                let path = self.descriptor(tid, args[usize::from(at)] as i32, at != 0);
                let found = path.is_some();
                (path, found)
            }
        }
    }

    fn path_at(&mut self, tid: RawPid, base: i32, address: u64) -> (Option<PathText>, bool) {
        let text = if address == 0 { Some(PathText::new(b"")) } else { self.string(tid, address) };
        match text {
            Some(text) if text.bytes().is_empty() => {
                let path = self.descriptor(tid, base, false);
                let found = path.is_some();
                (path.or(Some(text)), found)
            }
            Some(text) if base != AT_FDCWD && text.bytes().first() != Some(&b'/') => {
                let joined = self.descriptor(tid, base, false).map(|directory| {
                    let mut whole = directory.bytes().to_vec();
                    whole.push(b'/');
                    whole.extend_from_slice(text.bytes());
                    PathText::new(&whole)
                });
                (joined.or(Some(text)), false)
            }
            other => (other, false),
        }
    }

    /// The path behind a descriptor. If `close` is not traced, only a fresh mapping and the loader's strict sequence of
    /// open, read, map and close can be trusted.
    fn descriptor(&self, tid: RawPid, descriptor: i32, mapping: bool) -> Option<PathText> {
        let trusted = self.closes_seen || mapping || self.recorder.phase() <= PhaseKind::Loader;
        self.tasks.get(&tid).filter(|_| trusted)?.files.path(descriptor)
    }

    fn string(&mut self, tid: RawPid, address: u64) -> Option<PathText> {
        read_string(tid, address, &mut self.scratch).ok().map(PathText::new)
    }
}
