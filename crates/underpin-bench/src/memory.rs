//! The memory pass: one run under ptrace, every process of its tree looked at right before its end, and the whole tree
//! sampled over time.
//!
//! At the exit stop a process still has its memory, so its peak is its own: what `wait4` reports as `ru_maxrss` starts
//! from the launcher's peak and is one figure for all small programs. A sampling thread reads `smaps_rollup` of every
//! living process and never spends more than a tenth of the time on it. Nothing of this run is timed.

use crate::candidate::{Candidate, Followed, Proof};
use crate::error::BenchError;
use crate::launch::{LONGEST, STOP};
use crate::memory_point::MemoryPoint;
use crate::outcome::RunOutcome;
use crate::record::{MemoryRun, ProcessPeak};
use crate::series::{Series, point, process_peak};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use underpin_sys::{
    Launch, LaunchError, Limits, MemoryUse, RawPid, Reported, Resume, Stop, Streams, SysError, Tracee, Waited,
    Watchdog, end_requests, memory_use, peak_rss, thread_group, wait_any,
};

/// The shortest time between two samples.
pub(crate) const EVERY: Duration = Duration::from_millis(5);
/// How long processes may outlive the first one.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// How often the sampler checks whether the time is up.
const LOOK: Duration = Duration::from_millis(50);
/// The time for a proof: a variant is in effect once the loader is done, but initialisers may take a while.
pub(crate) const PROOF: Duration = Duration::from_secs(60);
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
    /// The candidate that is run.
    pub candidate: &'a Candidate,
}

/// What tracer and sampler share.
#[derive(Debug)]
struct Tree {
    living: BTreeSet<RawPid>,
    executed: Option<Instant>,
    settle: Duration,
    series: Series,
    at_start: Option<MemoryPoint>,
    /// When everything that is left is killed.
    deadline: Instant,
    main_ended: bool,
    timed_out: bool,
    was_stopped: bool,
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
        let (mut sum, mut processes) = (MemoryUse::default(), 0);
        for &pid in &self.living {
            // A process that is just ending has been looked at by the tracer.
            let Ok(memory) = memory_use(pid) else { continue };
            sum += memory;
            processes += 1;
        }
        if sum == MemoryUse::default() {
            return;
        }
        let point = self.series.add(executed.elapsed(), sum, processes);
        if executed.elapsed() >= self.settle {
            self.at_start.get_or_insert(point);
        }
    }

    /// Kills what is left if the time is up, or if measuring is to stop at once.
    fn enforce(&mut self) {
        let is_stopped = end_requests() >= STOP;
        if !is_stopped && Instant::now() < self.deadline {
            return;
        }
        if is_stopped {
            self.was_stopped = true;
        } else if !self.main_ended {
            self.timed_out = true;
        } else if self.left_behind == 0 {
            self.left_behind = self.living.len();
        }
        // Processes that are gone need no killing; one that a dying process just forked is killed in the next round.
        self.living.iter().for_each(|&pid| drop(Tracee(pid).kill()));
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
            let next = before + tree.series.every.max(before.elapsed() * COST_SHARE);
            // Samples of a long run are rare, but its limits must still be enforced in time.
            while !tree.finished && Instant::now() < next {
                let pause = next.saturating_duration_since(Instant::now()).min(LOOK);
                tree = shared.1.wait_timeout(tree, pause).unwrap_or_else(PoisonError::into_inner).0;
                tree.enforce();
            }
        }
    };
    std::thread::Builder::new()
        .name("memory".to_owned())
        .spawn(body)
        .map_err(|error| SysError::io("starting a thread", &error))
}

/// Follows a proof, and ends it if it takes too long: an initialiser may wait for ever.
pub(crate) fn followed(proof: &dyn Proof, task: Tracee) -> Result<Result<Followed, String>, BenchError> {
    let watchdog = Watchdog::new(task.0, Limits { timeout: Some(PROOF), requests: STOP })?;
    let followed = proof.follow(task);
    match watchdog.killed() {
        None | Some(Waited::Ended) => Ok(followed),
        Some(Waited::TimedOut) => {
            Ok(Err(format!("it did not come to its own first instruction in {} s", PROOF.as_secs())))
        }
        Some(Waited::Interrupted) => {
            task.kill_and_reap()?;
            Err(BenchError::Interrupted)
        }
    }
}

/// What the tracer alone keeps.
struct Tracer<'a> {
    candidate: &'a Candidate,
    shared: Shared,
    main: RawPid,
    peaks: BTreeMap<RawPid, ProcessPeak>,
    lives: BTreeMap<RawPid, Life>,
    /// The largest peak of one process less what it shared at its end.
    unshared: u64,
    at_exit: Option<MemoryPoint>,
    outcome: Option<RunOutcome>,
    refused: Option<String>,
    processes: usize,
}

