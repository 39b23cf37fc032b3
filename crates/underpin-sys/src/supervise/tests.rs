//! The races that the comments in `supervise` name, each made to happen: the other process acts at a [`Place`] in
//! between. Every test forks, since [`supervise`] wants a process with one thread.

use super::*;
use crate::end_requests::end_requests;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;

/// What happens at a place; set in the forked process alone.
static HOOK: AtomicUsize = AtomicUsize::new(0);

pub(super) fn at(place: Place) {
    let hook = HOOK.load(Ordering::Relaxed);
    if hook != 0 {
        // SAFETY: only `on` stores anything but 0, and it stores such a function.
        let hook: fn(Place) = unsafe { std::mem::transmute(hook) };
        hook(place);
    }
}

fn on(hook: fn(Place)) {
    HOOK.store(hook as *const () as usize, Ordering::Relaxed);
}

/// Two ends of a pipe.
fn pipe() -> (File, File) {
    let (from, to) = crate::launch::pipe().unwrap();
    (File::from(from), File::from(to))
}

fn raise(signal: i32) {
    // SAFETY: takes an integer; the handlers of this crate may run on any thread.
    unsafe { libc::raise(signal) };
}

fn exit(status: i32) -> ! {
    // SAFETY: ends this process, without the destructors that belong to the test's process.
    unsafe { libc::_exit(status) }
}

/// Runs `work` in a forked process, which ends with what it returns; returns how it ended. One that hangs is killed.
fn forked(work: impl FnOnce() -> i32) -> RunEnd {
    // SAFETY: the child calls nothing that needs another thread; glibc's fork leaves its allocator usable.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: takes an integer. A test that hangs ends so, and what it forked with it.
        unsafe { libc::alarm(60) };
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(99);
        exit(status);
    }
    let mut status = 0;
    // SAFETY: `status` lives through the call.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    end_of(status)
}

/// The supervisor's exit status: that of the worker, or 98.
fn of_worker(end: RunEnd) -> i32 {
    match end {
        RunEnd::Exited(status) => status,
        _ => 98,
    }
}

#[test]
fn a_signal_to_both_between_fork_and_handlers_ends_neither() {
    let end = forked(|| {
        on(|place| {
            if place == Place::Forked {
                raise(libc::SIGTERM);
            }
        });
        match supervise().unwrap() {
            Supervised::Worker => i32::from(end_requests() > 0),
            Supervised::Over(end) => of_worker(end) + 20,
        }
    });
    assert_eq!(end, RunEnd::Exited(21), "the worker has counted the signal, and the supervisor has seen its end");
}

#[test]
fn a_signal_to_the_supervisor_alone_right_after_the_fork_reaches_the_worker() {
    static SUPERVISOR: AtomicI32 = AtomicI32::new(0);
    let end = forked(|| {
        // SAFETY: takes nothing and cannot fail.
        SUPERVISOR.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        on(|place| {
            // SAFETY: takes nothing and cannot fail.
            if place == Place::Forked && unsafe { libc::getpid() } == SUPERVISOR.load(Ordering::Relaxed) {
                raise(libc::SIGTERM);
            }
        });
        match supervise().unwrap() {
            Supervised::Worker => {
                let deadline = Instant::now() + Duration::from_secs(30);
                while end_requests() == 0 && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(1));
                }
                i32::from(end_requests() > 0)
            }
            Supervised::Over(end) => of_worker(end) + 20,
        }
    });
    assert_eq!(end, RunEnd::Exited(21));
}

#[test]
fn a_supervisor_killed_before_the_worker_could_ask_for_its_death_signal_ends_the_worker() {
    static SUPERVISOR: AtomicI32 = AtomicI32::new(0);
    let (mut from, mut to) = pipe();
    let end = forked(|| {
        // SAFETY: takes nothing and cannot fail.
        SUPERVISOR.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        on(|place| {
            let supervisor = SUPERVISOR.load(Ordering::Relaxed);
            // SAFETY: take nothing and cannot fail.
            let (me, parent) = unsafe { (libc::getpid(), || libc::getppid()) };
            match place {
                Place::Forked if me == supervisor => raise(libc::SIGKILL),
                Place::BeforeDeathSignal => {
                    while parent() == supervisor {
                        std::thread::yield_now();
                    }
                }
                _ => {}
            }
        });
        supervise().unwrap();
        // The worker, and what it has counted as soon as signals reach it.
        to.write_all(&[u8::try_from(end_requests()).unwrap()]).unwrap();
        0
    });
    drop(to);
    assert_eq!(end, RunEnd::Signalled(libc::SIGKILL), "the supervisor");
    let mut counted = [0];
    from.read_exact(&mut counted).unwrap();
    assert_eq!(counted, [2], "nobody is left to see a result, so it ends at once");
}

