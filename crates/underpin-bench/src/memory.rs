//! The memory pass: one run under ptrace, every process of its tree looked at right before its end, and the whole tree
//! sampled over time.
//!
//! At the exit stop a process still has its memory, so its peak is its own: what `wait4` reports as `ru_maxrss` starts
//! from the launcher's peak and is one figure for all small programs. A sampling thread reads `smaps_rollup` of every
//! living process and never spends more than a tenth of the time on it. Nothing of this run is timed.

use crate::contestant::Contestant;
use crate::error::BenchError;
use crate::record::{MemoryPoint, MemoryRun, ProcessPeak, RunOutcome};
use crate::series::{Series, point, process_peak};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use underpin_sys::{
    Launch, LaunchError, MemoryUse, RawPid, Reported, Resume, Stop, Streams, SysError, Tracee, memory_use, peak_rss,
    thread_group, wait_any,
};

/// The shortest time between two samples.
pub(crate) const EVERY: Duration = Duration::from_millis(5);
/// How long processes may outlive the first one.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// A sample may take this share of the time between two.
pub(crate) const COST_SHARE: u32 = 10;

/// One run to watch.
#[derive(Debug)]
pub struct MemoryWatch<'a> {
    /// The file to execute.
    pub program: PathBuf,
    /// Its arguments, the first its name.
    pub words: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its streams; standard error goes where standard output goes.
    pub streams: Streams,
    /// When it is killed.
    pub timeout: Option<Duration>,
    /// After its exec, how long the first process takes to settle.
    pub settle: Duration,
    /// Whose run it is.
    pub contestant: &'a Contestant,
}

/// What tracer and sampler share.
#[derive(Debug)]
struct Tree {
    main: RawPid,
    living: BTreeSet<RawPid>,
    executed: Option<Instant>,
    settle: Duration,
    series: Series,
    at_start: Option<MemoryPoint>,
    /// When everything that is left is killed.
    deadline: Option<Instant>,
    main_ended: bool,
    timed_out: bool,
    left_behind: usize,
    finished: bool,
}

impl Tree {
    fn elapsed(&self) -> Duration {
        self.executed.map(|executed| executed.elapsed()).unwrap_or_default()
    }

    /// Adds up the tree as it is now.
    fn sample(&mut self) {
        let Some(executed) = self.executed else { return };
        let mut sum = MemoryUse::default();
        for &pid in &self.living {
            // A process that is just ending has been looked at by the tracer.
            let Ok(memory) = memory_use(pid) else { continue };
            sum += memory;
            if pid == self.main && self.at_start.is_none() && executed.elapsed() >= self.settle {
                self.at_start = Some(point(executed.elapsed(), memory));
            }
        }
        if sum == MemoryUse::default() {
            return;
        }
        self.series.add(executed.elapsed(), sum);
    }

    /// Kills what is left where the time is up.
    fn enforce(&mut self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            if self.main_ended {
                self.left_behind = self.living.len();
            } else {
                self.timed_out = true;
            }
            // Those that are gone already need no killing.
            self.living.iter().for_each(|&pid| drop(Tracee(pid).kill()));
            self.deadline = None;
        }
    }
}

type Shared = Arc<(Mutex<Tree>, Condvar)>;

fn lock(shared: &Shared) -> MutexGuard<'_, Tree> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that samples until the tree is finished.
fn sampler(shared: Shared) -> Result<JoinHandle<()>, SysError> {
    let body = move || {
        let mut tree = lock(&shared);
        while !tree.finished {
            let before = Instant::now();
            tree.sample();
            tree.enforce();
            let pause = tree.series.every.max(before.elapsed() * COST_SHARE);
            let result = shared.1.wait_timeout(tree, pause).unwrap_or_else(PoisonError::into_inner);
            tree = result.0;
        }
    };
    std::thread::Builder::new()
        .name("memory".to_owned())
        .spawn(body)
        .map_err(|error| SysError::io("starting a thread", &error))
}

/// What the tracer alone keeps.
struct Tracer<'a> {
    contestant: &'a Contestant,
    shared: Shared,
    main: RawPid,
    peaks: BTreeMap<RawPid, ProcessPeak>,
    at_end: Option<MemoryPoint>,
    outcome: Option<RunOutcome>,
    refused: Option<String>,
    processes: usize,
}

