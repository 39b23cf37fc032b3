//! What all threads of a server share.

use super::measures::Measures;
use super::mounts::Mounted;
use crate::config::ServerConfig;
use crate::log::Outage;
use crate::log::access::AccessWriter;
use crate::pool::{Pool, Report};
use foolsgold_core::metrics::Registry;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, RwLock};
use std::time::Instant;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

/// What only the composition root knows about the program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The interpreter and its version.
    pub interpreter: String,
    /// The mode of requests without a route.
    pub mode: String,
    /// The allocator of everything except the interpreters.
    pub allocator: String,
}

/// What all threads share.
pub(super) struct Shared {
    pub(super) config: ServerConfig,
    pub(super) pool: Pool,
    pub(super) registry: Arc<Registry>,
    pub(super) metrics: Measures,
    pub(super) access: Option<AccessWriter>,
    pub(super) statics: Vec<Mounted>,
    pub(super) tls: RwLock<Option<TlsAcceptor>>,
    pub(super) facts: Facts,
    pub(super) report: Report,
    pub(super) started: Instant,
    /// Differs from that of every other process: the first half of request identifiers.
    pub(super) instance_id: u64,
    pub(super) draining: AtomicBool,
    /// Open connections, and the notification that there is room for another.
    pub(super) open: AtomicUsize,
    pub(super) room: Notify,
    /// Connections that could not be accepted.
    pub(super) refusals: Outage,
    /// Event loops that a worker runs inline.
    pub(super) handed_off: AtomicUsize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