impl MemoryWatch<'_> {
    /// Runs it to its end. Must be called from a thread that has no other children.
    ///
    /// # Errors
    /// If it cannot be started or watched, or its variant is not in effect.
    pub fn run(self) -> Result<MemoryRun, BenchError> {
        let name = self.candidate.name.clone();
        let failed = |source| BenchError::Launch { name: name.clone(), source };
        let launch = Launch {
            program: self.program.clone(),
            arguments: self.words,
            environment: self.environment,
            input: self.streams.input,
            output: self.streams.output,
            directory: self.candidate.command.directory().map(Path::to_owned),
            filter: None,
        };
        let suspended = launch.start_beside().map_err(failed)?;
        let main = suspended.task.0;
        let tree = Tree {
            living: BTreeSet::from([main]),
            executed: None,
            settle: self.settle,
            series: Series::new(EVERY),
            at_start: None,
            deadline: Instant::now() + self.timeout.unwrap_or(LONGEST),
            main_ended: false,
            timed_out: false,
            was_stopped: false,
            left_behind: 0,
            finished: false,
        };
        let shared: Shared = Arc::new((Mutex::new(tree), Condvar::new()));
        if let Some(proof) = &self.candidate.variant.proof {
            match followed(proof.as_ref(), suspended.task)? {
                Err(reason) => {
                    suspended.task.kill_and_reap()?;
                    return Err(BenchError::NotInEffect { name, reason });
                }
                Ok(Followed::PastExec) => lock(&shared).executed = Some(Instant::now()),
                Ok(Followed::BeforeExec) => {}
            }
        }
        // Until here only this task was waited for; from here on every task that it makes is traced and waited for.
        suspended.task.report_exits()?;
        suspended.task.resume(Resume::Continue, 0)?;
        let thread = sampler(Arc::clone(&shared))?;
        let mut tracer = Tracer {
            candidate: self.candidate,
            shared: Arc::clone(&shared),
            main,
            peaks: BTreeMap::new(),
            lives: BTreeMap::from([(main, Life::default())]),
            unshared: 0,
            at_exit: None,
            outcome: None,
            refused: None,
            processes: 1,
        };
        let traced = tracer.follow();
        lock(&shared).finished = true;
        shared.1.notify_all();
        // A sampler that panicked adds nothing more; the figures so far are kept.
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
                Stop::Trap => {
                    // The first stop of a task whose parent was killed before it could report it.
                    self.appeared(tid);
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
                Stop::Call | Stop::Filter | Stop::Other => task.resume(Resume::Continue, 0),
            };
            match answer {
                Err(error) if !error.task_gone() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn made(&mut self, parent: Tracee) -> Result<(), SysError> {
        self.appeared(parent.event_message()?);
        Ok(())
    }

    /// Notes a new task, once for each process.
    fn appeared(&mut self, task: RawPid) {
        if thread_group(task).ok() != Some(task) {
            return;
        }
        let mut tree = lock(&self.shared);
        if tree.living.insert(task) {
            self.processes += 1;
            let from = tree.elapsed();
            self.lives.insert(task, Life { from, ..Life::default() });
        }
    }

    /// A task is about to end and still has its memory. The first thread of a process may be gone already, so
    /// `/proc` is read by the task's own id.
    fn ending(&mut self, tid: RawPid) {
        let process = thread_group(tid).unwrap_or(tid);
        let Ok(memory) = memory_use(tid) else { return };
        let peak = peak_rss(tid).unwrap_or(0).max(memory.rss);
        let earlier = self.peaks.get(&process).map_or(0, |seen| seen.peak_rss.0);
        self.peaks.insert(process, process_peak(process, peak.max(earlier)));
        self.unshared = self.unshared.max(peak.saturating_sub(memory.rss.saturating_sub(memory.pss)));
        let mut tree = lock(&self.shared);
        if let Some(life) = self.lives.get_mut(&process) {
            *life = Life { until: tree.elapsed(), peak: life.peak.max(peak), ..*life };
        }
        if process == self.main {
            self.at_exit = Some(point(tree.elapsed(), memory, 1));
            if let Some(proof) = &self.candidate.variant.proof {
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
            tree.deadline = Instant::now() + GRACE;
        }
    }

    fn result(self) -> Result<MemoryRun, BenchError> {
        if let Some(reason) = self.refused {
            return Err(BenchError::NotInEffect { name: self.candidate.name.clone(), reason });
        }
        let tree = lock(&self.shared);
        if tree.was_stopped {
            return Err(BenchError::Interrupted);
        }
        let Some(outcome) = self.outcome else {
            let source = LaunchError::Sys(SysError::gone("waiting for the command"));
            return Err(BenchError::Launch { name: self.candidate.name.clone(), source });
        };
        let run = tree.series.run(self.peaks.into_values());
        Ok(MemoryRun {
            peak_pss: run.peak_pss.max(Bytes(self.unshared)),
            peak_bound: Some(Bytes(most_at_once(self.lives.into_values())).max(run.peak_rss)),
            at_start: tree.at_start,
            at_exit: self.at_exit,
            process_count: self.processes,
            left_behind: tree.left_behind,
            outcome,
            ..run
        })
    }
}

/// From when to when a process lived, and its own peak in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    from: Duration,
    until: Duration,
    peak: u64,
}

/// The most that the peaks of processes add up to that lived at the same time.
fn most_at_once(lives: impl Iterator<Item = Life>) -> u64 {
    // At one and the same moment those that begin come before those that end: they may have met.
    let mut changes: Vec<(Duration, bool, u64)> =
        lives.flat_map(|life| [(life.from, false, life.peak), (life.until, true, life.peak)]).collect();
    changes.sort_unstable();
    let (mut sum, mut most) = (0u64, 0);
    for (_, ends, peak) in changes {
        sum = if ends { sum.saturating_sub(peak) } else { sum + peak };
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_add_up_for_those_that_lived_at_the_same_time() {
        let life =
            |from, until, peak| Life { from: Duration::from_secs(from), until: Duration::from_secs(until), peak };
        assert_eq!(most_at_once([life(0, 9, 1), life(1, 3, 10), life(2, 4, 20), life(5, 8, 25)].into_iter()), 31);
        assert_eq!(most_at_once([life(0, 1, 5), life(1, 2, 7)].into_iter()), 12);
        assert_eq!(most_at_once([].into_iter()), 0);
    }
}
