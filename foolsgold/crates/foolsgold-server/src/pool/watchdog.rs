//! One thread that stops what runs too long, gives up what cannot be stopped, and refuses what waits too long.
//!
//! It sleeps until the next known deadline. A worker that begins wakes it only if its own deadline is nearer, so a busy
//! server pays one comparison for each request, and an idle one has no thread that wakes up.
//!
//! Invariants:
//!
//! - `next` is never later than the nearest deadline unless the watchdog is about to look: it is `u64::MAX` while the
//!   watchdog looks, so that a worker that begins meanwhile unparks it, and is set to the deadline found right before it
//!   parks.
//! - A run is stopped, lost or ended under the lock of its slot: it is stopped at most once, and either ends or is lost.
//! - A thread is counted in [`Watchdog::waiting`] by its own slot only, under that lock, and never once it is lost: code
//!   that subtracts the waiting from the living must not subtract a thread that is not among them.

use super::policy::LATE;
use super::queue::Queue;
use foolsgold_core::work::{Job, Loss, Slot};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long it stays awake after the last worker ended, so that busy moments far apart rarely wake it.
const LINGER: Duration = Duration::from_secs(1);

/// A stopped run has its budget once more to come back, and at least this: a machine under load may not schedule its
/// thread for a while.
const LEAST_GRACE: Duration = Duration::from_secs(1);

/// After this long, a run that was stopped and has not come back keeps its thread from work.
const OVERDUE: Duration = Duration::from_millis(100);

/// What the watchdog asks of the pool.
pub(super) trait Keeper {
    /// A job waited too long.
    fn refuse(&self, job: Job);
    /// A thread cannot be stopped and takes no more jobs: the one with this flag. `request` is what it works on, if
    /// that is known.
    fn lost(&self, thread: &Arc<AtomicBool>, request: Option<String>);
    /// Whether another thread may be made because others wait for something outside.
    fn can_grow(&self) -> bool;
    /// Adds it.
    fn grow(&self);
}

pub(super) struct Watchdog {
    slots: Mutex<Vec<Weak<WatchedSlot>>>,
    /// Interpreter threads that wait for a client or sleep.
    waiting: AtomicUsize,
    base: Instant,
    /// Microseconds after `base` at which it looks again; with `u64::MAX`, when it is woken.
    next: AtomicU64,
    thread: OnceLock<Thread>,
    closed: AtomicBool,
    expired: AtomicU64,
}

impl Default for Watchdog {
    fn default() -> Watchdog {
        Watchdog {
            slots: Mutex::default(),
            waiting: AtomicUsize::new(0),
            base: Instant::now(),
            next: AtomicU64::new(0),
            thread: OnceLock::new(),
            closed: AtomicBool::new(false),
            expired: AtomicU64::new(0),
        }
    }
}

/// One worker's slot in the watchdog.
pub(super) struct WatchedSlot {
    watchdog: Arc<Watchdog>,
    run: Mutex<Option<Run>>,
    /// What only an interpreter thread's worker has.
    thread: Option<OfThread>,
}

struct OfThread {
    /// Stopped as soon as the worker waits for something outside.
    guard: Arc<WatchedSlot>,
    /// Set once the thread cannot be stopped.
    is_lost: Arc<AtomicBool>,
    /// Counted in [`Watchdog::waiting`].
    waits: AtomicBool,
}

struct Run {
    deadline: Instant,
    budget: Duration,
    on_loss: Option<Loss>,
    /// Its result is no longer waited for.
    is_lost: bool,
    /// It is lost, and the pool no longer counts its thread among those that can serve.
    is_counted: bool,
    stop: Arc<dyn Fn() + Send + Sync>,
    paused: Option<Instant>,
    stopped: bool,
}

impl Watchdog {
    /// Adds a slot.
    pub(super) fn slot(self: &Arc<Self>) -> Arc<WatchedSlot> {
        self.add(None)
    }

    /// The same, for the worker of an interpreter thread. `guard` hands back connections that the thread runs, and is
    /// stopped when Ruby waits for something outside; `is_lost` is set when the worker cannot be stopped.
    pub(super) fn slot_of_thread(
        self: &Arc<Self>,
        guard: &Arc<WatchedSlot>,
        is_lost: &Arc<AtomicBool>,
    ) -> Arc<WatchedSlot> {
        let (guard, is_lost) = (Arc::clone(guard), Arc::clone(is_lost));
        self.add(Some(OfThread { guard, is_lost, waits: AtomicBool::new(false) }))
    }

