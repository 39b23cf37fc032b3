//! How an interpreter thread wakes a thread of connections: by a system call only where that thread sleeps.
//!
//! A task that is woken from another thread costs tokio an `eventfd` write each time. Here the waker is left in an outbox,
//! which the thread of connections empties whenever it has run out of other work and before it sleeps; only the first one
//! that finds it asleep rings. Under load one ring stands for many answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::oneshot;

/// The outbox of one thread of connections.
#[derive(Debug, Default)]
pub(super) struct Doorbell {
    /// The thread looks into the outbox before it sleeps. Cleared right before that look.
    awake: AtomicBool,
    outbox: Mutex<Vec<Waker>>,
    /// Wakes the thread whatever it does.
    bell: OnceLock<Waker>,
}

impl Doorbell {
    /// Wakes what waits in the outbox. Called by the thread of connections only.
    pub(super) fn empty(&self) {
        let mut waiting = std::mem::take(&mut *self.lock());
        waiting.drain(..).for_each(Waker::wake);
        // The allocation is used again, unless something arrived meanwhile.
        let mut outbox = self.lock();
        if outbox.is_empty() {
            *outbox = waiting;
        }
    }

    /// The thread is about to sleep; whatever is woken here keeps it from that.
    pub(super) fn before_sleep(&self) {
        self.awake.store(false, Ordering::SeqCst);
        if !self.lock().is_empty() {
            self.awake.store(true, Ordering::SeqCst);
            self.empty();
        }
    }

    /// The thread is up again.
    pub(super) fn after_sleep(&self) {
        self.awake.store(true, Ordering::SeqCst);
        self.empty();
    }

    /// A task of the thread of connections that is there to be woken.
    pub(super) async fn hang(self: Arc<Self>) {
        std::future::poll_fn(|context| {
            let _ = self.bell.set(context.waker().clone());
            Poll::<()>::Pending
        })
        .await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, waker: Waker) {
        self.lock().push(waker);
        if !self.awake.swap(true, Ordering::SeqCst)
            && let Some(bell) = self.bell.get()
        {
            bell.wake_by_ref();
        }
    }
}

/// A waker that goes through the outbox.
struct Through {
    doorbell: Arc<Doorbell>,
    task: Waker,
}

impl Wake for Through {
    fn wake(self: Arc<Self>) {
        self.doorbell.leave(self.task.clone());
    }
}

/// An answer on its way, polled by a thread of connections and sent by another thread.
pub(super) struct Awaited<T> {
    doorbell: Arc<Doorbell>,
    receiver: oneshot::Receiver<T>,
    waker: Option<Waker>,
}

impl<T> Awaited<T> {
    pub(super) fn new(doorbell: Arc<Doorbell>, receiver: oneshot::Receiver<T>) -> Awaited<T> {
        Awaited { doorbell, receiver, waker: None }
    }
}

impl<T> Future for Awaited<T> {
    type Output = Result<T, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // The task stays the same while it waits: one waker serves every poll.
        let waker = this.waker.get_or_insert_with(|| through(&this.doorbell, context.waker()));
        Pin::new(&mut this.receiver).poll(&mut Context::from_waker(waker))
    }
}

/// A waker for the same task that goes through the outbox.
pub(super) fn through(doorbell: &Arc<Doorbell>, task: &Waker) -> Waker {
    Waker::from(Arc::new(Through { doorbell: Arc::clone(doorbell), task: task.clone() }))
}
