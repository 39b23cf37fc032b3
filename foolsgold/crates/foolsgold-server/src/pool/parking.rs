//! The workers that wait for jobs, and which of them is woken next. All of it is guarded by the queue's lock.
//!
//! A worker waits in one of two places: parked, or inside a reactor that it runs inline. Invariants:
//!
//! - `waking` is set from the choice of a worker until that worker holds the lock again. While it is set no other
//!   worker is woken, so at most one worker is on its way up.
//! - The thread that chooses a worker takes it out of `parked`, or its reactor out of `driving`, in the same critical
//!   section: a worker that still finds itself there was not chosen and waits on, and no worker is chosen twice.

use super::policy::SHORT_WAIT;
use super::reactor::Reactor;
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A worker's index in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerId(usize);

/// The state of a worker.
#[derive(Default)]
pub(super) struct WorkerSlot {
    /// Since when it works on a job.
    pub(super) busy_since: Option<Instant>,
    /// It was told that there is no job, and went back to its reactor.
    pub(super) in_reactor: bool,
    /// That reactor, until it is interrupted for a job.
    pub(super) driving: Option<Arc<dyn Reactor>>,
    /// A reactor handed to it while it was parked.
    pub(super) handed: Option<Arc<dyn Reactor>>,
}

/// A worker that waits for jobs, and how it is woken.
pub(super) enum Waiting {
    Parked(Thread),
    Driving(Arc<dyn Reactor>),
}

impl Waiting {
    /// Not under the queue's lock: both are system calls, and the woken thread takes that lock.
    pub(super) fn wake(self) {
        match self {
            Waiting::Parked(thread) => thread.unpark(),
            Waiting::Driving(reactor) => reactor.interrupt(),
        }
    }
}

#[derive(Default)]
pub(super) struct Parking {
    /// The last one is the warmest in the caches.
    parked: Vec<(WorkerId, Thread)>,
    slots: Vec<WorkerSlot>,
    /// Slots whose threads have ended.
    free: Vec<WorkerId>,
    /// A worker was woken for a job and does not hold the lock yet.
    pub(super) waking: bool,
}

impl Parking {
    pub(super) fn register(&mut self) -> WorkerId {
        if let Some(id) = self.free.pop() {
            return id;
        }
        self.slots.push(WorkerSlot::default());
        WorkerId(self.slots.len() - 1)
    }

    pub(super) fn deregister(&mut self, id: WorkerId) {
        self.slots[id.0] = WorkerSlot::default();
        self.free.push(id);
    }

    pub(super) fn slot(&mut self, id: WorkerId) -> &mut WorkerSlot {
        &mut self.slots[id.0]
    }

    pub(super) fn park(&mut self, id: WorkerId, thread: Thread) {
        self.parked.push((id, thread));
    }

    /// Whether the worker was not chosen since it parked.
    pub(super) fn is_parked(&self, id: WorkerId) -> bool {
        self.parked.iter().any(|(other, _)| *other == id)
    }

    /// Removes a worker that stops waiting by itself.
    pub(super) fn unpark(&mut self, id: WorkerId) {
        self.parked.retain(|(other, _)| *other != id);
    }

    /// Workers that wait for jobs.
    pub(super) fn waiting(&self) -> usize {
        self.parked.len() + self.slots.iter().filter(|slot| slot.driving.is_some()).count()
    }

    /// Chooses the worker to wake for a job: a parked one before one that would leave its connections.
    pub(super) fn choose(&mut self) -> Option<Waiting> {
        if self.waking {
            return None;
        }
        let parked = self.parked.pop().map(|(_, thread)| Waiting::Parked(thread));
        let next = parked.or_else(|| self.slots.iter_mut().find_map(|slot| slot.driving.take()).map(Waiting::Driving));
        self.waking = next.is_some();
        next
    }

    /// Chooses a parked worker for a reactor. The reactor is put into its slot before it is woken, so the worker finds
    /// it once it holds the lock.
    pub(super) fn choose_for(&mut self, reactor: &Arc<dyn Reactor>) -> Option<Waiting> {
        let (id, thread) = self.parked.pop()?;
        self.slot(id).handed = Some(Arc::clone(reactor));
        self.waking = true;
        Some(Waiting::Parked(thread))
    }

    /// Every worker that waits. `waking` stays as it is: none of them is woken for a job.
    pub(super) fn choose_all(&mut self) -> Vec<Waiting> {
        let parked = std::mem::take(&mut self.parked).into_iter().map(|(_, thread)| Waiting::Parked(thread));
        let driving = self.slots.iter_mut().filter_map(|slot| slot.driving.take()).map(Waiting::Driving);
        parked.chain(driving).collect()
    }

    /// Whether the busy workers will soon have done this many jobs that take `mean` each.
    pub(super) fn will_soon_finish(&self, jobs: usize, now: Instant, mean: Duration) -> bool {
        let since = self.slots.iter().filter_map(|slot| slot.busy_since);
        let quick = since.filter(|since| now.saturating_duration_since(*since) < SHORT_WAIT);
        let quick = u32::try_from(quick.count()).unwrap_or(u32::MAX);
        let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
        quick > 0 && mean.saturating_mul(jobs) < SHORT_WAIT.saturating_mul(quick)
    }
}
