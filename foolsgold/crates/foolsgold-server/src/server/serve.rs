//! Serves one client's connection from the first byte to the last.

use super::answer::answer;
use super::client::Connection;
use super::outbound::Outgoing;
use super::stream::Stream;
use super::wire::Wire;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

impl Connection {
    /// Serves it until it ends.
    pub(super) async fn serve(self: Arc<Self>, stream: Stream, is_http2: bool) {
        poll_fn(|cx| {
            self.timers().set_waker(cx.waker());
            Poll::Ready(())
        })
        .await;
        let mut wire = Wire::new(stream, Arc::clone(self.timers()), is_http2);
        if !is_http2 {
            wire = self.serve_http1(wire).await;
        }
        if wire.is_http2() && self.timers().why_cut().is_none() {
            return self.serve_http2(wire).await;
        }
        let why = self.timers().why_cut();
        self.shared().metrics.cut(why);
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
        let builder = &self.thread().http1;
        let mut http1 = builder.serve_connection(TokioIo::new(wire), self.service());
        self.drive(Pin::new(&mut http1), |http1| http1.graceful_shutdown()).await;
        http1.into_parts().io.into_inner()
    }

    /// Runs a connection of either version until it ends or is cut; `tell` is called once, when it is to end.
    async fn drive<C: Future<Output = hyper::Result<()>>>(&self, mut http: Pin<&mut C>, tell: impl Fn(Pin<&mut C>)) {
        let mut told = false;
        poll_fn(|cx| {
            if self.timers().why_cut().is_some() {
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

    /// Errors on a connection are the client's: hyper has answered it, or the client is gone.
    fn note(&self, error: Option<&hyper::Error>) {
        if error.is_some_and(hyper::Error::is_parse) {
            self.shared().metrics.malformed.inc();
        }
    }

    async fn serve_http2(self: &Arc<Self>, wire: Wire) {
        let builder = &self.thread().http2;
        let http2 = builder.serve_connection(TokioIo::new(wire), self.service());
        let mut http2 = std::pin::pin!(http2);
        self.drive(http2.as_mut(), |http2| http2.graceful_shutdown()).await;
        self.shared().metrics.cut(self.timers().why_cut());
    }
}
