//! The phase of each connection and since when, in a few atomics.
//!
//! The connection only notes times here. On each I/O thread one task looks through all of them a few times a second and
//! ends what took too long, so no request arms or disarms a timer.
//!
//! All accesses are relaxed. Each value is independent (a phase and its beginning share one number, so they cannot be
//! torn), the sweep comes again, and whatever must reach a connection at once (a cut, a retirement) is stored before
//! its task is woken, which orders the two.

use crate::config::Limits;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Why a connection is ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cut {
    /// The head of a request took too long.
    SlowHead = 1,
    /// The client takes no bytes.
    SlowReader = 2,
    /// The whole request took too long.
    SlowRequest = 3,
    /// The server ends.
    Shutdown = 4,
}

impl Cut {
    /// As a label of metrics.
    pub(super) fn label(self) -> &'static str {
        match self {
            Cut::SlowHead => "head",
            Cut::SlowReader => "write",
            Cut::SlowRequest => "whole",
            Cut::Shutdown => "shutdown",
        }
    }
}

const PHASES: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Phase {
    /// Nothing to do.
    Idle = 0,
    /// A head is arriving.
    Head = 1,
    /// A request is worked on.
    Busy = 2,
    /// The answer is being sent: for as long as the client accepts bytes.
    Answering = 3,
}

/// The times of one connection, in milliseconds since its thread began.
#[derive(Debug)]
pub(super) struct ConnectionTimers {
    base: Instant,
    /// Phase and since when, in one number.
    phase: AtomicU64,
    /// Since when a write has been waiting for the client; 0 if none is.
    stalled: AtomicU64,
    /// When the client last accepted bytes.
    written: AtomicU64,
    /// Requests being answered.
    in_flight: AtomicU32,
    /// Answers that have bytes left, and how many of them wait for the application.
    bodies: AtomicU32,
    waiting: AtomicU32,
    cut: AtomicU8,
    retire: AtomicBool,
    /// Whether the connection ignores the client (`deaf`), and whether a sweep forbids that now (`must_listen`).
    deaf: AtomicBool,
    must_listen: AtomicBool,
    waker: OnceLock<Waker>,
}

impl ConnectionTimers {
    fn new(base: Instant) -> ConnectionTimers {
        let timers = ConnectionTimers {
            base,
            phase: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            written: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            bodies: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            cut: AtomicU8::new(0),
            retire: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            must_listen: AtomicBool::new(false),
            waker: OnceLock::new(),
        };
        timers.enter(Phase::Head);
        timers
    }

    fn now(&self) -> u64 {
        // Never 0, which means none.
        self.base.elapsed().as_millis() as u64 + 1
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(self.now() * PHASES + phase as u64, Ordering::Relaxed);
    }

    fn phase(&self) -> (u64, u64) {
        let phase = self.phase.load(Ordering::Relaxed);
        (phase % PHASES, phase / PHASES)
    }

    /// HTTP/1 bytes arrived.
    pub(super) fn read(&self) {
        if self.phase().0 == Phase::Idle as u64 {
            self.enter(Phase::Head);
        }
    }

    /// The client accepts no bytes for now.
    pub(super) fn write_waits(&self) {
        if self.stalled.load(Ordering::Relaxed) == 0 {
            self.stalled.store(self.now(), Ordering::Relaxed);
        }
    }

    /// The client accepted bytes.
    pub(super) fn wrote(&self) {
        if self.stalled.load(Ordering::Relaxed) != 0 {
            self.stalled.store(0, Ordering::Relaxed);
        }
        if self.bodies.load(Ordering::Relaxed) != 0 {
            self.written.store(self.now(), Ordering::Relaxed);
        }
    }