    fn add(self: &Arc<Self>, thread: Option<OfThread>) -> Arc<WatchedSlot> {
        let slot = Arc::new(WatchedSlot { watchdog: Arc::clone(self), run: Mutex::default(), thread });
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_micros()).unwrap_or(u64::MAX)
    }

    /// Makes it look at `deadline` at the latest.
    pub(super) fn wake_by(&self, deadline: Instant) {
        if self.micros(deadline) < self.next.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Makes it look at once.
    pub(super) fn wake(&self) {
        self.wake_by(self.base);
    }

    /// Interpreter threads that wait for a client or sleep.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Interpreter threads that were stopped a while ago and have not come back, but are not given up yet.
    pub(super) fn overdue(&self) -> usize {
        let now = Instant::now();
        self.all_slots().iter().filter(|slot| slot.is_overdue(now)).count()
    }

    /// Requests that waited too long.
    pub(super) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            // After `closed`: a watchdog that was about to park returns at once and finds it.
            thread.unpark();
        }
    }

    /// The thread's main loop.
    pub(super) fn run(&self, queue: &Queue, patience: Duration, keeper: &impl Keeper) {
        let _ = self.thread.set(thread::current());
        let mut last_seen = self.base;
        while !self.closed.load(Ordering::SeqCst) {
            // Before the slots are read: a worker that begins from here on finds this and unparks the thread, and one
            // that began earlier is seen below. An unpark before the park below is kept as its token.
            self.next.store(u64::MAX, Ordering::SeqCst);
            let now = Instant::now();
            let nearest = self.stop_late(now, keeper);
            let late = now.checked_sub(patience).map(|limit| queue.take_older(limit)).unwrap_or_default();
            self.expired.fetch_add(late.len() as u64, Ordering::Relaxed);
            late.into_iter().for_each(|job| keeper.refuse(job));
            queue.wake_for_late(now);
            if keeper.can_grow() && queue.needs_thread(now) {
                keeper.grow();
            }
            // Only after what was just woken or made has had time to take a job.
            let look_again = if keeper.can_grow() { LATE } else { patience };
            let waiting = queue.next_check(look_again).map(|at| at.max(now + LATE));
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

    fn all_slots(&self) -> Vec<Arc<WatchedSlot>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().filter_map(Weak::upgrade).collect()
    }

    /// Stops every run that is over its time, gives up those that were stopped and did not come back, and returns the
    /// nearest deadline of the others.
    fn stop_late(&self, now: Instant, keeper: &impl Keeper) -> Option<Instant> {
        let mut nearest = None;
        for slot in self.all_slots() {
            match slot.check(now) {
                Check::Done => {}
                Check::Again(at) => nearest = Some(nearest.map_or(at, |nearest: Instant| nearest.min(at))),
                // The slot's lock is free, so these calls may take their time.
                Check::Lost(thread, answer) => {
                    keeper.lost(&thread, answer.map(|answer| answer()));
                    slot.mark_counted();
                }
            }
        }
        nearest
    }
}

/// What is to be done about a run.
enum Check {
    Done,
    Again(Instant),
    Lost(Arc<AtomicBool>, Option<Loss>),
}

