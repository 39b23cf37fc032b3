//! runc or crun: one process, ended with all that it started when its time is up.

use crate::ImageError;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_sys::{Limits, Run, RunEnd, Spawn, Streams, end_requests, find_program};

/// Programs with one command line, in the order in which they are tried.
const NAMES: [&str; 2] = ["runc", "crun"];
/// To remove what is left of a container.
const FAREWELL: Duration = Duration::from_secs(10);

/// A runtime of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// `runc` or `crun`.
    pub name: &'static str,
    path: PathBuf,
}

/// How a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The process's end; a signal that ended it is 128 and its number as an exit status, as runtimes have it.
    pub end: RunEnd,
    /// From the start of the runtime to its end.
    pub wall: Duration,
}

/// The runtime could not start the container; nothing of it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl Runtime {
    /// The first that is there.
    #[must_use]
    pub fn find(path: Option<&OsStr>) -> Option<Runtime> {
        NAMES.iter().find_map(|name| Some(Runtime { name, path: find_program(OsStr::new(name), path).ok()? }))
    }

    /// Runs the container of a bundle. `streams` are those of its process.
    ///
    /// # Errors
    /// If the runtime itself cannot be executed.
    pub fn run(&self, bundle: &Path, timeout: Duration, streams: Streams) -> Result<Result<Ran, Refused>, ImageError> {
        let state = bundle.join("state");
        let (log, started) = (bundle.join("log"), bundle.join("pid"));
        let id = format!("underpin-{}", std::process::id());
        let words: Vec<OsString> = [
            vec![self.path.clone().into(), "--root".into(), state.clone().into(), "--log".into(), log.clone().into()],
            vec!["run".into(), "--bundle".into(), bundle.into(), "--pid-file".into(), started.clone().into()],
            vec![id.clone().into()],
        ]
        .concat();
        let limits = Limits { timeout: Some(timeout), requests: end_requests() + 1 };
        let Run { wall, end, .. } = self.spawn(&words, streams)?.run(&[], limits)?;
        // What was ended from outside left its state behind.
        if state.join(&id).exists() {
            let words: Vec<OsString> = vec![
                self.path.clone().into(),
                "--root".into(),
                state.into(),
                "delete".into(),
                "--force".into(),
                id.into(),
            ];
            // It warns of control groups that it has to try twice.
            let null =
                fs::File::options().read(true).write(true).open("/dev/null").map_err(ImageError::io("/dev/null"))?;
            let streams = Streams { error: Some(null.into()), ..Streams::default() };
            self.spawn(&words, streams)?.run(&[], Limits::time(FAREWELL))?;
        }
        // The number of the process is written once it exists.
        if end != RunEnd::Interrupted && end != RunEnd::TimedOut && !started.exists() {
            return Ok(Err(Refused(self.said(&log))));
        }
        Ok(Ok(Ran { end, wall }))
    }

    fn spawn(&self, words: &[OsString], streams: Streams) -> Result<Spawn, ImageError> {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        Ok(Spawn::new(self.path.clone(), words, &environment, streams)?)
    }

    /// The last message of its log.
    fn said(&self, log: &Path) -> String {
        let text = fs::read_to_string(log).unwrap_or_default();
        let line = text.lines().next_back().unwrap_or("it says nothing");
        let message = line.split_once("msg=").map_or(line, |(_, message)| message);
        format!("{}: {}", self.name, message.trim_matches('"'))
    }
}
