//! How long jobs take, and whether they are short enough to be done by the thread that runs the connections.
//!
//! Everything here is a hint: a value that is a moment old costs a needless wake-up or a missed one, which the watchdog
//! notices. So relaxed atomics are enough.

use super::policy::{INLINE_BELOW, INLINE_PAUSE};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A running mean of job times.
pub(super) struct Pace {
    /// The mean of the last jobs in nanoseconds. It starts high: no job counts as short until some were seen to be.
    mean: AtomicU64,
    base: Instant,
    /// Milliseconds after `base`: no inline mode before that.
    inline_from: AtomicU64,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { mean: AtomicU64::new(1_000_000), base: Instant::now(), inline_from: AtomicU64::new(0) }
    }

    pub(super) fn mean(&self) -> Duration {
        Duration::from_nanos(self.mean.load(Ordering::Relaxed))
    }

    /// A job took this long. Called by one thread at a time, under the lock of the queue.
    pub(super) fn record(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.mean.load(Ordering::Relaxed);
        self.mean.store(mean - mean / 8 + took / 8, Ordering::Relaxed);
    }

    /// Whether jobs are so short that the thread that runs the connections should do them as well.
    pub(super) fn prefers_inline(&self) -> bool {
        self.mean() < INLINE_BELOW && self.now() >= self.inline_from.load(Ordering::Relaxed)
    }

    /// Whether jobs are no longer that short. Twice the threshold, so that the mode does not flap.
    pub(super) fn outgrows_inline(&self) -> bool {
        self.mean() >= INLINE_BELOW * 2
    }

    /// Turns inline mode off for a while.
    pub(super) fn pause_inline(&self) {
        self.inline_from.store(self.now() + INLINE_PAUSE.as_millis() as u64, Ordering::Relaxed);
    }

    /// Milliseconds after `base`.
    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