impl MemoryWatch<'_> {
    /// Runs it to its end. Must be called from a thread that has no other children.
    ///
    /// # Errors
    /// Where it cannot be started or watched, or its variant is not in effect.
    pub fn run(self) -> Result<MemoryRun, BenchError> {
        let name = self.contestant.name.clone();
        let failed = |source| BenchError::Launch { name: name.clone(), source };
        let launch = Launch {
            program: self.program.clone(),
            arguments: self.words,
            environment: self.environment,
            input: self.streams.input,
            output: self.streams.output,
            filter: None,
        };
        let suspended = launch.start().map_err(failed)?;
        let main = suspended.task.0;
        let tree = Tree {
            main,
            living: BTreeSet::from([main]),
            executed: None,
            settle: self.settle,
            series: Series::new(EVERY),
            at_start: None,
            deadline: self.timeout.map(|timeout| Instant::now() + timeout),
            main_ended: false,
            timed_out: false,
            left_behind: 0,
            finished: false,
        };
        let shared: Shared = Arc::new((Mutex::new(tree), Condvar::new()));
        if let Some(proof) = &self.contestant.variant.proof {
            // It waits for this task alone: a thread that an initialiser starts must not be held up meanwhile.
            suspended.task.report_execs()?;
            if let Err(reason) = proof.follow(suspended.task) {
                // It may have ended already.
                let _ = suspended.task.kill();
                while wait_any()?.is_some() {}
                return Err(BenchError::NotInEffect { name, reason });
            }
            // The exec may be behind it.
            lock(&shared).executed = Some(Instant::now());
        }
        suspended.task.report_exits()?;
        suspended.task.resume(Resume::Continue, 0)?;
        let thread = sampler(Arc::clone(&shared))?;
        let mut tracer = Tracer {
            contestant: self.contestant,
            shared: Arc::clone(&shared),
            main,
            peaks: BTreeMap::new(),
            at_end: None,
            outcome: None,
            refused: None,
            processes: 1,
        };
        let traced = tracer.follow();
        lock(&shared).finished = true;
        shared.1.notify_all();
        // A sampler that panicked has nothing more to say; the figures so far stand.
        let _ = thread.join();
        traced?;
        if lock(&shared).executed.is_none() {
            return Err(failed(suspended.failure(&self.program)));
        }
        tracer.result()
    }
}

impl Tracer<'_> {
    /// Follows every task to the end of the last.
    fn follow(&mut self) -> Result<(), SysError> {
        while let Some(Reported { tid, stop }) = wait_any()? {
            let task = Tracee(tid);
            let answer = match stop {
                Stop::Ending => {
                    self.ending(tid);
                    task.resume(Resume::Continue, 0)
                }
                Stop::Made { .. } => self.made(task).and_then(|()| task.resume(Resume::Continue, 0)),
                Stop::Executed => {
                    if tid == self.main {
                        lock(&self.shared).executed.get_or_insert_with(Instant::now);
                    }
                    task.resume(Resume::Continue, 0)
                }
                Stop::Exited(status) => {
                    self.ended(tid, RunOutcome::Exited(status));
                    Ok(())
                }
                Stop::Signalled(signal) => {
                    self.ended(tid, RunOutcome::Signalled(signal));
                    Ok(())
                }
                Stop::Group => task.listen(),
                Stop::Signal(signal) => task.resume(Resume::Continue, signal),
                Stop::Trap | Stop::Call | Stop::Filter | Stop::Other => task.resume(Resume::Continue, 0),
            };
            match answer {
                Err(error) if !error.task_gone() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn made(&mut self, parent: Tracee) -> Result<(), SysError> {
        let child = parent.event_message()?;
        if thread_group(child).ok() == Some(child) {
            self.processes += 1;
            lock(&self.shared).living.insert(child);
        }
        Ok(())
    }

    /// A task is about to end and still has its memory. The first thread of a process may be gone already, so it is
    /// asked by its own id.
    fn ending(&mut self, tid: RawPid) {
        let process = thread_group(tid).unwrap_or(tid);
        let Ok(memory) = memory_use(tid) else { return };
        let peak = peak_rss(tid).unwrap_or(0).max(memory.rss);
        let earlier = self.peaks.get(&process).map_or(0, |seen| seen.peak_rss.0);
        self.peaks.insert(process, process_peak(process, peak.max(earlier)));
        let mut tree = lock(&self.shared);
        if process == self.main {
            self.at_end = Some(point(tree.elapsed(), memory));
            if let Some(proof) = &self.contestant.variant.proof {
                self.refused = proof.took(tid).err();
            }
        }
        tree.sample();
    }

    fn ended(&mut self, tid: RawPid, outcome: RunOutcome) {
        let mut tree = lock(&self.shared);
        tree.living.remove(&tid);
        if tid == self.main {
            self.outcome = Some(if tree.timed_out { RunOutcome::TimedOut } else { outcome });
            tree.main_ended = true;
            tree.deadline = Some(Instant::now() + GRACE);
        }
    }

    fn result(self) -> Result<MemoryRun, BenchError> {
        if let Some(reason) = self.refused {
            return Err(BenchError::NotInEffect { name: self.contestant.name.clone(), reason });
        }
        let tree = lock(&self.shared);
        let Some(outcome) = self.outcome else {
            let source = LaunchError::Sys(SysError::gone("waiting for the command"));
            return Err(BenchError::Launch { name: self.contestant.name.clone(), source });
        };
        Ok(MemoryRun {
            at_start: tree.at_start,
            at_end: self.at_end,
            process_count: self.processes,
            left_behind: tree.left_behind,
            outcome,
            ..tree.series.run(self.peaks.into_values())
        })
    }
}
