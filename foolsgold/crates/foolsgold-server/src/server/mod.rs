//! The server: sockets, connections, HTTP, limits, and the path to the interpreter threads.
//!
//! A [`Server`] is bound and loaded first ([`Server::start`]); from then on its own threads serve, and its owner may
//! reload, query or stop it. Nothing here waits for Ruby or knows what Ruby is; a thread that works on requests may run
//! connections as well, but only while those requests are short ([`event_loop`]).

mod answer;
mod client;
mod context;
mod event_loop;
mod exchange;
mod file_body;
mod files;
mod forwarded;
mod host;
mod hyper_settings;
mod inbound;
mod io_thread;
mod listen;
mod measures;
mod mounts;
mod notifier;
mod outbound;
mod pages;
mod peer;
mod reply;
mod serve;
mod shared;
mod signals;
mod stream;
mod strict;
mod tcp;
mod timers;
mod tls;
mod wire;

pub use mounts::Archive;
pub use shared::Facts;
pub use signals::Signalled;

use crate::config::ServerConfig;
use crate::log::Outage;
use crate::log::access::AccessWriter;
use crate::pool::{self, Pool, Report};
use anyhow::Context;
use context::ThreadContext;
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::Application;
use io_thread::Stage;
use listen::Socket;
use measures::Measures;
use mounts::Mounted;
use shared::Shared;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use timers::{ConnectionTimers, Cut};
use tokio::sync::{Notify, watch};

/// Loads the application from its sources; called once at the start and once for each reload.
pub type Loader = Box<dyn Fn() -> anyhow::Result<Arc<dyn Application>> + Send + Sync>;

/// What a server needs besides its configuration.
pub struct Parts {
    /// Where applications come from.
    pub load: Loader,
    /// Where metrics are kept, with those of Ruby.
    pub registry: Arc<Registry>,
    /// What `/info` says about the program.
    pub facts: Facts,
    /// Where the server reports events.
    pub report: Report,
    /// Where served folders with relative names are, if not on disk.
    pub archive: Option<Archive>,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    load: Loader,
    sockets: Vec<Socket>,
    threads: Vec<(Arc<ThreadContext>, JoinHandle<()>)>,
    stage: watch::Sender<Stage>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every request was answered.
    Drained,
    /// This many connections were cut off.
    CutOff(usize),
    /// It could serve nothing any more: every interpreter was lost.
    Failed,
}

impl Server {
    /// Binds, loads and starts serving.
    ///
    /// # Errors
    /// If an address is taken, a file cannot be read or the application cannot be loaded, in one sentence each.
    pub fn start(config: ServerConfig, parts: Parts) -> anyhow::Result<Server> {
        listen::raise_descriptor_limit();
        let mut sockets = Socket::inherited()?;
        if sockets.is_empty() {
            sockets = config.binds.iter().map(Socket::bind).collect::<Result<_, _>>()?;
        }
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let statics = config
            .statics
            .iter()
            .map(|mount| Mounted::open(mount, parts.archive.as_ref()))
            .collect::<Result<_, _>>()?;
        let access = AccessWriter::open(&config.access).context("the access log cannot be opened")?;
        let options = pool::Options {
            threads: config.threads,
            most: config.max_threads,
            queue: config.queue,
            patience: config.queue_time,
        };
        let pool = Pool::start(options, (parts.load)()?, Arc::clone(&parts.report))?;
        let shared = Arc::new(Shared {
            pool,
            metrics: Measures::new(&parts.registry)?,
            registry: parts.registry,
            access,
            statics,
            tls: RwLock::new(tls),
            facts: parts.facts,
            report: parts.report,
            refusals: Outage::default(),
            started: Instant::now(),
            instance_id: RandomState::new().hash_one(std::process::id()),
            draining: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            room: Notify::new(),
            handed_off: AtomicUsize::new(0),
            config,
        });
        register_readings(&shared)?;
        let (stage, watched) = watch::channel(Stage::Open);
        let mut server = Server { shared, load: parts.load, sockets, threads: Vec::new(), stage };
        for number in 0..server.shared.config.io_threads.max(1) {
            let places = server.sockets.iter().map(|socket| Ok((socket.again()?, socket.host())));
            let places = places.collect::<std::io::Result<_>>().context("a socket cannot be shared")?;
            server.threads.push(io_thread::start(number, &server.shared, places, watched.clone())?);
        }
        Ok(server)
    }

    /// Where it listens, for messages.
    pub fn places(&self) -> impl Iterator<Item = String> {
        self.sockets.iter().map(Socket::name)
    }

