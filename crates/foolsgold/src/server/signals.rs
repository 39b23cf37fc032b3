//! The life of a server as signals tell it: SIGHUP, SIGUSR1, and the end.

use super::{Ending, Server};
use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A second signal within this time after the first is the same one, sent to a whole group by a terminal.
const SAME: Duration = Duration::from_millis(50);

impl Server {
    /// Serves until SIGTERM or SIGINT, then ends within `patience`; a second one ends it at once. SIGHUP loads the
    /// application again, SIGUSR1 opens the access log again.
    ///
    /// # Errors
    /// Where the system gives no signals.
    pub fn until_told(self, patience: Duration) -> anyhow::Result<Ending> {
        let runtime = Builder::new_current_thread().enable_all().build().context("the system gives no event queue")?;
        let (server, mut signals) = runtime.block_on(async {
            let mut signals = Signals::new().context("the system gives no signals")?;
            let server = Arc::new(self);
            signals.serve(&server).await;
            anyhow::Ok((server, signals))
        })?;
        // A reload that is under way holds it for a moment.
        let mut server = server;
        let server = loop {
            match Arc::try_unwrap(server) {
                Ok(server) => break server,
                Err(shared) => server = shared,
            }
            thread::sleep(Duration::from_millis(1));
        };
        let hurry = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&hurry);
        thread::spawn(move || {
            runtime.block_on(async {
                tokio::time::sleep(SAME).await;
                signals.again().await;
            });
            told.store(true, Ordering::Relaxed);
        });
        Ok(server.stop(patience, || hurry.load(Ordering::Relaxed)))
    }

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

    /// Does as told until told to end.
    async fn serve(&mut self, server: &Arc<Server>) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.user.recv() => server.reopen_log(),
                _ = self.hang_up.recv() => {
                    let server = Arc::clone(server);
                    thread::spawn(move || server.reload_and_say());
                }
            }
        }
    }

    /// Waits for another signal to end.
    async fn again(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
