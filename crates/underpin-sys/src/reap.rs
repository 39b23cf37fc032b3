//! Ending processes: every wait has an end, even if the process has none.

use crate::RawPid;
use crate::end_requests::end_requests;
use crate::error::{SysError, check};
use crate::procfs::process_tree;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The process has ended; it is not reaped yet.
    Ended,
    /// The time was up.
    TimedOut,
    /// This process was asked to end so often that the wait is to be given up.
    Interrupted,
}

/// When a wait is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After this time; `None`: never.
    pub timeout: Option<Duration>,
    /// When [`crate::end_requests`] has reached this.
    pub requests: u32,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { timeout: None, requests: u32::MAX };

    /// A time limit alone.
    #[must_use]
    pub const fn time(timeout: Duration) -> Limits {
        Limits { timeout: Some(timeout), requests: u32::MAX }
    }
}

/// A signal that comes right before the wait is noticed after this time at the latest.
const SLICE: Duration = Duration::from_millis(200);
/// A killed process is gone after some milliseconds, unless the kernel itself holds it (an unreachable disk).
const PATIENCE: Duration = Duration::from_secs(20);
/// The time between two looks if nothing wakes the waiter.
const LOOK: Duration = Duration::from_micros(200);
/// Rounds in which new children of a tree are looked for: one is enough, unless it is forking just then.
const ROUNDS: usize = 8;

/// Waits for the end of a child without reaping it.
pub(crate) fn ends_within(pid: RawPid, limits: Limits) -> Result<Waited, SysError> {
    let descriptor = process_descriptor(pid);
    let begun = Instant::now();
    loop {
        let left = limits.timeout.map_or(SLICE, |timeout| timeout.saturating_sub(begun.elapsed()));
        let ended = match &descriptor {
            Some(descriptor) => readable_within(descriptor.as_raw_fd(), left.min(SLICE))?,
            None => {
                std::thread::sleep(left.min(LOOK));
                has_ended(pid)?
            }
        };
        // An end that came together with a request or the time-out counts as an end: its figures are whole.
        if ended {
            return Ok(Waited::Ended);
        }
        if end_requests() >= limits.requests {
            return Ok(Waited::Interrupted);
        }
        if left.is_zero() {
            return Ok(Waited::TimedOut);
        }
    }
}

/// `None` on kernels and in sandboxes without `pidfd_open`.
fn process_descriptor(pid: RawPid) -> Option<OwnedFd> {
    // SAFETY: takes integers only.
    let descriptor = check("pidfd_open", unsafe { libc::syscall(libc::SYS_pidfd_open, i64::from(pid), 0i64) }).ok()?;
    // SAFETY: the kernel has just made it, and nothing else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

fn readable_within(descriptor: RawFd, time: Duration) -> Result<bool, SysError> {
    let milliseconds = i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    let mut polled = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one element, which lives through the call.
    match unsafe { libc::poll(&raw mut polled, 1, milliseconds) } {
        -1 if SysError::last("poll").errno == libc::EINTR => Ok(false),
        -1 => Err(SysError::last("poll")),
        ready => Ok(ready == 1),
    }
}

fn has_ended(pid: RawPid) -> Result<bool, SysError> {
    let mut end = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: `end` lives through the call.
    let waited = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, end.as_mut_ptr(), options) };
    check("waitid", waited.into())?;
    // SAFETY: zeroes are valid for it; without an end the kernel leaves them.
    Ok(unsafe { end.assume_init().si_pid() } == pid)
}

/// Reaps a child that has ended or was killed: its wait status and what it used.
///
/// # Errors
/// `ETIMEDOUT` if the kernel does not let it end.
pub(crate) fn reap(pid: RawPid) -> Result<(c_int, libc::rusage), SysError> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let begun = Instant::now();
    loop {
        // SAFETY: both objects live through the call.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr()) };
        let over = libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
        if reaped == pid && over {
            // SAFETY: all fields are integers, for which zeroes are valid, and the kernel has filled them in.
            return Ok((status, unsafe { usage.assume_init() }));
        }
        check("wait4", reaped.into())?;
        if begun.elapsed() >= PATIENCE {
            return Err(SysError { what: "waiting for the end of a killed process", errno: libc::ETIMEDOUT });
        }
        std::thread::sleep(LOOK);
    }
}

/// Kills a process, its group if it leads one, and all its descendants. It must be ours and not reaped yet.
pub(crate) fn kill_tree(root: RawPid) {
    let send = |pid: RawPid, signal| {
        // SAFETY: takes integers only. Each is the root or a descendant that was alive a moment ago.
        unsafe { libc::kill(pid, signal) };
    };
    // They are stopped first: one that forks meanwhile would leave an orphan that is never found.
    let mut known = Vec::new();
    for _ in 0..ROUNDS {
        let tree: Vec<RawPid> = process_tree(root).iter().map(|process| process.pid).collect();
        let fresh: Vec<RawPid> = tree.into_iter().filter(|pid| !known.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.iter().for_each(|&pid| send(pid, libc::SIGSTOP));
        known.extend(fresh);
    }
    // SAFETY: takes an integer only.
    if unsafe { libc::getpgid(root) } == root {
        send(-root, libc::SIGKILL);
    }
    send(root, libc::SIGKILL);
    known.iter().for_each(|&pid| send(pid, libc::SIGKILL));
}
