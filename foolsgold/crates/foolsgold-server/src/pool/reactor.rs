//! The connections of one I/O thread, as the pool sees them.

use super::policy::INLINE_TURN;
use std::sync::Arc;
use std::time::Instant;

/// An event loop that runs either on its own thread or on a worker thread that it was handed to.
pub trait Reactor: Send + Sync {
    /// Runs it until jobs are queued or it is interrupted. Returns whether it is to be run again, which is false once
    /// the server ends. One thread at a time.
    fn drive(&self) -> bool;

    /// Makes the driving thread return, or not begin.
    fn interrupt(&self);

    /// Returns it to its own thread.
    fn hand_back(&self);
}

/// What a worker that runs a reactor inline tells the queue.
pub(super) struct InlineTurn<'a> {
    pub(super) reactor: &'a Arc<dyn Reactor>,
    /// When the worker last left the reactor for its jobs.
    pub(super) left: Instant,
}

impl InlineTurn<'_> {
    /// Whether the connections have waited long enough.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.left) > INLINE_TURN
    }
}
