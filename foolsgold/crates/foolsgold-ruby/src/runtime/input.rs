//! The body of a request as Ruby reads it: whole, or chunk by chunk as it arrives.

use bytes::Bytes;
use foolsgold_core::work::{BodyError, RequestBody, mpsc};

/// What is left to read of the present request.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Received from the connection but not yet read by Ruby.
    ready: Bytes,
    coming: Option<mpsc::Receiver<Result<Bytes, BodyError>>>,
    /// Why it ended early.
    failed: Option<BodyError>,
    /// Number of bytes received from the connection so far.
    received: usize,
}

impl Incoming {
    /// A body that was received whole is not read here: Ruby has its bytes.
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

    /// Number of bytes received from the connection so far.
    pub(super) fn received(&self) -> usize {
        self.received
    }

    /// Reads at most `most` bytes; `None` at the end. `wait` is called around waiting for the client.
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
