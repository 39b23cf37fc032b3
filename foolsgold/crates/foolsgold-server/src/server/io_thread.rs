//! A thread of connections: a runtime of its own, which accepts and serves.
//!
//! Each has a copy of every listening socket, so a connection stays on the thread that accepted it and nothing is passed
//! between them. Who runs that thread's connections may change ([`super::reactor`]): everything here is written for whoever
//! does.

use super::Shared;
use super::clock::Roll;
use super::connection::{Connection, http1, http2};
use super::doorbell::Doorbell;
use super::host::Hosts;
use super::listen::Kind;
use super::reactor::Reactor;
use super::stream::{Peer, Stream};
use super::tcp;
use anyhow::Context;
use hyper_util::rt::TokioExecutor;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// So many requests are queued before an interpreter thread is woken while there is more to read.
const TOGETHER: usize = 8;

/// What a thread of connections and its connections share.
pub(super) struct IoThread {
    pub(super) shared: Arc<Shared>,
    pub(super) roll: Arc<Roll>,
    pub(super) doorbell: Arc<Doorbell>,
    pub(super) hosts: Hosts,
    /// Requests queued since an interpreter thread was last woken.
    quiet: AtomicUsize,
    /// An interpreter thread runs the connections.
    is_lent: AtomicBool,
    /// Whoever runs them is to come back.
    called: AtomicBool,
    /// The server is over.
    over: AtomicBool,
    driver: Mutex<Option<Waker>>,
    pub(super) http1: hyper::server::conn::http1::Builder,
    pub(super) http2: hyper::server::conn::http2::Builder<TokioExecutor>,
}

impl std::fmt::Debug for IoThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IoThread").finish_non_exhaustive()
    }
}

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It serves.
    Open,
    /// It accepts nothing more.
    Draining,
    /// It is over.
    Over,
}

/// A listening socket and the host and port that stand for it.
pub(super) type Place = (Kind, (Arc<str>, u16));

impl IoThread {
    /// Starts it.
    pub(super) fn start(
        number: usize,
        shared: &Arc<Shared>,
        places: Vec<Place>,
        stage: watch::Receiver<Stage>,
    ) -> anyhow::Result<(Arc<IoThread>, JoinHandle<()>)> {
        let limits = shared.config.limits;
        let thread = Arc::new(IoThread {
            shared: Arc::clone(shared),
            roll: Arc::new(Roll::new()),
            doorbell: Arc::default(),
            hosts: Hosts::default(),
            quiet: AtomicUsize::new(0),
            is_lent: AtomicBool::new(false),
            called: AtomicBool::new(false),
            over: AtomicBool::new(false),
            driver: Mutex::default(),
            http1: http1(&limits),
            http2: http2(&limits),
        });
        let (before, after) = (Arc::clone(&thread), Arc::clone(&thread.doorbell));
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(16)
            .on_thread_park(move || before.before_sleep())
            .on_thread_unpark(move || after.after_sleep())
            .build()
            .context("the system gives no event queue")?;
        let reactor = Arc::new(Reactor::new(Arc::clone(&thread), runtime));
        let builder = std::thread::Builder::new().name(format!("http-{number}"));
        let handle =
            builder.spawn(move || reactor.run(places, stage)).context("the system gives no thread for connections")?;
        Ok((thread, handle))
    }

    /// A request was queued. Waking is a system call, so an interpreter thread is woken for a few of them, or as soon as
    /// there is nothing else to do here.
    pub(super) fn queued(&self) {
        // Whatever interpreters have finished meanwhile goes out before more comes in.
        self.doorbell.empty();
        if self.quiet.fetch_add(1, Ordering::Relaxed) + 1 >= TOGETHER {
            self.see_to_jobs();
        }
    }

    /// Where jobs are short, whoever runs the connections leaves them for the jobs, or lends them; else interpreter threads
    /// are woken.
    fn see_to_jobs(&self) {
        if self.is_lent.load(Ordering::Relaxed) || self.shared.pool.is_fleeting() {
            self.quiet.store(0, Ordering::Relaxed);
            self.call();
        } else {
            self.rouse();
        }
    }

    pub(super) fn rouse(&self) {
        self.quiet.store(0, Ordering::Relaxed);
        self.shared.pool.rouse();
    }

    fn before_sleep(&self) {
        let is_left = self.is_lent.load(Ordering::Relaxed) && self.shared.pool.has_waiting();
        if is_left || self.quiet.load(Ordering::Relaxed) > 0 {
            self.see_to_jobs();
        }
        if !self.called.load(Ordering::Relaxed) {
            self.doorbell.before_sleep();
        }
    }

