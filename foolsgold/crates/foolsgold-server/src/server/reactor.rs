//! The connections of one thread, and who runs them: the thread itself, or an interpreter thread that has borrowed them.
//!
//! Whoever drives is alone in it. The thread of the connections lends them when it would otherwise wake an interpreter thread
//! for jobs that are short, and stands by until they are given back, by whoever borrowed them or over its head.

use super::io_thread::{IoThread, Place, Stage};
use crate::pool;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Connections and the event queue that they are in.
pub(super) struct Reactor {
    thread: Arc<IoThread>,
    runtime: Runtime,
    /// Whether their own thread runs them.
    home: Mutex<bool>,
    back: Condvar,
}

impl Reactor {
    pub(super) fn new(thread: Arc<IoThread>, runtime: Runtime) -> Reactor {
        Reactor { thread, runtime, home: Mutex::new(true), back: Condvar::new() }
    }

    /// The life of the thread of the connections.
    pub(super) fn run(self: Arc<Self>, places: Vec<Place>, stage: watch::Receiver<Stage>) {
        self.runtime.block_on(async { self.thread.begin(places, stage) });
        let lent: Arc<dyn pool::Reactor> = Arc::clone(&self) as _;
        while self.runtime.block_on(self.thread.turn(false)) {
            *self.lock() = false;
            if self.thread.shared.pool.lend(&lent) {
                self.stand_by();
            } else {
                *self.lock() = true;
                self.thread.rouse();
            }
        }
    }

    fn stand_by(&self) {
        self.thread.shared.standing_by.fetch_add(1, Ordering::Relaxed);
        let mut home = self.lock();
        while !*home {
            home = self.back.wait(home).unwrap_or_else(PoisonError::into_inner);
        }
        drop(home);
        self.thread.shared.standing_by.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.home.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl pool::Reactor for Reactor {
    fn drive(&self) -> bool {
        self.runtime.block_on(self.thread.turn(true))
    }

    fn call(&self) {
        self.thread.call();
    }

    fn reclaim(&self) {
        *self.lock() = true;
        self.back.notify_one();
    }
}
