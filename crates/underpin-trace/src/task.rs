//! What is known about a live task, and about the call that it is in.

use crate::files::Files;
use crate::{Nanos, PathText, PhaseKind, Syscall};
use underpin_sys::RawPid;

/// A live task.
#[derive(Debug)]
pub(crate) struct TaskState {
    pub(crate) pid: RawPid,
    /// Its place in the list of tasks.
    pub(crate) record: usize,
    pub(crate) files: Files,
    pub(crate) in_call: Option<InCall>,
}

/// A call that has begun.
#[derive(Debug)]
pub(crate) struct InCall {
    pub(crate) call: Syscall,
    pub(crate) args: [u64; 6],
    pub(crate) path: Option<PathText>,
    pub(crate) recorded: bool,
    pub(crate) event: Option<usize>,
    pub(crate) phase: PhaseKind,
    /// When it was resumed.
    pub(crate) start: Option<Nanos>,
    /// When it finished, if that is known more precisely than from its return (exec).
    pub(crate) done: Option<Nanos>,
}

impl InCall {
    /// Notes when the task is resumed into the call. Only the first time counts: events during the call stop it again.
    pub(crate) fn let_go(&mut self, at: Nanos) {
        self.start.get_or_insert(at);
    }

    /// Notes that its exec succeeded, and returns the path that it was given.
    pub(crate) fn executed(&mut self, at: Nanos) -> Option<PathText> {
        self.done = Some(at);
        self.path.clone()
    }
}
