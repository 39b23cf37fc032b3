//! Interpreter threads that run connections in between their jobs.
//!
//! Where a job takes less time than waking another thread for it, the interpreter thread that is woken takes over the
//! connections as well: requests are then read, worked on and answered on one thread and one processor. The thread of the
//! connections stands by. It has them back as soon as a job takes longer than [`LATE`], when Ruby waits for a client, and
//! before anything that is known to take its time; so a slow handler holds up nobody's connections for longer than that.
//!
//! One thread serves at most as much as one processor can. Where it does and another processor is idle, connections and
//! interpreters go apart for a while: each request costs more, but there are two to work on them ([`Strain`]).

use super::queue::LATE;
use super::strain::Strain;
use super::watchdog::WatchedSlot;
use foolsgold_core::work::Slot;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long jobs are done in a row before it is the connections' turn.
const TURN: Duration = Duration::from_micros(400);

/// Connections as whoever runs them sees them.
pub trait Reactor: Send + Sync {
    /// Runs them until jobs are queued or somebody calls. Returns whether they are to be run again: not once the server ends.
    /// One thread at a time.
    fn drive(&self) -> bool;

    /// Has whoever drives come back, or not begin.
    fn call(&self);

    /// Gives them back to their own thread.
    fn reclaim(&self);
}

/// Connections that an interpreter thread runs; given back when dropped.
pub(super) struct Helm {
    reactor: Arc<dyn Reactor>,
    /// Has the watchdog give them back while the thread is at work for too long.
    guard: Arc<WatchedSlot>,
    reclaim: Arc<dyn Fn() + Send + Sync>,
    /// When the thread last left them for its jobs.
    left: Instant,
    /// They have been given back already.
    is_lost: bool,
    strain: Strain,
}

impl Helm {
    pub(super) fn new(reactor: Arc<dyn Reactor>, guard: &Arc<WatchedSlot>) -> Helm {
        let lent = Arc::clone(&reactor);
        let reclaim = Arc::new(move || lent.reclaim());
        let mut helm = Helm {
            reactor,
            guard: Arc::clone(guard),
            reclaim,
            left: Instant::now(),
            is_lost: false,
            strain: Strain::new(),
        };
        helm.leave();
        helm
    }

    pub(super) fn reactor(&self) -> &Arc<dyn Reactor> {
        &self.reactor
    }

    /// Whether the connections have waited long enough.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.left) > TURN
    }

    /// Whether one thread is too few for the connections and their jobs, and there is a processor for another.
    pub(super) fn is_strained(&mut self) -> bool {
        self.strain.is_too_much(self.left)
    }

    fn leave(&mut self) {
        self.left = Instant::now();
        self.guard.begin(LATE, Arc::clone(&self.reclaim));
    }

    /// Runs the connections until there are jobs. None where they are the thread's no longer.
    pub(super) fn drive(mut self) -> Option<Helm> {
        self.is_lost = self.guard.end();
        if self.is_lost {
            return None;
        }
        let goes_on = self.reactor.drive();
        self.leave();
        goes_on.then_some(self)
    }
}

impl Drop for Helm {
    fn drop(&mut self) {
        if !self.is_lost && !self.guard.end() {
            self.reactor.reclaim();
        }
    }
}
