//! The registry of the interpreter threads.
//!
//! There are as many as configured ([`Kind::First`]). While some of them wait for a client or sleep, so that fewer can
//! work, others are made for what is queued ([`Kind::Surplus`]); they end after a while without work.
//!
//! A thread that was stopped and does not return within another budget is lost: it takes no more jobs, ends when it
//! does return, and another one takes its place ([`Kind::Replacement`]). It holds its memory until then, so at most
//! [`MOST_LOST`] such threads are replaced. Once every thread is lost nothing can be served any more; then the pool
//! reports it, and the process ends.

use super::watchdog::Watchdog;
use super::{Options, STACK, Shared, lock, serve, spawn};
use rustix::process::Pid;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// How many lost threads are replaced at any one time.
const MOST_LOST: usize = 8;

/// The priority of a lost thread: it gets what time the others leave.
const LEAST_PRIORITY: i32 = 19;

/// Why a thread was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// At the start: if none of these can load the application, startup fails.
    First,
    /// Others wait for something.
    Surplus,
    /// Another one was lost.
    Replacement,
}

/// One thread.
pub(super) struct Member {
    shared: Arc<Shared>,
    pub(super) kind: Kind,
    /// The thread cannot be stopped; set once, by the watchdog.
    pub(super) is_lost: Arc<AtomicBool>,
    /// Counted in [`Members::able`].
    able: AtomicBool,
    /// The generation of the application that its worker belongs to.
    generation: AtomicU64,
    /// Counted in [`Members::lost`] and no longer in [`Members::alive`]. Changed under the lock of the list.
    is_given_up: AtomicBool,
    thread: OnceLock<Pid>,
}

/// All of them.
pub(super) struct Members {
    threads: usize,
    /// The most threads there may be.
    most: AtomicUsize,
    /// Threads that run and are not lost, including those that have no worker yet.
    alive: AtomicUsize,
    /// Those among them that have a worker.
    able: AtomicUsize,
    lost: AtomicUsize,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    members: Vec<Arc<Member>>,
    /// How many were ever made, for their names.
    made: usize,
}

impl Members {
    pub(super) fn new(options: &Options) -> Members {
        let threads = options.threads.max(1);
        Members {
            threads,
            most: AtomicUsize::new(options.most.max(threads)),
            alive: AtomicUsize::new(0),
            able: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            list: Mutex::default(),
        }
    }

    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub(super) fn able(&self) -> usize {
        self.able.load(Ordering::SeqCst)
    }

    pub(super) fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }

    /// Threads that are worth waiting for.
    pub(super) fn still_running(&self) -> usize {
        self.alive()
    }

    /// Whether fewer threads can work than were configured, because the others wait, and another one may be made. A
    /// thread that was just made counts as working, so they are added one at a time.
    pub(super) fn can_grow(&self, watchdog: &Watchdog) -> bool {
        let alive = self.alive();
        alive < self.most.load(Ordering::SeqCst) && alive.saturating_sub(watchdog.waiting()) < self.threads
    }

    /// The system has no room for more threads than there are now.
    pub(super) fn grow_no_more(&self) {
        self.most.store(self.alive().saturating_sub(1).max(self.threads), Ordering::SeqCst);
    }
}

