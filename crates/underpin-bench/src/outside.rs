//! The memory pass without ptrace, for machines that deny it, such as many containers: one run, its process group sampled from outside.
//!
//! Each process's own peak (`VmHWM`) is read with every sample, so a peak between two samples is lost only if the
//! process ends before the next one; what comes after the last sample is not seen. Records say that memory was sampled.

use crate::candidate::Candidate;
use crate::error::BenchError;
use crate::launch::{limits, outcome};
use crate::memory::{COST_SHARE, EVERY, GRACE, MemoryWatch};
use crate::memory_point::MemoryPoint;
use crate::outcome::RunOutcome;
use crate::record::{MemoryRun, ProcessPeak};
use crate::series::{Series, process_peak};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use underpin_sys::{Limits, MemoryUse, RawPid, Spawn, Started, Waited, memory_use, peak_rss, process_group};

/// The longest pause, however long a sample took: on a busy machine most of that is waiting.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What is known of a run so far.
struct Outside<'a> {
    candidate: &'a Candidate,
    started: &'a Started,
    begun: Instant,
    settle: Duration,
    series: Series,
    at_start: Option<MemoryPoint>,
    peaks: BTreeMap<RawPid, ProcessPeak>,
    /// Whether the variant was seen to be in effect; the reason if it was not.
    proven: Result<(), String>,
}

/// Runs it to its end. `Ok(Err(reason))` if it ended before it could be looked at.
///
/// # Errors
/// If it cannot be started, or its variant was not seen in effect.
pub(crate) fn watch(watch: MemoryWatch<'_>) -> Result<Result<MemoryRun, String>, BenchError> {
    let MemoryWatch { program, words, environment, streams, timeout, settle, candidate } = watch;
    let launch = |source| BenchError::Launch { name: candidate.name.clone(), source };
    let spawn = Spawn::new(program, &words, &environment, streams)
        .and_then(|spawn| spawn.in_directory(candidate.command.directory()))
        .map_err(launch)?;
    let started = spawn.start(&[], true).map_err(launch)?;
    let unproven = candidate.variant.proof.as_ref().map(|_| "it ended before it could be looked at".to_owned());
    let mut outside = Outside {
        candidate,
        started: &started,
        begun: Instant::now(),
        settle,
        series: Series::new(EVERY),
        at_start: None,
        peaks: BTreeMap::new(),
        proven: unproven.map_or(Ok(()), Err),
    };
    let timed_out = outside.follow(limits(timeout))?;
    let left_behind = if timed_out { 0 } else { outside.outlived() };
    outside.started.kill();
    let found = outside.found(left_behind);
    let end = started.finish()?.end;
    let outcome = if timed_out { RunOutcome::TimedOut } else { outcome(end)? };
    let found = found.map_err(|reason| BenchError::NotInEffect { name: candidate.name.clone(), reason })?;
    Ok(match found {
        Some(run) => Ok(MemoryRun { outcome, ..run }),
        None => {
            Err("ptrace is not allowed, and the command ended before it could be looked at from outside".to_owned())
        }
    })
}

impl Outside<'_> {
    /// Samples until the command ends; returns whether its time was up.
    fn follow(&mut self, limits: Limits) -> Result<bool, BenchError> {
        loop {
            let before = Instant::now();
            self.sample();
            let pause = self.series.every.max((before.elapsed() * COST_SHARE).min(LONGEST_PAUSE));
            let left = limits.timeout.map(|timeout| timeout.saturating_sub(self.begun.elapsed()));
            let slice = Limits { timeout: Some(left.map_or(pause, |left| left.min(pause))), ..limits };
            match self.started.ends_within(slice)? {
                Waited::Ended => return Ok(false),
                Waited::Interrupted => return Err(BenchError::Interrupted),
                Waited::TimedOut => {}
            }
            if left.is_some_and(|left| left <= pause) {
                return Ok(true);
            }
        }
    }

    /// Adds up the group as it is now.
    fn sample(&mut self) {
        let (mut sum, mut processes) = (MemoryUse::default(), 0);
        for pid in process_group(self.started.pid()) {
            let Ok(memory) = memory_use(pid) else { continue };
            sum += memory;
            processes += 1;
            self.peaks.insert(pid, process_peak(pid, peak_rss(pid).unwrap_or(0).max(memory.rss)));
            if pid == self.started.pid() {
                self.prove(pid);
            }
        }
        if sum == MemoryUse::default() {
            return;
        }
        let point = self.series.add(self.begun.elapsed(), sum, processes);
        if self.begun.elapsed() >= self.settle {
            self.at_start.get_or_insert(point);
        }
    }

    /// The first sample may come before the loader has done its work, so the proof is tried until it holds.
    fn prove(&mut self, pid: RawPid) {
        if let (Err(_), Some(proof)) = (&self.proven, &self.candidate.variant.proof) {
            self.proven = proof.seen(pid);
        }
    }

    /// How many processes of the group outlive the command by more than the grace.
    fn outlived(&self) -> usize {
        // A zombie has no memory any more.
        let other = |pid: &RawPid| *pid != self.started.pid() && memory_use(*pid).is_ok_and(|memory| memory.rss > 0);
        let others = || process_group(self.started.pid()).iter().filter(|pid| other(pid)).count();
        let until = Instant::now() + GRACE;
        while others() > 0 && Instant::now() < until {
            std::thread::sleep(EVERY);
        }
        others()
    }

    /// What was found, with an outcome to be filled in; `None` if nothing was.
    fn found(self, left_behind: usize) -> Result<Option<MemoryRun>, String> {
        self.proven?;
        if self.peaks.is_empty() {
            return Ok(None);
        }
        let run = self.series.run(self.peaks.into_values());
        Ok(Some(MemoryRun { at_start: self.at_start, left_behind, ..run }))
    }
}
