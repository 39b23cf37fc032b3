//! Provokes each race of a reload that the comments name: another reload comes at a [`Place`] in between.

use super::*;
use foolsgold_core::work::Slot;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::mpsc;

type Hook = Arc<dyn Fn(&Shared, Place) + Send + Sync>;

/// What happens in between, by the address of the pool's state: tests run in parallel.
static HOOKS: LazyLock<Mutex<HashMap<usize, Hook>>> = LazyLock::new(Mutex::default);

fn address(shared: &Shared) -> usize {
    std::ptr::from_ref(shared).addr()
}

pub(super) fn at(shared: &Shared, place: Place) {
    let hook = lock(&HOOKS).get(&address(shared)).cloned();
    if let Some(hook) = hook {
        hook(shared, place);
    }
}

/// Runs `act` the first time a thread reaches a place.
fn once_at(pool: &Pool, place: Place, act: impl Fn(&Shared) + Send + Sync + 'static) {
    let is_over = AtomicBool::new(false);
    let hook = move |shared: &Shared, here: Place| {
        if here == place && !is_over.swap(true, Ordering::SeqCst) {
            act(shared);
        }
    };
    lock(&HOOKS).insert(address(&pool.shared), Arc::new(hook));
}

/// An application that can be loaded this many times.
struct Loads(AtomicUsize);

impl Loads {
    fn new(times: usize) -> Arc<Loads> {
        Arc::new(Loads(AtomicUsize::new(times)))
    }
}

struct Idle;

impl Worker for Idle {
    fn work(&mut self, _: Job) {}
}

impl Application for Loads {
    fn worker(self: Arc<Self>, _: Arc<dyn Slot>) -> anyhow::Result<Box<dyn Worker>> {
        let less = |left: usize| left.checked_sub(1);
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        left.map(|_| Box::new(Idle) as Box<dyn Worker>).map_err(|_| anyhow::anyhow!("no memory"))
    }
}

const MANY: usize = 1000;

fn pool(threads: usize) -> Pool {
    let options = Options { threads, most: threads, queue: 10, patience: Duration::from_secs(3600) };
    Pool::start(options, Loads::new(MANY), Arc::new(|_| {})).expect("it loads")
}

/// Runs `work` on another thread and returns once it is done, or blocked by the lock.
fn as_far_as_the_lock_allows(shared: &Shared, work: impl FnOnce() + Send + 'static) {
    let other = thread::spawn(work);
    while shared.current.try_lock().is_ok() && !other.is_finished() {
        thread::yield_now();
    }
}

/// The number of ready workers once it no longer changes: every thread is parked again.
fn ready_when_settled(pool: &Pool, generation: u64) -> usize {
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_settled = || {
        let parked = pool.shared.queue.parked();
        pool.shared.generation.load(Ordering::SeqCst) == generation && parked == pool.shared.options.threads
    };
    while !(is_settled() && lock(&pool.shared.current).ready > 0) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    lock(&HOOKS).remove(&address(&pool.shared));
    lock(&pool.shared.current).ready
}

#[test]
fn a_worker_of_an_application_that_was_replaced_meanwhile_is_not_ready() {
    let pool = pool(1);
    once_at(&pool, Place::ApplicationTaken, |shared| shared.put_in_force(Loads::new(MANY)));
    pool.reload(Loads::new(MANY)).expect("it loads");
    assert_eq!(ready_when_settled(&pool, 2), 1, "one thread, counted once");
}

#[test]
fn a_thread_that_keeps_the_old_application_is_not_counted_for_two_reloads() {
    let pool = pool(1);
    let shared = Arc::downgrade(&pool.shared);
    once_at(&pool, Place::GenerationKept, move |held| {
        let shared = shared.clone();
        as_far_as_the_lock_allows(held, move || {
            if let Some(shared) = shared.upgrade() {
                shared.put_in_force(Loads::new(MANY));
            }
        });
    });
    // Once for the trial, and never for the thread.
    pool.reload(Loads::new(1)).expect("it loads");
    assert_eq!(ready_when_settled(&pool, 2), 1, "one thread, counted once");
}

#[test]
fn whoever_reads_the_new_application_reads_its_generation_too() {
    let pool = pool(1);
    let shared = Arc::downgrade(&pool.shared);
    let (read, has_read) = mpsc::channel();
    let new: Arc<dyn Application> = Loads::new(MANY);
    let meant = Arc::clone(&new);
    once_at(&pool, Place::ApplicationSet, move |held| {
        let (shared, read, meant) = (shared.clone(), read.clone(), Arc::clone(&meant));
        as_far_as_the_lock_allows(held, move || {
            let Some(shared) = shared.upgrade() else { return };
            let current = lock(&shared.current);
            let is_new = Arc::ptr_eq(&current.application, &meant);
            let _ = read.send((is_new, shared.generation.load(Ordering::Acquire)));
        });
    });
    pool.reload(new).expect("it loads");
    let (is_new, generation) = has_read.recv_timeout(Duration::from_secs(60)).expect("it was read");
    assert_eq!((is_new, generation), (true, 1));
    assert_eq!(ready_when_settled(&pool, 1), 1);
}
