//! The body of a request as Ruby reads it: whole, or chunk by chunk while it comes.

use super::boot::State;
use bytes::Bytes;
use foolsgold_core::work::mpsc;
use foolsgold_core::work::{BodyError, RequestBody};
use mruby::{Args, Outcome, Raise, Ruby, Value};

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

    /// Why the body ended early, where it did.
    pub(super) fn failure(&self) -> Option<BodyError> {
        self.failed
    }

    /// Bytes that came from the connection so far.
    pub(super) fn received(&self) -> usize {
        self.received
    }

    /// At most `most` bytes; none at the end. `wait` is told when the client is waited for.
    fn read(&mut self, most: usize, wait: &dyn Fn(bool)) -> Result<Option<Bytes>, BodyError> {
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

/// `FoolsGold::Native.input_read(max)`: a String of at most so many bytes, nil at the end.
pub(super) fn read<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    args.expect(1..=1)?;
    let most = usize::try_from(args.int(0)?).unwrap_or(0).max(1);
    let state = State::of(ruby)?;
    let wait = |waits: bool| state.wait(waits);
    let read = state.input.borrow_mut().read(most, &wait);
    match read {
        Ok(Some(bytes)) => ruby.str(&bytes),
        Ok(None) => Ok(Value::NIL),
        Err(error) => Err(Raise::new("IOError", error.to_string())),
    }
}
