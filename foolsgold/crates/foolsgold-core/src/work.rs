//! What passes between the server, the pool of interpreter threads and the runtime.
//!
//! The server owns connections, limits and time-outs and never waits for Ruby on its own threads; a worker may block as
//! it likes. A request's body arrives as chunks through a bounded channel (small ones are complete before the request
//! is queued, so a slow client does not occupy an interpreter); an answer leaves as a head and either its bytes or a
//! stream, again through a bounded channel, so a slow reader holds back the producer and not the server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The channels of a job, so that the worker needs no tokio.
pub use tokio::sync::{mpsc, oneshot};

/// How requests share an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Each request finds the interpreter as it was after the application was loaded: its heap is restored in between.
    SharedNothing,
    /// One interpreter for each thread, warm, with whatever earlier requests left behind.
    Prefork,
    /// A new interpreter for each request, loaded from the sources: slow, and the reference for testing the first mode.
    Fresh,
}

impl Mode {
    /// Its name in configurations and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::SharedNothing => "shared-nothing",
            Mode::Prefork => "prefork",
            Mode::Fresh => "fresh",
        }
    }
}

/// One request, as the server has checked it.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target: the path, still percent-encoded, and the query.
    pub uri: Uri,
    /// HTTP/1.0, 1.1 or 2.
    pub version: Version,
    /// Fields as received; the server has refused what is ambiguous (two different Content-Length and the like).
    pub headers: HeaderMap,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Host and port of this server as the client named them, or as bound if it did not.
    pub server: (Arc<str>, u16),
    /// The client; `None` on a UNIX socket.
    pub peer: Option<IpAddr>,
    /// The body.
    pub body: RequestBody,
    /// When the server had received the whole head.
    pub arrived: Instant,
}

/// The body of a request, read by a thread that may block.
#[derive(Debug)]
pub enum RequestBody {
    /// Complete, or there is none.
    Whole(Bytes),
    /// Still arriving. An error ends it.
    Coming(mpsc::Receiver<Result<Bytes, BodyError>>),
}

/// Why a body ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The client went away or sent malformed chunks.
    #[error("the client ended the request's body early")]
    Broken,
    /// More than the limit: 413.
    #[error("the request's body is larger than allowed")]
    TooLarge,
    /// Too slow: 408.
    #[error("the request's body came too slowly")]
    TooSlow,
}

/// The answer's head and body.
#[derive(Debug)]
pub struct Response {
    /// Status, 200..=599 (an application's 1xx is refused by the runtime).
    pub status: StatusCode,
    /// Fields, checked: they contain no CR, LF or NUL.
    pub headers: HeaderMap,
    /// The body.
    pub body: ResponseBody,
}

impl Response {
    /// A short text for people. With 503 it asks the client to try again in a second.
    #[must_use]
    pub fn words(status: StatusCode, words: impl Into<Bytes>) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Response { status, headers, body: ResponseBody::Whole(words.into()) }
    }
}

/// The body of an answer.
#[derive(Debug)]
pub enum ResponseBody {
    /// All of it.
    Whole(Bytes),
    /// Chunks as the application makes them; dropping the sender ends the body, an error aborts it.
    Coming(mpsc::Receiver<Result<Bytes, Aborted>>),
    /// A file that the server sends (Rack's `to_path`), already confined to an allowed folder.
    File(PathBuf),
}

/// A body that the application could not finish: the connection is closed so that the client notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the application failed while it sent the body")]
pub struct Aborted;

/// Where the time of one request went and how it ended, for the access log and the metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Time in the queue.
    pub queued: Duration,
    /// Time in Ruby.
    pub ruby: Duration,
    /// How it ended.
    pub outcome: RequestOutcome,
    /// The mode it ran in; `None` if it reached no interpreter.
    pub mode: Option<Mode>,
}

/// How a request ended inside the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The application answered.
    #[default]
    Answered,
    /// It raised an exception: 500.
    Raised,
    /// It used up its time: 503, and the interpreter was restored.
    OutOfTime,
    /// It used up its memory: 500, and the interpreter was restored.
    OutOfMemory,
    /// It waited too long for an interpreter: 503. Set by the pool, never by a worker.
    Expired,
}

/// A request on its way to a worker.
#[derive(Debug)]
pub struct Job {
    /// The request.
    pub request: Request,
    /// Where the answer goes. If it is dropped without an answer, the server answers 500.
    pub reply: oneshot::Sender<(Response, Timings)>,
    /// When it was queued.
    pub queued: Instant,
}

/// What an interpreter thread runs. Created on its thread and never moved.
pub trait Worker {
    /// Answers one job. It may block. Work left over after the answer is sent (restoring the heap) is done before it
    /// returns.
    fn work(&mut self, job: Job);
}

/// An application as it was loaded; a reload creates another one.
pub trait Application: Send + Sync + 'static {
    /// Creates a worker, on the thread that will use it. The pool's watchdog watches `slot`.
    ///
    /// # Errors
    /// If the application cannot be loaded; the error is a sentence for the log.
    fn worker(self: Arc<Self>, slot: Arc<dyn Slot>) -> anyhow::Result<Box<dyn Worker>>;
}

/// What [`Slot::on_loss`] takes.
pub type Loss = Box<dyn FnOnce() -> String + Send>;

/// A worker's side of the watchdog: it reports what runs, since when, and how to stop it.
pub trait Slot: Send + Sync {
    /// A run begins: once it has used up `budget`, `stop` must be called.
    fn begin(&self, budget: Duration, stop: Arc<dyn Fn() + Send + Sync>);
    /// Ruby waits for something outside (a client); the time does not count.
    fn pause(&self);
    /// Ruby goes on.
    fn resume(&self);
    /// Ruby sleeps, or has slept: the time counts, but the thread needs no processor.
    fn sleeps(&self, _sleeps: bool) {}
    /// What to do if nothing can stop this run, at some time long after its budget: it answers the request and returns
    /// which one it was. Called at most once, on another thread.
    fn on_loss(&self, _answer: Loss) {}
    /// The run has ended. Returns whether `stop` was called since [`Slot::begin`].
    fn end(&self) -> bool;
}

/// A slot without a watchdog: for a worker without a pool, whose time is bounded elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Slot for Unwatched {
    fn begin(&self, _: Duration, _: Arc<dyn Fn() + Send + Sync>) {}
    fn pause(&self) {}
    fn resume(&self) {}
    fn end(&self) -> bool {
        false
    }
}
