//! One request and its answer: what every answer leaves in the timers, the metrics and the access log.

use super::client::Connection;
use super::timers::ConnectionTimers;
use crate::log::access::Entry;
use foolsgold_core::work::Timings;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Version, header};
use jiff::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The header that carries a request's identifier.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request being handled. Ends when it is dropped, which is when the last byte of the answer is handed over.
#[derive(Debug)]
pub(super) struct Exchange {
    connection: Arc<Connection>,
    pub(super) arrived: Instant,
    method: Method,
    version: Version,
    status: StatusCode,
    timings: Timings,
    sent: u64,
    /// The length that the answer announced.
    declared: Option<u64>,
    broken: bool,
    /// For the access log, if there is one.
    entry: Option<Box<Entry>>,
}

impl Exchange {
    /// Begins. `headers` get an identifier if there is a log to find it in.
    pub(super) fn begin<B>(connection: &Arc<Connection>, request: &mut Request<B>) -> Exchange {
        connection.timers().begin();
        let entry = connection.shared().access.is_some().then(|| Box::new(entry_of(connection, request)));
        Exchange {
            connection: Arc::clone(connection),
            arrived: Instant::now(),
            method: request.method().clone(),
            version: request.version(),
            status: StatusCode::INTERNAL_SERVER_ERROR,
            timings: Timings::default(),
            sent: 0,
            declared: None,
            broken: false,
            entry,
        }
    }

    pub(super) fn timers(&self) -> &ConnectionTimers {
        self.connection.timers()
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn is_http2(&self) -> bool {
        self.version == Version::HTTP_2
    }

    /// Sets the client, if a proxy named one.
    pub(super) fn client(&mut self, peer: Option<IpAddr>) {
        if let Some(entry) = &mut self.entry {
            entry.peer = peer;
        }
    }

    /// Takes the worker's timings.
    pub(super) fn worked(&mut self, timings: Timings) {
        self.timings = timings;
    }

    pub(super) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = status;
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        self.declared = length.and_then(|length| length.parse().ok());
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// The answer was not sent to its end.
    pub(super) fn broke(&mut self) {
        self.broken = self.declared.is_none_or(|length| self.sent < length);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let duration = self.arrived.elapsed();
        let shared = self.connection.shared();
        shared.metrics.ended(self.status, duration, &self.timings, self.broken);
        if let (Some(mut entry), Some(access)) = (self.entry.take(), &shared.access) {
            entry.status = self.status.as_u16();
            entry.bytes = self.sent;
            entry.duration = duration;
            entry.queued = self.timings.queued;
            entry.ruby = self.timings.ruby;
            entry.mode = self.timings.mode;
            entry.outcome = self.timings.outcome;
            entry.broken = self.broken;
            access.add(&entry);
        }
        self.connection.timers().end();
    }
}

fn entry_of<B>(connection: &Connection, request: &mut Request<B>) -> Entry {
    let id = identifier(connection, request.headers_mut());
    let bytes = |name: HeaderName| request.headers().get(name).map(|value| value.as_bytes().to_vec());
    let host = request.headers().get(header::HOST).map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
    Entry {
        at: Timestamp::now(),
        peer: connection.peer().address(),
        method: request.method().to_string(),
        target: request.uri().path_and_query().map_or_else(|| "*".to_owned(), ToString::to_string),
        version: match request.version() {
            Version::HTTP_10 => "HTTP/1.0",
            Version::HTTP_2 => "HTTP/2.0",
            _ => "HTTP/1.1",
        },
        host: host.or_else(|| request.uri().host().map(str::to_owned)).unwrap_or_default(),
        referrer: bytes(header::REFERER),
        agent: bytes(header::USER_AGENT),
        status: 0,
        bytes: 0,
        duration: std::time::Duration::ZERO,
        queued: std::time::Duration::ZERO,
        ruby: std::time::Duration::ZERO,
        mode: None,
        outcome: foolsgold_core::work::RequestOutcome::Answered,
        broken: false,
        id,
    }
}

/// The identifier that the request came with, if it is a plain word; otherwise a new one, set for the application to
/// see.
fn identifier(connection: &Connection, headers: &mut HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let plain = |text: &str| {
        let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        (1..=128).contains(&text.len()) && text.chars().all(word)
    };
    if let Some(id) = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(|id| plain(id)) {
        return id.to_owned();
    }
    let id = format!("{:016x}-{:x}", connection.shared().instance_id, NEXT.fetch_add(1, Ordering::Relaxed));
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    id
}
