//! A body that the application writes while it is being sent.
//!
//! The head goes out with the first chunk, so that what fails before it is still a 500. A client that went away is an
//! exception in the application, at its next write. While the client is waited for, Ruby's time does not count.

use bytes::Bytes;
use foolsgold_core::work::{Aborted, Response, ResponseBody, Timings};
use foolsgold_core::work::{mpsc, oneshot};
use http::{HeaderMap, StatusCode};
use mruby::{Outcome, Raise};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Chunks on their way to a client that is slower than the application.
const CHUNKS: usize = 8;

/// The way back to the server, until somebody answers: the worker, or the watchdog for one that cannot be stopped.
pub(super) type Way = Arc<Mutex<Option<oneshot::Sender<(Response, Timings)>>>>;

/// Where the answer of the present request goes.
pub(super) struct Reply {
    pub(super) way: Way,
    pub(super) timings: Timings,
    /// When Ruby began.
    pub(super) began: Instant,
}

impl Reply {
    /// Sends it. It does not matter if the client went away meanwhile.
    pub(super) fn send(mut self, response: Response) {
        self.timings.ruby = self.began.elapsed();
        let sender = self.way.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            let _ = sender.send((response, self.timings));
        }
    }
}

/// The way of a body's chunks.
pub(super) struct Sink {
    /// Until the head is out.
    head: Option<(Reply, StatusCode, HeaderMap)>,
    /// From then on, until the client went away or the body ended.
    chunks: Option<mpsc::Sender<Result<Bytes, Aborted>>>,
    closed: bool,
}

impl Sink {
    pub(super) fn new(reply: Reply, status: StatusCode, headers: HeaderMap) -> Sink {
        Sink { head: Some((reply, status, headers)), chunks: None, closed: false }
    }

    /// Sends a chunk, and the head before the first. `wait` is told when the client is waited for.
    pub(super) fn write<'r>(&mut self, wait: &dyn Fn(bool), chunk: &[u8]) -> Outcome<'r, ()> {
        if self.closed {
            return Err(Raise::new("IOError", "the stream is closed for writing"));
        }
        if let Some((reply, status, headers)) = self.head.take() {
            let (sender, receiver) = mpsc::channel(CHUNKS);
            self.chunks = Some(sender);
            reply.send(Response { status, headers, body: ResponseBody::Coming(receiver) });
        }
        if chunk.is_empty() {
            return Ok(());
        }
        let Some(chunks) = &self.chunks else { return Err(gone()) };
        let chunk = Bytes::copy_from_slice(chunk);
        let sent = match chunks.try_send(Ok(chunk)) {
            Err(mpsc::error::TrySendError::Full(chunk)) => {
                wait(true);
                let sent = chunks.blocking_send(chunk);
                wait(false);
                sent.is_ok()
            }
            sent => sent.is_ok(),
        };
        if sent {
            return Ok(());
        }
        self.chunks = None;
        Err(gone())
    }

    /// The body is complete.
    pub(super) fn finish(&mut self) {
        if let Some((reply, status, headers)) = self.head.take() {
            reply.send(Response { status, headers, body: ResponseBody::Whole(Bytes::new()) });
        }
        self.chunks = None;
        self.closed = true;
    }

    /// The body will never be complete. Gives back the reply if nothing is out yet.
    pub(super) fn abort(&mut self) -> Option<Reply> {
        if let Some(chunks) = self.chunks.take() {
            let _ = chunks.try_send(Err(Aborted));
        }
        self.head.take().map(|(reply, ..)| reply)
    }
}

fn gone<'r>() -> Raise<'r> {
    Raise::new("Errno::EPIPE", "the client went away")
}
