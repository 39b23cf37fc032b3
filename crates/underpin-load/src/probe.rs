//! One request, to see whether a server answers, and one connection, to see whether anything listens.

use crate::connection::{Connection, Target};
use crate::endpoint::Endpoint;
use crate::request::Request;
use crate::tally::Failure;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Why a server has not answered, a clause with the server as its subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(String);

/// Sends the request once and returns the status of the answer.
///
/// # Errors
/// If there is no answer within the time.
pub fn probe(request: &Request, timeout: Duration) -> Result<u16, Unanswered> {
    let failed = |error: io::Error| Unanswered(Failure::Connect(error).to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    let target = Target::resolve(request.endpoint()).map_err(failed)?;
    runtime.block_on(async {
        match Connection::new(target, timeout).exchange(request, Instant::now()).await {
            Ok(answer) => Ok(answer.status),
            Err((Failure::Status(status), _)) => Ok(status),
            Err((failure, _)) => Err(Unanswered(failure.to_string())),
        }
    })
}

/// Whether something accepts connections at an endpoint.
#[must_use]
pub fn is_taken(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Unix(path) => UnixStream::connect(path).is_ok(),
        Endpoint::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)).is_ok(),
    }
}
