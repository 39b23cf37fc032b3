//! A child process with limits on its time and its output.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No loader prints more than this (the symbol bindings of a large program are some megabytes).
const OUTPUT_LIMIT: usize = 512 << 20;
/// A copy that was just written may still be open for writing in another thread's child, between its fork and its exec;
/// until then execve(2) fails with ETXTBSY.
const BUSY_ATTEMPTS: u32 = 200;
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// The result of a child.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a command to its end, with empty input.
///
/// # Errors
/// The error of execve(2); `TimedOut` or `FileTooLarge` if a limit is exceeded, and then the child is killed.
pub(super) fn run(command: &mut Command, time_limit: Duration) -> io::Result<Ended> {
    let started = Instant::now();
    let mut child = spawn(command)?;
    match listen(&mut child, started, time_limit) {
        Ok((stdout, stderr)) => Ok(Ended { status: child.wait()?, stdout, stderr }),
        Err(error) => {
            // It may have ended already; what matters is that it is waited for.
            let _ = child.kill();
            child.wait()?;
            Err(error)
        }
    }
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut attempts = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && attempts < BUSY_ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(BUSY_WAIT);
            }
            other => return other,
        }
    }
}

/// Reads both outputs to their ends.
fn listen(child: &mut Child, started: Instant, time_limit: Duration) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let file = |end: OwnedFd| File::from(end);
    let stdout = child.stdout.take().map(|end| file(end.into()));
    let stderr = child.stderr.take().map(|end| file(end.into()));
    let mut ends = [(stdout, Vec::new()), (stderr, Vec::new())];
    while ends.iter().any(|(end, _)| end.is_some()) {
        let left = time_limit.checked_sub(started.elapsed()).ok_or_else(|| too_long(time_limit))?;
        let ready = ready(&ends, left)?;
        if ready == [false, false] {
            return Err(too_long(time_limit));
        }
        for ((end, text), _) in ends.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            if let Some(file) = end
                && !read_some(file, text)?
            {
                *end = None;
            }
        }
    }
    let [(_, stdout), (_, stderr)] = ends;
    Ok((stdout, stderr))
}

/// Which of the open ends have something to read, or are closed; neither once the time is over.
fn ready(ends: &[(Option<File>, Vec<u8>); 2], left: Duration) -> io::Result<[bool; 2]> {
    let timeout =
        Timespec { tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
    let open: Vec<usize> = (0..2).filter(|&which| ends[which].0.is_some()).collect();
    let mut polled: Vec<PollFd<'_>> =
        ends.iter().filter_map(|(end, _)| Some(PollFd::new(end.as_ref()?, PollFlags::IN))).collect();
    while let Err(error) = poll(&mut polled, Some(&timeout)) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    let mut ready = [false; 2];
    for (which, polled) in open.into_iter().zip(&polled) {
        ready[which] = !polled.revents().is_empty();
    }
    Ok(ready)
}

/// One read; whether there may be more.
fn read_some(end: &mut File, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 64 << 10];
    let length = end.read(&mut buffer)?;
    text.extend_from_slice(&buffer[..length]);
    if text.len() > OUTPUT_LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the loader printed more than any loader has to say"));
    }
    Ok(length > 0)
}

fn too_long(limit: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the loader took longer than {} s", limit.as_secs_f32()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_come_whole() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo out$i; echo error$i >&2; i=$((i+1)); done; exit 3";
        let ended = run(Command::new("sh").args(["-c", script]), Duration::from_secs(60)).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.stdout.ends_with(b"out2999\n") && ended.stderr.ends_with(b"error2999\n"));
    }

    #[test]
    fn a_child_that_never_ends_is_killed() {
        let error = run(Command::new("sleep").arg("1000"), Duration::from_millis(30)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
