//! A test program that has stopped for good is ended: every wait of it should have a deadline, and one that has none would
//! hold up the whole run.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// No test takes as long as this without a line of its program: the slowest takes four minutes.
pub const SILENT: Duration = Duration::from_secs(600);

/// Watches what cargo runs.
pub struct Watch {
    lines: Sender<Option<String>>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Begins to watch the children of a process.
    pub fn over(cargo: u32, silent: Duration) -> Watch {
        let (lines, received) = channel::<Option<String>>();
        let thread = thread::spawn(move || {
            let mut program = None;
            loop {
                match received.recv_timeout(silent) {
                    Ok(now) => program = now,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(program) = &program {
                            end(program, cargo, silent);
                        }
                    }
                }
            }
        });
        Watch { lines, thread }
    }

    /// A line was printed; `program` is the test program that runs now, `None` while cargo builds.
    pub fn line(&self, program: Option<&str>) {
        // It receives for as long as it is not stopped.
        let _ = self.lines.send(program.map(str::to_owned));
    }

    /// Ends the watch.
    pub fn stop(self) {
        drop(self.lines);
        let _ = self.thread.join();
    }
}

/// Kills all that a process has started, and says what that was.
fn end(program: &str, cargo: u32, silent: Duration) {
    let mut found = Vec::new();
    below(&PathBuf::from(format!("/proc/{cargo}")), &mut found);
    println!("{program} printed nothing for {} s and is ended, with all that it started:", silent.as_secs());
    for process in &found {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        println!("  {process} {}", String::from_utf8_lossy(&words).replace('\0', " "));
    }
    for process in found {
        // It may have ended since.
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
}

/// The processes below one, the parents first.
fn below(process: &Path, found: &mut Vec<i32>) {
    for thread in fs::read_dir(process.join("task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(child);
            below(&PathBuf::from(format!("/proc/{child}")), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_silent_program_is_ended_and_a_build_is_not() {
        let begun = Instant::now();
        // In place of cargo: a shell with one child.
        let mut cargo = Command::new("sh").args(["-c", "sleep 1000; sleep 1; exit 7"]).spawn().unwrap();
        let watch = Watch::over(cargo.id(), Duration::from_millis(200));
        std::thread::sleep(Duration::from_secs(1));
        assert!(cargo.try_wait().unwrap().is_none(), "no test program runs yet");
        watch.line(Some("matrix"));
        let status = cargo.wait().unwrap();
        watch.stop();
        assert_eq!(status.code(), Some(7), "only its children are ended");
        assert!(begun.elapsed() < Duration::from_secs(500), "it was waited for");
    }
}
