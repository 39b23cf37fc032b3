//! The loop: every stop of every task, what it means, and how the task is resumed.
//!
//! With a filter only the chosen calls stop (at the filter, then at their return); without one every call stops at
//! both ends. Stops are handled in the order in which the kernel reports them; a task that is killed while it is
//! being handled is not an error.

use crate::files::Files;
use crate::image::Image;
use crate::landmarks::Landmarks;
use crate::recorder::{Clock, Recorder};
use crate::shapes::Shapes;
use crate::task::TaskState;
use crate::{End, Instants, Nanos, Pid, Program, Syscall, Task, TaskKind, TraceNote, Until};
use std::collections::{BTreeSet, HashMap, HashSet};
use underpin_sys::{
    CallStop, NATIVE_AUDIT_ARCH, OutputWatch, RawPid, Reported, Resume, Stop, SysError, Tracee, thread_group, wait_any,
};

/// Calls looked at in search of the first output if it cannot be watched from outside (a socket). Each is one or
/// two stops more than the filter asks for, so this bounds the search to a few milliseconds.
pub(crate) const OUTPUT_SEARCH: u64 = 200;

/// What follows from a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Resume the task, with this signal.
    Resume(i32),
    /// It stays in its group stop.
    Listen,
    /// It is gone, or stays stopped until its parent's event reports it.
    Leave,
    /// It stopped again while it was being handled.
    Again(Stop),
    /// The phase asked for has been reached.
    Finish,
}

/// The state of one trace.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) until: Until,
    /// The calls to record, by number; `None` for every call.
    pub(crate) chosen: Option<Vec<bool>>,
    pub(crate) filtered: bool,
    /// Every call stops, filter or not.
    pub(crate) stepping: bool,
    /// A descriptor's path is known to be current: every `close` is seen.
    pub(crate) closes_seen: bool,
    pub(crate) shapes: Shapes,
    pub(crate) clock: Clock,
    pub(crate) recorder: Recorder,
    pub(crate) tasks: HashMap<RawPid, TaskState>,
    /// New tasks that stopped before their parent's report.
    pub(crate) early: HashSet<RawPid>,
    pub(crate) records: Vec<Task>,
    pub(crate) leader: RawPid,
    pub(crate) image: Option<Image>,
    pub(crate) landmarks: Landmarks,
    pub(crate) instants: Instants,
    pub(crate) notes: Vec<TraceNote>,
    /// Identity of the files to which the command's output goes.
    pub(crate) outputs: Vec<(u64, u64)>,
    /// Detects the first output through inotify, if only chosen calls stop.
    pub(crate) output_watch: Option<OutputWatch>,
    /// The watch has reported a write that no task seems to have made.
    pub(crate) doubted: bool,
    /// If it cannot be watched: calls still to be inspected for output, once `main` has begun.
    pub(crate) output_search: u64,
    pub(crate) foreign: HashSet<RawPid>,
    pub(crate) scratch: Vec<u8>,
    /// The command's own execve has been seen.
    pub(crate) begun: bool,
}

impl Tracer {
    pub(crate) fn new(
        leader: RawPid,
        until: Until,
        chosen: Option<&BTreeSet<Syscall>>,
        filtered: bool,
        limit: usize,
    ) -> Tracer {
        let longest = chosen.and_then(|calls| calls.last()).map_or(0, |call| call.0 as usize + 1);
        let table = chosen.map(|calls| (0..longest).map(|number| calls.contains(&Syscall(number as u32))).collect());
        let close = Syscall::named("close");
        let closes_seen = !filtered || close.is_some_and(|close| chosen.is_none_or(|calls| calls.contains(&close)));
        let mut tracer = Tracer {
            until,
            chosen: table,
            filtered,
            stepping: !filtered,
            closes_seen,
            shapes: Shapes::new(),
            clock: Clock::new(),
            recorder: Recorder::new(limit),
            tasks: HashMap::new(),
            early: HashSet::new(),
            records: Vec::new(),
            leader,
            image: None,
            landmarks: Landmarks::default(),
            instants: Instants::default(),
            notes: Vec::new(),
            outputs: Vec::new(),
            output_watch: None,
            doubted: false,
            output_search: 0,
            foreign: HashSet::new(),
            scratch: Vec::new(),
            begun: false,
        };
        tracer.add_task(leader, leader, None, Files::default(), Nanos(0));
        tracer
    }