impl Member {
    /// The thread has a worker of this application. The caller that made it counts it as ready.
    pub(super) fn mark_able(&self, generation: u64) {
        self.generation.store(generation, Ordering::SeqCst);
        if !self.able.swap(true, Ordering::SeqCst) {
            self.shared.members.able.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The thread has no worker any more, or cannot be used. Subtracted once, by the thread itself or by the watchdog.
    pub(super) fn mark_unable(&self) {
        if !self.able.swap(false, Ordering::SeqCst) {
            return;
        }
        self.shared.members.able.fetch_sub(1, Ordering::SeqCst);
        let mut current = lock(&self.shared.current);
        if self.shared.generation.load(Ordering::Acquire) == self.generation.load(Ordering::SeqCst) {
            current.ready = current.ready.saturating_sub(1);
        }
    }

    pub(super) fn was_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// The thread ends, for whatever reason.
    fn ends(&self) {
        self.mark_unable();
        let members = &self.shared.members;
        // Under the lock of the list, as in `give_up`: the thread is subtracted once, from the count that it is in.
        let mut list = lock(&members.list);
        list.members.retain(|other| !std::ptr::eq(&raw const **other, self));
        let counted = if self.is_given_up.load(Ordering::SeqCst) { &members.lost } else { &members.alive };
        counted.fetch_sub(1, Ordering::SeqCst);
        drop(list);
        self.shared.changed.notify_all();
    }

    /// The thread takes no more jobs. If it is no longer in the list, it has just returned and ended.
    fn give_up(&self) {
        self.mark_unable();
        let members = &self.shared.members;
        let list = lock(&members.list);
        if list.members.iter().any(|other| std::ptr::eq(&raw const **other, self)) {
            self.is_given_up.store(true, Ordering::SeqCst);
            members.alive.fetch_sub(1, Ordering::SeqCst);
            members.lost.fetch_add(1, Ordering::SeqCst);
        }
        drop(list);
        // Its result is no longer wanted. Threads have separate priorities on Linux (setpriority(2), notes).
        if let Some(thread) = self.thread.get() {
            let _ = rustix::process::setpriority_process(Some(*thread), LEAST_PRIORITY);
        }
    }
}

/// Ends a member even if its thread panics.
struct Ending(Arc<Member>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ends();
    }
}

/// Starts a thread.
///
/// # Errors
/// If the system cannot create one.
pub(super) fn add(shared: &Arc<Shared>, kind: Kind) -> anyhow::Result<()> {
    let members = &shared.members;
    let member = Arc::new(Member {
        shared: Arc::clone(shared),
        kind,
        is_lost: Arc::default(),
        able: AtomicBool::new(false),
        generation: AtomicU64::new(0),
        is_given_up: AtomicBool::new(false),
        thread: OnceLock::new(),
    });
    let mut list = lock(&members.list);
    let name = format!("ruby-{}", list.made);
    list.made += 1;
    // Before it runs, so that the count is never too low.
    members.alive.fetch_add(1, Ordering::SeqCst);
    list.members.push(Arc::clone(&member));
    drop(list);
    let own = Ending(Arc::clone(&member));
    // If the thread cannot be created, the closure is dropped and ends the member.
    spawn(&name, STACK, move || {
        let _ = own.0.thread.set(rustix::thread::gettid());
        serve(&own.0.shared, &own.0);
    })
    .map(drop)
}

/// Adds a thread because others wait.
pub(super) fn grow(shared: &Arc<Shared>) {
    shared.queue.add_surplus();
    if let Err(failure) = add(shared, Kind::Surplus) {
        shared.queue.take_surplus();
        shared.members.grow_no_more();
        (shared.report)(&format!("no more threads than there are: {failure:#}"));
    }
}

/// The thread with this flag cannot be stopped; `request` is what it works on. Called by the watchdog, once for each
/// thread.
pub(super) fn lost(shared: &Arc<Shared>, thread: &Arc<AtomicBool>, request: Option<String>) {
    let members = &shared.members;
    let member = lock(&members.list).members.iter().find(|member| Arc::ptr_eq(&member.is_lost, thread)).map(Arc::clone);
    if let Some(member) = member {
        member.give_up();
    }
    shared.died.fetch_add(1, Ordering::Relaxed);
    let lost = members.lost();
    // A surplus thread takes the place of the lost one: then none has to be started.
    let replaced = shared.queue.take_surplus() || (lost <= MOST_LOST && add(shared, Kind::Replacement).is_ok());
    let request = request.unwrap_or_else(|| "a request".to_owned());
    let then = if replaced { "is replaced" } else { "is not replaced" };
    (shared.report)(&format!("{request}: cannot be stopped; its interpreter {then} ({lost} lost now)"));
    if members.alive() == 0 {
        (shared.report)("every interpreter is lost, and no more may be started");
        shared.failed.notify_one();
    }
}
