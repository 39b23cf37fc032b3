//! Interpreter threads and the bounded queue in front of them.
//!
//! Each thread makes its own worker and keeps it. A worker that panics is replaced, and so is a thread that cannot be
//! stopped ([`members`]); while threads wait for clients or sleep, others are made for what is queued. A reload is
//! first tried on a thread of its own, so a broken application never replaces one that works; then the threads change
//! over one after the other while the rest go on serving. The pool knows nothing of HTTP beyond the 503 for a request
//! that waited too long.

mod inline;
mod members;
mod pace;
mod parking;
mod policy;
mod queue;
mod reactor;
mod saturation;
mod watchdog;

pub use reactor::Reactor;

use anyhow::Context;
use foolsgold_core::work::{Application, Job, RequestOutcome, Response, Timings, Worker};
use http::StatusCode;
use inline::InlineReactor;
use members::{Kind, Member, Members};
use parking::WorkerId;
use policy::LATE;
use queue::{Queue, Taken};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use watchdog::{Watchdog, WatchedSlot};

/// Stack of an interpreter thread: mruby's parser and recursive Ruby code need far more than Rust's 2 MiB.
const STACK: usize = 16 << 20;

/// How long a reload waits for threads to change over.
const CHANGE_OVER: Duration = Duration::from_secs(2);

/// How a pool is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Interpreter threads, at least one.
    pub threads: usize,
    /// The most of them, counting those made while others wait for clients or sleep.
    pub most: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// How long a request may wait before it is refused with 503.
    pub patience: Duration,
}

/// Receives what the pool cannot report otherwise: a worker that died, a reload that failed.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// The interpreter threads; dropping it ends them.
pub struct Pool {
    shared: Arc<Shared>,
    watchdog: Mutex<Option<JoinHandle<()>>>,
    /// One reload at a time.
    reloading: Mutex<()>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.shared.options.threads).finish_non_exhaustive()
    }
}

struct Shared {
    options: Options,
    queue: Queue,
    watchdog: Arc<Watchdog>,
    /// The current application and its state.
    current: Mutex<Current>,
    /// Notified whenever a thread has a worker, or will never have one.
    changed: Condvar,
    generation: AtomicU64,
    /// Held by the thread that replaces its worker, so that the others serve meanwhile.
    turn: Mutex<()>,
    busy: AtomicUsize,
    died: AtomicU64,
    members: Members,
    /// Notified when no worker is left and none can be made.
    failed: Notify,
    report: Report,
}

struct Current {
    application: Arc<dyn Application>,
    /// Threads that have a worker of the current application.
    ready: usize,
    /// Why the first thread has none.
    failure: Option<anyhow::Error>,
}

/// Points at which a reload may intervene. The tests do their worst there; otherwise nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A thread has taken the application for its new worker.
    ApplicationTaken,
    /// A thread that keeps its old worker has recorded the new generation for it.
    GenerationKept,
    /// A reload has set the new application, but not its generation yet.
    ApplicationSet,
}

#[cfg(not(test))]
fn at(_: &Shared, _: Place) {}
#[cfg(test)]
use tests::at;

/// Figures for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Threads that have a worker of the current application and can take work, now or after the present request.
    pub ready: usize,
    /// Threads that have a worker of any application and can take work.
    pub able: usize,
    /// Threads that were given up and have not come back.
    pub lost: usize,
    /// Threads at work now.
    pub busy: usize,
    /// Requests that wait.
    pub queued: usize,
    /// Workers that panicked or could not be stopped, and were replaced.
    pub died: u64,
    /// Requests that waited too long.
    pub expired: u64,
    /// How often the application was replaced.
    pub reloads: u64,
}

