//! Exit codes, and the one place where an error becomes one.

use crate::{input, screen};
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use underpin_bench::GateOutcome;
use underpin_resolve::{Closure, Severity};
use underpin_sys::{RunEnd, end_signal};

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything is fine.
    Fine,
    /// A finding, or a gate that failed.
    Finding,
    /// Wrong use, or an error of ours.
    Error,
    /// A gate that the runs do not decide: `git bisect run` takes it as "cannot be tested".
    NotDecided,
    /// The launched command's own code, or 125 to 127 if it could not be launched, as with env(1).
    Command(u8),
}

/// Exit status of a command that a signal ended, as in shells: this plus the signal's number (bash(1)).
const BY_SIGNAL: i32 = 128;
/// See git-bisect(1), "bisect run".
const NOT_DECIDED: u8 = 125;

impl Exit {
    /// A finding that keeps the program from starting makes the difference; warnings and notes do not.
    pub fn of(closure: &Closure) -> Exit {
        let broken = closure.findings.iter().any(|finding| finding.severity == Severity::Error);
        if broken { Exit::Finding } else { Exit::Fine }
    }

    /// Of limits; none at all were kept.
    pub fn of_gate(outcome: Option<GateOutcome>) -> Exit {
        match outcome {
            None | Some(GateOutcome::Passed) => Exit::Fine,
            Some(GateOutcome::Failed) => Exit::Finding,
            Some(GateOutcome::NotDecided) => Exit::NotDecided,
        }
    }

    /// Of a command that a signal ended.
    pub fn by_signal(signal: i32) -> Exit {
        Exit::Command(u8::try_from(BY_SIGNAL + signal).unwrap_or(u8::MAX))
    }

    /// Of work that the user interrupted.
    pub fn interrupted() -> Exit {
        Exit::by_signal(end_signal().unwrap_or_default())
    }

    /// Of the process that did the work under a supervisor: its own code.
    pub fn of_worker(end: RunEnd) -> Exit {
        match end {
            RunEnd::Exited(code) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
            RunEnd::Signalled(signal) => Exit::by_signal(signal),
            RunEnd::TimedOut | RunEnd::Interrupted => Exit::Error,
        }
    }

    /// The worse of two results: first an error of ours, then a finding, then fine.
    pub fn or(self, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Fine => 0,
            Exit::NotDecided => 1,
            Exit::Finding => 2,
            Exit::Command(_) => 3,
            Exit::Error => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Finding => 1,
            Exit::Error => 2,
            Exit::NotDecided => NOT_DECIDED,
            Exit::Command(code) => code,
        })
    }
}

/// The process's exit code; an error is first printed to standard error, in one line with its causes.
pub fn code(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(error) if is_broken_pipe(&error) => Exit::Fine.into(),
        Err(error) => {
            screen::complain(&error);
            Exit::Error.into()
        }
    }
}

/// Prints a message of clap: help and version are answers, everything else is wrong use.
pub fn refuse(refusal: &clap::Error, line: &[OsString]) -> ExitCode {
    // If standard error is closed, there is no reader.
    let _ = refusal.print();
    if refusal.kind() == ErrorKind::InvalidSubcommand
        && let Some(program) = line.iter().skip(1).find(|word| input::locate(Path::new(word)).is_ok())
    {
        screen::note(&format!("to look at a program: `underpin survey {}`", program.display()));
    }
    if refusal.use_stderr() { Exit::Error.into() } else { Exit::Fine.into() }
}

/// The reader of our output closed it: it has what it wanted, as in `underpin tree git | head -1`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