    /// Runs until the last task has ended or the phase asked for is reached; then the task that reached it is
    /// returned, stopped.
    pub(crate) fn run(&mut self) -> Result<Option<Tracee>, SysError> {
        while let Some(Reported { tid, stop }) = wait_any()? {
            let arrived = self.clock.now();
            self.recorder.stopped(1);
            self.output_noticed(arrived);
            // A task may be killed at any instant, even while it is being handled: then every request fails with ESRCH,
            // its end is reported next, and nothing else may be concluded from the failure.
            let mut action = gone_is_fine(self.handle(tid, stop, arrived), Action::Leave)?;
            while let Action::Again(stop) = action {
                action = gone_is_fine(self.handle(tid, stop, arrived), Action::Leave)?;
            }
            match action {
                Action::Resume(signal) => self.resume(tid, signal, arrived)?,
                Action::Listen => gone_is_fine(Tracee(tid).listen(), ())?,
                Action::Leave | Action::Again(_) => {}
                Action::Finish => return Ok(Some(Tracee(tid))),
            }
            if self.tasks.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    fn resume(&mut self, tid: RawPid, signal: i32, arrived: Nanos) -> Result<(), SysError> {
        // The clock stops while the only task is handled; with several the others run on, so that time is real.
        let only = self.tasks.len() == 1;
        let Some(task) = self.tasks.get_mut(&tid) else { return Ok(()) };
        let how = if self.stepping || task.in_call.is_some() { Resume::ToCall } else { Resume::Continue };
        let now = self.clock.now();
        self.recorder.handling += now - arrived;
        if only {
            self.clock.leave_out(now - arrived);
        }
        if let Some(call) = &mut task.in_call {
            call.let_go(if only { arrived } else { now });
        }
        gone_is_fine(Tracee(tid).resume(how, signal), ())
    }

    fn handle(&mut self, tid: RawPid, stop: Stop, arrived: Nanos) -> Result<Action, SysError> {
        if let Stop::Exited(_) | Stop::Signalled(_) = stop {
            self.task_ended(tid, stop, arrived);
            return Ok(Action::Leave);
        }
        // A new task may stop before its parent's report names it. It waits: only `made` knows whose files it has.
        if !self.tasks.contains_key(&tid) && stop != Stop::Executed {
            self.early.insert(tid);
            return Ok(Action::Leave);
        }
        match stop {
            Stop::Call | Stop::Filter => self.call_stop(tid, arrived),
            Stop::Made { forked, cloned } => {
                self.made(tid, forked, cloned, arrived)?;
                Ok(Action::Resume(0))
            }
            Stop::Executed => {
                self.executed(tid, arrived)?;
                Ok(Action::Resume(0))
            }
            Stop::Signal(signal) => self.signal(tid, signal, arrived),
            Stop::Group => Ok(Action::Listen),
            _ => Ok(Action::Resume(0)),
        }
    }

    fn call_stop(&mut self, tid: RawPid, arrived: Nanos) -> Result<Action, SysError> {
        let in_call = self.tasks.get(&tid).is_some_and(|task| task.in_call.is_some());
        let (arch, stop) = Tracee(tid).call()?;
        match stop {
            // The filter's stop of a call whose entry was seen.
            CallStop::Entry { .. } if in_call => {}
            CallStop::Entry { number, args } => {
                if arch == NATIVE_AUDIT_ARCH {
                    self.call_begins(tid, Syscall(number as u32), args, arrived);
                } else {
                    self.foreign.insert(tid);
                }
            }
            CallStop::Exit { value, is_error } => self.call_returns(tid, value, is_error, arrived),
            CallStop::None => {}
        }
        Ok(Action::Resume(0))
    }

    fn signal(&mut self, tid: RawPid, signal: i32, arrived: Nanos) -> Result<Action, SysError> {
        const SIGTRAP: i32 = 5;
        let ours = self.tasks.get(&tid).is_some_and(|task| task.pid == self.leader);
        if signal == SIGTRAP
            && ours
            && self.landmarks.any()
            && let Some(reached) = self.landmarks.hit(Tracee(tid))?
        {
            return self.landmark(tid, reached, arrived);
        }
        Ok(Action::Resume(signal))
    }

    fn made(&mut self, parent: RawPid, forked: bool, cloned: bool, arrived: Nanos) -> Result<(), SysError> {
        let child = Tracee(parent).event_message()?;
        let Some(state) = self.tasks.get(&parent) else { return Ok(()) };
        let pid = if cloned { thread_group(child).unwrap_or(child) } else { child };
        let thread = pid == state.pid;
        let (files, parent_pid) = (if thread { state.files.clone() } else { state.files.copied() }, state.pid);
        self.add_task(child, pid, Some(parent_pid), files, arrived);
        if forked && parent_pid == self.leader && self.landmarks.any() {
            // Its copy of the memory holds our breakpoints, and no tracer would handle them there.
            if !self.early.contains(&child) {
                underpin_sys::wait_for(child)?;
                self.early.insert(child);
            }
            gone_is_fine(self.landmarks.disarm_in(Tracee(child)), ())?;
        }
        // It stopped before this report, and nothing has resumed it since.
        if self.early.remove(&child) {
            self.resume(child, 0, arrived)?;
        }
        Ok(())
    }

    fn executed(&mut self, tid: RawPid, arrived: Nanos) -> Result<(), SysError> {
        // A thread that executes takes over its process's id; the first thread is gone then, without a report.
        let former = Tracee(tid).event_message()?;
        if former != tid
            && let Some(mut state) = self.tasks.remove(&former)
        {
            if let Some(first) = self.tasks.remove(&tid) {
                let record = &mut self.records[state.record];
                record.end = Some(arrived);
                state.record = first.record;
            }
            self.tasks.insert(tid, state);
        }
        let Some(state) = self.tasks.get_mut(&tid) else { return Ok(()) };
        state.files = state.files.after_exec();
        let path = state.in_call.as_mut().and_then(|call| call.executed(arrived));
        let (pid, record) = (state.pid, state.record);
        self.records[record].programs.push(Program { path, at: arrived });
        if pid == self.leader {
            self.leader_executed(tid, arrived)?;
        }
        Ok(())
    }

    pub(crate) fn add_task(&mut self, tid: RawPid, pid: RawPid, parent: Option<RawPid>, files: Files, at: Nanos) {
        let record = self.records.len();
        let kind = if tid == pid { TaskKind::Process } else { TaskKind::Thread };
        self.records.push(Task {
            pid: Pid(pid),
            tid: Pid(tid),
            parent: parent.map(Pid),
            kind,
            start: at,
            end: None,
            programs: Vec::new(),
            ended: None,
        });
        self.tasks.insert(tid, TaskState { pid, record, files, in_call: None });
    }

    pub(crate) fn task_ended(&mut self, tid: RawPid, stop: Stop, at: Nanos) {
        self.early.remove(&tid);
        let Some(state) = self.tasks.remove(&tid) else { return };
        let record = &mut self.records[state.record];
        record.end = Some(at);
        record.ended = match stop {
            Stop::Exited(code) => Some(End::Exited(code)),
            Stop::Signalled(signal) => Some(End::Signalled(signal)),
            _ => None,
        };
    }
}

/// A task that was killed while it was handled makes every request fail with `ESRCH`; its end is reported next.
pub(crate) fn gone_is_fine<T>(result: Result<T, SysError>, otherwise: T) -> Result<T, SysError> {
    match result {
        Err(error) if error.task_gone() => Ok(otherwise),
        other => other,
    }
}
