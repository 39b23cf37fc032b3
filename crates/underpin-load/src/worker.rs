//! One thread of the generator: its own runtime, its own connections, its own tally.

use crate::connection::{Connection, Target};
use crate::first::first;
use crate::pace::{Beat, Pacer};
use crate::plan::{LoadPlan, Pace};
use crate::tally::{Failure, Tally};
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// The pause after a refused connection, so that a server that is gone is not hammered.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a thread checks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads of a load share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: LoadPlan,
    pub(crate) target: Target,
    /// All threads have connected.
    pub(crate) ready: Barrier,
    /// At least one connection could be made.
    pub(crate) reachable: AtomicBool,
    /// The load is to end now.
    pub(crate) stop: AtomicBool,
}

/// What came of one thread; no tally if no thread could connect.
pub(crate) enum Worked {
    Tally(Box<Tally>),
    Unreachable(io::Error),
}

/// Works until the window is over and the last answer is in.
pub(crate) fn work(shared: &Shared, index: usize) -> io::Result<Worked> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let local = LocalSet::new();
    let made = runtime.map(|runtime| {
        let connected = local.block_on(&runtime, connect(shared, index));
        (runtime, connected)
    });
    if let Ok((_, (_, None))) = &made {
        shared.reachable.store(true, Ordering::Relaxed);
    }
    // Every thread passes, even one that failed: the others wait for it.
    shared.ready.wait();
    let (runtime, (connections, refusal)) = made?;
    if !shared.reachable.load(Ordering::Relaxed) {
        return Ok(Worked::Unreachable(refusal.unwrap_or_else(|| io::ErrorKind::TimedOut.into())));
    }
    local.block_on(&runtime, run(shared, index, connections)).map(|tally| Worked::Tally(Box::new(tally)))
}

/// The connections of a thread; with the last refusal if none could be made.
async fn connect(shared: &Shared, index: usize) -> (Vec<Connection>, Option<io::Error>) {
    let (plan, threads) = (&shared.plan, shared.plan.thread_count());
    let count = plan.pace.connections();
    let share = count / threads + usize::from(index < count % threads);
    let mut connections: Vec<Connection> =
        (0..share).map(|_| Connection::new(shared.target.clone(), plan.timeout)).collect();
    let mut refusal = None;
    let mut any = false;
    for connection in &mut connections {
        match connection.open().await {
            Ok(()) => any = true,
            Err(Failure::Connect(error)) => refusal = Some(error),
            Err(_) => refusal = Some(io::ErrorKind::TimedOut.into()),
        }
        if !any && refusal.is_some() {
            // A server that does not answer at all is not tried again for each connection.
            break;
        }
    }
    (connections, if any { None } else { refusal })
}

async fn run(shared: &Shared, index: usize, connections: Vec<Connection>) -> io::Result<Tally> {
    let plan = &shared.plan;
    let begin = Instant::now();
    let from = begin + plan.warmup;
    let until = from + plan.window;
    let tally = Rc::new(RefCell::new(Tally::new(from, until)));
    let pacer = match plan.pace {
        Pace::Closed { .. } => None,
        Pace::Open { rate, .. } => {
            let beat = Beat { begin, until, rate, thread: (index, plan.thread_count()) };
            Some(Rc::new(Pacer::new(beat)))
        }
    };
    let request = Rc::new(plan.request.clone());
    let mut tasks = Vec::new();
    for connection in connections {
        let (tally, request) = (Rc::clone(&tally), Rc::clone(&request));
        tasks.push(match &pacer {
            None => tokio::task::spawn_local(closed(connection, request, tally, until)),
            Some(pacer) => tokio::task::spawn_local(open(connection, request, tally, Rc::clone(pacer))),
        });
    }
    let meter = tokio::task::spawn_local(meter(Rc::clone(&tally), from, until));
    let beat = pacer.clone().map(|pacer| {
        let tally = Rc::clone(&tally);
        tokio::task::spawn_local(async move { pacer.run(&tally).await })
    });
    let all = async {
        for task in tasks {
            // A task that panicked takes its connection with it; there is nothing to add.
            let _ = task.await;
        }
        let _ = meter.await;
        match beat {
            Some(beat) => beat.await.unwrap_or(Ok(())),
            None => Ok(()),
        }
    };
    first(all, stopped(shared)).await?;
    if let Some(pacer) = pacer {
        pacer.left_over(&tally);
    }
    Ok(tally.replace(Tally::new(from, until)))
}

async fn stopped(shared: &Shared) -> io::Result<()> {
    while !shared.stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// The next request when the answer is in.
async fn closed(mut connection: Connection, request: Rc<crate::Request>, tally: Rc<RefCell<Tally>>, until: Instant) {
    let mut now = Instant::now();
    while now < until {
        let outcome = connection.exchange(&request, now).await;
        let refused = matches!(outcome, Err((Failure::Connect(_), _)));
        let due = std::mem::replace(&mut now, Instant::now());
        tally.borrow_mut().note(due, now, outcome);
        if refused {
            tokio::time::sleep(PAUSE).await;
            now = Instant::now();
        }
    }
}

/// The next request when it is due, or at once if it is overdue.
async fn open(mut connection: Connection, request: Rc<crate::Request>, tally: Rc<RefCell<Tally>>, pacer: Rc<Pacer>) {
    while let Some(due) = pacer.take().await {
        let outcome = connection.exchange(&request, Instant::now()).await;
        let refused = matches!(outcome, Err((Failure::Connect(_), _)));
        tally.borrow_mut().note(due, Instant::now(), outcome);
        if refused {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The processor time of this thread within the window.
async fn meter(tally: Rc<RefCell<Tally>>, from: Instant, until: Instant) {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    tokio::time::sleep_until(from.into()).await;
    let before = used();
    tokio::time::sleep_until(until.into()).await;
    tally.borrow_mut().busy = used().saturating_sub(before);
}