#[test]
fn a_signal_after_the_worker_was_reaped_is_sent_to_nobody() {
    static SENT: AtomicI32 = AtomicI32::new(0);
    let end = forked(|| {
        on(|place| match place {
            Place::Reaped => raise(libc::SIGTERM),
            Place::PassingOn => {
                SENT.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        });
        match supervise().unwrap() {
            Supervised::Worker => 0,
            Supervised::Over(end) => of_worker(end) + 20 + SENT.load(Ordering::Relaxed),
        }
    });
    assert_eq!(end, RunEnd::Exited(20), "its number may be another's by then");
}

/// Pipes between the supervisor and a process that the worker leaves behind.
static GO: AtomicI32 = AtomicI32::new(-1);
static FORKED: AtomicI32 = AtomicI32::new(-1);

fn raw(end: File) -> i32 {
    std::os::fd::IntoRawFd::into_raw_fd(OwnedFd::from(end))
}

/// A descriptor of the statics, which stay open to the end of the process.
fn with<T>(descriptor: &AtomicI32, work: impl FnOnce(&mut File) -> T) -> T {
    use std::os::fd::FromRawFd;
    // SAFETY: `raw` gave the descriptor up to the static; the file is not dropped.
    let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor.load(Ordering::Relaxed)) });
    work(&mut file)
}

/// Until this process is killed; at the latest after a minute, if nothing does that.
fn wait_for_end() -> ! {
    // SAFETY: takes an integer.
    unsafe { libc::alarm(60) };
    loop {
        // SAFETY: waits for a signal.
        unsafe { libc::pause() };
    }
}

/// Forks a process that stays until it is killed, and returns its number.
fn stay() -> RawPid {
    // SAFETY: as in `forked`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        wait_for_end()
    }
    pid
}

/// What the worker leaves behind: it forks at the worst moment, when it is listed already and its child is not.
fn leave_behind(mut go: File, mut forked: File) {
    // SAFETY: as in `forked`.
    if unsafe { libc::fork() } == 0 {
        let _ = go.read_exact(&mut [0]);
        let _ = forked.write_all(&stay().to_ne_bytes());
        wait_for_end()
    }
}

#[test]
fn a_child_forked_between_listing_and_killing_is_killed_too() {
    let (mut number_from, mut number_to) = pipe();
    let end = forked(|| {
        let ((go_from, go_to), (forked_from, forked_to)) = (pipe(), pipe());
        GO.store(raw(go_to), Ordering::Relaxed);
        FORKED.store(raw(forked_from), Ordering::Relaxed);
        on(|place| {
            static LISTED: AtomicI32 = AtomicI32::new(0);
            if place == Place::Listed && LISTED.fetch_add(1, Ordering::Relaxed) == 0 {
                with(&GO, |go| go.write_all(&[1]).unwrap());
                let mut number = [0; 4];
                with(&FORKED, |forked| forked.read_exact(&mut number).unwrap());
                CHILD.store(i32::from_ne_bytes(number), Ordering::Relaxed);
            }
        });
        match supervise().unwrap() {
            Supervised::Worker => {
                leave_behind(go_from, forked_to);
                0
            }
            Supervised::Over(end) => {
                number_to.write_all(&CHILD.load(Ordering::Relaxed).to_ne_bytes()).unwrap();
                of_worker(end) + 20
            }
        }
    });
    drop(number_to);
    assert_eq!(end, RunEnd::Exited(20));
    let mut number = [0; 4];
    number_from.read_exact(&mut number).unwrap();
    let child = i32::from_ne_bytes(number);
    assert!(child > 0);
    // SAFETY: asks whether a process is there.
    let is_there = unsafe { libc::kill(child, 0) } == 0;
    if is_there {
        // SAFETY: it is the test's own, which nothing else would end.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    assert!(!is_there, "process {child} outlived its supervisor");
}

/// The child that was forked in between.
static CHILD: AtomicI32 = AtomicI32::new(0);
