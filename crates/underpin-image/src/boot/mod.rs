//! An image started under an emulator, and what came back.
//!
//! The result comes over a virtio port that is QEMU's own input and output. Every wait has a deadline, and QEMU is ended with all
//! that it started, however this ends.

mod console;
mod kvm;
mod qemu;

pub use console::telling;
pub use kvm::{Chosen, choose};
pub use qemu::{Accelerator, Machine, Qemu, arguments, program};

use crate::ImageError;
use crate::protocol::{Frame, Frames, Request, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_sys::{Limits, Spawn, Started, Streams, end_requests};

/// How long is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until the guest asks for its command.
    pub up: Duration,
    /// From there to the end of the command: a busy host boots slowly, and that is not the command's time.
    pub command: Duration,
}

impl Patience {
    /// The usual time to come up, and this for the command.
    #[must_use]
    pub fn command(command: Duration) -> Patience {
        Patience { up: Duration::from_secs(90), command }
    }
}

/// How long QEMU may take to end once the guest has sent everything.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often requests to end are looked for.
const SLICE: Duration = Duration::from_millis(100);

/// Takes what the guest sends while it sends it; what a receiver does not take is thrown away.
pub trait Receiver {
    /// Standard output of the command.
    ///
    /// # Errors
    /// If it cannot be passed on; the boot ends then.
    fn out(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Standard error of the command.
    ///
    /// # Errors
    /// As for [`Receiver::out`].
    fn err(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// A file that was asked for begins: its place in the request and its mode, or why it cannot be read.
    ///
    /// # Errors
    /// As for [`Receiver::out`].
    fn file(&mut self, index: usize, mode: Result<u32, io::Error>) -> io::Result<()> {
        let _ = (index, mode);
        Ok(())
    }
    /// Bytes of that file.
    ///
    /// # Errors
    /// As for [`Receiver::out`].
    fn file_data(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// That file has ended, whole or not.
    ///
    /// # Errors
    /// As for [`Receiver::out`].
    fn file_end(&mut self, whole: Result<(), io::Error>) -> io::Result<()> {
        let _ = whole;
        Ok(())
    }
}

/// How a boot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// The command ended by itself.
    Ended(Status),
    /// The deadline came while it ran.
    TimedOut,
    /// This process was asked to end.
    Interrupted,
    /// No result came: the guest did not come up, or went down before the end.
    NoResult {
        /// Whether it had come up.
        was_up: bool,
        /// Whether it was given up, and had not ended by itself.
        gave_up: bool,
    },
}

/// What came of a boot.
#[derive(Clone, Debug)]
pub struct Boot {
    /// How it ended.
    pub outcome: GuestEnd,
    /// From the start of QEMU to the guest's first word.
    pub up_after: Option<Duration>,
    /// From the start of QEMU to its end.
    pub wall: Duration,
    /// What [`telling`] leaves of the console's lines.
    pub console: Vec<String>,
    /// What QEMU itself said.
    pub said: String,
}

/// Starts the machine, hands over the request, passes on what comes back.
///
/// # Errors
/// If QEMU cannot be started, speaks what no guest speaks, or `receiver` fails.
pub fn boot(
    qemu: &Qemu,
    machine: &Machine<'_>,
    request: &Request,
    patience: Patience,
    receiver: &mut dyn Receiver,
) -> Result<Boot, ImageError> {
    let scratch = tempfile::Builder::new().prefix("underpin-boot-").tempdir().map_err(ImageError::io("/tmp"))?;
    let console = scratch.path().join("console");
    let mut said = tempfile::tempfile_in(scratch.path()).map_err(ImageError::io(scratch.path()))?;
    let broken = |source| ImageError::Io { path: qemu.path.clone(), source };
    let begun = Instant::now();
    let (started, input, output) = start(qemu, machine, &console, &said)?;
    let mut session = Session {
        path: &qemu.path,
        frames: Frames::default(),
        lines: machine.by_console().then(console::Lines::default),
        input,
        output,
        to_send: Vec::new(),
        begun,
        up_after: None,
        status: None,
        patience,
    };
    let outcome = session.run(request, receiver)?;
    let up_after = session.up_after;
    let text = session.lines.take().map(console::Lines::text);
    if !matches!(outcome, GuestEnd::Ended(_)) {
        started.kill();
    }
    drop(session);
    started.within(Limits { requests: end_requests() + 1, ..Limits::time(FAREWELL) })?;
    let wall = begun.elapsed();
    let mut words = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut words)).map_err(broken)?;
    Ok(Boot {
        outcome,
        up_after,
        wall,
        console: console::last_words(&text.unwrap_or_else(|| fs::read(&console).unwrap_or_default())),
        said: String::from_utf8_lossy(&words).trim().to_owned(),
    })
}

