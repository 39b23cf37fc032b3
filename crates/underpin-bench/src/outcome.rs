//! How a run ended.

use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was killed at the end of its time.
    TimedOut,
}

impl RunOutcome {
    /// Whether it exited with status 0.
    #[must_use]
    pub fn succeeded(self) -> bool {
        self == RunOutcome::Exited(0)
    }

    /// How it ended, as the end of a sentence.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            RunOutcome::Exited(status) => format!("ended with status {status}"),
            RunOutcome::Signalled(signal) => format!("was ended by signal {signal}"),
            RunOutcome::TimedOut => "did not end in time and was killed".to_owned(),
        }
    }
}
