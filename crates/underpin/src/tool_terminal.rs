//! A terminal between a tool and the user's. The tool sees one, so that it shows colours and progress; what it says is kept as
//! well: an error that passed by on the screen is explained like one in a log.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at the size of the user's terminal, and at whether the tool has ended.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What a tool leaves running (a compile server) may go on speaking; nobody listens longer than this.
const FAREWELL: Duration = Duration::from_secs(1);

/// The tool's end of the terminal, and what passes on and keeps what is said there.
pub struct ToolTerminal {
    tool: OwnedFd,
    has_ended: Arc<AtomicBool>,
    passing: JoinHandle<()>,
}

impl ToolTerminal {
    /// In front of the terminal that standard error is. What passes is written to `log`, too.
    ///
    /// # Errors
    /// If the system has no pseudo-terminals, as a container without /dev/pts.
    pub fn new(log: File) -> io::Result<ToolTerminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        let tool = ioctl_tiocgptpeer(&ours, flags)?;
        // The user's terminal turns ends of lines into what it needs; a second time is once too often.
        let mut modes = tcgetattr(&tool)?;
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&tool, OptionalActions::Now, &modes)?;
        follow_size(&ours);
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let passing = thread::Builder::new().spawn(move || pass(&ours, log, &ended))?;
        Ok(ToolTerminal { tool, has_ended, passing })
    }

    /// For one of the tool's streams.
    ///
    /// # Errors
    /// Whatever dup(2) reports.
    pub fn stream(&self) -> io::Result<OwnedFd> {
        self.tool.try_clone()
    }

    /// Waits for what the tool said last. It has ended, and its streams are closed here.
    pub fn finish(self) {
        drop(self.tool);
        self.has_ended.store(true, Ordering::Relaxed);
        let _ = self.passing.join();
    }
}

fn follow_size(terminal: &OwnedFd) {
    // Without a size a tool takes its own.
    if let Ok(size) = tcgetwinsize(io::stderr().as_fd()) {
        let _ = tcsetwinsize(terminal, size);
    }
}

/// Passes on and keeps, until nobody has the tool's end, or the tool has ended and only others speak.
fn pass(from: &OwnedFd, mut log: File, has_ended: &AtomicBool) {
    let (mut buffer, mut ended_at) = ([0; 8192], None);
    loop {
        let ready = poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&LOOK)).unwrap_or(0) > 0;
        if has_ended.load(Ordering::Relaxed) {
            let since = ended_at.get_or_insert_with(Instant::now);
            if !ready || since.elapsed() > FAREWELL {
                return;
            }
        }
        if !ready {
            follow_size(from);
            continue;
        }
        match rustix::io::read(from, &mut buffer) {
            Ok(read @ 1..) => {
                // A terminal that is gone, or a full disk, is no reason to stop the tool by a full buffer.
                let _ = io::stderr().write_all(&buffer[..read]);
                let _ = log.write_all(&buffer[..read]);
            }
            Err(rustix::io::Errno::INTR) => {}
            // EIO: nobody has the other end, and everything that was written to it has been read (pty(7)).
            Ok(_) | Err(_) => return,
        }
    }
}

/// What a person read: without colours, and each state of a line of progress as a line of its own.
pub fn plain(said: &[u8]) -> Vec<u8> {
    let mut text = anstream::adapter::strip_bytes(said).into_vec();
    text.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};
    use std::process::Command;

    /// What a tool says there, as it is kept. It leaves something running for 20 s that has the terminal, too.
    #[test]
    fn everything_that_a_tool_said_is_kept_and_nobody_waits_for_what_it_leaves_running() {
        let mut log = tempfile::tempfile().unwrap();
        let terminal = ToolTerminal::new(log.try_clone().unwrap()).unwrap();
        let script = "test -t 1 && test -t 2 && echo a tool on a terminal; seq 20000 | tail -n 1 >&2; { sleep 20; echo late; } &";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(terminal.stream().unwrap()).stderr(terminal.stream().unwrap());
        assert!(command.status().unwrap().success());
        drop(command);
        terminal.finish();
        let mut text = String::new();
        log.rewind().unwrap();
        log.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a tool on a terminal\n20000\n");
    }

    #[test]
    fn plain_text_has_no_colours_and_a_line_for_each_state_of_a_progress() {
        assert_eq!(plain(b"\x1b[1m\x1b[31merror\x1b[0m: a\n 1/2\r\x1b[K 2/2\n"), b"error: a\n 1/2\n 2/2\n");
    }
}
