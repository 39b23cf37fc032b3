//! Drives an HTTP/1.1 server and says how many answers came in a second and how long they took.
//!
//! [`Request`] + [`LoadPlan`] -> [`drive`] -> [`LoadResult`]. A closed loop ([`Pace::Closed`]) sends the next request
//! of a connection when its answer is in, and so measures what the server can do. An open loop ([`Pace::Open`]) sends at
//! a fixed rate whatever the server does, and counts each latency from the moment at which the request was due: a stall
//! is then in the figures of every request that had to wait for it (no coordinated omission). Nothing here prints, and
//! no request is ever left out of the figures without being counted somewhere.
#![forbid(unsafe_code)]

mod answer;
mod connection;
mod drive;
mod endpoint;
mod error;
mod first;
mod pace;
mod plan;
mod probe;
mod request;
mod tally;
mod worker;

pub use drive::drive;
pub use endpoint::Endpoint;
pub use error::{LoadError, RequestError};
pub use plan::{LoadPlan, Pace};
pub use probe::{Unanswered, is_taken, probe};
pub use request::Request;
pub use tally::{ErrorCounts, Latencies, LoadResult};