impl Pool {
    /// Starts the threads and waits until the first has its worker; meanwhile the others make theirs one after the
    /// other.
    ///
    /// # Errors
    /// If the application cannot be loaded, or the system cannot create a thread.
    pub fn start(options: Options, application: Arc<dyn Application>, report: Report) -> anyhow::Result<Pool> {
        let shared = Arc::new(Shared {
            options,
            queue: Queue::new(options.queue, options.patience),
            watchdog: Arc::default(),
            current: Mutex::new(Current { application, ready: 0, failure: None }),
            changed: Condvar::new(),
            generation: AtomicU64::new(0),
            turn: Mutex::default(),
            busy: AtomicUsize::new(0),
            died: AtomicU64::new(0),
            members: Members::new(&options),
            failed: Notify::new(),
            report,
        });
        let watched = Arc::clone(&shared);
        let watchdog = spawn("watchdog", 256 << 10, move || {
            watched.watchdog.run(&watched.queue, watched.options.patience, &watched);
        })?;
        let pool = Pool { shared, watchdog: Mutex::new(Some(watchdog)), reloading: Mutex::default() };
        for _ in 0..options.threads.max(1) {
            members::add(&pool.shared, Kind::First)?;
        }
        pool.await_first()?;
        Ok(pool)
    }

