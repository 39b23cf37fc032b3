//! The bounded queue in front of the worker threads.
//!
//! A worker that finds nothing to do parks; the one that parked last is woken first, since its interpreter is the
//! warmest in the caches. Waking costs a system call, so only one worker is being woken at any time: a worker that
//! takes a job and leaves others behind wakes the next. The thread that queues jobs decides when to wake
//! ([`Queue::wake_one`]), so that several jobs cost one call; while all workers are busy, queueing is a push under a
//! lock.
//!
//! A fast worker will soon have done what waits: another is woken only for jobs that would wait longer than
//! [`SHORT_WAIT`](super::policy::SHORT_WAIT), by the mean job time. Two warm workers that take turns cost more than one
//! that goes on. If a job takes longer than expected, the watchdog wakes another worker ([`Queue::wake_for_late`]).
//!
//! If jobs are shorter than it takes to wake a worker for them, the worker that is woken gets the connections as well
//! ([`Queue::hand_off`], [`super::inline`]). A worker that runs connections waits inside their event loop: it is woken
//! through that, and last.

use super::pace::Pace;
use super::parking::{Parking, Waiting, WorkerId};
use super::policy::{LATE, SURPLUS_IDLE};
use super::reactor::{InlineTurn, Reactor};
use foolsgold_core::work::Job;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a worker gets from [`Queue::take`].
pub(super) enum Taken {
    /// A job, and when the watchdog has to check on those left behind, if nothing else will.
    Job(Box<Job>, Option<Instant>),
    /// Connections to run from now on.
    Reactor(Arc<dyn Reactor>),
    /// No job: the worker is to run its connections.
    Inline,
    /// The worker's own condition for an interruption holds.
    Interrupted,
    /// Nothing for a while, and there are surplus threads: it is to end.
    Surplus,
    /// Nothing more will come.
    Closed,
}

/// Jobs in the order in which they came.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    limit: usize,
    /// How long a job may wait.
    patience: Duration,
    pub(super) pace: Pace,
    /// Surplus threads.
    surplus: AtomicUsize,
}

#[derive(Default)]
struct Inner {
    /// Boxed: a job of a few hundred bytes is moved several times.
    jobs: VecDeque<Box<Job>>,
    parking: Parking,
    closed: bool,
}

impl Inner {
    /// The worker to wake for what waits, if there are jobs and a worker to wake.
    fn next_up(&mut self) -> Option<Waiting> {
        if self.jobs.is_empty() { None } else { self.parking.choose() }
    }

    fn will_soon_be_empty(&self, now: Instant, mean: Duration) -> bool {
        self.parking.will_soon_finish(self.jobs.len(), now, mean)
    }

    fn is_late(&self, now: Instant) -> bool {
        self.jobs.front().is_some_and(|job| now.saturating_duration_since(job.queued) >= LATE)
    }
}

