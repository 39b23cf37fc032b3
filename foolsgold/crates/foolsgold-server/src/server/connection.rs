//! One client's connection from the first byte to the last.

use super::Shared;
use super::answer::answer;
use super::clock::{Clock, Cut, Enrolled};
use super::io_thread::IoThread;
use super::outbound::Outgoing;
use super::stream::{Peer, Stream};
use super::wire::Wire;
use http::{HeaderMap, Request, Uri, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

/// A connection, as every request on it knows it.
#[derive(Debug)]
pub(super) struct Connection {
    thread: Arc<IoThread>,
    enrolled: Enrolled,
    peer: Peer,
    is_tls: bool,
    /// Host and port as bound, for a client that names none.
    bound: (Arc<str>, u16),
    /// Counted where there is a limit.
    requests: AtomicU64,
}

impl Connection {
    pub(super) fn new(thread: &Arc<IoThread>, peer: Peer, is_tls: bool, bound: (Arc<str>, u16)) -> Connection {
        thread.shared.open.fetch_add(1, Ordering::Relaxed);
        let (thread, enrolled) = (Arc::clone(thread), thread.roll.enrol());
        Connection { thread, enrolled, peer, is_tls, bound, requests: AtomicU64::new(0) }
    }

    pub(super) fn clock(&self) -> &Arc<Clock> {
        self.enrolled.clock()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.thread.shared
    }

    pub(super) fn thread(&self) -> &IoThread {
        &self.thread
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// Host and port as the client named them. None where they are no host and port.
    pub(super) fn host(&self, uri: &Uri, headers: &HeaderMap) -> Option<(Arc<str>, u16)> {
        // The target wins over the field (RFC 9112, section 3.2.2).
        let named = match (uri.authority(), headers.get(header::HOST)) {
            (Some(authority), _) => authority.as_str().as_bytes(),
            (None, Some(host)) => host.as_bytes(),
            (None, None) => return Some(self.bound.clone()),
        };
        if named.is_empty() {
            return Some(self.bound.clone());
        }
        let default = if self.is_tls { 443 } else { 80 };
        self.thread.hosts.find(named, default)
    }

    /// Counts a request. Whether no more may follow: a connection of HTTP/2 says so itself.
    pub(super) fn is_last_request(&self, version: Version) -> bool {
        let Some(limit) = self.shared().config.limits.requests else { return false };
        let is_last = self.requests.fetch_add(1, Ordering::Relaxed) + 1 >= limit;
        if is_last && version == Version::HTTP_2 {
            self.clock().retire();
        }
        is_last
    }

    fn is_ending(&self) -> bool {
        self.clock().is_retired() || self.thread.shared.draining.load(Ordering::Relaxed)
    }

    /// Serves it to its end.
    pub(super) async fn serve(self: Arc<Self>, stream: Stream, is_http2: bool) {
        poll_fn(|cx| {
            self.clock().set_waker(cx.waker());
            Poll::Ready(())
        })
        .await;
        let mut wire = Wire::new(stream, Arc::clone(self.clock()), is_http2);
        if !is_http2 {
            wire = self.serve_http1(wire).await;
        }
        if wire.is_http2() && self.clock().why_cut().is_none() {
            return self.serve_http2(wire).await;
        }
        let why = self.clock().why_cut();
        self.thread.shared.metrics.cut(why);
        wire.close(why).await;
    }

    fn service(
        self: &Arc<Self>,
    ) -> impl hyper::service::Service<
        Request<Incoming>,
        Response = hyper::Response<Outgoing>,
        Error = Infallible,
        Future = impl Future<Output = Result<hyper::Response<Outgoing>, Infallible>> + Send + use<>,
    > + Unpin
    + Send
    + use<> {
        let connection = Arc::clone(self);
        service_fn(move |request| answer(Arc::clone(&connection), request))
    }

    async fn serve_http1(self: &Arc<Self>, wire: Wire) -> Wire {
        let builder = &self.thread.http1;
        let mut http1 = builder.serve_connection(TokioIo::new(wire), self.service());
        self.drive(Pin::new(&mut http1), |http1| http1.graceful_shutdown()).await;
        http1.into_parts().io.into_inner()
    }

    /// Runs a connection of either version until it ends or is cut; once, it is told that the server ends.
    async fn drive<C: Future<Output = hyper::Result<()>>>(&self, mut http: Pin<&mut C>, tell: impl Fn(Pin<&mut C>)) {
        let mut told = false;
        poll_fn(|cx| {
            if self.clock().why_cut().is_some() {
                return Poll::Ready(());
            }
            if !told && self.is_ending() {
                told = true;
                tell(http.as_mut());
            }
            http.as_mut().poll(cx).map(|done| self.note(done.as_ref().err()))
        })
        .await;
    }

    /// What goes wrong on a connection is the client's doing: it was answered by hyper, or the client is gone.
    fn note(&self, error: Option<&hyper::Error>) {
        if error.is_some_and(hyper::Error::is_parse) {
            self.thread.shared.metrics.malformed.inc();
        }
    }

    async fn serve_http2(self: &Arc<Self>, wire: Wire) {
        let builder = &self.thread.http2;
        let http2 = builder.serve_connection(TokioIo::new(wire), self.service());
        let mut http2 = std::pin::pin!(http2);
        self.drive(http2.as_mut(), |http2| http2.graceful_shutdown()).await;
        self.thread.shared.metrics.cut(self.clock().why_cut());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let shared = &self.thread.shared;
        if shared.open.fetch_sub(1, Ordering::Relaxed) >= shared.config.limits.connections {
            shared.room.notify_one();
        }
    }
}

/// hyper's settings for HTTP/1. Times are the clock's business, so hyper gets no timer.
pub(super) fn http1(limits: &crate::config::Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_header_size(limits.head).max_buf_size(limits.head.max(64 << 10) + (8 << 10));
    if limits.fields != 100 {
        // hyper's own limit, which costs nothing as long as it is not set.
        builder.max_headers(limits.fields);
    }
    builder
}

/// hyper's settings for HTTP/2: a bounded number of streams, each with a bounded window.
pub(super) fn http2(limits: &crate::config::Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.write_time)
        .max_concurrent_streams(128)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .max_send_buf_size(256 << 10)
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}

/// Why a connection was cut, as a label.
pub(super) fn label(why: Cut) -> &'static str {
    match why {
        Cut::SlowHead => "head",
        Cut::SlowReader => "write",
        Cut::SlowRequest => "whole",
        Cut::Shutdown => "shutdown",
    }
}
