//! What every way to start a command has in common: its file and environment, its limits, how it ended.

use crate::candidate::Candidate;
use crate::error::BenchError;
use crate::outcome::RunOutcome;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use underpin_sys::{LaunchError, Limits, RunEnd, end_requests, find_program};

/// A run without a limit of its own, and each command around the runs, is given up after this time, so that nothing
/// waits for ever.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// This many requests to end stop a run; a single one lets it finish.
pub(crate) const STOP: u32 = 2;

/// The limits of a run.
pub(crate) fn limits(timeout: Option<Duration>) -> Limits {
    Limits { timeout: Some(timeout.unwrap_or(LONGEST)), requests: STOP }
}

/// The environment of a candidate, as pairs of name and value.
pub(crate) type Environment = Vec<(OsString, OsString)>;

/// The file to execute and its environment.
pub(crate) fn locate(candidate: &Candidate) -> Result<(PathBuf, Environment), LaunchError> {
    let environment = candidate.variant.environment(std::env::vars_os());
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let words = candidate.words();
    let named = words.first().ok_or(LaunchError::Empty)?;
    let program = candidate
        .file()
        .map_or_else(|| find_program(&candidate.command.from_here(named), path), |file| Ok(file.to_owned()))?;
    Ok((program, environment))
}

/// How a run ended.
///
/// # Errors
/// [`BenchError::Interrupted`] if it was stopped before its end.
pub(crate) fn outcome(end: RunEnd) -> Result<RunOutcome, BenchError> {
    match end {
        RunEnd::Exited(status) => Ok(RunOutcome::Exited(status)),
        RunEnd::Signalled(signal) => Ok(RunOutcome::Signalled(signal)),
        RunEnd::TimedOut => Ok(RunOutcome::TimedOut),
        RunEnd::Interrupted => Err(BenchError::Interrupted),
    }
}

/// Waits, unless measuring is to stop at once.
///
/// # Errors
/// [`BenchError::Interrupted`].
pub(crate) fn pause(time: Duration) -> Result<(), BenchError> {
    const SLICE: Duration = Duration::from_millis(50);
    let until = Instant::now() + time;
    while end_requests() < STOP {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE));
    }
    Err(BenchError::Interrupted)
}
