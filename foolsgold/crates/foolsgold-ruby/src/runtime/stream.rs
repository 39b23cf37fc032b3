//! A body that the application writes while it is being sent.
//!
//! The head is sent with the first chunk, so that an error before it still becomes a 500. If the client has gone away,
//! the application's next write raises an exception. Ruby's time does not count while it waits for the client.

use bytes::Bytes;
use foolsgold_core::work::{Aborted, Response, ResponseBody, Timings};
use foolsgold_core::work::{mpsc, oneshot};
use http::{HeaderMap, StatusCode};
use mruby::{Outcome, Raise};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How many chunks may wait for a client that is slower than the application.
const CHUNKS: usize = 8;

/// The channel back to the server, until it is used: by the worker, or by the watchdog for one that cannot be stopped.
pub(super) type Way = Arc<Mutex<Option<oneshot::Sender<(Response, Timings)>>>>;

/// Where the answer of the present request goes.
pub(super) struct Reply {
    pub(super) way: Way,
    pub(super) timings: Timings,
    /// When Ruby started.
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

/// Where the chunks of a body go.
pub(super) struct Sink {
    /// Until the head has been sent.
    head: Option<(Reply, StatusCode, HeaderMap)>,
    /// From then on, until the client goes away or the body ends.
    chunks: Option<mpsc::Sender<Result<Bytes, Aborted>>>,
    closed: bool,
}

impl Sink {
    pub(super) fn new(reply: Reply, status: StatusCode, headers: HeaderMap) -> Sink {
        Sink { head: Some((reply, status, headers)), chunks: None, closed: false }
    }

    /// Sends a chunk, preceded by the head if it is the first. `wait` is called around waiting for the client.
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

    /// The body will never be complete. Returns the reply if nothing has been sent yet.
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
