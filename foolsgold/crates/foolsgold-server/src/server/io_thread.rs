//! An I/O thread: a runtime of its own, which accepts and serves connections.
//!
//! Each has a copy of every listening socket, so a connection stays on the thread that accepted it and nothing is
//! passed between them. The thread that runs those connections may change ([`super::event_loop`]): everything here
//! works on whichever thread does.

use super::client::Connection;
use super::context::ThreadContext;
use super::event_loop::EventLoop;
use super::listen::Kind;
use super::peer::Peer;
use super::shared::Shared;
use super::stream::Stream;
use super::tcp;
use anyhow::Context;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{self, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// The stage of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It serves.
    Open,
    /// It accepts nothing more.
    Draining,
    /// It has ended.
    Over,
}

/// A listening socket and the host and port it stands for.
pub(super) type Place = (Kind, (Arc<str>, u16));

/// Starts the thread.
pub(super) fn start(
    number: usize,
    shared: &Arc<Shared>,
    places: Vec<Place>,
    stage: watch::Receiver<Stage>,
) -> anyhow::Result<(Arc<ThreadContext>, JoinHandle<()>)> {
    let thread = Arc::new(ThreadContext::new(shared));
    let (before, after) = (Arc::clone(&thread), Arc::clone(&thread.notifier));
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(16)
        .on_thread_park(move || before.before_park())
        .on_thread_unpark(move || after.after_park())
        .build()
        .context("the system gives no event queue")?;
    let (event_loop, context) = (Arc::new(EventLoop::new(Arc::clone(&thread), runtime)), Arc::clone(&thread));
    let builder = std::thread::Builder::new().name(format!("http-{number}"));
    let handle = builder
        .spawn(move || event_loop.run(|| begin(&context, places, stage)))
        .context("the system gives no thread for connections")?;
    Ok((thread, handle))
}

/// Starts the tasks that the connections need.
fn begin(thread: &Arc<ThreadContext>, places: Vec<Place>, mut stage: watch::Receiver<Stage>) {
    tokio::spawn(Arc::clone(&thread.notifier).wait());
    tokio::spawn(Arc::clone(&thread.connections).sweep(thread.shared.config.limits));
    for place in places {
        tokio::spawn(accept(Arc::clone(thread), place, stage.clone()));
    }
    let thread = Arc::clone(thread);
    tokio::spawn(async move {
        // An error means that the server is already dropped.
        let _ = stage.wait_for(|stage| *stage == Stage::Over).await;
        thread.over.store(true, Ordering::Relaxed);
        thread.interrupt();
    });
}

/// Accepts until the server drains. What the kernel has accepted by then is still served.
async fn accept(thread: Arc<ThreadContext>, (kind, host): Place, mut stage: watch::Receiver<Stage>) {
    let listener = match Listener::new(kind) {
        Ok(listener) => listener,
        Err(error) => return (thread.shared.report)(&format!("cannot accept connections: {error}")),
    };
    while !thread.shared.draining.load(Ordering::Relaxed) {
        let full = thread.shared.open.load(Ordering::Relaxed) >= thread.shared.config.limits.connections;
        if full {
            tokio::select! {
                () = thread.shared.room.notified() => continue,
                _ = stage.wait_for(|stage| *stage != Stage::Open) => break,
            }
        }
        let accepted = tokio::select! {
            biased;
            accepted = poll_fn(|cx| listener.poll_accept(cx)) => accepted,
            _ = stage.wait_for(|stage| *stage != Stage::Open) => break,
        };
        match accepted {
            Ok((stream, peer)) => welcome(&thread, stream, peer, &host),
            Err(error) => trouble(&thread.shared, &error).await,
        }
    }
    poll_fn(|cx| {
        while let Poll::Ready(Ok((stream, peer))) = listener.poll_accept(cx) {
            welcome(&thread, stream, peer, &host);
        }
        Poll::Ready(())
    })
    .await;
}

/// Handles a failed accept. If descriptors have run out, trying again at once would be a busy loop.
async fn trouble(shared: &Shared, error: &io::Error) {
    let of_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !of_client {
        if shared.refusals.shows(1) {
            let hint = match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::MFILE | Errno::NFILE) => "; raise the limit of open files (LimitNOFILE=, ulimit -n)",
                _ => "",
            };
            (shared.report)(&format!("connections cannot be accepted: {error}{hint}"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn welcome(thread: &Arc<ThreadContext>, stream: Stream, peer: Peer, host: &(Arc<str>, u16)) {
    if let Some(times) = thread.shared.refusals.went_well() {
        (thread.shared.report)(&format!("connections are accepted again; it had failed {times} times"));
    }
    let tls = match &stream {
        Stream::Tcp(_) => thread.shared.tls.read().unwrap_or_else(PoisonError::into_inner).clone(),
        Stream::Unix(_) | Stream::Tls(_) => None,
    };
    thread.shared.metrics.accepted.inc();
    let connection = Arc::new(Connection::new(thread, peer, tls.is_some(), host.clone()));
    match (tls, stream) {
        (Some(acceptor), Stream::Tcp(stream)) => {
            let limit = thread.shared.config.limits.head_time;
            tokio::spawn(async move {
                // A handshake that fails or takes too long ends silently.
                let Ok(stream) = stream.into_watched() else { return };
                let Ok(Ok(stream)) = tokio::time::timeout(limit, acceptor.accept(stream)).await else { return };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                connection.serve(Stream::Tls(Box::new(stream)), is_http2).await;
            });
        }
        (_, stream) => {
            // Spawning moves its argument nine times: two kilobytes each time, or one pointer.
            tokio::spawn(Box::pin(connection.serve(stream, false)));
        }
    }
}

enum Listener {
    Tcp(tcp::Listener),
    Unix(UnixListener),
}

impl Listener {
    fn new(kind: Kind) -> io::Result<Listener> {
        match kind {
            Kind::Tcp(listener) => tcp::Listener::new(listener).map(Listener::Tcp),
            Kind::Unix(listener) => UnixListener::from_std(listener).map(Listener::Unix),
        }
    }

    fn poll_accept(&self, cx: &mut task::Context<'_>) -> Poll<io::Result<(Stream, Peer)>> {
        match self {
            Listener::Tcp(listener) => listener.poll_accept(cx).map_ok(|(stream, peer)| (Stream::Tcp(stream), peer)),
            Listener::Unix(listener) => {
                listener.poll_accept(cx).map_ok(|(stream, _)| (Stream::Unix(stream), Peer::Local))
            }
        }
    }
}
