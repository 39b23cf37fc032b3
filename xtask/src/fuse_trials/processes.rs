//! Processes that are started, watched and ended.

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};
use underpin_sys::RawPid;

/// How long processes may take until they wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// For how long they must have done nothing.
const QUIET: Duration = Duration::from_millis(300);
/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A process with a group of its own, which is ended when this is dropped.
pub struct Group(Child);

impl Group {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> anyhow::Result<Group> {
        let child = command.process_group(0).spawn();
        Ok(Group(child.with_context(|| format!("cannot start {:?}", command.get_program()))?))
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Its number.
    ///
    /// # Errors
    /// If it is none that the kernel gives.
    pub fn id(&self) -> anyhow::Result<RawPid> {
        Ok(RawPid::try_from(self.0.id())?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(id) = self.id() {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until none of these processes has used the processor for a while.
///
/// # Errors
/// If one ends, or goes on working.
pub fn settle(processes: &[RawPid]) -> anyhow::Result<()> {
    let start = Instant::now();
    let (mut last, mut since) = (used(processes)?, Instant::now());
    while since.elapsed() < QUIET {
        if start.elapsed() > PATIENCE {
            bail!("a process was still working after {} s", PATIENCE.as_secs());
        }
        sleep(LOOK);
        let now = used(processes)?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}

/// Processor time of these processes, in nanoseconds.
///
/// # Errors
/// If one is gone or ended.
pub fn used(processes: &[RawPid]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for process in processes {
        let status = fs::read_to_string(format!("/proc/{process}/status")).context("a process is gone")?;
        if status.lines().any(|line| line.starts_with("State:") && line.contains('Z')) {
            bail!("a process ended by itself");
        }
        for thread in fs::read_dir(format!("/proc/{process}/task")).context("a process is gone")? {
            // A thread may end between the listing and the reading.
            let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
            sum += ran(&text).unwrap_or(0);
        }
    }
    Ok(sum)
}

/// The time on a processor, the first of a schedstat's three numbers.
fn ran(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_schedstat_is_the_time_on_a_processor() {
        assert_eq!(ran("122168659 149331273 152\n"), Some(122_168_659));
        assert_eq!(ran(""), None);
    }
}
