//! What to run and how far to watch it.

use crate::CallSet;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;

/// How far the command is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// To the entry point: exec and the loader's work.
    Entry,
    /// To `main`: initialisers too. If no `main` can be found (Go, a stripped program without a C library), to the
    /// entry point.
    #[default]
    Main,
    /// To the end of the last process. The only one that needs a seccomp filter in the command.
    Exit,
}

/// What happens to the command when the phase asked for has been reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The tracer lets go; the command runs to its end at its own speed, and its exit status is reported.
    #[default]
    Detach,
    /// The command is killed: only its start was wanted. Its `main` never runs with `Until::Entry` or `Main`
    /// (initialisers may have).
    Kill,
}

/// Where the command's standard output and error go.
#[derive(Debug, Default)]
pub enum Output {
    /// The same as the tracer's.
    #[default]
    Inherit,
    /// Discarded (`/dev/null`).
    Null,
    /// Both to this file.
    File(File),
}

/// What to run and how far to watch it.
#[derive(Debug, Default)]
pub struct TraceOptions {
    /// The program and its arguments. A name without a slash is searched for in `PATH`, as `execvp(3)` does.
    pub command: Vec<OsString>,
    /// Variables to set (`Some`) or remove (`None`) in the command's environment.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How far to watch.
    pub until: Until,
    /// What happens to the command after that.
    pub then: Then,
    /// Which calls to record.
    pub calls: CallSet,
    /// Where the command's output goes.
    pub output: Output,
    /// At most this many events are kept (`None`: [`TraceOptions::EVENT_LIMIT`]); totals go on counting.
    pub event_limit: Option<usize>,
}

impl TraceOptions {
    /// Default of `event_limit`: about 40 MB.
    pub const EVENT_LIMIT: usize = 250_000;

    /// Watches a command with the defaults.
    pub fn new<I>(command: I) -> TraceOptions
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        TraceOptions { command: command.into_iter().map(Into::into).collect(), ..TraceOptions::default() }
    }
}
