//! A server in this process, in front of an application written in Rust, and a client that sends exactly the given
//! bytes.
#![allow(dead_code, clippy::unwrap_used, reason = "each test program uses its part; a panic is how a test fails")]

use bytes::Bytes;
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::{
    Aborted, Application, Job, Mode, RequestBody, RequestOutcome, Response, ResponseBody, Slot, Timings, Worker,
};
use foolsgold_server::config::{Bind, ServerConfig};
use foolsgold_server::{Facts, Parts, Server};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Longer than anything takes unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What the test and the application share.
#[derive(Default)]
pub struct Control {
    /// `/held` waits until this is set.
    pub open: AtomicBool,
    /// Requests that have reached `/held`.
    pub held: AtomicUsize,
    /// Chunks that `/endless` has sent.
    pub chunks: AtomicUsize,
    /// How many bodies of `/endless` lost their consumer.
    pub abandoned: AtomicUsize,
    /// What `/version` answers, for applications loaded from now on; an empty one cannot be loaded.
    pub version: Mutex<String>,
    /// The file that `/file` sends.
    pub file: Mutex<PathBuf>,
    /// What the server reported.
    pub reports: Mutex<Vec<String>>,
}

impl Control {
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Control) -> bool) {
        wait_until(what, || holds(self));
    }
}

pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "in vain waited for: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct TestApp {
    control: Arc<Control>,
    version: String,
}

impl Application for TestApp {
    fn worker(self: Arc<Self>, slot: Arc<dyn Slot>) -> anyhow::Result<Box<dyn Worker>> {
        anyhow::ensure!(!self.version.is_empty(), "the application is broken");
        Ok(Box::new(TestWorker { app: self, slot }))
    }
}

struct TestWorker {
    app: Arc<TestApp>,
    slot: Arc<dyn Slot>,
}

fn body(request: RequestBody) -> Result<Vec<u8>, foolsgold_core::work::BodyError> {
    match request {
        RequestBody::Whole(bytes) => Ok(bytes.to_vec()),
        RequestBody::Coming(mut pieces) => {
            let mut all = Vec::new();
            while let Some(piece) = pieces.blocking_recv() {
                all.extend_from_slice(&piece?);
            }
            Ok(all)
        }
    }
}

fn respond(status: u16, fields: &[(&str, &str)], body: ResponseBody) -> Response {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    Response { status: StatusCode::from_u16(status).unwrap(), headers, body }
}

fn text(status: u16, text: impl Into<String>) -> Response {
    let text: String = text.into();
    respond(status, &[("content-type", "text/plain")], ResponseBody::Whole(Bytes::from(text)))
}

/// The way back to the client.
struct Way {
    reply: oneshot::Sender<(Response, Timings)>,
    queued: Duration,
}

impl Way {
    fn send(self, response: Response) {
        self.send_as(response, RequestOutcome::Answered);
    }

    fn send_as(self, response: Response, outcome: RequestOutcome) {
        let timings =
            Timings { queued: self.queued, ruby: Duration::from_micros(1), outcome, mode: Some(Mode::Prefork) };
        let _ = self.reply.send((response, timings));
    }
}

