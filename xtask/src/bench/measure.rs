//! Timing whole processes, several commands side by side.
//!
//! One round runs every command once forwards and once backwards (ABBA), so a machine that grows slower during a round
//! slows every command alike. A short command runs once untimed right before each timed run: else it would be timed with
//! the caches of whatever command stands before it in the round.

use super::stats::Sample;
use anyhow::{Context, bail};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One command of a comparison.
pub struct Contestant {
    /// Its name in the table.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
}

impl Contestant {
    /// A contestant of that name.
    pub fn new(name: &str, command: &[&str]) -> Contestant {
        Contestant { name: name.to_owned(), command: command.iter().map(|word| (*word).to_owned()).collect() }
    }
}

/// Below this, cold caches are a noticeable part of a run.
const SHORT: Duration = Duration::from_millis(100);

/// The times of every contestant, in the order given.
///
/// # Errors
/// Where a command cannot be started or fails.
pub fn interleaved(contestants: &[Contestant], rounds: usize) -> anyhow::Result<Vec<Sample>> {
    let mut seconds = vec![Vec::with_capacity(rounds * 2); contestants.len()];
    let first = contestants.iter().map(time).collect::<anyhow::Result<Vec<_>>>()?;
    for _ in 0..rounds {
        let there = 0..contestants.len();
        for index in there.clone().chain(there.rev()) {
            if first[index] < SHORT {
                time(&contestants[index])?;
            }
            seconds[index].push(time(&contestants[index])?.as_secs_f64());
        }
    }
    Ok(seconds.into_iter().map(Sample::new).collect())
}

/// One run, from before its start to after its end.
fn time(contestant: &Contestant) -> anyhow::Result<Duration> {
    let (program, args) = contestant.command.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Cargo sets it for what it runs; every search would go through its folders first.
    command.env_remove("LD_LIBRARY_PATH");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    let took = start.elapsed();
    if !status.success() {
        bail!("{} failed: {status}", contestant.command.join(" "));
    }
    Ok(took)
}
