//! What can go wrong while measuring.

use crate::record::RunOutcome;
use underpin_sys::{LaunchError, SysError};

/// A failure that ends an experiment; what was measured before it is kept by the observer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A command could not be started.
    #[error("{name}: {source}")]
    Launch {
        /// The variant.
        name: String,
        /// Why.
        source: LaunchError,
    },
    /// A command failed.
    #[error("{name}: the command {}; use -i to measure it all the same, or --show-output to see what it says", outcome_words(*outcome))]
    Failed {
        /// The variant.
        name: String,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// A command took longer than it may.
    #[error("{name}: not done after {seconds} s and killed; give it more with --timeout")]
    TimedOut {
        /// The variant.
        name: String,
        /// The limit.
        seconds: f64,
    },
    /// A command around the runs failed.
    #[error("the {hook} command `{command}` {}", outcome_words(*outcome))]
    Hook {
        /// Which: setup, prepare, conclude, cleanup.
        hook: &'static str,
        /// As given.
        command: String,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// The variant is not in effect in the process.
    #[error("{name}: the variant did not take: {reason}")]
    NotInEffect {
        /// The variant.
        name: String,
        /// What the process's own maps say.
        reason: String,
    },
    /// Nothing to measure.
    #[error("there is no command to measure")]
    Nothing,
    /// A command line that cannot be cut into words.
    #[error("{0}: a quote is not closed")]
    Quote(String),
    /// A system call failed.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// A result could not be kept.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
}

/// How a command ended, as the end of a sentence.
pub(crate) fn outcome_words(outcome: RunOutcome) -> String {
    match outcome {
        RunOutcome::Exited(status) => format!("ended with status {status}"),
        RunOutcome::Signalled(signal) => format!("was ended by signal {signal}"),
        RunOutcome::TimedOut => "did not end in time and was killed".to_owned(),
    }
}
