//! What load is put on a server: how, for how long, with what.

use crate::error::LoadError;
use crate::request::Request;
use std::time::Duration;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Every connection sends its next request when the answer to the last is in.
    Closed {
        /// How many connections.
        connections: usize,
    },
    /// A fixed number in a second, whatever the server does.
    Open {
        /// Requests in a second, over all threads.
        rate: f64,
        /// The most connections; a request that finds none free waits, and its waiting counts.
        connections: usize,
    },
}

impl Pace {
    /// The number of connections.
    #[must_use]
    pub const fn connections(self) -> usize {
        match self {
            Pace::Closed { connections } | Pace::Open { connections, .. } => connections,
        }
    }
}

/// A load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// The request that is sent.
    pub request: Request,
    /// When requests are sent.
    pub pace: Pace,
    /// Threads of the generator, each with its share of the connections; at least one, at most one for each connection.
    pub threads: usize,
    /// Before the window: requests are sent, and nothing is counted.
    pub warmup: Duration,
    /// The window in which requests are counted.
    pub window: Duration,
    /// A request without an answer after this time has failed.
    pub timeout: Duration,
}

impl LoadPlan {
    /// Whether it can be carried out.
    ///
    /// # Errors
    /// [`LoadError::Plan`], a sentence.
    pub fn check(&self) -> Result<(), LoadError> {
        let wrong = match self.pace {
            _ if self.pace.connections() == 0 => "a load needs at least one connection",
            Pace::Open { rate, .. } if !(rate > 0.0 && rate <= 1e9) => {
                "invalid rate: expected requests per second, more than 0"
            }
            _ if self.window.is_zero() => "the duration of a load must not be zero",
            _ if self.timeout.is_zero() => "the timeout of a request must not be zero",
            _ => return Ok(()),
        };
        Err(LoadError::Plan(wrong))
    }

    /// The number of threads that are actually used.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.clamp(1, self.pace.connections().max(1))
    }
}
