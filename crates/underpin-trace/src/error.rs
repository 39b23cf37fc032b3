//! What can go wrong with a trace as a whole.

use std::path::PathBuf;
use underpin_sys::{LaunchError, SysError};

/// A trace that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The command could not be started, or could not be traced.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A call of the tracer failed.
    #[error("cannot trace {}: {source}{}", program.display(), remedy(source))]
    Sys {
        /// The program of the command.
        program: PathBuf,
        /// The call and its error.
        source: SysError,
    },
    /// The tracer's thread could not be created, or ended without a result.
    #[error("the tracer's thread ended early; please report it, with the command")]
    Thread,
}

impl TraceError {
    /// The exit status that `env(1)` would give: 127 not found, 126 not executable, 125 an error of ours.
    #[must_use]
    pub fn exit_status(&self) -> i32 {
        match self {
            TraceError::Launch(error) => error.exit_status(),
            _ => 125,
        }
    }
}

/// What to do if the kernel denies access to the process: its program is unreadable, or gains privileges.
fn remedy(error: &SysError) -> &'static str {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    match error.errno {
        EPERM | EACCES => "; a program that this user may not read can be traced by root alone: try with `sudo`",
        _ => "",
    }
}
