//! The queue before the interpreter threads.
//!
//! A thread that finds nothing to do sleeps; the one that went to sleep last is woken first, since its interpreter is the
//! warmest in the caches. Waking costs a system call, so only one thread is on its way up at any time: whoever takes a job
//! and leaves others behind wakes the next. Whoever queues says when to wake ([`Queue::rouse`]), so that several jobs cost one
//! call; while all threads are busy, queueing is a push under a lock.

use crate::work::Job;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

/// What a thread got.
pub(super) enum Taken {
    /// Something to do.
    Job(Box<Job>),
    /// What the thread asked to be interrupted for.
    Interrupted,
    /// Nothing will come any more.
    Closed,
}

/// Jobs in the order in which they came.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    limit: usize,
}

#[derive(Default)]
struct Inner {
    jobs: VecDeque<Job>,
    sleeping: Vec<Thread>,
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
}

impl Queue {
    pub(super) fn new(limit: usize) -> Queue {
        Queue { inner: Mutex::default(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a job and wakes nobody. Gives it back where there is no room.
    pub(super) fn push(&self, job: Job) -> Result<(), Box<Job>> {
        let mut inner = self.lock();
        // A job for a thread that sleeps or is on its way up does not wait.
        let free = inner.sleeping.len() + usize::from(inner.waking);
        if inner.closed || inner.jobs.len() >= self.limit + free {
            return Err(Box::new(job));
        }
        inner.jobs.push_back(job);
        Ok(())
    }

    /// Wakes a thread where jobs wait and none is on its way. Returns whether jobs wait with no thread to wake.
    pub(super) fn rouse(&self) -> bool {
        let mut inner = self.lock();
        let next = inner.next_up();
        let all_busy = next.is_none() && !inner.waking && !inner.jobs.is_empty();
        drop(inner);
        if let Some(thread) = next {
            thread.unpark();
        }
        all_busy
    }

    /// The next job; waits for one. `interrupted` is asked before each job and each sleep.
    pub(super) fn take(&self, interrupted: impl Fn() -> bool) -> Taken {
        let me = thread::current();
        let mut inner = self.lock();
        loop {
            if interrupted() && !inner.closed {
                // Others are free to look for what this thread may have been woken for.
                inner.waking = false;
                let next = inner.next_up();
                drop(inner);
                if let Some(thread) = next {
                    thread.unpark();
                }
                return Taken::Interrupted;
            }
            if let Some(job) = inner.jobs.pop_front() {
                let next = inner.next_up();
                drop(inner);
                if let Some(thread) = next {
                    thread.unpark();
                }
                return Taken::Job(Box::new(job));
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
        inner.jobs.drain(..old).collect()
    }

    /// When the oldest job was queued.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.lock().jobs.front().map(|job| job.queued)
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
