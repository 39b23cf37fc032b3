//! What the requests of one event loop need, whichever thread runs it: the pool, the notifier, the connections.

use super::host::Hosts;
use super::hyper_settings::{http1, http2};
use super::notifier::Notifier;
use super::shared::Shared;
use super::timers::ConnectionRegistry;
use hyper_util::rt::TokioExecutor;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// How many requests are queued before a worker is woken while there is more to read.
const TOGETHER: usize = 8;

/// What an event loop, its connections and their requests share.
pub(super) struct ThreadContext {
    pub(super) shared: Arc<Shared>,
    pub(super) connections: Arc<ConnectionRegistry>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) hosts: Hosts,
    /// Requests queued since a worker was last woken.
    unannounced: AtomicUsize,
    /// Whether a worker runs the event loop.
    is_inline: AtomicBool,
    /// Whether the thread that runs the event loop has to return.
    interrupted: AtomicBool,
    /// Whether the server has ended.
    pub(super) over: AtomicBool,
    /// Wakes the thread that runs the event loop, or ran it last.
    driver: Mutex<Option<Waker>>,
    pub(super) http1: hyper::server::conn::http1::Builder,
    pub(super) http2: hyper::server::conn::http2::Builder<TokioExecutor>,
}

impl std::fmt::Debug for ThreadContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadContext").finish_non_exhaustive()
    }
}

impl ThreadContext {
    pub(super) fn new(shared: &Arc<Shared>) -> ThreadContext {
        let limits = shared.config.limits;
        ThreadContext {
            shared: Arc::clone(shared),
            connections: Arc::new(ConnectionRegistry::new()),
            notifier: Arc::default(),
            hosts: Hosts::default(),
            unannounced: AtomicUsize::new(0),
            is_inline: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            driver: Mutex::default(),
            http1: http1(&limits),
            http2: http2(&limits),
        }
    }

    /// A request was queued. Waking is a system call, so a worker is woken only after a few of them, or once there is
    /// nothing else to do here.
    pub(super) fn queued(&self) {
        // Answers that workers have finished meanwhile go out before more requests come in.
        self.notifier.drain();
        if self.unannounced.fetch_add(1, Ordering::Relaxed) + 1 >= TOGETHER {
            self.see_to_jobs();
        }
    }

    /// If jobs are short, the thread that runs the event loop leaves it for the jobs, or hands it off; otherwise
    /// workers are woken.
    fn see_to_jobs(&self) {
        if self.is_inline.load(Ordering::Relaxed) || self.shared.pool.prefers_inline() {
            self.unannounced.store(0, Ordering::Relaxed);
            self.interrupt();
        } else {
            self.wake_workers();
        }
    }

    pub(super) fn wake_workers(&self) {
        self.unannounced.store(0, Ordering::Relaxed);
        self.shared.pool.wake_workers();
    }

    /// The event loop is about to park. Requests queued but not announced would wait for ever, so that comes first.
    pub(super) fn before_park(&self) {
        let is_left = self.is_inline.load(Ordering::Relaxed) && self.shared.pool.has_waiting();
        if is_left || self.unannounced.load(Ordering::Relaxed) > 0 {
            self.see_to_jobs();
        }
        // Interrupted: the loop does not park but returns.
        if !self.interrupted.load(Ordering::Relaxed) {
            self.notifier.before_park();
        }
    }

    /// Makes the thread that runs the event loop return.
    pub(super) fn interrupt(&self) {
        // Set before the waker is read: `turn` stores its waker and then reads this, so one of the two sees the other.
        self.interrupted.store(true, Ordering::SeqCst);
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*driver {
            driver.wake_by_ref();
        }
    }

    /// Runs until interrupted. Returns false once the server has ended.
    pub(super) async fn turn(&self, is_inline: bool) -> bool {
        self.is_inline.store(is_inline, Ordering::Relaxed);
        poll_fn(|cx| {
            let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *driver {
                Some(driver) => driver.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            drop(driver);
            if self.over.load(Ordering::Relaxed) {
                return Poll::Ready(false);
            }
            if self.interrupted.swap(false, Ordering::SeqCst) {
                return Poll::Ready(true);
            }
            // Wake-ups that arrived while no thread ran the event loop.
            self.notifier.drain();
            Poll::Pending
        })
        .await
    }
}