    fn await_first(&self) -> anyhow::Result<()> {
        let mut current = lock(&self.shared.current);
        while current.ready == 0 {
            if let Some(failure) = current.failure.take() {
                return Err(failure);
            }
            current = self.shared.changed.wait(current).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Queues a job. No thread is woken for it before [`Pool::wake_workers`]: a caller with several jobs queues them
    /// all first.
    ///
    /// # Errors
    /// Returns the job if the queue is full or the pool is closed.
    pub fn submit(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        self.shared.queue.push(job)
    }

    /// Makes sure that a worker takes what was queued.
    pub fn wake_workers(&self) {
        if let Some(at) = self.shared.queue.wake_one() {
            self.shared.look_by(at);
        }
    }

    /// Whether jobs are so short that the thread that runs the connections should do them as well ([`Pool::hand_off`]).
    pub fn prefers_inline(&self) -> bool {
        self.shared.queue.pace.prefers_inline()
    }

    /// Hands connections to a worker, which runs them until it returns them. No other thread may drive them meanwhile.
    /// Returns whether one does: there has to be an idle worker, and a job for it.
    pub fn hand_off(&self, reactor: &Arc<dyn Reactor>) -> bool {
        self.shared.queue.hand_off(reactor)
    }

    /// Waits until no worker is left and none can be made: every thread was given up, and no other can be started.
    pub async fn failed(&self) {
        self.shared.failed.notified().await;
    }

    /// Whether jobs wait.
    pub fn has_waiting(&self) -> bool {
        self.shared.queue.len() > 0
    }

    /// Replaces the application. The new one is tried first on a thread of its own; then each interpreter thread
    /// changes over. Returns when all have, or after a while: a thread that works on a long request changes over when
    /// that is done.
    ///
    /// # Errors
    /// If the new application cannot be loaded: the old one goes on serving.
    pub fn reload(&self, application: Arc<dyn Application>) -> anyhow::Result<()> {
        let _one = lock(&self.reloading);
        let trial = Arc::clone(&application);
        let slot = self.shared.watchdog.slot();
        let trial = spawn("reload", STACK, move || trial.worker(slot).map(drop))?;
        trial.join().map_err(|_| anyhow::anyhow!("the new application panicked while it was loaded"))??;
        self.shared.put_in_force(application);
        let deadline = Instant::now() + CHANGE_OVER;
        let mut current = lock(&self.shared.current);
        while current.ready < self.shared.members.alive() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(current, left);
            current = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// The current figures.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let overdue = self.shared.watchdog.overdue();
        let able = self.shared.members.able().saturating_sub(overdue);
        Stats {
            ready: lock(&self.shared.current).ready.min(able),
            able,
            lost: self.shared.members.lost(),
            busy: self.shared.busy.load(Ordering::Relaxed),
            queued: self.shared.queue.len(),
            died: self.shared.died.load(Ordering::Relaxed),
            expired: self.shared.watchdog.expired(),
            reloads: self.shared.generation.load(Ordering::Relaxed),
        }
    }

    /// Takes no more jobs; what is queued is still done. Waits for the threads until `deadline`, and returns whether
    /// all of them ended.
    pub fn close(&self, deadline: Instant) -> bool {
        self.shared.queue.close();
        while self.shared.members.still_running() > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let all_ended = self.shared.members.still_running() == 0;
        self.shared.watchdog.close();
        if let Some(watchdog) = lock(&self.watchdog).take() {
            let _ = watchdog.join();
        }
        all_ended
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue.close();
        self.shared.watchdog.close();
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    stack: usize,
    run: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(stack);
    builder.spawn(run).with_context(|| format!("the system gives no thread for `{name}`"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Replaces the current application, and wakes every worker to change over.
    fn put_in_force(&self, application: Arc<dyn Application>) {
        let mut current = lock(&self.current);
        // All three under one lock: a reader sees an application with its own generation and count.
        current.application = application;
        at(self, Place::ApplicationSet);
        current.ready = 0;
        self.generation.fetch_add(1, Ordering::Release);
        drop(current);
        // A worker holds the queue's lock from checking whether it is outdated until it is listed as parked: so it
        // either checks after the generation was set, or is found here.
        self.queue.wake_all();
    }

    /// Jobs were left without a worker: the watchdog checks on them by then, or sooner if it may add a thread for them.
    fn look_by(&self, at: Instant) {
        let soon = self.members.can_grow(&self.watchdog).then(|| Instant::now() + LATE);
        self.watchdog.wake_by(soon.map_or(at, |soon| soon.min(at)));
    }
}

impl watchdog::Keeper for Arc<Shared> {
    fn refuse(&self, job: Job) {
        let timings = Timings {
            queued: job.queued.elapsed(),
            ruby: Duration::ZERO,
            outcome: RequestOutcome::Expired,
            mode: None,
        };
        let _ = job.reply.send((busy(), timings));
    }

    fn lost(&self, thread: &Arc<AtomicBool>, request: Option<String>) {
        members::lost(self, thread, request);
    }

    fn can_grow(&self) -> bool {
        self.members.can_grow(&self.watchdog)
    }

    fn grow(&self) {
        members::grow(self);
    }
}

/// A worker and the generation of the application that it belongs to.
struct LoadedWorker {
    worker: Box<dyn Worker>,
    generation: u64,
}

/// The main loop of one interpreter thread.
fn serve(shared: &Arc<Shared>, member: &Member) {
    let guard = shared.watchdog.slot();
    let slot = shared.watchdog.slot_of_thread(&guard, &member.is_lost);
    let Some(mut loaded) = first_worker(shared, &slot, member) else { return };
    member.mark_able(loaded.generation);
    let id = shared.queue.register();
    serve_with(shared, &guard, &slot, &mut loaded, id, member);
    shared.queue.deregister(id);
}

/// Runs until the pool is closed, or the thread is surplus or lost.
fn serve_with(
    shared: &Arc<Shared>,
    guard: &Arc<WatchedSlot>,
    slot: &Arc<WatchedSlot>,
    loaded: &mut LoadedWorker,
    id: WorkerId,
    member: &Member,
) {
    let mut inline: Option<InlineReactor> = None;
    loop {
        let is_outdated = || shared.generation.load(Ordering::Acquire) != loaded.generation;
        let turn = inline.as_ref().map(InlineReactor::turn);
        match shared.queue.take(id, turn.as_ref(), is_outdated) {
            Taken::Closed | Taken::Surplus => return,
            Taken::Interrupted => {
                inline = None;
                change_over(shared, slot, loaded);
                member.mark_able(loaded.generation);
            }
            Taken::Reactor(reactor) => inline = Some(InlineReactor::new(reactor, guard)),
            Taken::Inline => {
                inline = inline.and_then(InlineReactor::drive);
                if inline.as_mut().is_some_and(InlineReactor::is_saturated) {
                    shared.queue.pace.pause_inline();
                    inline = None;
                }
            }
            Taken::Job(job, attention) => {
                if let Some(at) = attention {
                    shared.look_by(at);
                }
                let goes_on = work(shared, slot, loaded, job, member);
                // The watchdog sets this only under the lock of a run that has not ended: so not from here on.
                if !goes_on || member.was_lost() {
                    return;
                }
                if shared.queue.pace.outgrows_inline() {
                    inline = None;
                }
            }
        }
    }
}

/// The worker that a thread starts with. `None` if the application cannot be loaded or the pool is closed.
fn first_worker(shared: &Shared, slot: &Arc<WatchedSlot>, member: &Member) -> Option<LoadedWorker> {
    if member.kind == Kind::Replacement {
        return make_until_closed(shared, slot);
    }
    let _turn = lock(&shared.turn);
    if shared.queue.is_closed() || lock(&shared.current).failure.is_some() {
        return None;
    }
    match make(shared, slot) {
        Ok(loaded) => Some(loaded),
        Err(failure) => {
            let mut current = lock(&shared.current);
            if current.ready > 0 || member.kind == Kind::Surplus {
                (shared.report)(&format!("an interpreter thread could not load the application: {failure:#}"));
                shared.members.grow_no_more();
            } else {
                current.failure = Some(failure);
            }
            drop(current);
            shared.changed.notify_all();
            None
        }
    }
}

fn make(shared: &Shared, slot: &Arc<WatchedSlot>) -> anyhow::Result<LoadedWorker> {
    let (application, generation) = {
        let current = lock(&shared.current);
        (Arc::clone(&current.application), shared.generation.load(Ordering::Acquire))
    };
    at(shared, Place::ApplicationTaken);
    let slot = Arc::clone(slot);
    let worker = catch_unwind(AssertUnwindSafe(|| application.worker(slot)))
        .unwrap_or_else(|_| Err(anyhow::anyhow!("the application panicked while it was loaded")))?;
    let mut current = lock(&shared.current);
    if shared.generation.load(Ordering::Acquire) == generation {
        current.ready += 1;
    }
    drop(current);
    shared.changed.notify_all();
    Ok(LoadedWorker { worker, generation })
}

/// Replaces the worker by one of the new application. It was tried before, so a failure here is rare (no memory): then
/// the old worker goes on, and counts as changed over.
fn change_over(shared: &Shared, slot: &Arc<WatchedSlot>, loaded: &mut LoadedWorker) {
    let _turn = lock(&shared.turn);
    match make(shared, slot) {
        Ok(new) => *loaded = new,
        Err(failure) => {
            (shared.report)(&format!("an interpreter thread keeps the old application: {failure:#}"));
            // Under the lock: a reload in between would set `ready` to 0 for its own generation, and this thread would
            // be counted in it twice, now and when it changes over again.
            let mut current = lock(&shared.current);
            loaded.generation = shared.generation.load(Ordering::Acquire);
            at(shared, Place::GenerationKept);
            current.ready += 1;
            drop(current);
            shared.changed.notify_all();
        }
    }
}

/// Runs one job. Returns whether the thread can go on.
fn work(shared: &Shared, slot: &Arc<WatchedSlot>, loaded: &mut LoadedWorker, job: Box<Job>, member: &Member) -> bool {
    if job.reply.is_closed() {
        return true;
    }
    shared.busy.fetch_add(1, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(|| loaded.worker.work(*job)));
    shared.busy.fetch_sub(1, Ordering::Relaxed);
    done.is_ok() || (!member.was_lost() && replace(shared, slot, loaded, member))
}

/// Replaces a worker that panicked, trying until it succeeds.
fn replace(shared: &Shared, slot: &Arc<WatchedSlot>, loaded: &mut LoadedWorker, member: &Member) -> bool {
    shared.died.fetch_add(1, Ordering::Relaxed);
    (shared.report)("a worker panicked and is replaced");
    slot.clear();
    member.mark_unable();
    let Some(new) = make_until_closed(shared, slot) else { return false };
    let old = std::mem::replace(loaded, new);
    // What is left of it may be broken enough to panic again.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(old)));
    member.mark_able(loaded.generation);
    true
}

/// Makes a worker, trying until it succeeds; `None` once the pool is closed.
fn make_until_closed(shared: &Shared, slot: &Arc<WatchedSlot>) -> Option<LoadedWorker> {
    let mut pause = Duration::from_millis(10);
    while !shared.queue.is_closed() {
        match make(shared, slot) {
            Ok(new) => return Some(new),
            Err(failure) => (shared.report)(&format!("no new worker, trying again: {failure:#}")),
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(5));
    }
    None
}

/// The answer to a request that cannot be served now.
#[must_use]
pub fn busy() -> Response {
    Response::words(StatusCode::SERVICE_UNAVAILABLE, "The server is busy. Try again in a moment.\n")
}

#[cfg(test)]
mod tests;
