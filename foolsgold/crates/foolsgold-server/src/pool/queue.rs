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
//!
//! Where jobs are shorter than it takes to wake a thread for them, the thread that is woken gets the connections as well
//! ([`Queue::lend`], [`super::helm`]). A thread that runs connections sleeps in them: it is woken through them, and last.

use super::helm::{Helm, Reactor};
use foolsgold_core::work::Job;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What is not worth another thread.
const BRIEF: Duration = Duration::from_micros(400);

/// What a job may wait at most while a thread sleeps.
pub(super) const LATE: Duration = Duration::from_millis(2);

/// Jobs of less than this are done by whoever runs the connections: handing one over costs as much, and more where the two
/// threads sit on two processors.
const FLEETING: Duration = Duration::from_micros(50);

/// How long connections are not lent after one thread was too few for them.
const APART: Duration = Duration::from_secs(10);

/// How long a thread beyond the usual number stays without work.
const SURPLUS_IDLE: Duration = Duration::from_secs(10);

/// What a thread got.
pub(super) enum Taken {
    /// Something to do, and when somebody has to look after what was left behind, where something was.
    Job(Box<Job>, Option<Instant>),
    /// Connections to run from now on.
    Reactor(Arc<dyn Reactor>),
    /// Nothing but the connections that the thread has.
    Nothing,
    /// What the thread asked to be interrupted for.
    Interrupted,
    /// Nothing for a while, and there are more threads than usual: it is to end.
    Surplus,
    /// Nothing will come any more.
    Closed,
}

/// Jobs in the order in which they came.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    limit: usize,
    /// The mean time of the last jobs in nanoseconds. It begins high: nothing is quick before it has been seen to be.
    mean: AtomicU64,
    base: Instant,
    /// Milliseconds after `base`: until then connections are not lent.
    apart: AtomicU64,
    /// Threads beyond the usual number.
    surplus: AtomicUsize,
}

/// A thread's place at the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat(usize);

#[derive(Default)]
struct Inner {
    /// Each in a place of its own: a job of a few hundred bytes is handed on several times.
    jobs: VecDeque<Box<Job>>,
    sleeping: Vec<(Seat, Thread)>,
    /// For each seat.
    desks: Vec<Desk>,
    /// Seats whose threads have ended.
    free: Vec<Seat>,
    /// A thread was woken for a job and has not looked yet.
    waking: bool,
    closed: bool,
}

/// What the thread of one seat does.
#[derive(Default)]
struct Desk {
    /// Since when it works.
    works: Option<Instant>,
    /// It was told that there is nothing, and runs connections.
    is_away: bool,
    /// Those connections, until it is called for a job.
    drives: Option<Arc<dyn Reactor>>,
    /// Connections that it is to run.
    offer: Option<Arc<dyn Reactor>>,
}

/// A thread that waits for jobs, and how it is woken.
enum Waiting {
    Asleep(Thread),
    Driving(Arc<dyn Reactor>),
}

impl Waiting {
    fn wake(self) {
        match self {
            Waiting::Asleep(thread) => thread.unpark(),
            Waiting::Driving(reactor) => reactor.call(),
        }
    }
}

impl Inner {
    /// The thread to wake for what waits, where there is one to wake.
    fn next_up(&mut self) -> Option<Waiting> {
        if self.waking || self.jobs.is_empty() {
            return None;
        }
        let asleep = self.sleeping.pop().map(|(_, thread)| Waiting::Asleep(thread));
        let next = asleep.or_else(|| self.desks.iter_mut().find_map(|desk| desk.drives.take()).map(Waiting::Driving));
        self.waking = next.is_some();
        next
    }

    /// Threads that wait for jobs.
    fn waiting(&self) -> usize {
        self.sleeping.len() + self.desks.iter().filter(|desk| desk.drives.is_some()).count()
    }

    /// Whether those at work are through with what waits in no time.
    fn is_brisk(&self, now: Instant, mean: Duration) -> bool {
        let since = self.desks.iter().filter_map(|desk| desk.works);
        let brisk = since.filter(|since| now.saturating_duration_since(*since) < BRIEF);
        let brisk = u32::try_from(brisk.count()).unwrap_or(u32::MAX);
        let waiting = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        brisk > 0 && mean.saturating_mul(waiting) < BRIEF.saturating_mul(brisk)
    }
}

