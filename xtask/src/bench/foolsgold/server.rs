//! A server as processes: started, queried, measured and ended.

use super::contender::Server;
use anyhow::{Context, bail};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than any of them takes to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two tries to connect; our own server is up after milliseconds.
const TRY_AGAIN: Duration = Duration::from_micros(200);

/// A server that answers; it is ended when this is dropped.
pub struct Running {
    child: Child,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// From its start to the end of its first answer.
    pub first_answer: Duration,
}

impl Running {
    /// Starts a server and waits for its first answer of 200 at `path`.
    ///
    /// # Errors
    /// If it cannot be started, ends, or does not answer.
    pub fn start(server: Server, program: Option<&Path>, path: &str, folder: &Path) -> anyhow::Result<Running> {
        let port = free_port()?;
        let command = server.command(program, port, folder)?;
        Running::spawn(&server.name(), command, port, path, folder)
    }

    /// The same with a command of its own, which serves on that port.
    ///
    /// # Errors
    /// As [`Running::start`].
    pub fn spawn(name: &str, mut command: Command, port: u16, path: &str, folder: &Path) -> anyhow::Result<Running> {
        let log = folder.join(format!("log-{port}"));
        let output = fs::File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let mut running = Running { child, port, first_answer: Duration::ZERO };
        loop {
            match get(port, path) {
                Ok(200) => break,
                Ok(status) => bail!("{name}: {path} answers with status {status}: {}", said(&log)),
                Err(error) if start.elapsed() > PATIENCE => return Err(error.context(name.to_owned())),
                Err(_) => std::thread::sleep(TRY_AGAIN),
            }
            if let Some(status) = running.child.try_wait()? {
                bail!("{name} ended during start-up ({status}): {}", said(&log));
            }
        }
        running.first_answer = start.elapsed();
        Ok(running)
    }

    /// Processor time so far, user and system, of its processes.
    ///
    /// # Errors
    /// If it has ended.
    pub fn processor(&self) -> anyhow::Result<Duration> {
        let ticks = tree(self.child.id())?.iter().map(|process| process.ticks).sum::<u64>();
        let second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?.context("no clock ticks")?;
        Ok(Duration::from_secs_f64(ticks as f64 / second as f64))
    }

    /// Its memory in bytes; pages shared by several processes count in part (PSS).
    ///
    /// # Errors
    /// If it has ended.
    pub fn memory(&self) -> anyhow::Result<f64> {
        self.rollup("Pss:")
    }

    /// Its resident memory in bytes.
    ///
    /// # Errors
    /// If it has ended.
    pub fn resident(&self) -> anyhow::Result<f64> {
        self.rollup("Rss:")
    }

    fn rollup(&self, key: &str) -> anyhow::Result<f64> {
        let mut bytes = 0.0;
        for process in tree(self.child.id())? {
            let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.id))?;
            let line = text.lines().find_map(|line| line.strip_prefix(key)).context("no figure of memory")?;
            let number: f64 = line.trim().trim_end_matches(" kB").parse()?;
            bytes += number * 1024.0;
        }
        Ok(bytes)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(0));
        // One that has ended already needs no signal.
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free port of 127.0.0.1.
///
/// # Errors
/// If there is none.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Sends one request and returns the status of the whole answer.
pub fn get(port: u16, path: &str) -> anyhow::Result<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = String::from_utf8_lossy(&answer);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.with_context(|| format!("no answer to GET {path}"))
}

/// The last lines of a server's log.
fn said(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

struct Process {
    id: u32,
    ticks: u64,
}

/// A process and all below it.
fn tree(root: u32) -> anyhow::Result<Vec<Process>> {
    let (mut parents, mut ticks) = (HashMap::new(), HashMap::new());
    for entry in fs::read_dir("/proc")? {
        let path: PathBuf = entry?.path();
        let Some(id) = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()) else { continue };
        // It may have ended meanwhile.
        let Ok(stat) = fs::read_to_string(path.join("stat")) else { continue };
        let Some((parent, used)) = parent_and_ticks(&stat) else { continue };
        parents.insert(id, parent);
        ticks.insert(id, used);
    }
    let below = |mut id: u32| {
        while id != root {
            match parents.get(&id) {
                Some(parent) if *parent != 0 => id = *parent,
                _ => return false,
            }
        }
        true
    };
    let found: Vec<Process> =
        ticks.iter().filter(|(id, _)| below(**id)).map(|(id, ticks)| Process { id: *id, ticks: *ticks }).collect();
    if found.is_empty() {
        bail!("a server has ended");
    }
    Ok(found)
}

/// Fields 4, 14 and 15 of /proc/PID/stat (proc(5)); the name before them may hold anything, even parentheses.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((u32::try_from(number(1)?).ok()?, number(11)? + number(12)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_look_like_the_fields_behind_it() {
        let stat = "7 (a) R 1 (b) S 4 7 7 0 -1 0 1 0 0 0 30 12 0 0 20 0 1 0";
        assert_eq!(parent_and_ticks(stat), Some((4, 42)));
    }

    #[test]
    fn a_tree_holds_a_process_and_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ids: Vec<u32> = tree(std::process::id()).unwrap().iter().map(|process| process.id).collect();
        assert!(ids.contains(&std::process::id()) && ids.contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