impl WatchedSlot {
    fn lock(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a run whose worker is gone, even if it was waiting.
    pub(super) fn clear(&self) {
        let mut run = self.lock();
        self.waits(&run, false);
        *run = None;
    }

    /// Stops the run if it is over its time. The lock is held meanwhile, so that [`Slot::end`] never returns before a
    /// stop that still belongs to this run, and so that a run either ends or is lost, never both.
    fn check(&self, now: Instant) -> Check {
        let mut guarded = self.lock();
        let Some(run) = guarded.as_mut().filter(|run| run.paused.is_none() && !run.is_lost) else { return Check::Done };
        if run.deadline > now {
            return Check::Again(run.deadline);
        }
        if !run.stopped {
            run.stop();
        }
        let Some(thread) = &self.thread else { return Check::Done };
        let limit = run.limit();
        if limit > now {
            return Check::Again(limit);
        }
        run.is_lost = true;
        thread.is_lost.store(true, Ordering::SeqCst);
        let answer = run.on_loss.take();
        self.waits(&guarded, false);
        Check::Lost(Arc::clone(&thread.is_lost), answer)
    }

    fn mark_counted(&self) {
        if let Some(run) = self.lock().as_mut().filter(|run| run.is_lost) {
            run.is_counted = true;
        }
    }

    /// Until the pool has counted a lost thread, it is overdue: between the two it can serve nothing either.
    fn is_overdue(&self, now: Instant) -> bool {
        let run = self.lock();
        let stopped = run.as_ref().filter(|run| run.stopped && !run.is_counted && run.paused.is_none());
        self.thread.is_some() && stopped.is_some_and(|run| now > run.deadline + OVERDUE)
    }

    /// Records whether its thread waits for something outside. Called with the slot's lock held, so that no other
    /// change comes between reading the run and counting.
    fn waits(&self, run: &MutexGuard<'_, Option<Run>>, waits: bool) {
        let Some(thread) = &self.thread else { return };
        let is_lost = run.as_ref().is_some_and(|run| run.is_lost);
        // The swap counts each change once, even if `pause` follows `sleeps`.
        if (waits && is_lost) || thread.waits.swap(waits, Ordering::SeqCst) == waits {
            return;
        }
        if waits {
            // The connections go back before the thread blocks: nothing else would run them until it is late.
            thread.guard.stop();
            self.watchdog.waiting.fetch_add(1, Ordering::SeqCst);
            // Another thread may now take the jobs that wait.
            self.watchdog.wake();
        } else {
            self.watchdog.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Stops the run regardless of its time.
    fn stop(&self) {
        if let Some(run) = self.lock().as_mut().filter(|run| !run.stopped) {
            run.stop();
        }
    }
}

impl Run {
    /// When the run is given up.
    fn limit(&self) -> Instant {
        self.deadline + self.budget.max(LEAST_GRACE)
    }

    fn stop(&mut self) {
        self.stopped = true;
        (self.stop)();
    }
}

impl Slot for WatchedSlot {
    fn begin(&self, budget: Duration, stop: Arc<dyn Fn() + Send + Sync>) {
        let deadline = Instant::now() + budget;
        let run = Run {
            deadline,
            budget,
            on_loss: None,
            is_lost: false,
            is_counted: false,
            stop,
            paused: None,
            stopped: false,
        };
        *self.lock() = Some(run);
        // After the run is in its slot: a watchdog that looks because of this finds it.
        self.watchdog.wake_by(deadline);
    }

    fn pause(&self) {
        let mut run = self.lock();
        self.waits(&run, true);
        if let Some(run) = run.as_mut() {
            run.paused.get_or_insert_with(Instant::now);
        }
    }

    fn resume(&self) {
        let mut run = self.lock();
        self.waits(&run, false);
        let Some(run) = run.as_mut() else { return };
        if let Some(since) = run.paused.take() {
            run.deadline += since.elapsed();
            // Even if it was stopped before: then the time at which it is given up has moved.
            self.watchdog.wake_by(run.deadline);
        }
    }

    fn sleeps(&self, sleeps: bool) {
        self.waits(&self.lock(), sleeps);
    }

    fn on_loss(&self, answer: Loss) {
        if let Some(run) = self.lock().as_mut() {
            run.on_loss = Some(answer);
        }
    }

    fn end(&self) -> bool {
        let mut run = self.lock();
        self.waits(&run, false);
        run.take().is_some_and(|run| run.stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot_of_thread(watchdog: &Arc<Watchdog>) -> Arc<WatchedSlot> {
        watchdog.slot_of_thread(&watchdog.slot(), &Arc::default())
    }

    #[test]
    fn a_thread_waits_once_however_often_it_says_so() {
        let watchdog = Arc::new(Watchdog::default());
        let slot = slot_of_thread(&watchdog);
        slot.begin(LEAST_GRACE, Arc::new(|| ()));
        slot.sleeps(true);
        slot.pause();
        assert_eq!(watchdog.waiting(), 1);
        slot.resume();
        slot.sleeps(false);
        assert_eq!(watchdog.waiting(), 0);
    }

    /// The pool makes another thread if too many of the living ones wait. A lost thread is not among the living, so it
    /// must not be subtracted.
    #[test]
    fn a_lost_thread_that_goes_on_to_sleep_is_not_among_those_that_wait() {
        let watchdog = Arc::new(Watchdog::default());
        let slot = slot_of_thread(&watchdog);
        slot.begin(Duration::ZERO, Arc::new(|| ()));
        assert!(matches!(slot.check(Instant::now()), Check::Again(_)), "it is stopped, and has time to come back");
        assert!(matches!(slot.check(Instant::now() + LEAST_GRACE * 2), Check::Lost(..)));
        slot.sleeps(true);
        assert_eq!(watchdog.waiting(), 0);
        assert!(slot.end(), "it was stopped");
    }

    #[test]
    fn a_lost_thread_is_overdue_until_the_pool_has_counted_it() {
        let watchdog = Arc::new(Watchdog::default());
        let slot = slot_of_thread(&watchdog);
        slot.begin(Duration::ZERO, Arc::new(|| ()));
        let late = Instant::now() + LEAST_GRACE * 2 + OVERDUE;
        assert!(matches!(slot.check(Instant::now()), Check::Again(_)), "it is stopped");
        assert!(matches!(slot.check(late), Check::Lost(..)));
        assert!(slot.is_overdue(late), "the pool still counts it");
        slot.mark_counted();
        assert!(!slot.is_overdue(late), "it would be subtracted twice");
    }

    #[test]
    fn a_worker_that_panics_while_it_waits_does_not_wait_for_ever() {
        let watchdog = Arc::new(Watchdog::default());
        let slot = slot_of_thread(&watchdog);
        slot.begin(LEAST_GRACE, Arc::new(|| ()));
        slot.sleeps(true);
        slot.clear();
        assert_eq!(watchdog.waiting(), 0);
    }
}
