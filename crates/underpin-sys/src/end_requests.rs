//! Signals that ask this process to end, counted instead of acted on: what was measured is still to be shown.
//!
//! Two within [`ONE_KEYSTROKE`] count once: Ctrl-C reaches the whole process group, and a supervisor or `timeout(1)`
//! sends it to the process besides. Signals that were ignored at the start stay ignored (`nohup`, jobs of a script).

use crate::error::SysError;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The signals that ask for an end.
pub(crate) const END_SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// In nanoseconds; nobody presses a key twice so soon.
const ONE_KEYSTROKE: u64 = 300_000_000;
/// This many requests mean that nothing more is to be finished.
const AT_ONCE: u32 = 2;

static COUNT: AtomicU32 = AtomicU32::new(0);
static FIRST: AtomicI32 = AtomicI32::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);
/// The process that counts: a child between fork and exec still has the handler, and must not count.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The supervisor, if there is one; once it is gone, no user is left to show results to.
static SUPERVISOR: AtomicI32 = AtomicI32::new(0);

/// Counts the signals from now on.
///
/// # Errors
/// Whatever `sigaction` reports.
pub(crate) fn count_end_requests(supervisor: i32) -> Result<(), SysError> {
    // SAFETY: takes nothing and cannot fail.
    OWNER.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    SUPERVISOR.store(supervisor, Ordering::Relaxed);
    handle_end_signals(note)
}

/// Installs a handler for each signal that is not ignored.
pub(crate) fn handle_end_signals(handler: extern "C" fn(i32)) -> Result<(), SysError> {
    set_unless_ignored(handler as *const () as libc::sighandler_t)
}

/// Sets what each signal does that is not ignored: a handler, or `SIG_DFL`.
fn set_unless_ignored(disposition: libc::sighandler_t) -> Result<(), SysError> {
    for signal in END_SIGNALS {
        // SAFETY: zeroes are valid for the structure; it lives through both calls. The handlers of this crate make
        // async-signal-safe calls only.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action.sa_sigaction = disposition;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        crate::error::check("sigaction", installed.into())?;
    }
    Ok(())
}

extern "C" fn note(signal: i32) {
    // SAFETY: system calls that take integers only, and one that fills in a local.
    let (pid, parent, now) = unsafe {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        (libc::getpid(), libc::getppid(), now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    };
    if pid != OWNER.load(Ordering::Relaxed) {
        return;
    }
    let supervisor = SUPERVISOR.load(Ordering::Relaxed);
    if supervisor != 0 && parent != supervisor {
        COUNT.fetch_max(AT_ONCE, Ordering::Relaxed);
    } else if COUNT.load(Ordering::Relaxed) == 0 || now.saturating_sub(LAST.load(Ordering::Relaxed)) > ONE_KEYSTROKE {
        COUNT.fetch_add(1, Ordering::Relaxed);
        LAST.store(now, Ordering::Relaxed);
    }
    // Only the first is kept: it decides the exit code.
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// While it lives, a signal that asks for an end does end this process, as long as nothing has begun that must be finished.
#[derive(Debug)]
pub struct EndAtOnce(());

impl EndAtOnce {
    /// From now on; a process that does not count such signals ([`crate::supervise`]) is left unchanged.
    #[must_use]
    pub fn new() -> EndAtOnce {
        if counts() {
            // It cannot fail for signals that have a handler of ours.
            let _ = set_unless_ignored(libc::SIG_DFL);
        }
        EndAtOnce(())
    }
}

impl Default for EndAtOnce {
    fn default() -> Self {
        EndAtOnce::new()
    }
}

impl Drop for EndAtOnce {
    fn drop(&mut self) {
        if counts() {
            // It succeeded for the same signals before.
            let _ = handle_end_signals(note);
        }
    }
}

fn counts() -> bool {
    // SAFETY: takes nothing and cannot fail.
    OWNER.load(Ordering::Relaxed) == unsafe { libc::getpid() }
}

/// How often this process was asked to end; 0 if nothing counts ([`crate::supervise`]).
#[must_use]
pub fn end_requests() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// The signal that asked first.
#[must_use]
pub fn end_signal() -> Option<i32> {
    Some(FIRST.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
