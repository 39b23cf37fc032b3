//! A supervisor above the process that does the work, so that nothing outlives it.
//!
//! [`supervise`] forks. The child does the work; the parent keeps the process id that the user knows, passes signals on,
//! adopts every orphan of the work (`PR_SET_CHILD_SUBREAPER`) and, when the worker has ended for whatever reason, kills
//! all that is left. If the parent itself is killed, the worker gets a signal (`PR_SET_PDEATHSIG`) and kills what it runs.

use crate::RawPid;
use crate::end_requests::{END_SIGNALS, count_end_requests, end_requests, handle_end_signals};
use crate::error::{SysError, check};
use crate::procfs::process_tree;
use crate::spawn::{RunEnd, end_of};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Which process returns from [`supervise`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervised {
    /// The process that is to do the work. Signals that ask for an end are counted ([`crate::end_requests`]).
    Worker,
    /// The supervisor: how the worker ended; nothing of it is left.
    Over(RunEnd),
}

/// Killed processes are gone after some milliseconds, unless the kernel itself keeps them.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);

static WORKER: AtomicI32 = AtomicI32::new(0);

/// Points at which another process may do anything. The tests do the worst there; otherwise nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In both processes, before either has its handlers.
    Forked,
    /// In the worker, before it asks for a signal at the supervisor's death.
    BeforeDeathSignal,
    /// In the supervisor, after a child was reaped.
    Reaped,
    /// In the supervisor, after the descendants were listed and before they are killed.
    Listed,
    /// In the handler, as a signal is sent to the worker.
    PassingOn,
}

#[cfg(not(test))]
fn at(_: Place) {}
#[cfg(test)]
use tests::at;

/// Splits this process in two; see the module. Call it before anything is begun: what is open or on the heap exists
/// twice afterwards. If this process has other threads already, nothing is forked and it is the worker.
///
/// # Errors
/// If no process can be made.
pub fn supervise() -> Result<Supervised, SysError> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return count_end_requests(0).map(|()| Supervised::Worker);
    }
    // SAFETY: takes integers only.
    check("PR_SET_CHILD_SUBREAPER", unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }.into())?;
    // Held from before the fork until both sides have their handlers: a signal in between would end one of them alone.
    let held = HeldSignals::new();
    // SAFETY: takes nothing and cannot fail.
    let supervisor = unsafe { libc::getpid() };
    // SAFETY: this thread is the only one, so the child finds every lock free and all memory in order.
    let worker = check("fork", unsafe { libc::fork() }.into())? as RawPid;
    at(Place::Forked);
    if worker == 0 {
        become_worker(supervisor)?;
        drop(held);
        return Ok(Supervised::Worker);
    }
    // Before the handler that reads it.
    WORKER.store(worker, Ordering::Relaxed);
    handle_end_signals(pass_on)?;
    drop(held);
    let end = follow(worker)?;
    end_descendants();
    Ok(Supervised::Over(end))
}

/// [`supervise`] with a second supervisor below the first, and the worker in its process group: `kill -9` of the group that
/// the user sees leaves one of the two, and it ends all that the work has started.
///
/// # Errors
/// As for [`supervise`].
pub fn supervise_twice() -> Result<Supervised, SysError> {
    match supervise()? {
        Supervised::Worker if end_requests() == 0 && is_followed() => {
            // SAFETY: takes integers only. A child that has just been forked leads no session, so it cannot fail.
            unsafe { libc::setpgid(0, 0) };
            supervise()
        }
        one => Ok(one),
    }
}

/// For work that starts no process, and needs no supervisor: from now on signals that ask for an end are counted
/// ([`crate::end_requests`]) and end nothing by themselves.
///
/// # Errors
/// Whatever `sigaction` reports.
pub fn work_alone() -> Result<(), SysError> {
    count_end_requests(0)
}

/// Whether this worker was forked by [`supervise`], which forks nothing if there are threads.
fn is_followed() -> bool {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count) == 1
}

fn become_worker(supervisor: RawPid) -> Result<(), SysError> {
    at(Place::BeforeDeathSignal);
    // SAFETY: takes integers only.
    let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) };
    check("PR_SET_PDEATHSIG", asked.into())?;
    count_end_requests(supervisor)?;
    // If the supervisor was killed before the call above, the kernel sends nothing: this is the signal it would have sent.
    // SAFETY: system calls that take integers only.
    if unsafe { libc::getppid() } != supervisor {
        // SAFETY: as above.
        unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
    }
    Ok(())
}

extern "C" fn pass_on(signal: i32) {
    let worker = WORKER.load(Ordering::Relaxed);
    if worker > 0 {
        at(Place::PassingOn);
        // SAFETY: takes integers only. The worker is our child, and its number is cleared before it is reaped.
        unsafe { libc::kill(worker, signal) };
    }
}

/// Reaps whatever ends, until the worker does.
fn follow(worker: RawPid) -> Result<RunEnd, SysError> {
    loop {
        let mut end = MaybeUninit::<libc::siginfo_t>::zeroed();
        // The end is looked at first and reaped below: in between the number is still the worker's, so that a signal
        // which is being passed on cannot reach another process.
        // SAFETY: `end` lives through the call. Nothing is reaped yet.
        let waited = unsafe { libc::waitid(libc::P_ALL, 0, end.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) };
        match check("waitid", waited.into()) {
            Err(error) if error.errno == libc::EINTR => continue,
            other => other?,
        };
        // SAFETY: zeroes are valid for it, and the kernel has filled it in.
        let pid = unsafe { end.assume_init().si_pid() };
        if pid == worker {
            // From here on signals are not passed on: the number may soon be another process's.
            WORKER.store(0, Ordering::Relaxed);
        }
        let mut status = 0;
        // SAFETY: `status` lives through the call; the child has ended, so it does not block.
        unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        at(Place::Reaped);
        if pid == worker {
            return Ok(end_of(status));
        }
    }
}

/// Kills all descendants and reaps them; orphans of theirs come to us.
fn end_descendants() {
    let deadline = Instant::now() + PATIENCE;
    // Orphans come to us, so without a child there is no descendant. That is the usual end, and is known without a look at
    // every process of the machine.
    while !is_alone() {
        // SAFETY: takes nothing and cannot fail.
        let me = unsafe { libc::getpid() };
        let descendants = process_tree(me);
        at(Place::Listed);
        for process in descendants.iter().filter(|process| process.pid != me) {
            // SAFETY: takes integers only; a descendant whose number is not reused until we, its last ancestor, have
            // reaped it.
            unsafe { libc::kill(process.pid, libc::SIGKILL) };
        }
        // A child that was forked between the look and the kill comes to us as an orphan, for the next round.
        if is_alone() || Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Reaps the children that have ended, and tells whether none is left.
fn is_alone() -> bool {
    loop {
        // SAFETY: no status is asked for.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) } {
            0 => return false,
            -1 => return true,
            _ => {}
        }
    }
}

/// Blocks the signals that ask for an end, as long as it lives.
struct HeldSignals(libc::sigset_t);

impl HeldSignals {
    fn new() -> HeldSignals {
        let (mut held, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets live through the calls, which cannot fail with a valid request; the second is filled in.
        unsafe {
            libc::sigemptyset(held.as_mut_ptr());
            for signal in END_SIGNALS {
                libc::sigaddset(held.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, held.as_ptr(), before.as_mut_ptr());
            HeldSignals(before.assume_init())
        }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: restores the set that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests;
