//! Timing whole processes, several commands side by side.
//!
//! One round runs every command once forwards and once backwards (ABBA), so a machine that grows slower during a round
//! slows every command alike. A short command runs once untimed right before each timed run: else it would be timed with
//! the caches of whatever command comes before it in the round.

use super::stats::Sample;
use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One command of a comparison.
pub struct Contestant {
    /// Its name in the table.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The name that it is called by, if it is not its path.
    pub called: Option<PathBuf>,
}

impl Contestant {
    /// A contestant of that name.
    pub fn new(name: &str, command: &[&str]) -> Contestant {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Contestant { name: name.to_owned(), command, called: None }
    }

    /// The same called by another name than its path, for programs that look for their own files beside that name. A shell
    /// in between (`exec -a`) would be a part of what is timed.
    pub fn called(self, name: &Path) -> Contestant {
        Contestant { called: Some(name.to_owned()), ..self }
    }
}

/// Below this, cold caches are a noticeable part of a run.
const SHORT: Duration = Duration::from_millis(100);

/// One run: its time on the wall, and the processor time of it and of what it waited for.
#[derive(Clone, Copy)]
struct Run {
    wall: Duration,
    processor: Duration,
}

/// The times of every contestant, in the order given.
///
/// # Errors
/// If a command cannot be started or fails.
pub fn interleaved(contestants: &[Contestant], rounds: usize) -> anyhow::Result<Vec<Sample>> {
    interleaved_apart(contestants, rounds, Duration::ZERO)
}

/// The same with a pause before each timed run.
///
/// # Errors
/// If a command cannot be started or fails.
pub fn interleaved_apart(contestants: &[Contestant], rounds: usize, pause: Duration) -> anyhow::Result<Vec<Sample>> {
    let mut runs = vec![Vec::with_capacity(rounds * 2); contestants.len()];
    let first = contestants.iter().map(time).collect::<anyhow::Result<Vec<_>>>()?;
    for _ in 0..rounds {
        let there = 0..contestants.len();
        for index in there.clone().chain(there.rev()) {
            if first[index].wall < SHORT {
                time(&contestants[index])?;
            }
            std::thread::sleep(pause);
            runs[index].push(time(&contestants[index])?);
        }
    }
    Ok(runs.iter().map(|runs| sample(runs)).collect())
}

/// Any figure of several contenders, each taken once untimed right before it is kept, in the order of [`interleaved`].
///
/// # Errors
/// Whatever the measurement reports.
pub fn abba(
    contenders: usize,
    rounds: usize,
    mut measure: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<Sample>> {
    let mut figures = vec![Vec::with_capacity(rounds * 2); contenders];
    for _ in 0..rounds {
        for index in (0..contenders).chain((0..contenders).rev()) {
            measure(index)?;
            figures[index].push(measure(index)?);
        }
    }
    Ok(figures.into_iter().map(Sample::new).collect())
}

fn sample(runs: &[Run]) -> Sample {
    let seconds = |of: fn(&Run) -> Duration| runs.iter().map(|run| of(run).as_secs_f64()).collect();
    Sample::new(seconds(|run| run.wall)).with_processor(seconds(|run| run.processor))
}

/// One run, from before its start to after its end.
fn time(contestant: &Contestant) -> anyhow::Result<Run> {
    let (program, args) = contestant.command.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command.arg0(contestant.called.as_deref().unwrap_or(Path::new(program)));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let before = processor()?;
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    let wall = start.elapsed();
    if !status.success() {
        bail!("{} failed: {status}", contestant.command.join(" "));
    }
    Ok(Run { wall, processor: processor()?.saturating_sub(before) })
}

/// Processor time of every command waited for so far, and of those that they waited for.
pub fn processor() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(microseconds)?))
}
