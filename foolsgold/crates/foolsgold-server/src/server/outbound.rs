//! Outgoing answers: what HTTP requires of them whatever the application said, and their bodies.

use super::exchange::Exchange;
use super::reply::{Answer, Source};
use bytes::Bytes;
use foolsgold_core::work::Aborted;
use http::{Method, StatusCode, header};
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of an answer and the exchange that it ends.
#[derive(Debug)]
pub(super) struct Outgoing {
    source: Source,
    exchange: Exchange,
    /// Whether the connection's timers count this one, and if so, whether it waits for the application.
    counted: Option<bool>,
}

impl Answer {
    /// Turns it into an answer to this request: connection-specific fields are removed, lengths are corrected, and an
    /// answer that may have no body gets none.
    pub(super) fn finish(mut self, mut exchange: Exchange) -> hyper::Response<Outgoing> {
        // The server manages the connection; `close` is the only wish that an application may have.
        for name in [header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER] {
            self.headers.remove(name);
        }
        self.headers.remove("keep-alive");
        self.headers.remove("proxy-connection");
        if exchange.is_http2() {
            self.headers.remove(header::CONNECTION);
        }
        let has_no_body =
            matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) || self.status.is_informational();
        if has_no_body {
            self.headers.remove(header::CONTENT_LENGTH);
            self.headers.remove(header::CONTENT_TYPE);
            self.source = Source::Empty;
        } else if let Some(length) = self.source.length() {
            if *exchange.method() == Method::HEAD {
                if length > 0 {
                    self.headers.insert(header::CONTENT_LENGTH, length.into());
                }
            } else {
                self.headers.insert(header::CONTENT_LENGTH, length.into());
            }
        }
        if *exchange.method() == Method::HEAD {
            self.source = Source::Empty;
        }
        exchange.answered(self.status, &self.headers);
        exchange.timers().answers();
        let counted = match &self.source {
            Source::Empty | Source::Whole(_) => None,
            Source::Coming(_) | Source::File(_) => Some(false),
        };
        if counted.is_some() {
            exchange.timers().body_begins();
        }
        let mut response = hyper::Response::new(Outgoing { source: self.source, exchange, counted });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl Outgoing {
    /// Tells the timers whether the application keeps the client waiting.
    fn waits(&mut self, waits: bool) {
        if self.counted.is_some_and(|before| before != waits) {
            self.counted = Some(waits);
            self.exchange.timers().body_waits(waits);
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        let this = &mut *self;
        let next = match &mut this.source {
            Source::Empty => return Poll::Ready(None),
            Source::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                this.source = Source::Empty;
                Poll::Ready(Some(Ok(bytes)))
            }
            Source::Coming(receiver) => receiver.poll_recv(cx),
            Source::File(file) => file.poll_next(cx),
        };
        this.waits(next.is_pending());
        next.map(|next| match next {
            Some(Ok(bytes)) => {
                this.exchange.sent(bytes.len());
                Some(Ok(Frame::data(bytes)))
            }
            Some(Err(error)) => {
                this.exchange.broke();
                Some(Err(error))
            }
            None => {
                this.source = Source::Empty;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Empty => true,
            Source::Whole(bytes) => bytes.is_empty(),
            Source::File(file) => file.left() == 0,
            Source::Coming(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.source.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if let Some(waits) = self.counted {
            self.exchange.timers().body_ends(waits);
        }
        if matches!(self.source, Source::Coming(_) | Source::File(_)) {
            // Not sent completely: the client went away, or was cut off.
            self.exchange.broke();
        }
    }
}
