//! How a worker thread wakes tasks of an event loop: with a system call only if that loop is parked.
//!
//! A task that is woken from another thread costs tokio an `eventfd` write each time. Here the task's waker is put into
//! a list, which the loop drains whenever it has run out of other work and before it parks; only the first thread that
//! finds the loop parked writes. Under load one write serves many answers.
//!
//! No wake-up is lost: the loop clears `awake` and then looks at the list, a worker pushes and then swaps `awake`, both
//! in one total order (`SeqCst`). Either the loop sees the push, or the worker sees `awake` cleared and writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::oneshot;

/// Wake-ups on their way to one event loop.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    /// The loop will drain the list before it parks. Cleared right before it looks for the last time.
    awake: AtomicBool,
    pending: Mutex<Vec<Waker>>,
    /// Wakes the loop in any state (an `eventfd` write).
    loop_waker: OnceLock<Waker>,
}

impl Notifier {
    /// Wakes every task in the list. Called on the event loop only.
    pub(super) fn drain(&self) {
        let mut waiting = std::mem::take(&mut *self.lock());
        waiting.drain(..).for_each(Waker::wake);
        // The allocation is reused, unless something arrived meanwhile.
        let mut pending = self.lock();
        if pending.is_empty() {
            *pending = waiting;
        }
    }

    /// The loop is about to park; a task woken here prevents that.
    pub(super) fn before_park(&self) {
        // Cleared before the look: a push after it finds the loop not awake, and writes.
        self.awake.store(false, Ordering::SeqCst);
        if !self.lock().is_empty() {
            self.awake.store(true, Ordering::SeqCst);
            self.drain();
        }
    }

    /// The loop runs again.
    pub(super) fn after_park(&self) {
        self.awake.store(true, Ordering::SeqCst);
        self.drain();
    }

    /// The task of the event loop that is woken to drain the list.
    pub(super) async fn wait(self: Arc<Self>) {
        std::future::poll_fn(|context| {
            let _ = self.loop_waker.set(context.waker().clone());
            Poll::<()>::Pending
        })
        .await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, waker: Waker) {
        // Pushed before `awake` is read. The swap lets one of many workers write.
        self.lock().push(waker);
        if !self.awake.swap(true, Ordering::SeqCst)
            && let Some(waker) = self.loop_waker.get()
        {
            waker.wake_by_ref();
        }
    }
}

/// A waker that goes through the list.
struct TaskWaker {
    notifier: Arc<Notifier>,
    task: Waker,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.notifier.notify(self.task.clone());
    }
}

/// An answer being waited for, polled by an event loop and sent by another thread.
pub(super) struct Awaited<T> {
    notifier: Arc<Notifier>,
    receiver: oneshot::Receiver<T>,
    waker: Option<Waker>,
}

impl<T> Awaited<T> {
    pub(super) fn new(notifier: Arc<Notifier>, receiver: oneshot::Receiver<T>) -> Awaited<T> {
        Awaited { notifier, receiver, waker: None }
    }
}

impl<T> Future for Awaited<T> {
    type Output = Result<T, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // The task stays the same while it waits: one waker serves every poll.
        let waker = this.waker.get_or_insert_with(|| waker_for(&this.notifier, context.waker()));
        Pin::new(&mut this.receiver).poll(&mut Context::from_waker(waker))
    }
}

/// A waker for the same task that goes through the list.
pub(super) fn waker_for(notifier: &Arc<Notifier>, task: &Waker) -> Waker {
    Waker::from(Arc::new(TaskWaker { notifier: Arc::clone(notifier), task: task.clone() }))
}
