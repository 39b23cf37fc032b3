//! The points of the command's own start as they are reached: which phase begins, what is marked next.

use crate::image::Image;
use crate::landmarks::{MainSearch, Reached, find_main};
use crate::tracer::{Action, Tracer};
use crate::{Nanos, PhaseKind, TraceNote, Until};
use underpin_sys::{NATIVE_AUDIT_ARCH, OutputWatch, RawPid, SysError, Tracee, bytes_written};

impl Tracer {
    /// The command's first exec sets the breakpoints; a later one only discards the memory that held them.
    pub(crate) fn leader_executed(&mut self, tid: RawPid, arrived: Nanos) -> Result<(), SysError> {
        let task = Tracee(tid);
        if self.instants.exec_done.is_some() {
            self.landmarks.forget();
            return Ok(());
        }
        self.instants.exec_done = Some(arrived);
        let (arch, _) = task.call()?;
        if arch != NATIVE_AUDIT_ARCH {
            self.foreign.insert(tid);
            self.recorder.enter_phase(PhaseKind::Main, arrived);
            return Ok(());
        }
        let image = Image::of(tid)?;
        self.landmarks.arm_entry(task, &image)?;
        if image.interpreter.is_some() {
            self.recorder.enter_phase(PhaseKind::Loader, arrived);
            match image.loader_hook() {
                Ok(hook) => self.landmarks.arm_loader(task, hook)?,
                Err(reason) => self.notes.push(TraceNote::LoaderReadyUnknown { reason }),
            }
        } else {
            self.notes.push(TraceNote::Static);
            self.recorder.enter_phase(PhaseKind::Initialisers, arrived);
        }
        self.image = Some(image);
        Ok(())
    }

    pub(crate) fn landmark(&mut self, tid: RawPid, reached: Reached, arrived: Nanos) -> Result<Action, SysError> {
        match reached {
            Reached::Nothing => Ok(Action::Resume(0)),
            Reached::LoaderReady => {
                self.instants.loader_ready = Some(arrived);
                self.recorder.enter_phase(PhaseKind::Initialisers, arrived);
                Ok(Action::Resume(0))
            }
            Reached::Entry => self.entry(tid, arrived),
            Reached::Main => {
                self.instants.main = Some(arrived);
                Ok(self.main_begins(arrived))
            }
        }
    }

    fn entry(&mut self, tid: RawPid, arrived: Nanos) -> Result<Action, SysError> {
        self.instants.entry = Some(arrived);
        self.loader_was_ready();
        self.recorder.enter_phase(PhaseKind::Initialisers, arrived);
        if self.until == Until::Entry {
            return Ok(Action::Finish);
        }
        let Some(image) = self.image.clone() else { return Ok(Action::Resume(0)) };
        let (search, steps) = find_main(Tracee(tid), &image)?;
        self.recorder.stopped(steps);
        match search {
            MainSearch::Found(main) => {
                self.landmarks.arm_main(Tracee(tid), main)?;
                Ok(Action::Resume(0))
            }
            MainSearch::NoCall => {
                let reason = "the entry point passes it to no C library".to_owned();
                self.notes.push(TraceNote::MainUnknown { reason });
                Ok(self.main_begins(arrived))
            }
            MainSearch::Interrupted(stop) => {
                let reason = "the program was interrupted at its entry point".to_owned();
                self.notes.push(TraceNote::MainUnknown { reason });
                self.main_begins(arrived);
                Ok(Action::Again(stop))
            }
        }
    }

    /// Adds a note if the loader's hook was set and did not fire before the entry point.
    fn loader_was_ready(&mut self) {
        let dynamic = self.image.as_ref().is_some_and(|image| image.interpreter.is_some());
        let told = self.notes.iter().any(|note| matches!(note, TraceNote::LoaderReadyUnknown { .. }));
        if dynamic && self.instants.loader_ready.is_none() && !told {
            let reason = "the loader did not call _dl_debug_state".to_owned();
            self.notes.push(TraceNote::LoaderReadyUnknown { reason });
        }
    }

    /// `main`, or the entry point of a program without one.
    fn main_begins(&mut self, arrived: Nanos) -> Action {
        self.recorder.enter_phase(PhaseKind::Main, arrived);
        if self.until == Until::Main {
            return Action::Finish;
        }
        if self.output_search > 0 && self.instants.first_output.is_none() {
            self.stepping = true;
        }
        Action::Resume(0)
    }

    /// Output before `main` is an error message of the loader or comes from an initialiser: it begins no phase.
    pub(crate) fn first_output(&mut self, at: Nanos) {
        self.instants.first_output = Some(at);
        if self.recorder.phase() == PhaseKind::Main {
            self.recorder.enter_phase(PhaseKind::AfterOutput, at);
        }
        if self.filtered {
            self.stepping = false;
        }
    }

    /// Evaluates what the inotify watch has reported. A write by another process to the same terminal or file is
    /// recognised by the tasks having written nothing yet.
    pub(crate) fn output_noticed(&mut self, now: Nanos) {
        if self.instants.first_output.is_some() {
            return;
        }
        let Some(seen) = self.output_watch.as_ref().and_then(OutputWatch::seen) else { return };
        if self.may_have_written() {
            self.first_output(self.clock.at(seen).min(now));
            self.output_watch = None;
        } else if !std::mem::replace(&mut self.doubted, true) {
            // The kernel reports a write a moment before it counts it: the next stop decides.
        } else {
            self.doubted = false;
            self.output_watch = self.output_watch.take().and_then(|watch| watch.again().ok());
        }
    }

    fn may_have_written(&self) -> bool {
        let an_end = self.records.iter().any(|task| task.end.is_some());
        an_end || self.tasks.values().any(|task| bytes_written(task.pid) != Some(0))
    }

    /// Ends the inotify watch.
    pub(crate) fn end_output_watch(&mut self) {
        if let Some(seen) = self.output_watch.take().and_then(OutputWatch::finish)
            && self.instants.first_output.is_none()
        {
            self.first_output(self.clock.at(seen).min(self.instants.end));
        }
    }
}
