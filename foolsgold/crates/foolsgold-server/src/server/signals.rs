//! A server that is controlled by signals: SIGHUP, SIGUSR1, and those that end it.

use super::listen::notify;
use super::{Ending, Server};
use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A second signal within this time after the first is the same one: `timeout` and terminals send it to a process and
/// also to its whole group.
const SAME: Duration = Duration::from_millis(50);

/// A server controlled by its process's signals.
pub struct Signalled {
    server: Server,
    signals: Signals,
    runtime: Runtime,
}

impl Server {
    /// From now on SIGTERM and SIGINT end the server, SIGHUP reloads the application and SIGUSR1 reopens the access
    /// log. Only then is a service manager told that the server is ready: it may send signals at once, and without
    /// handlers each of them would kill the process.
    ///
    /// # Errors
    /// If the handlers cannot be installed.
    pub fn catch_signals(self) -> anyhow::Result<Signalled> {
        let runtime = Builder::new_current_thread().enable_all().build().context("the system gives no event queue")?;
        let entered = runtime.enter();
        let signals = Signals::new().context("the system gives no signals")?;
        drop(entered);
        notify("READY=1");
        Ok(Signalled { server: self, signals, runtime })
    }
}

impl Signalled {
    /// Where it listens, for messages.
    pub fn places(&self) -> impl Iterator<Item = String> {
        self.server.places()
    }

    /// Serves until SIGTERM or SIGINT, then stops within `patience`; a second signal stops it at once. If nothing can
    /// be served any more it stops by itself, so that a service manager restarts it.
    #[must_use]
    pub fn until_told(self, patience: Duration) -> Ending {
        let Signalled { server, mut signals, runtime } = self;
        let mut server = Arc::new(server);
        let failed = runtime.block_on(signals.serve(&server));
        // A reload under way holds a reference for a moment.
        let server = loop {
            match Arc::try_unwrap(server) {
                Ok(server) => break server,
                Err(shared) => server = shared,
            }
            thread::sleep(Duration::from_millis(1));
        };
        if failed {
            // No worker is left to answer the rest.
            let _ = server.stop(Duration::ZERO, || true);
            return Ending::Failed;
        }
        let hurry = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&hurry);
        thread::spawn(move || {
            runtime.block_on(signals.again());
            told.store(true, Ordering::Relaxed);
        });
        server.stop(patience, || hurry.load(Ordering::Relaxed))
    }
}

impl Server {
    fn reload_and_say(&self) {
        match self.reload() {
            Ok(()) => (self.shared.report)("the application was loaded again"),
            Err(error) => (self.shared.report)(&format!("the old application goes on: {error:#}")),
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// Handles signals until one ends the server. Returns true if it ended without one, because nothing can be served
    /// any more.
    async fn serve(&mut self, server: &Arc<Server>) -> bool {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return false,
                _ = self.interrupt.recv() => return false,
                () = server.shared.pool.failed() => return true,
                _ = self.user.recv() => server.reopen_log(),
                _ = self.hang_up.recv() => {
                    let server = Arc::clone(server);
                    thread::spawn(move || server.reload_and_say());
                }
            }
        }
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for another signal that ends the server.
    async fn again(&mut self) {
        let same = async {
            loop {
                self.end().await;
            }
        };
        let _ = tokio::time::timeout(SAME, same).await;
        self.end().await;
    }
}
