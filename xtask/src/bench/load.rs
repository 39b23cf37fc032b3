//! Other work on the machine, for as long as a comparison lasts.
//!
//! Half of the processes are always busy, as a build is; the others work and rest in turn, each with a rhythm of its own,
//! as servers and browsers do. Two for each processor.

use anyhow::Context;
use std::process::{Child, Command, Stdio};

/// The busy processes; they end with it.
pub struct Load(Vec<Child>);

impl Load {
    /// Starts them.
    ///
    /// # Errors
    /// If no shell can be started.
    pub fn start() -> anyhow::Result<Load> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let mut load = Load(Vec::new());
        for index in 0..2 * processors {
            let script = if index % 2 == 0 { steady() } else { bursts(index) };
            let child = Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::null()).spawn();
            load.0.push(child.context("cannot start a busy process")?);
        }
        Ok(load)
    }

    /// Starts `count` processes that are always busy.
    ///
    /// # Errors
    /// If no shell can be started.
    pub fn steady(count: usize) -> anyhow::Result<Load> {
        let mut load = Load(Vec::new());
        for _ in 0..count {
            let child = Command::new("/bin/sh").args(["-c", &steady()]).stdin(Stdio::null()).spawn();
            load.0.push(child.context("cannot start a busy process")?);
        }
        Ok(load)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A shell ends by itself soon after the process that started it, should that be killed.
const WHILE_WANTED: &str = "while kill -0 $PPID 2>/dev/null";

fn steady() -> String {
    format!("{WHILE_WANTED}; do i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; done")
}

fn bursts(index: usize) -> String {
    let (work, rest) = (20_000 * (index + 1), 0.05 * (index + 1) as f64);
    format!("{WHILE_WANTED}; do i=0; while [ $i -lt {work} ]; do i=$((i+1)); done; sleep {rest}; done")
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended already needs no killing.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
