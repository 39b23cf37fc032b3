//! The interface between an experiment and what runs its commands.

use crate::candidate::{Candidate, CommandLine};
use crate::error::BenchError;
use crate::record::{MemoryRun, MissingMetric, Sampled, TimedRun};
use std::fmt;
use std::time::Duration;

/// Which run of a candidate it is, counted from 0; as text it is what hyperfine passes to commands: `warmup-0`, `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// A run before the timed ones.
    Warmup(u32),
    /// A timed run.
    Timed(u32),
    /// A run watched for memory, which hyperfine does not have: `memory-0`.
    Watched(u32),
}

impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Iteration::Warmup(number) => write!(f, "warmup-{number}"),
            Iteration::Timed(number) => write!(f, "{number}"),
            Iteration::Watched(number) => write!(f, "memory-{number}"),
        }
    }
}

/// Runs candidates: on this machine, or on a model of one.
pub trait Executor {
    /// Called right before a warm-up, timed or watched run, for commands that want to know which one it is.
    fn announce(&mut self, iteration: Iteration) {
        let _ = iteration;
    }

    /// Runs a candidate once and times it.
    ///
    /// # Errors
    /// If it cannot be started.
    fn run(&mut self, candidate: &Candidate, timeout: Option<Duration>) -> Result<TimedRun, BenchError>;

    /// Runs a candidate once and watches its memory. `Ok(Err(reason))` if this machine does not allow that.
    ///
    /// # Errors
    /// If it cannot be started, or its variant is not in effect.
    fn watch(
        &mut self,
        candidate: &Candidate,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError>;

    /// Finds out whether a candidate's variant is in effect in it.
    ///
    /// # Errors
    /// If it is not, or the candidate cannot be started.
    fn prove(&mut self, candidate: &Candidate, timeout: Option<Duration>) -> Result<(), BenchError> {
        self.watch(candidate, timeout, Duration::ZERO).map(drop)
    }

    /// Runs a command around the runs.
    ///
    /// # Errors
    /// If it cannot be started or fails.
    fn hook(&mut self, hook: &'static str, command: &CommandLine) -> Result<(), BenchError>;

    /// The time since the executor was made.
    fn elapsed(&self) -> Duration;

    /// Figures that cannot be had here.
    fn missing(&self) -> Vec<MissingMetric>;

    /// Whether memory was only sampled from outside.
    fn sampled(&self) -> Option<Sampled> {
        None
    }

    /// How often measuring was asked to end: once to finish what was begun, twice to stop at once.
    fn end_requests(&self) -> u32 {
        0
    }
}