    /// The addresses at which it listens; UNIX sockets have none.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.iter().filter_map(Socket::address)
    }

    /// Open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Reloads the application, the certificate and the key. Whatever fails to load stays as it was.
    ///
    /// # Errors
    /// Why something stayed as it was.
    pub fn reload(&self) -> anyhow::Result<()> {
        listen::notify("RELOADING=1");
        let done = self.reload_tls().and_then(|()| self.shared.pool.reload((self.load)()?));
        if done.is_err() {
            self.shared.metrics.failed_reloads.inc();
        }
        listen::notify("READY=1");
        done
    }

    fn reload_tls(&self) -> anyhow::Result<()> {
        if let Some(files) = &self.shared.config.tls {
            let new = tls::acceptor(files)?;
            *self.shared.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(new);
        }
        Ok(())
    }

    /// Reopens the access log.
    pub fn reopen_log(&self) {
        if let Some(access) = &self.shared.access {
            access.reopen();
        }
    }

    /// Stops: accepts nothing more, lets requests under way end until `patience` is over or `hurry` returns true, then
    /// cuts off the rest.
    pub fn stop(mut self, patience: Duration, hurry: impl Fn() -> bool) -> Ending {
        listen::notify("STOPPING=1");
        let deadline = Instant::now() + patience;
        self.shared.draining.store(true, Ordering::SeqCst);
        // Removes the socket files, so that another server may start.
        self.sockets.clear();
        self.stage.send_replace(Stage::Draining);
        let mut nap = Duration::from_millis(1);
        while self.connections() > 0 && Instant::now() < deadline && !hurry() {
            // Tells a connection that was accepted right before.
            self.each_connection(ConnectionTimers::wake);
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(50));
        }
        let left = self.connections();
        if left > 0 {
            self.each_connection(|timers| timers.cut(Cut::Shutdown));
            let last = Instant::now() + Duration::from_millis(500);
            while self.connections() > 0 && Instant::now() < last {
                thread::sleep(Duration::from_millis(1));
            }
        }
        self.stage.send_replace(Stage::Over);
        for (_, thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
        // A request that was cut off leaves a worker behind that is not waited for.
        let soon = Instant::now() + Duration::from_millis(100);
        let ended = self.shared.pool.close(if left == 0 { deadline.max(soon) } else { soon });
        if let Some(access) = &self.shared.access {
            access.close();
        }
        if left == 0 && ended { Ending::Drained } else { Ending::CutOff(left) }
    }

    fn each_connection(&self, what: impl Fn(&ConnectionTimers)) {
        for (thread, _) in &self.threads {
            thread.connections.each(&what);
        }
    }
}

/// Name, help and value of a gauge.
type Reading = (&'static str, &'static str, fn(&Shared) -> f64);

/// Gauges that are read when the metrics page is rendered.
fn register_readings(shared: &Arc<Shared>) -> anyhow::Result<()> {
    let readings: [Reading; 11] = [
        ("foolsgold_connections", "Open connections.", |shared| shared.open.load(Ordering::Relaxed) as f64),
        ("foolsgold_queue_depth", "Requests that wait for an interpreter.", |shared| shared.pool.stats().queued as f64),
        ("foolsgold_busy_interpreters", "Interpreters at work.", |shared| shared.pool.stats().busy as f64),
        (
            "foolsgold_ready_interpreters",
            "Interpreters that have loaded the application and can take work.",
            |shared| shared.pool.stats().ready as f64,
        ),
        ("foolsgold_inline_connection_threads", "Threads whose connections an interpreter thread runs.", |shared| {
            shared.handed_off.load(Ordering::Relaxed) as f64
        }),
        (
            "foolsgold_replaced_interpreters",
            "Interpreters that failed or could not be stopped, and were replaced.",
            |shared| shared.pool.stats().died as f64,
        ),
        ("foolsgold_lost_interpreters", "Interpreters that could not be stopped and have not come back.", |shared| {
            shared.pool.stats().lost as f64
        }),
        ("foolsgold_reloads", "How often the application was replaced.", |shared| shared.pool.stats().reloads as f64),
        ("foolsgold_log_lines_dropped", "Lines of the access log that were dropped.", |shared| {
            shared.access.as_ref().map_or(0, AccessWriter::dropped) as f64
        }),
        ("foolsgold_resident_bytes", "Resident memory of the process.", |_| pages::resident().unwrap_or(0) as f64),
        ("foolsgold_uptime_seconds", "Time since the start.", |shared| shared.started.elapsed().as_secs_f64()),
    ];
    for (name, help, read) in readings {
        let weak = Arc::downgrade(shared);
        shared.registry.reading(name, help, move || weak.upgrade().map_or(0.0, |shared| read(&shared)))?;
    }
    Ok(())
}
