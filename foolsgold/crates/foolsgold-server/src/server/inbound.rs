//! Request bodies: small ones are complete before the request is queued, so that a slow client does not occupy an
//! interpreter; larger ones follow through a bounded channel.

use crate::config::Limits;
use bytes::{Bytes, BytesMut};
use foolsgold_core::work::{BodyError, RequestBody};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Up to this size a body is complete before the request is queued.
const WHOLE: usize = 64 << 10;

/// Pieces of a body that wait for the application; each is at most as large as hyper's buffer.
const WAITING: usize = 8;

/// How long, and for how many bytes, a refused HTTP/2 body is still read: a stream that is reset at once may take the
/// answer with it.
const DISCARD: Duration = Duration::from_secs(2);
const DISCARD_BYTES: usize = 1 << 20;

/// A body that is measured while it arrives.
struct Measured {
    body: Incoming,
    limits: Limits,
    seen: u64,
    /// Time spent waiting for the client.
    waited: Duration,
}

/// The error of a refused body, and the rest of it.
pub(super) type Refused = (BodyError, Incoming);

/// Reads the body, or its beginning.
pub(super) async fn take(body: Incoming, limits: &Limits, is_http2: bool) -> Result<RequestBody, Refused> {
    if body.is_end_stream() {
        return Ok(RequestBody::Whole(Bytes::new()));
    }
    if body.size_hint().lower() > limits.body {
        return Err((BodyError::TooLarge, body));
    }
    let mut body = Measured { body, limits: *limits, seen: 0, waited: Duration::ZERO };
    match body.begin().await {
        Err(error) => Err((error, body.body)),
        Ok((begun, true)) => Ok(RequestBody::Whole(begun)),
        Ok((begun, false)) => {
            let (sender, receiver) = mpsc::channel(WAITING);
            tokio::spawn(body.pass_on(begun, sender, is_http2));
            Ok(RequestBody::Coming(receiver))
        }
    }
}

/// Reads the rest of a refused body for a while.
pub(super) async fn discard(mut rest: Incoming) {
    let take = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = rest.frame().await
            && seen < DISCARD_BYTES
        {
            seen += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = tokio::time::timeout(DISCARD, take).await;
}

impl Measured {
    /// The whole body if it is small, otherwise its beginning; and whether it is the whole.
    async fn begin(&mut self) -> Result<(Bytes, bool), BodyError> {
        let Some(first) = self.next().await? else { return Ok((Bytes::new(), true)) };
        if self.body.is_end_stream() {
            return Ok((first, true));
        }
        let mut begun = BytesMut::from(first);
        while begun.len() < WHOLE {
            let Some(piece) = self.next().await? else { return Ok((begun.freeze(), true)) };
            begun.extend_from_slice(&piece);
        }
        Ok((begun.freeze(), false))
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let earned = self.seen / self.limits.body_rate.max(1);
        let allowed = self.limits.body_grace + Duration::from_secs(earned);
        loop {
            let left = allowed.checked_sub(self.waited).ok_or(BodyError::TooSlow)?;
            let since = Instant::now();
            // Registers a timer only if no bytes are there yet.
            let frame = tokio::time::timeout(left, self.body.frame()).await.map_err(|_| BodyError::TooSlow)?;
            self.waited += since.elapsed();
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|_| BodyError::Broken)?;
            // Trailers are read and dropped: Rack has no place for them.
            let Ok(bytes) = frame.into_data() else { continue };
            self.seen += bytes.len() as u64;
            return if self.seen > self.limits.body { Err(BodyError::TooLarge) } else { Ok(Some(bytes)) };
        }
    }

    async fn pass_on(mut self, begun: Bytes, to: mpsc::Sender<Result<Bytes, BodyError>>, is_http2: bool) {
        let mut next = Ok(Some(begun));
        loop {
            let (piece, last) = match next {
                Ok(None) => return,
                Ok(Some(bytes)) => (Ok(bytes), false),
                Err(error) => (Err(error), true),
            };
            if to.send(piece).await.is_err() && is_http2 {
                // An application that answers without reading the rest of a body does not want it. In HTTP/1 the
                // connection ends with the answer; an HTTP/2 stream would end before it.
                return discard(self.body).await;
            }
            if last || to.is_closed() {
                return;
            }
            next = self.next().await;
        }
    }
}
