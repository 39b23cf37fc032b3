//! The body of a request as Ruby reads it: whole, or chunk by chunk while it comes.

use bytes::Bytes;
use foolsgold_core::work::{BodyError, RequestBody, mpsc};

/// What is still to be read of the present request.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Read from the connection and not yet by Ruby.
    ready: Bytes,
    coming: Option<mpsc::Receiver<Result<Bytes, BodyError>>>,
    /// Why it ended early.
    failed: Option<BodyError>,
    /// Bytes that came from the connection so far.
    received: usize,
}

impl Incoming {
    /// The body of a request that came whole is none of these: Ruby has its bytes.
    pub(super) fn new(body: RequestBody) -> Incoming {
        match body {
            RequestBody::Whole(ready) => Incoming { ready, ..Incoming::default() },
            RequestBody::Coming(receiver) => Incoming { coming: Some(receiver), ..Incoming::default() },
        }
    }

    /// Why the body ended early, if it did.
    pub(super) fn failure(&self) -> Option<BodyError> {
        self.failed
    }

    /// Bytes that came from the connection so far.
    pub(super) fn received(&self) -> usize {
        self.received
    }

    /// At most `most` bytes; none at the end. `wait` is told when the client is waited for.
    pub(super) fn read(&mut self, most: usize, wait: &dyn Fn(bool)) -> Result<Option<Bytes>, BodyError> {
        while self.ready.is_empty() {
            let Some(coming) = &mut self.coming else { return Ok(None) };
            wait(true);
            let chunk = coming.blocking_recv();
            wait(false);
            match chunk {
                Some(Ok(chunk)) => {
                    self.received += chunk.len();
                    self.ready = chunk;
                }
                Some(Err(error)) => {
                    self.failed = Some(error);
                    self.coming = None;
                    return Err(error);
                }
                None => self.coming = None,
            }
        }
        Ok(Some(self.ready.split_to(most.min(self.ready.len()))))
    }
}
