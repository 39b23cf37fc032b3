//! Putting a load on a server: the threads, the window, and what the caller does meanwhile.

use crate::connection::Target;
use crate::error::LoadError;
use crate::plan::LoadPlan;
use crate::tally::{LoadResult, Tally};
use crate::worker::{Shared, Worked, work};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Drives a server to the end of the plan. `meanwhile` is called on this thread once in every `tick`, and ends the load
/// early by returning `false`; it delays no request.
///
/// # Errors
/// If the plan cannot be carried out, or no connection at all can be made.
pub fn drive(plan: &LoadPlan, tick: Duration, meanwhile: &mut dyn FnMut() -> bool) -> Result<LoadResult, LoadError> {
    plan.check()?;
    let endpoint = plan.request.endpoint();
    let unreachable = |source| LoadError::Unreachable { endpoint: endpoint.clone(), source };
    let target = Target::resolve(endpoint).map_err(unreachable)?;
    let threads = plan.thread_count();
    let shared = Shared {
        plan: plan.clone(),
        target,
        ready: Barrier::new(threads),
        reachable: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    };
    let (sender, receiver) = mpsc::channel();
    let mut worked = Vec::with_capacity(threads);
    thread::scope(|scope| {
        for index in 0..threads {
            let (shared, sender) = (&shared, sender.clone());
            // Each thread sends one message; it is lost only if this function has panicked.
            scope.spawn(move || drop(sender.send(work(shared, index))));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(tick) {
                Ok(result) => worked.push(result),
                Err(RecvTimeoutError::Timeout) if meanwhile() => {}
                Err(RecvTimeoutError::Timeout) => shared.stop.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    let mut tallies = Vec::with_capacity(threads);
    for result in worked {
        match result? {
            Worked::Tally(tally) => tallies.push(*tally),
            Worked::Unreachable(source) => return Err(unreachable(source)),
        }
    }
    Ok(Tally::sum(tallies, plan.window))
}
