//! Starting several processes at the same instant.

use super::place::Place;
use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Instant;

/// What some starts took, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// Until the last one has ended.
    pub wall: f64,
    /// Processor time of all together.
    pub processor: f64,
}

/// Starts so many processes of the program and waits for all of them.
///
/// # Errors
/// If one cannot be started or fails.
pub fn together(place: &Place, argument: &str, processes: usize) -> anyhow::Result<Started> {
    let barrier = Barrier::new(processes + 1);
    let before = processor()?;
    let (wall, results) = std::thread::scope(|scope| {
        // A thread each: execve(2) itself already waits for the file system.
        let threads: Vec<_> = (0..processes)
            .map(|_| {
                scope.spawn(|| {
                    let mut command = Command::new(&place.program);
                    command.arg(argument).env_clear().env("HOME", "/nonexistent").current_dir("/");
                    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                    barrier.wait();
                    command.status()
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        (start.elapsed(), results)
    });
    for result in results {
        let Ok(status) = result else { bail!("a thread of the benchmark panicked") };
        let status = status.with_context(|| format!("cannot start {}", place.program.display()))?;
        if !status.success() {
            bail!("{} {argument} failed: {status}", place.program.display());
        }
    }
    Ok(Started { wall: wall.as_secs_f64(), processor: processor()? - before })
}

/// Seconds of processor time of all commands waited for so far.
fn processor() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(microseconds as f64 / 1e6)
}
