//! Waiting for traced tasks, and what their stops mean.
//!
//! Only tasks of the calling thread are waited for (`__WNOTHREAD`), so that a tracer in one thread never takes the
//! exit status of another thread's children.

use crate::RawPid;
use crate::error::SysError;

/// Why a task was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the entry or the return of a system call.
    Call,
    /// A seccomp filter asked for it, at the entry of a call.
    Filter,
    /// It made a new task; [`crate::Tracee::event_message`] has its id. The flag: it is a child with a copy of the
    /// memory (`fork`).
    Made {
        /// `PTRACE_EVENT_FORK`; otherwise vfork or clone.
        forked: bool,
        /// `PTRACE_EVENT_CLONE`: a thread, or a process made with another exit signal.
        cloned: bool,
    },
    /// It executed another program.
    Executed,
    /// It is about to end and still has its memory; only if [`crate::Tracee::report_exits`] asked for it.
    Ending,
    /// A new task's first stop, the answer to an interrupt, or the end of a group stop.
    Trap,
    /// It takes part in a group stop (`SIGSTOP`, `SIGTSTP`, ...).
    Group,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It ended with this status.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
    /// An event that was not asked for.
    Other,
}

/// A report of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Which task.
    pub tid: RawPid,
    /// Why.
    pub stop: Stop,
}

/// Waits for the next report of any task of this thread; `None` when there is none left.
///
/// # Errors
/// Whatever `waitpid` reports, other than the end of all tasks.
pub fn wait_any() -> Result<Option<Reported>, SysError> {
    wait(-1)
}

/// Waits for the next report of one task; `None` if it is not ours (any more).
///
/// # Errors
/// Whatever `waitpid` reports.
pub fn wait_for(tid: RawPid) -> Result<Option<Reported>, SysError> {
    wait(tid)
}

fn wait(target: RawPid) -> Result<Option<Reported>, SysError> {
    loop {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        let tid = unsafe { libc::waitpid(target, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if tid > 0 {
            return Ok(Some(Reported { tid, stop: decode(status) }));
        }
        let error = SysError::last("waitpid");
        match error.errno {
            libc::EINTR => {}
            libc::ECHILD => return Ok(None),
            _ => return Err(error),
        }
    }
}

fn decode(status: i32) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Signalled(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    match (status >> 16, signal) {
        (0, signal) if signal == libc::SIGTRAP | 0x80 => Stop::Call,
        (0, signal) => Stop::Signal(signal),
        (1, _) => Stop::Made { forked: true, cloned: false },
        (2, _) => Stop::Made { forked: false, cloned: false },
        (3, _) => Stop::Made { forked: false, cloned: true },
        (4, _) => Stop::Executed,
        (6, _) => Stop::Ending,
        (7, _) => Stop::Filter,
        (128, libc::SIGTRAP) => Stop::Trap,
        (128, _) => Stop::Group,
        _ => Stop::Other,
    }
}