impl Queue {
    pub(super) fn new(limit: usize) -> Queue {
        Queue {
            inner: Mutex::default(),
            limit,
            mean: AtomicU64::new(1_000_000),
            base: Instant::now(),
            apart: AtomicU64::new(0),
            surplus: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a job and wakes nobody. Gives it back where there is no room.
    pub(super) fn push(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut inner = self.lock();
        // A job for a thread that waits or is on its way up does not wait.
        let free = inner.waiting() + usize::from(inner.waking);
        if inner.closed || inner.jobs.len() >= self.limit + free {
            return Err(job);
        }
        inner.jobs.push_back(job);
        Ok(())
    }

    /// A place for a thread that takes jobs.
    pub(super) fn seat(&self) -> Seat {
        let mut inner = self.lock();
        if let Some(seat) = inner.free.pop() {
            return seat;
        }
        inner.desks.push(Desk::default());
        Seat(inner.desks.len() - 1)
    }

    /// The thread of a seat takes no more jobs.
    pub(super) fn leave(&self, seat: Seat) {
        let mut inner = self.lock();
        inner.desks[seat.0] = Desk::default();
        inner.free.push(seat);
    }

    /// There is a thread more than usual.
    pub(super) fn add_surplus(&self) {
        self.surplus.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether there is a thread more than usual; then there is no more.
    pub(super) fn take_surplus(&self) -> bool {
        let less = |surplus: usize| surplus.checked_sub(1);
        self.surplus.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }

    /// Whether a job has waited for a while and no thread is there for it or on its way.
    pub(super) fn needs_thread(&self, now: Instant) -> bool {
        let inner = self.lock();
        let is_late = inner.jobs.front().is_some_and(|job| now.saturating_duration_since(job.queued) >= LATE);
        is_late && !inner.waking && !inner.closed && inner.waiting() == 0
    }

    fn mean(&self) -> Duration {
        Duration::from_nanos(self.mean.load(Ordering::Relaxed))
    }

    /// Whether jobs are so short that whoever runs connections had best do them as well.
    pub(super) fn is_fleeting(&self) -> bool {
        self.mean() < FLEETING && self.now() >= self.apart.load(Ordering::Relaxed)
    }

    /// Whether jobs have ceased to be that short, with some distance.
    pub(super) fn is_lasting(&self) -> bool {
        self.mean() >= FLEETING * 2
    }

    /// Milliseconds after `base`.
    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// For a while connections are not lent.
    pub(super) fn keep_apart(&self) {
        self.apart.store(self.now() + APART.as_millis() as u64, Ordering::Relaxed);
    }

    /// Gives connections to a thread that sleeps, and wakes it. Returns whether there was one.
    pub(super) fn lend(&self, reactor: &Arc<dyn Reactor>) -> bool {
        let mut inner = self.lock();
        let pays = self.is_fleeting() && !inner.is_brisk(Instant::now(), self.mean());
        if !pays || inner.closed || inner.waking || inner.jobs.is_empty() {
            return false;
        }
        let Some((seat, thread)) = inner.sleeping.pop() else { return false };
        inner.desks[seat.0].offer = Some(Arc::clone(reactor));
        inner.waking = true;
        drop(inner);
        thread.unpark();
        true
    }

    /// Wakes a thread where that pays. Returns when somebody has to look after what waits, where it does.
    pub(super) fn rouse(&self, patience: Duration) -> Option<Instant> {
        let now = Instant::now();
        let mut inner = self.lock();
        if inner.jobs.is_empty() || inner.waking {
            return None;
        }
        if inner.is_brisk(now, self.mean()) && inner.waiting() > 0 {
            return Some(now + LATE);
        }
        let next = inner.next_up();
        drop(inner);
        match next {
            Some(waiting) => {
                waiting.wake();
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
        wake(next, inner);
    }

    /// The next job; waits for one, unless the thread runs connections. `interrupted` is asked before each job and each sleep.
    pub(super) fn take(&self, seat: Seat, at_helm: Option<&Helm>, interrupted: impl Fn() -> bool) -> Taken {
        let mut inner = self.lock();
        self.return_to(seat, &mut inner);
        loop {
            if interrupted() && !inner.closed {
                // Others are free to look for what this thread may have been woken for.
                inner.waking = false;
                wake(inner.next_up(), inner);
                return Taken::Interrupted;
            }
            let now = Instant::now();
            let is_due = at_helm.is_some_and(|helm| helm.is_due(now));
            if !is_due && let Some(job) = inner.jobs.pop_front() {
                inner.desks[seat.0].works = Some(now);
                if inner.is_brisk(now, self.mean()) {
                    let left = !inner.jobs.is_empty() && inner.waiting() > 0;
                    return Taken::Job(job, left.then(|| now + LATE));
                }
                wake(inner.next_up(), inner);
                return Taken::Job(job, None);
            }
            if inner.closed && inner.jobs.is_empty() {
                return Taken::Closed;
            }
            if let Some(helm) = at_helm {
                // What is left behind is for somebody else, if there is one.
                let next = inner.next_up();
                let desk = &mut inner.desks[seat.0];
                (desk.is_away, desk.drives) = (true, Some(Arc::clone(helm.reactor())));
                wake(next, inner);
                return Taken::Nothing;
            }
            inner = match self.sleep(seat, inner) {
                Some(inner) => inner,
                None => return Taken::Surplus,
            };
            if let Some(reactor) = inner.desks[seat.0].offer.take() {
                return Taken::Reactor(reactor);
            }
        }
    }

    /// A thread is back, from a job or from the connections that it runs.
    fn return_to(&self, seat: Seat, inner: &mut Inner) {
        let desk = &mut inner.desks[seat.0];
        if let Some(since) = desk.works.take() {
            let took = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mean = self.mean.load(Ordering::Relaxed);
            self.mean.store(mean - mean / 8 + took / 8, Ordering::Relaxed);
        } else if std::mem::take(&mut desk.is_away) && desk.drives.take().is_none() {
            // It was called.
            inner.waking = false;
        }
    }

    /// None where the thread is one too many and nothing came for it.
    fn sleep<'a>(&'a self, seat: Seat, mut inner: MutexGuard<'a, Inner>) -> Option<MutexGuard<'a, Inner>> {
        inner.sleeping.push((seat, thread::current()));
        let end = Instant::now() + SURPLUS_IDLE;
        loop {
            drop(inner);
            // Threads are added only while none sleeps: who finds the usual number here may sleep for ever.
            if self.surplus.load(Ordering::SeqCst) == 0 {
                thread::park();
            } else {
                thread::park_timeout(end.saturating_duration_since(Instant::now()).max(LATE));
            }
            inner = self.lock();
            // Whoever wakes a thread takes it off the list: without that, park has returned for nothing.
            let Some(place) = inner.sleeping.iter().position(|(other, _)| *other == seat) else { break };
            // Under the lock, so that nobody chooses it for a job meanwhile.
            if Instant::now() >= end && self.take_surplus() {
                inner.sleeping.remove(place);
                return None;
            }
        }
        inner.waking = false;
        Some(inner)
    }

    /// Wakes every thread, so that it asks whether it is interrupted.
    pub(super) fn wake_all(&self) {
        let mut inner = self.lock();
        let sleeping = std::mem::take(&mut inner.sleeping).into_iter().map(|(_, thread)| Waiting::Asleep(thread));
        let driving = inner.desks.iter_mut().filter_map(|desk| desk.drives.take()).map(Waiting::Driving);
        let waiting: Vec<_> = sleeping.chain(driving).collect();
        drop(inner);
        waiting.into_iter().for_each(Waiting::wake);
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
        let wait = if inner.waiting() == 0 { patience } else { LATE };
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
fn wake(waiting: Option<Waiting>, inner: MutexGuard<'_, Inner>) {
    drop(inner);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}
