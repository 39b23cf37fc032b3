//! What is known of a live task, and of the call that it is in.

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
    /// When it was let go on.
    pub(crate) start: Option<Nanos>,
    /// When it was done, if that is known better than by its return (exec).
    pub(crate) done: Option<Nanos>,
}

impl InCall {
    /// The task goes on into the call. Only the first time counts: events in the middle stop it again.
    pub(crate) fn let_go(&mut self, at: Nanos) {
        self.start.get_or_insert(at);
    }

    /// The exec inside it succeeded; the path that it was given.
    pub(crate) fn executed(&mut self, at: Nanos) -> Option<PathText> {
        self.done = Some(at);
        self.path.clone()
    }
}