impl Worker for TestWorker {
    fn work(&mut self, job: Job) {
        let control = Arc::clone(&self.app.control);
        let queued = job.queued.elapsed();
        let Job { request, reply, .. } = job;
        let path = request.uri.path().to_owned();
        let query = request.uri.query().unwrap_or_default().to_owned();
        let way = Way { reply, queued };
        match path.as_str() {
            "/echo" => {
                let mut lines = format!(
                    "{} {} {:?}\nserver {}:{}\npeer {:?}\nscheme {}\n",
                    request.method,
                    request.uri,
                    request.version,
                    request.server.0,
                    request.server.1,
                    request.peer,
                    request.scheme
                );
                let whole = matches!(request.body, RequestBody::Whole(_));
                for (name, value) in &request.headers {
                    lines += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
                }
                match body(request.body) {
                    Ok(bytes) => way.send(text(200, format!("{lines}body {} whole {whole}\n", bytes.len()))),
                    Err(foolsgold_core::work::BodyError::TooLarge) => way.send(text(413, "too large")),
                    Err(foolsgold_core::work::BodyError::TooSlow) => way.send(text(408, "too slow")),
                    Err(foolsgold_core::work::BodyError::Broken) => way.send(text(400, "broken")),
                }
            }
            "/version" => way.send(text(200, self.app.version.clone())),
            "/unread" => way.send(text(200, "did not read it")),
            "/held" => {
                control.held.fetch_add(1, Ordering::SeqCst);
                wait_until("the gate", || control.open.load(Ordering::SeqCst));
                way.send(text(200, "held"));
            }
            "/stopped" => {
                let stopped = Arc::new(AtomicBool::new(false));
                let told = Arc::clone(&stopped);
                self.slot.begin(Duration::from_millis(30), Arc::new(move || told.store(true, Ordering::SeqCst)));
                wait_until("the watchdog", || stopped.load(Ordering::SeqCst));
                let end = if self.slot.end() { RequestOutcome::OutOfTime } else { RequestOutcome::Answered };
                way.send_as(text(503, "stopped"), end);
            }
            "/unstoppable" => {
                self.slot.begin(Duration::from_millis(30), Arc::new(|| ()));
                let Way { reply, .. } = way;
                self.slot.on_loss(Box::new(move || {
                    let _ = reply.send((text(503, "given up"), Timings::default()));
                    format!("GET {path}")
                }));
                control.held.fetch_add(1, Ordering::SeqCst);
                wait_until("the gate", || control.open.load(Ordering::SeqCst));
                self.slot.end();
            }
            "/asleep" => {
                control.held.fetch_add(1, Ordering::SeqCst);
                self.slot.begin(PATIENCE, Arc::new(|| ()));
                self.slot.sleeps(true);
                wait_until("the gate", || control.open.load(Ordering::SeqCst));
                self.slot.sleeps(false);
                self.slot.end();
                way.send(text(200, "slept"));
            }
            "/paused" => {
                let stopped = Arc::new(AtomicBool::new(false));
                let told = Arc::clone(&stopped);
                self.slot.begin(Duration::from_millis(50), Arc::new(move || told.store(true, Ordering::SeqCst)));
                self.slot.pause();
                std::thread::sleep(Duration::from_millis(150));
                self.slot.resume();
                let was_stopped = self.slot.end();
                way.send(text(200, format!("stopped {was_stopped} {}", stopped.load(Ordering::SeqCst))));
            }
            "/fail" => drop(way),
            "/panic" => panic!("as asked"),
            "/status" => {
                let status = query.parse().unwrap();
                let fields = [("content-type", "text/plain"), ("content-length", "7"), ("x-own", "yes")];
                way.send(respond(status, &fields, ResponseBody::Whole(Bytes::from_static(b"a body!"))));
            }
            "/fields" => {
                let fields = [
                    ("set-cookie", "a=1"),
                    ("set-cookie", "b=2"),
                    ("transfer-encoding", "chunked"),
                    ("keep-alive", "5"),
                    ("content-length", "999"),
                    ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
                ];
                way.send(respond(200, &fields, ResponseBody::Whole(Bytes::from_static(b"x"))));
            }
            "/close" => {
                way.send(respond(200, &[("connection", "close")], ResponseBody::Whole(Bytes::from_static(b"bye"))));
            }
            "/stream" => {
                let (sender, receiver) = mpsc::channel(2);
                way.send(respond(200, &[], ResponseBody::Coming(receiver)));
                for number in 0..3 {
                    let _ = sender.blocking_send(Ok(Bytes::from(format!("chunk {number}\n"))));
                }
            }
            "/aborted" => {
                let (sender, receiver) = mpsc::channel(2);
                way.send(respond(200, &[], ResponseBody::Coming(receiver)));
                let _ = sender.blocking_send(Ok(Bytes::from_static(b"begun")));
                let _ = sender.blocking_send(Err(Aborted));
            }
            "/endless" => {
                let (sender, receiver) = mpsc::channel(2);
                way.send(respond(200, &[], ResponseBody::Coming(receiver)));
                while sender.blocking_send(Ok(Bytes::from(vec![b'x'; 64 << 10]))).is_ok() {
                    control.chunks.fetch_add(1, Ordering::SeqCst);
                }
                control.abandoned.fetch_add(1, Ordering::SeqCst);
            }
            "/large" => {
                let bytes = Bytes::from(vec![b'y'; query.parse().unwrap()]);
                way.send(respond(200, &[], ResponseBody::Whole(bytes)));
            }
            "/file" => {
                let path = control.file.lock().unwrap().clone();
                way.send(respond(200, &[("content-type", "x/y")], ResponseBody::File(path)));
            }
            _ => way.send(text(404, format!("nothing at {path}"))),
        }
    }
}

/// A server that ends with the test.
pub struct Running {
    server: Option<Server>,
    pub address: SocketAddr,
    pub control: Arc<Control>,
}

/// Starts one on a free port; `change` sets what differs from the defaults.
pub fn start(change: impl FnOnce(&mut ServerConfig)) -> Running {
    try_start(change).unwrap()
}

pub fn try_start(change: impl FnOnce(&mut ServerConfig)) -> anyhow::Result<Running> {
    let mut config = ServerConfig {
        binds: vec![Bind::Tcp("127.0.0.1:0".into())],
        threads: 2,
        io_threads: 1,
        ..ServerConfig::default()
    };
    change(&mut config);
    let control = Arc::new(Control { version: Mutex::new("one".into()), ..Control::default() });
    let (load, told) = (Arc::clone(&control), Arc::clone(&control));
    let parts = Parts {
        archive: None,
        load: Box::new(move || {
            let version = load.version.lock().unwrap().clone();
            Ok(Arc::new(TestApp { control: Arc::clone(&load), version }))
        }),
        registry: Arc::new(Registry::new(1000)),
        facts: Facts { interpreter: "none".into(), ..Facts::default() },
        report: Arc::new(move |sentence| told.reports.lock().unwrap().push(sentence.to_owned())),
    };
    let server = Server::start(config, parts)?;
    let address = server.addresses().next().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
    Ok(Running { server: Some(server), address, control })
}

impl Running {
    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn take(&mut self) -> Server {
        self.server.take().unwrap()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and returns everything received until the server closes.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // A server that refuses early may have closed before everything is sent.
        let _ = stream.write_all(bytes.as_ref());
        rest(&mut stream)
    }

    /// One request on its own connection.
    pub fn request(&self, method: &str, target: &str, fields: &str) -> String {
        self.raw(format!("{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{fields}\r\n"))
    }

    pub fn get(&self, target: &str) -> String {
        self.request("GET", target, "")
    }

    /// The value of a metric; needs `pages.metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let page = self.get("/metrics");
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.control.open.store(true, Ordering::SeqCst);
        if let Some(server) = self.server.take() {
            server.stop(Duration::from_millis(200), || false);
        }
    }
}

/// Everything until the end of the connection; a reset counts as the end.
pub fn rest(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until this text has arrived.
pub fn read_until(stream: &mut impl Read, words: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(words) {
        let mut piece = [0; 1024];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "ended without {words:?}: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..n]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").or(answer.strip_prefix("HTTP/1.0 ")).map_or("none", |rest| &rest[..3])
}

/// The value of a header field of an answer.
pub fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The body of an answer.
pub fn payload(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}