fn start(
    qemu: &Qemu,
    machine: &Machine<'_>,
    console: &Path,
    said: &File,
) -> Result<(Started, PipeWriter, PipeReader), ImageError> {
    let broken = |source| ImageError::Io { path: qemu.path.clone(), source };
    let (their_input, input) = io::pipe().map_err(broken)?;
    let (output, their_output) = io::pipe().map_err(broken)?;
    let streams = Streams {
        input: Some(their_input.into()),
        output: Some(their_output.into()),
        error: Some(said.try_clone().map_err(broken)?.into()),
    };
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let spawn = Spawn::new(qemu.path.clone(), &arguments(qemu, machine, console), &environment, streams)?;
    let started = spawn.start(&[], true)?;
    let flags = fcntl_getfl(&input).map_err(|error| broken(error.into()))?;
    fcntl_setfl(&input, flags | OFlags::NONBLOCK).map_err(|error| broken(error.into()))?;
    // With `spawn` our copies of QEMU's ends are closed: its end is the end of `output`.
    Ok((started, input, output))
}

/// One conversation with a guest.
struct Session<'a> {
    path: &'a Path,
    frames: Frames,
    /// If frames come between the lines of a console.
    lines: Option<console::Lines>,
    input: PipeWriter,
    output: PipeReader,
    /// What QEMU has not taken yet.
    to_send: Vec<u8>,
    begun: Instant,
    up_after: Option<Duration>,
    status: Option<Status>,
    patience: Patience,
}

impl Session<'_> {
    fn run(&mut self, request: &Request, receiver: &mut dyn Receiver) -> Result<GuestEnd, ImageError> {
        let requests = end_requests();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let limit = self.up_after.map_or(self.patience.up, |up| up + self.patience.command);
            let left = limit.saturating_sub(self.begun.elapsed());
            if end_requests() > requests {
                return Ok(GuestEnd::Interrupted);
            }
            if left.is_zero() {
                let was_up = self.up_after.is_some();
                return Ok(if was_up { GuestEnd::TimedOut } else { GuestEnd::NoResult { was_up, gave_up: true } });
            }
            if !self.wait(left.min(SLICE))? {
                continue;
            }
            let read = self.output.read(&mut buffer).map_err(ImageError::io(self.path))?;
            if read == 0 {
                return Ok(GuestEnd::NoResult { was_up: self.up_after.is_some(), gave_up: false });
            }
            match &mut self.lines {
                None => self.frames.push(&buffer[..read]),
                Some(lines) => {
                    let strange = |reason| ImageError::Emulator { path: self.path.to_owned(), reason };
                    self.frames.push(&lines.take(&buffer[..read]).map_err(strange)?);
                }
            }
            if let Some(outcome) = self.take(request, receiver)? {
                return Ok(outcome);
            }
        }
    }

    /// Sends what can be sent; whether there is something to read.
    fn wait(&mut self, time: Duration) -> Result<bool, ImageError> {
        let mut polled = vec![PollFd::new(&self.output, PollFlags::IN)];
        if !self.to_send.is_empty() {
            polled.push(PollFd::from_borrowed_fd(self.input.as_fd(), PollFlags::OUT));
        }
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut polled, Some(&time)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(ImageError::Io { path: self.path.to_owned(), source: error.into() }),
        }
        let readable = !polled[0].revents().is_empty();
        let writable = polled.get(1).is_some_and(|polled| !polled.revents().is_empty());
        drop(polled);
        if writable {
            match self.input.write(&self.to_send) {
                Ok(sent) => drop(self.to_send.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // QEMU has ended: so does its output.
                Err(_) => self.to_send.clear(),
            }
        }
        Ok(readable)
    }

    /// Acts on every frame that is whole.
    fn take(&mut self, request: &Request, receiver: &mut dyn Receiver) -> Result<Option<GuestEnd>, ImageError> {
        let path = self.path;
        let strange = |reason| ImageError::Emulator { path: path.to_owned(), reason };
        while let Some(frame) = self.frames.take().map_err(strange)? {
            let passed_on = match frame {
                Frame::Hello => {
                    self.up_after = Some(self.begun.elapsed());
                    self.to_send = request.encoded();
                    Ok(())
                }
                Frame::Out(bytes) => receiver.out(&bytes),
                Frame::Err(bytes) => receiver.err(&bytes),
                Frame::FileBegin { index, mode, error } => {
                    receiver.file(index as usize, if error == 0 { Ok(mode) } else { Err(errno(error)) })
                }
                Frame::FileData(bytes) => receiver.file_data(&bytes),
                Frame::FileEnd { error } => receiver.file_end(if error == 0 { Ok(()) } else { Err(errno(error)) }),
                Frame::Status(status) => {
                    self.status = Some(status);
                    Ok(())
                }
                Frame::End => {
                    let status = self.status.ok_or_else(|| strange("the guest ended without a status".to_owned()))?;
                    // The guest turns itself off when it reads this; if it cannot, it is ended anyway.
                    let _ = self.input.write(b"\n");
                    return Ok(Some(GuestEnd::Ended(status)));
                }
            };
            passed_on.map_err(|source| ImageError::PassOn { source })?;
        }
        Ok(None)
    }
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}
