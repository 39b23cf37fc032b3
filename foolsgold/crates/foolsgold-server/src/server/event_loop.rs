//! The event loop of one I/O thread, run by that thread or by a worker that it was handed to.
//!
//! Only one thread at a time drives it. The thread hands the loop off when it would otherwise wake a worker for short
//! jobs, and waits until it is returned, by the worker or over its head by the watchdog.

use super::context::ThreadContext;
use crate::pool::Reactor;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Runtime;

/// Connections and the event queue that they are in.
pub(super) struct EventLoop {
    thread: Arc<ThreadContext>,
    runtime: Runtime,
    /// Whether its own thread runs it. If false, only the thread that the loop was handed to may drive it.
    is_home: Mutex<bool>,
    back: Condvar,
}

impl EventLoop {
    pub(super) fn new(thread: Arc<ThreadContext>, runtime: Runtime) -> EventLoop {
        EventLoop { thread, runtime, is_home: Mutex::new(true), back: Condvar::new() }
    }

    /// The I/O thread's main loop; `begin` starts the tasks of its connections.
    pub(super) fn run(self: Arc<Self>, begin: impl FnOnce()) {
        self.runtime.block_on(async { begin() });
        let reactor: Arc<dyn Reactor> = Arc::clone(&self) as _;
        while self.runtime.block_on(self.thread.turn(false)) {
            // Before the handoff: the worker may hand it back before `hand_off` has returned.
            *self.lock() = false;
            if self.thread.shared.pool.hand_off(&reactor) {
                self.wait_for_return();
            } else {
                *self.lock() = true;
                self.thread.wake_workers();
            }
        }
    }

    fn wait_for_return(&self) {
        self.thread.shared.handed_off.fetch_add(1, Ordering::Relaxed);
        let mut home = self.lock();
        while !*home {
            home = self.back.wait(home).unwrap_or_else(PoisonError::into_inner);
        }
        drop(home);
        self.thread.shared.handed_off.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_home.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reactor for EventLoop {
    fn drive(&self) -> bool {
        self.runtime.block_on(self.thread.turn(true))
    }

    fn interrupt(&self) {
        self.thread.interrupt();
    }

    fn hand_back(&self) {
        // Under the lock, so that the waiting thread either sees it before it waits or is notified after.
        *self.lock() = true;
        self.back.notify_one();
    }
}
