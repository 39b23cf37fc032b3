//! Inline mode: a worker thread that also runs the connections, in between its jobs (run to completion).
//!
//! If a job takes less time than waking another thread for it, the worker that is woken takes over the connections as
//! well: requests are then read, worked on and answered on one thread and one processor. The connections' own thread
//! stands by. It gets them back as soon as a job takes longer than [`LATE`], when Ruby waits for a client, and before
//! anything known to be slow; so a slow handler holds up other connections no longer than that.
//!
//! One thread serves at most what one processor can. If it is busy throughout and another processor is idle,
//! connections and workers are separated for a while: each request costs more, but two threads work on them
//! ([`Saturation`]).

use super::policy::LATE;
use super::reactor::{InlineTurn, Reactor};
use super::saturation::Saturation;
use super::watchdog::WatchedSlot;
use foolsgold_core::work::Slot;
use std::sync::Arc;
use std::time::Instant;

/// A reactor that was handed to this thread; returned when dropped.
pub(super) struct InlineReactor {
    reactor: Arc<dyn Reactor>,
    /// Lets the watchdog hand it back if the thread works for too long.
    guard: Arc<WatchedSlot>,
    hand_back: Arc<dyn Fn() + Send + Sync>,
    /// When the thread last left the reactor for its jobs.
    left: Instant,
    /// The watchdog has handed it back already.
    is_lost: bool,
    saturation: Saturation,
}

impl InlineReactor {
    pub(super) fn new(reactor: Arc<dyn Reactor>, guard: &Arc<WatchedSlot>) -> InlineReactor {
        let handed = Arc::clone(&reactor);
        let hand_back = Arc::new(move || handed.hand_back());
        let mut inline = InlineReactor {
            reactor,
            guard: Arc::clone(guard),
            hand_back,
            left: Instant::now(),
            is_lost: false,
            saturation: Saturation::new(),
        };
        inline.leave();
        inline
    }

    pub(super) fn turn(&self) -> InlineTurn<'_> {
        InlineTurn { reactor: &self.reactor, left: self.left }
    }

    /// Whether one thread is too few for the connections and their jobs, and a processor for another is idle.
    pub(super) fn is_saturated(&mut self) -> bool {
        self.saturation.is_reached(self.left)
    }

    /// From here on the watchdog may hand the reactor back: this thread must not touch it until [`Slot::end`] has
    /// returned that it did not.
    fn leave(&mut self) {
        self.left = Instant::now();
        self.guard.begin(LATE, Arc::clone(&self.hand_back));
    }

    /// Runs the connections until there are jobs. `None` if this thread has lost them.
    pub(super) fn drive(mut self) -> Option<InlineReactor> {
        // The answer is final: the watchdog stops a run only under the lock that `end` takes. So two threads never
        // drive at once.
        self.is_lost = self.guard.end();
        if self.is_lost {
            return None;
        }
        let goes_on = self.reactor.drive();
        self.leave();
        goes_on.then_some(self)
    }
}

impl Drop for InlineReactor {
    fn drop(&mut self) {
        // Handed back once: here, or earlier by the watchdog.
        if !self.is_lost && !self.guard.end() {
            self.reactor.hand_back();
        }
    }
}
