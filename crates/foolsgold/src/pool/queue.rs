//! The queue before the interpreter threads.
//!
//! A thread that finds nothing to do sleeps; the one that went to sleep last is woken first, since its interpreter is the
//! warmest in the caches. Waking costs a system call, so only one thread is on its way up at any time: whoever takes a job
//! and leaves others behind wakes the next. Whoever queues says when to wake ([`Queue::rouse`]), so that several jobs cost one
//! call; while all threads are busy, queueing is a push under a lock.
//!
//! A thread that works quickly is soon through with what waits: another is woken only for what would wait longer than
//! [`BRIEF`], by the mean time that jobs take. Two warm threads that take turns cost more than one that goes on. Where a
//! job takes longer than was to be expected, the watchdog wakes another ([`Queue::rouse_late`]).

use crate::work::Job;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What is not worth another thread.
const BRIEF: Duration = Duration::from_micros(400);

/// What a job may wait at most while a thread sleeps.
pub(super) const LATE: Duration = Duration::from_millis(2);

/// What a thread got.
pub(super) enum Taken {
    /// Something to do, and when somebody has to look after what was left behind, where something was.
    Job(Box<Job>, Option<Instant>),
    /// What the thread asked to be interrupted for.
    Interrupted,
    /// Nothing will come any more.
    Closed,
}

/// Jobs in the order in which they came.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    limit: usize,
    /// The mean time of the last jobs in nanoseconds. It begins high: nothing is quick before it has been seen to be.
    mean: AtomicU64,
}

/// A thread's place at the queue.
#[derive(Clone, Copy)]
pub(super) struct Seat(usize);

#[derive(Default)]
struct Inner {
    /// Each in a place of its own: a job of a few hundred bytes is handed on several times.
    jobs: VecDeque<Box<Job>>,
    sleeping: Vec<Thread>,
    /// For each seat, since when its thread works.
    working: Vec<Option<Instant>>,
    /// A thread was woken for a job and has not looked yet.
    waking: bool,
    closed: bool,
}

impl Inner {
    /// The thread to wake for what waits, where there is one to wake.
    fn next_up(&mut self) -> Option<Thread> {
        if self.waking || self.jobs.is_empty() {
            return None;
        }
        let thread = self.sleeping.pop();
        self.waking = thread.is_some();
        thread
    }

    /// Whether those at work are through with what waits in no time.
    fn is_brisk(&self, now: Instant, mean: Duration) -> bool {
        let brisk = self.working.iter().flatten().filter(|since| now.saturating_duration_since(**since) < BRIEF);
        let brisk = u32::try_from(brisk.count()).unwrap_or(u32::MAX);
        let waiting = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        brisk > 0 && mean.saturating_mul(waiting) < BRIEF.saturating_mul(brisk)
    }
}

impl Queue {
    pub(super) fn new(limit: usize) -> Queue {
        Queue { inner: Mutex::default(), limit, mean: AtomicU64::new(1_000_000) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a job and wakes nobody. Gives it back where there is no room.
    pub(super) fn push(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut inner = self.lock();
        // A job for a thread that sleeps or is on its way up does not wait.
        let free = inner.sleeping.len() + usize::from(inner.waking);
        if inner.closed || inner.jobs.len() >= self.limit + free {
            return Err(job);
        }
        inner.jobs.push_back(job);
        Ok(())
    }

    /// A place for a thread that takes jobs.
    pub(super) fn seat(&self) -> Seat {
        let mut inner = self.lock();
        inner.working.push(None);
        Seat(inner.working.len() - 1)
    }

    fn mean(&self) -> Duration {
        Duration::from_nanos(self.mean.load(Ordering::Relaxed))
    }

    /// Wakes a thread where that pays. Returns when somebody has to look after what waits, where it does.
    pub(super) fn rouse(&self, patience: Duration) -> Option<Instant> {
        let now = Instant::now();
        let mut inner = self.lock();
        if inner.jobs.is_empty() || inner.waking {
            return None;
        }
        if inner.is_brisk(now, self.mean()) && !inner.sleeping.is_empty() {
            return Some(now + LATE);
        }
        let next = inner.next_up();
        drop(inner);
        match next {
            Some(thread) => {
                thread.unpark();
                None
            }
            None => Some(now + patience),
        }
    }

    /// Wakes a thread where a job has waited too long for one that works.
    pub(super) fn rouse_late(&self, now: Instant) {
        let mut inner = self.lock();
        let is_late = inner.jobs.front().is_some_and(|job| now.saturating_duration_since(job.queued) >= LATE);
        let next = if is_late { inner.next_up() } else { None };
        drop(inner);
        if let Some(thread) = next {
            thread.unpark();
        }
    }

    /// The next job; waits for one. `interrupted` is asked before each job and each sleep.
    pub(super) fn take(&self, seat: Seat, interrupted: impl Fn() -> bool) -> Taken {
        let me = thread::current();
        let mut inner = self.lock();
        if let Some(since) = inner.working[seat.0].take() {
            let took = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mean = self.mean.load(Ordering::Relaxed);
            self.mean.store(mean - mean / 8 + took / 8, Ordering::Relaxed);
        }
        loop {
            if interrupted() && !inner.closed {
                // Others are free to look for what this thread may have been woken for.
                inner.waking = false;
                wake(inner.next_up(), inner);
                return Taken::Interrupted;
            }
            if let Some(job) = inner.jobs.pop_front() {
                let now = Instant::now();
                inner.working[seat.0] = Some(now);
                if inner.is_brisk(now, self.mean()) {
                    let left = !inner.jobs.is_empty() && !inner.sleeping.is_empty();
                    return Taken::Job(job, left.then(|| now + LATE));
                }
                wake(inner.next_up(), inner);
                return Taken::Job(job, None);
            }
            if inner.closed {
                return Taken::Closed;
            }
            inner.sleeping.push(me.clone());
            loop {
                drop(inner);
                thread::park();
                inner = self.lock();
                // Whoever wakes a thread takes it off the list: without that, park has returned for nothing.
                if !inner.sleeping.iter().any(|thread| thread.id() == me.id()) {
                    break;
                }
            }
            inner.waking = false;
        }
    }

    /// Wakes every thread, so that it asks whether it is interrupted.
    pub(super) fn wake_all(&self) {
        let sleeping = std::mem::take(&mut self.lock().sleeping);
        for thread in sleeping {
            thread.unpark();
        }
    }

    /// Takes those jobs out that were queued before `limit`.
    pub(super) fn take_older(&self, limit: Instant) -> Vec<Job> {
        let mut inner = self.lock();
        let old = inner.jobs.iter().take_while(|job| job.queued < limit).count();
        inner.jobs.drain(..old).map(|job| *job).collect()
    }

    /// When the watchdog has to look again: soon where a thread sleeps while a job waits.
    pub(super) fn attention(&self, patience: Duration) -> Option<Instant> {
        let inner = self.lock();
        let wait = if inner.sleeping.is_empty() { patience } else { LATE };
        inner.jobs.front().map(|job| job.queued + wait)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake_all();
    }
}

/// Wakes a thread once the lock is free.
fn wake(thread: Option<Thread>, inner: MutexGuard<'_, Inner>) {
    drop(inner);
    if let Some(thread) = thread {
        thread.unpark();
    }
}