impl Queue {
    pub(super) fn new(limit: usize, patience: Duration) -> Queue {
        Queue { inner: Mutex::default(), limit, patience, pace: Pace::new(), surplus: AtomicUsize::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a job without waking a worker. Returns the job if there is no room.
    pub(super) fn push(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut inner = self.lock();
        // A job for a worker that waits or is being woken does not wait itself, so it does not count against the limit.
        let free = inner.parking.waiting() + usize::from(inner.parking.waking);
        if inner.closed || inner.jobs.len() >= self.limit + free {
            return Err(job);
        }
        inner.jobs.push_back(job);
        Ok(())
    }

    /// A slot for a thread that takes jobs.
    pub(super) fn register(&self) -> WorkerId {
        self.lock().parking.register()
    }

    /// The thread takes no more jobs.
    pub(super) fn deregister(&self, id: WorkerId) {
        self.lock().parking.deregister(id);
    }

    /// Counts one more surplus thread.
    pub(super) fn add_surplus(&self) {
        self.surplus.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes one off the count of surplus threads. Returns whether there was one.
    pub(super) fn take_surplus(&self) -> bool {
        let less = |surplus: usize| surplus.checked_sub(1);
        self.surplus.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }

    /// Whether a job has waited for a while and no worker waits or is being woken.
    pub(super) fn needs_thread(&self, now: Instant) -> bool {
        let inner = self.lock();
        inner.is_late(now) && !inner.parking.waking && !inner.closed && inner.parking.waiting() == 0
    }

    /// Hands connections to a worker that is parked, and wakes it. Returns whether there was one; if not, the caller
    /// still owns them.
    pub(super) fn hand_off(&self, reactor: &Arc<dyn Reactor>) -> bool {
        let mut inner = self.lock();
        let pays = self.pace.prefers_inline() && !inner.will_soon_be_empty(Instant::now(), self.pace.mean());
        if !pays || inner.closed || inner.parking.waking || inner.jobs.is_empty() {
            return false;
        }
        let chosen = inner.parking.choose_for(reactor);
        let found = chosen.is_some();
        wake(chosen, inner);
        found
    }

    /// Wakes a worker if that pays. Returns when the watchdog has to check on what waits, if nothing else will.
    pub(super) fn wake_one(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut inner = self.lock();
        // The worker being woken wakes the next when it leaves jobs behind.
        if inner.jobs.is_empty() || inner.parking.waking {
            return None;
        }
        if inner.will_soon_be_empty(now, self.pace.mean()) && inner.parking.waiting() > 0 {
            return Some(now + LATE);
        }
        let next = inner.next_up();
        let nobody = next.is_none();
        wake(next, inner);
        nobody.then(|| now + self.patience)
    }

    /// Wakes a worker if a job has waited too long for the busy ones.
    pub(super) fn wake_for_late(&self, now: Instant) {
        let mut inner = self.lock();
        let next = if inner.is_late(now) { inner.next_up() } else { None };
        wake(next, inner);
    }

    /// The next job; waits for one, unless the worker runs connections (`inline`). `interrupted` is called before each
    /// job and each time the worker parks.
    pub(super) fn take(&self, id: WorkerId, inline: Option<&InlineTurn<'_>>, interrupted: impl Fn() -> bool) -> Taken {
        let mut inner = self.lock();
        self.return_from(id, &mut inner);
        loop {
            if interrupted() && !inner.closed {
                // It may have been woken for a job that it does not take: without this no other worker would be woken
                // for that job.
                inner.parking.waking = false;
                wake(inner.next_up(), inner);
                return Taken::Interrupted;
            }
            let now = Instant::now();
            let is_due = inline.is_some_and(|inline| inline.is_due(now));
            if !is_due && let Some(job) = inner.jobs.pop_front() {
                inner.parking.slot(id).busy_since = Some(now);
                if inner.will_soon_be_empty(now, self.pace.mean()) && inner.parking.waiting() > 0 {
                    let left = !inner.jobs.is_empty();
                    return Taken::Job(job, left.then(|| now + LATE));
                }
                let next = inner.next_up();
                // The jobs behind this one were pushed while this worker was being woken, so the thread that pushed
                // them left them to it. If there is no worker to pass them on to, only the watchdog can see that they
                // wait too long.
                let unattended = next.is_none() && !inner.parking.waking && !inner.jobs.is_empty();
                wake(next, inner);
                return Taken::Job(job, unattended.then(|| now + self.patience));
            }
            if inner.closed && inner.jobs.is_empty() {
                return Taken::Closed;
            }
            if let Some(inline) = inline {
                // What is left behind is for another worker, if there is one. Before `driving` is set, or it might
                // choose itself.
                let next = inner.next_up();
                let slot = inner.parking.slot(id);
                (slot.in_reactor, slot.driving) = (true, Some(Arc::clone(inline.reactor)));
                wake(next, inner);
                return Taken::Inline;
            }
            inner = match self.park(id, inner) {
                Some(inner) => inner,
                None => return Taken::Surplus,
            };
            if let Some(reactor) = inner.parking.slot(id).handed.take() {
                return Taken::Reactor(reactor);
            }
        }
    }

    /// A worker is back from a job or from the connections that it runs.
    fn return_from(&self, id: WorkerId, inner: &mut Inner) {
        let slot = inner.parking.slot(id);
        if let Some(since) = slot.busy_since.take() {
            self.pace.record(since.elapsed());
        } else if std::mem::take(&mut slot.in_reactor) && slot.driving.take().is_none() {
            // The thread that took `driving` interrupted this worker for a job and set `waking`; this worker holds the
            // lock now. If it returned by itself, `waking` belongs to another worker and stays.
            inner.parking.waking = false;
        }
    }

    /// Parks until the worker is chosen. `None` if the thread is surplus and nothing came for it.
    fn park<'a>(&'a self, id: WorkerId, mut inner: MutexGuard<'a, Inner>) -> Option<MutexGuard<'a, Inner>> {
        // Listed before the lock is released: a job that is pushed from here on finds the worker. An unpark before the
        // park is not lost either, the thread's token keeps it.
        inner.parking.park(id, thread::current());
        let end = Instant::now() + SURPLUS_IDLE;
        loop {
            drop(inner);
            // Threads are added only while no worker is parked: one that finds no surplus here may park for ever.
            if self.surplus.load(Ordering::SeqCst) == 0 {
                thread::park();
            } else {
                thread::park_timeout(end.saturating_duration_since(Instant::now()).max(LATE));
            }
            inner = self.lock();
            // Waking a worker takes it off the list: if it is still there, park has returned spuriously.
            if !inner.parking.is_parked(id) {
                break;
            }
            // Off the list under the lock, so that it is not chosen for a job after it has decided to end.
            if Instant::now() >= end && self.take_surplus() {
                inner.parking.unpark(id);
                return None;
            }
        }
        inner.parking.waking = false;
        Some(inner)
    }

    /// Wakes every worker, so that it checks for an interruption.
    pub(super) fn wake_all(&self) {
        let waiting = self.lock().parking.choose_all();
        waiting.into_iter().for_each(Waiting::wake);
    }

    /// Removes and returns the jobs that were queued before `limit`.
    pub(super) fn take_older(&self, limit: Instant) -> Vec<Job> {
        let mut inner = self.lock();
        let old = inner.jobs.iter().take_while(|job| job.queued < limit).count();
        inner.jobs.drain(..old).map(|job| *job).collect()
    }

    /// When the watchdog has to check again: soon if a worker and a job both wait.
    pub(super) fn next_check(&self, patience: Duration) -> Option<Instant> {
        let inner = self.lock();
        let wait = if inner.parking.waiting() == 0 { patience } else { LATE };
        inner.jobs.front().map(|job| job.queued + wait)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Workers that are parked.
    #[cfg(test)]
    pub(super) fn parked(&self) -> usize {
        self.lock().parking.waiting()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Closes the queue. `closed` is set before any worker is woken, so a woken worker finds it.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake_all();
    }
}

/// Wakes a worker once the lock is released.
fn wake(waiting: Option<Waiting>, inner: MutexGuard<'_, Inner>) {
    drop(inner);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use foolsgold_core::work::{Request, RequestBody, oneshot};
    use http::{HeaderMap, Method, Uri, Version};

    const PATIENCE: Duration = Duration::from_secs(3600);

    fn job() -> Box<Job> {
        let now = Instant::now();
        let request = Request {
            method: Method::GET,
            uri: Uri::from_static("/"),
            version: Version::HTTP_11,
            headers: HeaderMap::new(),
            scheme: "http",
            server: ("localhost".into(), 80),
            peer: None,
            body: RequestBody::Whole(Bytes::new()),
            arrived: now,
        };
        Box::new(Job { request, reply: oneshot::channel().0, queued: now })
    }

    fn queue_with(jobs: usize) -> Queue {
        let queue = Queue::new(100, PATIENCE);
        (0..jobs).for_each(|_| assert!(queue.push(job()).is_ok()));
        queue
    }

    fn attention(queue: &Queue, id: WorkerId) -> Option<Instant> {
        match queue.take(id, None, || false) {
            Taken::Job(_, attention) => attention,
            _ => panic!("there is a job"),
        }
    }

    /// A thread that pushes several jobs wakes one worker and leaves the rest to it; if that worker finds none to pass
    /// them on to, the watchdog must be told, or no other thread is made for them.
    #[test]
    fn a_worker_that_leaves_jobs_to_nobody_says_when_to_look_after_them() {
        let queue = queue_with(2);
        let only = queue.register();
        assert!(attention(&queue, only).is_some_and(|at| at <= Instant::now() + PATIENCE));
        assert_eq!(attention(&queue, only), None, "nothing was left");
    }

    #[test]
    fn jobs_left_to_a_worker_on_its_way_up_need_no_watchdog() {
        let queue = queue_with(3);
        let (busy, parked) = (queue.register(), queue.register());
        queue.lock().parking.park(parked, thread::current());
        // Jobs count as long until they are seen to be short, so the parked worker is woken for what is left.
        assert_eq!(attention(&queue, busy), None);
        assert!(queue.lock().parking.waking && queue.lock().parking.waiting() == 0);
        assert_eq!(attention(&queue, busy), None, "the woken worker is still on its way");
    }

    /// A reload sets the generation and wakes every worker. One that has just found itself up to date, and has not
    /// parked yet, must be woken too: it checks under the lock that the wake-up takes.
    #[test]
    fn a_reload_between_the_question_and_the_parking_is_not_missed() {
        let queue = Arc::new(queue_with(0));
        let id = queue.register();
        let (woken, is_woken) = std::sync::mpsc::channel();
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let asked = std::cell::Cell::new(0);
                let taken = queue.take(id, None, || {
                    asked.set(asked.get() + 1);
                    if asked.get() == 1 {
                        // The check says no, and before the worker acts on it the reload wakes all of them.
                        let (waking, woken) = (Arc::clone(&queue), woken.clone());
                        let waker = thread::spawn(move || {
                            waking.wake_all();
                            let _ = woken.send(());
                        });
                        // Without the lock the other thread is done at once; with it, that thread waits until this
                        // worker is parked.
                        let deadline = Instant::now() + Duration::from_secs(30);
                        while queue.inner.try_lock().is_ok() && !waker.is_finished() && Instant::now() < deadline {
                            thread::yield_now();
                        }
                    }
                    asked.get() > 1
                });
                matches!(taken, Taken::Interrupted)
            })
        };
        is_woken.recv_timeout(Duration::from_secs(60)).expect("the reload goes on");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !worker.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(worker.is_finished(), "the worker sleeps though its application was replaced");
        assert!(worker.join().unwrap());
    }

    #[test]
    fn a_worker_that_is_interrupted_passes_the_wake_up_on() {
        let queue = queue_with(1);
        let (outdated, parked) = (queue.register(), queue.register());
        queue.lock().parking.park(parked, thread::current());
        assert!(matches!(queue.take(outdated, None, || true), Taken::Interrupted));
        assert!(!queue.lock().parking.is_parked(parked), "the other one was chosen for the job");
    }
}