    /// The server begins to answer a request.
    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.enter(Phase::Busy);
    }

    /// The answer to a request begins.
    pub(super) fn answers(&self) {
        self.enter(Phase::Answering);
    }

    /// Nothing is expected of the client: with HTTP/2, incoming bytes are not necessarily a head.
    pub(super) fn rest(&self) {
        self.enter(Phase::Idle);
    }

    /// A request was answered.
    pub(super) fn end(&self) {
        if self.in_flight.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.enter(Phase::Idle);
        }
    }

    /// The body of an answer begins.
    pub(super) fn body_begins(&self) {
        self.written.store(self.now(), Ordering::Relaxed);
        self.bodies.fetch_add(1, Ordering::Relaxed);
    }

    /// The body has ended.
    pub(super) fn body_ends(&self, waits: bool) {
        self.bodies.fetch_sub(1, Ordering::Relaxed);
        if waits {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The body of an answer begins or ceases to wait for the application.
    pub(super) fn body_waits(&self, waits: bool) {
        if waits {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.written.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Whether the connection may ignore the client, until the next sweep at most.
    pub(super) fn may_be_deaf(&self) -> bool {
        let may = !self.must_listen.load(Ordering::Relaxed);
        if may {
            self.deaf.store(true, Ordering::Relaxed);
        }
        may
    }

    /// Stores the waker with which the sweep reaches the connection's task.
    pub(super) fn set_waker(&self, waker: &Waker) {
        let _ = self.waker.set(waker.clone());
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Ends the connection.
    pub(super) fn cut(&self, why: Cut) {
        // Stored before the wake-up, so that the task finds it.
        self.cut.store(why as u8, Ordering::Relaxed);
        self.wake();
    }

    /// Why the connection is to be cut, if it is.
    pub(super) fn why_cut(&self) -> Option<Cut> {
        match self.cut.load(Ordering::Relaxed) {
            1 => Some(Cut::SlowHead),
            2 => Some(Cut::SlowReader),
            3 => Some(Cut::SlowRequest),
            4 => Some(Cut::Shutdown),
            _ => None,
        }
    }

    /// Asks the connection to end once it is idle.
    pub(super) fn retire(&self) {
        if !self.retire.swap(true, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Whether it was asked to.
    pub(super) fn is_retired(&self) -> bool {
        self.retire.load(Ordering::Relaxed)
    }

    /// Applies the limits at this moment.
    fn check(&self, limits: &Limits) {
        if self.deaf.swap(false, Ordering::Relaxed) {
            self.must_listen.store(true, Ordering::Relaxed);
            self.wake();
        }
        let now = self.now();
        let over = |since: u64, limit: Duration| u128::from(now.saturating_sub(since)) > limit.as_millis();
        let stalled = self.stalled.load(Ordering::Relaxed);
        if stalled != 0 && over(stalled, limits.write_time) {
            return self.cut(Cut::SlowReader);
        }
        // HTTP/2 holds bytes back without a waiting write.
        let sending = self.bodies.load(Ordering::Relaxed) > self.waiting.load(Ordering::Relaxed);
        if sending && over(self.written.load(Ordering::Relaxed), limits.write_time) {
            return self.cut(Cut::SlowReader);
        }
        let (phase, since) = self.phase();
        if phase == Phase::Head as u64 && over(since, limits.head_time) {
            self.cut(Cut::SlowHead);
        } else if phase == Phase::Busy as u64 && over(since, limits.whole) {
            self.cut(Cut::SlowRequest);
        } else if phase == Phase::Idle as u64 && over(since, limits.idle) {
            self.retire();
        }
    }
}

/// The connections of one thread.
#[derive(Debug)]
pub(super) struct ConnectionRegistry {
    base: Instant,
    entries: Mutex<Entries>,
    /// Whether the sweep sleeps until there is a connection.
    asleep: AtomicBool,
    first: Notify,
}

#[derive(Debug, Default)]
struct Entries {
    timers: Vec<Option<Arc<ConnectionTimers>>>,
    free: Vec<usize>,
}

/// A connection in the registry, until dropped.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Arc<ConnectionRegistry>,
    timers: Arc<ConnectionTimers>,
    index: usize,
}

impl ConnectionRegistry {
    pub(super) fn new() -> ConnectionRegistry {
        ConnectionRegistry {
            base: Instant::now(),
            entries: Mutex::default(),
            asleep: AtomicBool::new(false),
            first: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn register(self: &Arc<Self>) -> Registration {
        let timers = Arc::new(ConnectionTimers::new(self.base));
        let mut entries = self.lock();
        let index = entries.free.pop().unwrap_or_else(|| {
            entries.timers.push(None);
            entries.timers.len() - 1
        });
        entries.timers[index] = Some(Arc::clone(&timers));
        drop(entries);
        // This and the sweep are tasks of one event loop and never run at once: a sweep that has found no connection
        // sleeps by now, or is about to, and then the notification is kept.
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.first.notify_one();
        }
        Registration { registry: Arc::clone(self), timers, index }
    }

    pub(super) fn len(&self) -> usize {
        let entries = self.lock();
        entries.timers.len() - entries.free.len()
    }

    pub(super) fn each(&self, what: impl Fn(&ConnectionTimers)) {
        // Waking runs tokio's code: not under the lock.
        let timers: Vec<_> = self.lock().timers.iter().flatten().map(Arc::clone).collect();
        timers.iter().for_each(|timers| what(timers));
    }

    /// Looks through the connections from time to time, for ever.
    pub(super) async fn sweep(self: Arc<Self>, limits: Limits) {
        let times = [limits.head_time, limits.idle, limits.write_time, limits.whole];
        let shortest = times.into_iter().min().unwrap_or_default();
        let tick = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_millis(250));
        loop {
            tokio::time::sleep(tick).await;
            self.each(|timers| timers.check(&limits));
            if self.len() == 0 {
                self.asleep.store(true, Ordering::Relaxed);
                self.first.notified().await;
            }
        }
    }
}

impl Registration {
    pub(super) fn timers(&self) -> &Arc<ConnectionTimers> {
        &self.timers
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut entries = self.registry.lock();
        entries.timers[self.index] = None;
        entries.free.push(self.index);
    }
}
