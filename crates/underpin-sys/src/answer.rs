//! A program that is asked something: what version it is, what a loader would map, what a project contains. It is not ours, and
//! may say nothing for ever, or never stop.

use crate::error::SysError;
use crate::reap::{Limits, Waited, ends_within, kill_tree};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Enough for a program that tells of itself, on a busy machine and from a network file system.
pub const QUESTION_LIMIT: Duration = Duration::from_secs(60);
/// Enough for a program that works on files, or asks a server: git, cargo, patch, dpkg-deb.
pub const CHORE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// No program has more to say (the symbol bindings of a large program are some megabytes).
const OUTPUT_LIMIT: usize = 512 << 20;
/// A file that was just written may still be open for writing in another thread's child, between its fork and its exec;
/// until then execve(2) fails with ETXTBSY.
const BUSY_ATTEMPTS: u32 = 200;
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// Runs a command to its end, with empty input; both its outputs.
///
/// # Errors
/// The error of execve(2); `TimedOut` or `FileTooLarge` if a limit is exceeded, and then the command is killed with
/// everything that it started.
pub fn answer(command: &mut Command, limit: Duration) -> io::Result<Output> {
    answer_to(Stdio::null(), command, limit)
}

/// The same of a command that reads something.
///
/// # Errors
/// As for [`answer`].
pub fn answer_to(input: Stdio, command: &mut Command, limit: Duration) -> io::Result<Output> {
    let started = Instant::now();
    let mut child = spawn(command.stdin(input))?;
    let heard = listen(&mut child, started, limit).and_then(|heard| {
        // It may close its outputs and go on.
        ended(&child, limit.saturating_sub(started.elapsed())).map(|()| heard)
    });
    match heard {
        Ok((stdout, stderr)) => Ok(Output { status: child.wait()?, stdout, stderr }),
        Err(error) => {
            kill_tree(pid(&child));
            child.wait()?;
            Err(told(command, limit, error))
        }
    }
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
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

fn pid(child: &Child) -> crate::RawPid {
    child.id() as crate::RawPid
}

fn ended(child: &Child, left: Duration) -> io::Result<()> {
    match ends_within(pid(child), Limits::time(left)) {
        Ok(Waited::Ended) => Ok(()),
        Ok(_) => Err(io::ErrorKind::TimedOut.into()),
        Err(SysError { errno, .. }) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Reads both outputs to their ends.
fn listen(child: &mut Child, started: Instant, limit: Duration) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let file = |end: OwnedFd| File::from(end);
    let stdout = child.stdout.take().map(|end| file(end.into()));
    let stderr = child.stderr.take().map(|end| file(end.into()));
    let mut ends = [(stdout, Vec::new()), (stderr, Vec::new())];
    while ends.iter().any(|(end, _)| end.is_some()) {
        let left = limit.checked_sub(started.elapsed()).ok_or(io::ErrorKind::TimedOut)?;
        let ready = ready(&ends, left)?;
        if ready == [false, false] {
            return Err(io::ErrorKind::TimedOut.into());
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
    let milliseconds = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    // poll(2) passes over a descriptor that is negative.
    let mut polled = [0, 1].map(|which: usize| libc::pollfd {
        fd: ends[which].0.as_ref().map_or(-1, AsRawFd::as_raw_fd),
        events: libc::POLLIN,
        revents: 0,
    });
    loop {
        // SAFETY: two elements, which live through the call.
        let found = unsafe { libc::poll(polled.as_mut_ptr(), 2, milliseconds) };
        let error = io::Error::last_os_error();
        if found >= 0 {
            return Ok(polled.map(|one| one.revents != 0));
        } else if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// One read; whether there may be more.
fn read_some(end: &mut File, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 64 << 10];
    let length = end.read(&mut buffer)?;
    text.extend_from_slice(&buffer[..length]);
    if text.len() > OUTPUT_LIMIT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(length > 0)
}

/// The error with the name of the program and the limit.
fn told(command: &Command, limit: Duration, error: io::Error) -> io::Error {
    let name = command.get_program().to_string_lossy();
    let what = match error.kind() {
        io::ErrorKind::TimedOut => format!("took longer than {} s, and was ended", limit.as_secs_f32()),
        io::ErrorKind::FileTooLarge => format!("printed more than {} MiB, and was ended", OUTPUT_LIMIT >> 20),
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{name} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(script: &str, limit: Duration) -> io::Result<Output> {
        answer(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn both_outputs_come_whole() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo out$i; echo error$i >&2; i=$((i+1)); done; exit 3";
        let ended = asked(script, QUESTION_LIMIT).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.stdout.ends_with(b"out2999\n") && ended.stderr.ends_with(b"error2999\n"));
    }

    #[test]
    fn what_never_ends_is_killed_with_what_it_started() {
        // Silent; silent behind closed outputs; the outputs in the hands of a child.
        for script in ["exec sleep 1000", "exec >&- 2>&-; sleep 1000", "sleep 1000 & echo $!; wait"] {
            let error = asked(script, Duration::from_millis(50)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
            assert_eq!(error.to_string(), "sh took longer than 0.05 s, and was ended");
        }
    }

    #[test]
    fn a_command_reads_what_it_is_given() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"text").unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let said = answer_to(file.into(), &mut Command::new("cat"), QUESTION_LIMIT).unwrap();
        assert_eq!(said.stdout, b"text");
        assert_eq!(answer(&mut Command::new("cat"), QUESTION_LIMIT).unwrap().stdout, b"");
    }
}
