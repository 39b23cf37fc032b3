//! One client's connection, as every request on it sees it.

use super::context::ThreadContext;
use super::peer::Peer;
use super::shared::Shared;
use super::timers::{ConnectionTimers, Registration};
use http::{HeaderMap, Uri, Version, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A connection, as every request on it sees it.
#[derive(Debug)]
pub(super) struct Connection {
    thread: Arc<ThreadContext>,
    registration: Registration,
    peer: Peer,
    is_tls: bool,
    /// Host and port as bound, for a client that names none.
    bound: (Arc<str>, u16),
    /// Counted if there is a limit.
    requests: AtomicU64,
}

impl Connection {
    pub(super) fn new(thread: &Arc<ThreadContext>, peer: Peer, is_tls: bool, bound: (Arc<str>, u16)) -> Connection {
        thread.shared.open.fetch_add(1, Ordering::Relaxed);
        let (thread, registration) = (Arc::clone(thread), thread.connections.register());
        Connection { thread, registration, peer, is_tls, bound, requests: AtomicU64::new(0) }
    }

    pub(super) fn timers(&self) -> &Arc<ConnectionTimers> {
        self.registration.timers()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.thread.shared
    }

    pub(super) fn thread(&self) -> &ThreadContext {
        &self.thread
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// Host and port as the client named them. `None` if that is not a host and port.
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

    /// Counts a request. Returns whether it is the last: an HTTP/2 connection announces that itself.
    pub(super) fn is_last_request(&self, version: Version) -> bool {
        let Some(limit) = self.shared().config.limits.requests else { return false };
        let is_last = self.requests.fetch_add(1, Ordering::Relaxed) + 1 >= limit;
        if is_last && version == Version::HTTP_2 {
            self.timers().retire();
        }
        is_last
    }

    /// Whether the connection is to end once it is idle.
    pub(super) fn is_ending(&self) -> bool {
        self.timers().is_retired() || self.thread.shared.draining.load(Ordering::Relaxed)
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
