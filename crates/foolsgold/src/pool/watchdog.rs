//! One thread that stops what runs too long and refuses what waits too long.
//!
//! It sleeps until the next deadline that it knows of. A worker that begins wakes it only where its own deadline is nearer,
//! so a busy server pays one comparison for each request, and an idle one has no thread that wakes up.

use super::queue::{LATE, Queue};
use crate::work::{Job, Slot};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long it stays on guard after the last worker ended: then busy moments far apart wake it rarely.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Watchdog {
    slots: Mutex<Vec<Weak<WatchedSlot>>>,
    base: Instant,
    /// Microseconds after `base` at which it looks again; `u64::MAX`: when it is woken.
    next: AtomicU64,
    thread: OnceLock<Thread>,
    closed: AtomicBool,
    expired: AtomicU64,
}

impl Default for Watchdog {
    fn default() -> Watchdog {
        Watchdog {
            slots: Mutex::default(),
            base: Instant::now(),
            next: AtomicU64::new(0),
            thread: OnceLock::new(),
            closed: AtomicBool::new(false),
            expired: AtomicU64::new(0),
        }
    }
}

/// One worker's place on the watch.
pub(super) struct WatchedSlot {
    watchdog: Arc<Watchdog>,
    run: Mutex<Option<Run>>,
    /// Stopped as soon as this one waits for a client.
    guard: Option<Arc<WatchedSlot>>,
}

struct Run {
    deadline: Instant,
    stop: Arc<dyn Fn() + Send + Sync>,
    paused: Option<Instant>,
    stopped: bool,
}

impl Watchdog {
    /// A new place on the watch.
    pub(super) fn slot(self: &Arc<Self>) -> Arc<WatchedSlot> {
        self.add(None)
    }

    /// The same, for a worker whose thread runs connections: they are given back when Ruby waits for a client.
    pub(super) fn slot_with(self: &Arc<Self>, guard: &Arc<WatchedSlot>) -> Arc<WatchedSlot> {
        self.add(Some(Arc::clone(guard)))
    }

    fn add(self: &Arc<Self>, guard: Option<Arc<WatchedSlot>>) -> Arc<WatchedSlot> {
        let slot = Arc::new(WatchedSlot { watchdog: Arc::clone(self), run: Mutex::default(), guard });
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_micros()).unwrap_or(u64::MAX)
    }

    /// There is something to do at `deadline`.
    pub(super) fn nudge(&self, deadline: Instant) {
        if self.micros(deadline) < self.next.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Requests that waited too long.
    pub(super) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The life of the thread.
    pub(super) fn run(&self, queue: &Queue, patience: Duration, refuse: impl Fn(Job)) {
        let _ = self.thread.set(thread::current());
        let mut last_seen = self.base;
        while !self.closed.load(Ordering::SeqCst) {
            // Whoever begins from here on finds this and wakes the thread; whoever began earlier is seen below.
            self.next.store(u64::MAX, Ordering::SeqCst);
            let now = Instant::now();
            let nearest = self.stop_late(now);
            let late = now.checked_sub(patience).map(|limit| queue.take_older(limit)).unwrap_or_default();
            self.expired.fetch_add(late.len() as u64, Ordering::Relaxed);
            late.into_iter().for_each(&refuse);
            queue.rouse_late(now);
            let waiting = queue.attention(patience).map(|at| at.max(now + LATE));
            let next = nearest.into_iter().chain(waiting).min();
            if next.is_some() {
                last_seen = now;
            }
            let linger = (now < last_seen + LINGER).then(|| now + LINGER);
            match next.into_iter().chain(linger).min() {
                Some(at) => {
                    self.next.store(self.micros(at), Ordering::SeqCst);
                    thread::park_timeout(at.saturating_duration_since(now));
                }
                None => thread::park(),
            }
        }
    }

    /// Stops every run that is over its time, and returns the nearest deadline of the others.
    fn stop_late(&self, now: Instant) -> Option<Instant> {
        let slots: Vec<_> = {
            let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.iter().filter_map(Weak::upgrade).collect()
        };
        slots.iter().filter_map(|slot| slot.check(now)).min()
    }
}

impl WatchedSlot {
    fn lock(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a run whose worker is gone.
    pub(super) fn clear(&self) {
        *self.lock() = None;
    }

    /// Stops the run where it is over its time; the lock is held meanwhile, so that [`Slot::end`] never returns before a
    /// stop that still belongs to this run. Returns the deadline otherwise.
    fn check(&self, now: Instant) -> Option<Instant> {
        let mut run = self.lock();
        let run = run.as_mut()?;
        if run.stopped || run.paused.is_some() {
            return None;
        }
        if run.deadline > now {
            return Some(run.deadline);
        }
        run.stop();
        None
    }

    /// Stops the run whatever its time.
    fn stop(&self) {
        if let Some(run) = self.lock().as_mut().filter(|run| !run.stopped) {
            run.stop();
        }
    }
}

impl Run {
    fn stop(&mut self) {
        self.stopped = true;
        (self.stop)();
    }
}

impl Slot for WatchedSlot {
    fn begin(&self, budget: Duration, stop: Arc<dyn Fn() + Send + Sync>) {
        let deadline = Instant::now() + budget;
        *self.lock() = Some(Run { deadline, stop, paused: None, stopped: false });
        self.watchdog.nudge(deadline);
    }

    fn pause(&self) {
        if let Some(guard) = &self.guard {
            guard.stop();
        }
        if let Some(run) = self.lock().as_mut() {
            run.paused.get_or_insert_with(Instant::now);
        }
    }

    fn resume(&self) {
        let mut run = self.lock();
        let Some(run) = run.as_mut() else { return };
        if let Some(since) = run.paused.take() {
            run.deadline += since.elapsed();
            self.watchdog.nudge(run.deadline);
        }
    }

    fn end(&self) -> bool {
        self.lock().take().is_some_and(|run| run.stopped)
    }
}
