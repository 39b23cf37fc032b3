//! A thread that kills a process if a wait for it takes too long: for waits that the kernel gives no time-out
//! (`waitpid` of a tracer).

use crate::RawPid;
use crate::end_requests::end_requests;
use crate::error::SysError;
use crate::reap::{Limits, Waited, kill_tree};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks for requests to end.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    killed: Option<Waited>,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// A running watchdog. Drop it before the process is reaped, or as soon as its end is known.
#[derive(Debug)]
pub struct Watchdog {
    shared: Shared,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Kills a child with all its descendants once a limit is reached.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn new(pid: RawPid, limits: Limits) -> Result<Watchdog, SysError> {
        let shared = Shared::default();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch(pid, limits, &theirs));
        let thread = thread.map_err(|error| SysError::io("starting a thread", &error))?;
        Ok(Watchdog { shared, thread: Some(thread) })
    }

    /// Why it has killed, if it has.
    #[must_use]
    pub fn killed(&self) -> Option<Waited> {
        lock(&self.shared).killed
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        lock(&self.shared).is_over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing more to do.
            let _ = thread.join();
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(pid: RawPid, limits: Limits, shared: &Shared) {
    let begun = Instant::now();
    let mut state = lock(shared);
    while !state.is_over {
        let why = if end_requests() >= limits.requests {
            Waited::Interrupted
        } else if limits.timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
            Waited::TimedOut
        } else {
            state = shared.1.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        state.killed = Some(why);
        kill_tree(pid);
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunEnd, Spawn, Streams};

    fn sleeper() -> crate::Started {
        let arguments = ["sh", "-c", "sleep 1000; :"].map(std::ffi::OsString::from);
        let environment: Vec<_> = std::env::vars_os().collect();
        let spawn = Spawn::new("/bin/sh".into(), &arguments, &environment, Streams::default()).unwrap();
        spawn.start(&[], true).unwrap()
    }

    #[test]
    fn it_kills_where_a_wait_takes_too_long() {
        let started = sleeper();
        let watchdog = Watchdog::new(started.pid(), Limits::time(Duration::from_millis(50))).unwrap();
        let run = started.within(Limits::time(Duration::from_secs(120))).unwrap();
        assert_eq!(run.end, RunEnd::Signalled(libc::SIGKILL));
        assert_eq!(watchdog.killed(), Some(Waited::TimedOut));
    }

    #[test]
    fn it_does_nothing_once_it_is_dropped() {
        let started = sleeper();
        drop(Watchdog::new(started.pid(), Limits::time(Duration::from_secs(3600))).unwrap());
        assert_eq!(started.ends_within(Limits::time(Duration::from_millis(100))), Ok(Waited::TimedOut));
    }
}
