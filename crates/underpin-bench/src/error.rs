//! What can go wrong while measuring.

use crate::outcome::RunOutcome;
use std::error::Error;
use underpin_sys::{LaunchError, SysError};

/// An observer could not do its part: what was measured is not kept, or not shown.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ObserverError(#[from] Box<dyn Error + Send + Sync>);

/// A failure that ends an experiment; what was measured before it is kept by the observer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A command could not be started.
    #[error("{}", once(name, source))]
    Launch {
        /// The variant.
        name: String,
        /// Why.
        source: LaunchError,
    },
    /// A command failed.
    #[error("{name}: the command {}; use -i to measure it anyway, or --show-output to see what it says", outcome.words())]
    Failed {
        /// The variant.
        name: String,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// A command exceeded its time limit.
    #[error("{name}: not finished after {seconds} s and killed; raise --timeout")]
    TimedOut {
        /// The variant.
        name: String,
        /// The limit.
        seconds: f64,
    },
    /// A command around the runs failed.
    #[error("the {hook} command `{command}` {}", outcome.words())]
    Hook {
        /// Which: setup, prepare, conclude, cleanup.
        hook: &'static str,
        /// As given.
        command: String,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// The variant is not in effect in the process.
    #[error("{name}: the variant is not in effect: {reason}")]
    NotInEffect {
        /// The variant.
        name: String,
        /// What the process's own maps say.
        reason: String,
    },
    /// The program of a row did not report its figures.
    #[error("{name}: no figures from the row's program: {reason}")]
    NotReported {
        /// The variant.
        name: String,
        /// Why, a clause.
        reason: String,
    },
    /// A request that cannot be read.
    #[error(transparent)]
    Request(#[from] underpin_load::RequestError),
    /// The load could not be applied.
    #[error("{name}: {source}")]
    Load {
        /// The variant.
        name: String,
        /// Why.
        source: underpin_load::LoadError,
    },
    /// Another server listens there already.
    #[error(
        "{name}: another server listens on {endpoint} already and would be measured in its place; stop it, or write {{PORT}} for a free port"
    )]
    Taken {
        /// The variant.
        name: String,
        /// Where.
        endpoint: underpin_load::Endpoint,
    },
    /// A server that does not answer.
    #[error("{name}: no answer from the server {seconds} s after its start: {reason}; raise --ready-timeout{said}")]
    NotReady {
        /// The variant.
        name: String,
        /// The limit.
        seconds: f64,
        /// The result of the last try.
        reason: String,
        /// The end of what it wrote, as the end of the message.
        said: String,
    },
    /// A server that ended by itself.
    #[error("{name}: the server {} {when}; it has to stay in the foreground until it is told to end{said}", outcome.words())]
    ServerEnded {
        /// The variant.
        name: String,
        /// How it ended.
        outcome: RunOutcome,
        /// Before it answered, during the load, ...
        when: &'static str,
        /// The end of what it wrote, as the end of the message.
        said: String,
    },
    /// A server under load gave no good answer.
    #[error("{name}: none of {requests} requests got a good answer: {reason}; use -i to measure it anyway")]
    NoAnswers {
        /// The variant.
        name: String,
        /// How many.
        requests: u64,
        /// Why the first of them failed.
        reason: String,
    },
    /// The user asked for the end.
    #[error("stopped before the end")]
    Interrupted,
    /// Nothing to measure.
    #[error("no command to measure")]
    Nothing,
    /// A command line that cannot be cut into words.
    #[error("unclosed quote in `{0}`")]
    Quote(String),
    /// A system call failed.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// A result could not be kept or shown.
    #[error(transparent)]
    Observer(#[from] ObserverError),
}

/// The variant and the reason; the reason alone if it begins with the variant's name, as that of a command without arguments does.
fn once(name: &str, source: &LaunchError) -> String {
    let source = source.to_string();
    if source.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')) {
        source
    } else {
        format!("{name}: {source}")
    }
}