    /// Has whoever runs the connections come back.
    pub(super) fn call(&self) {
        self.called.store(true, Ordering::SeqCst);
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*driver {
            driver.wake_by_ref();
        }
    }

    /// Runs until somebody calls. Returns false once the server is over.
    pub(super) async fn turn(&self, is_lent: bool) -> bool {
        self.is_lent.store(is_lent, Ordering::Relaxed);
        poll_fn(|cx| {
            let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *driver {
                Some(driver) => driver.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            drop(driver);
            if self.over.load(Ordering::Relaxed) {
                return Poll::Ready(false);
            }
            if self.called.swap(false, Ordering::SeqCst) {
                return Poll::Ready(true);
            }
            // What was left here while nobody ran the connections.
            self.doorbell.empty();
            Poll::Pending
        })
        .await
    }

    /// Starts what the connections need.
    pub(super) fn begin(self: &Arc<Self>, places: Vec<Place>, mut stage: watch::Receiver<Stage>) {
        tokio::spawn(Arc::clone(&self.doorbell).hang());
        tokio::spawn(Arc::clone(&self.roll).sweep(self.shared.config.limits));
        for place in places {
            tokio::spawn(Arc::clone(self).accept(place, stage.clone()));
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            // An error means that the server is gone altogether.
            let _ = stage.wait_for(|stage| *stage == Stage::Over).await;
            this.over.store(true, Ordering::Relaxed);
            this.call();
        });
    }

    /// Accepts until the server drains. What the kernel has accepted by then is still served.
    async fn accept(self: Arc<Self>, (kind, host): Place, mut stage: watch::Receiver<Stage>) {
        let listener = match Listener::new(kind) {
            Ok(listener) => listener,
            Err(error) => return (self.shared.report)(&format!("cannot accept connections: {error}")),
        };
        while !self.shared.draining.load(Ordering::Relaxed) {
            let full = self.shared.open.load(Ordering::Relaxed) >= self.shared.config.limits.connections;
            if full {
                tokio::select! {
                    () = self.shared.room.notified() => continue,
                    _ = stage.wait_for(|stage| *stage != Stage::Open) => break,
                }
            }
            let accepted = tokio::select! {
                biased;
                accepted = poll_fn(|cx| listener.poll_accept(cx)) => accepted,
                _ = stage.wait_for(|stage| *stage != Stage::Open) => break,
            };
            match accepted {
                Ok((stream, peer)) => self.welcome(stream, peer, &host),
                Err(error) => self.trouble(&error).await,
            }
        }
        poll_fn(|cx| {
            while let Poll::Ready(Ok((stream, peer))) = listener.poll_accept(cx) {
                self.welcome(stream, peer, &host);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// A failed accept. Where descriptors have run out, trying again at once would be a busy loop.
    async fn trouble(&self, error: &io::Error) {
        let of_client = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
        );
        if !of_client {
            if self.shared.refusals.shows(1) {
                let hint = match error.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::MFILE | Errno::NFILE) => "; raise the limit of open files (LimitNOFILE=, ulimit -n)",
                    _ => "",
                };
                (self.shared.report)(&format!("connections cannot be accepted: {error}{hint}"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn welcome(self: &Arc<Self>, stream: Stream, peer: Peer, host: &(Arc<str>, u16)) {
        if let Some(times) = self.shared.refusals.went_well() {
            (self.shared.report)(&format!("connections are accepted again; it had failed {times} times"));
        }
        let tls = match &stream {
            Stream::Tcp(_) => self.shared.tls.read().unwrap_or_else(PoisonError::into_inner).clone(),
            Stream::Unix(_) | Stream::Tls(_) => None,
        };
        self.shared.metrics.accepted.inc();
        let connection = Arc::new(Connection::new(self, peer, tls.is_some(), host.clone()));
        match (tls, stream) {
            (Some(acceptor), Stream::Tcp(stream)) => {
                let limit = self.shared.config.limits.head_time;
                tokio::spawn(async move {
                    // A handshake that fails or takes too long ends without a word.
                    let Ok(stream) = stream.into_watched() else { return };
                    let Ok(Ok(stream)) = tokio::time::timeout(limit, acceptor.accept(stream)).await else { return };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    connection.serve(Stream::Tls(Box::new(stream)), is_http2).await;
                });
            }
            (_, stream) => {
                // Spawning moves what it is given from hand to hand nine times: two kilobytes, or one pointer.
                tokio::spawn(Box::pin(connection.serve(stream, false)));
            }
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
