//! What a request to the demonstration costs in a worker, without a server: microseconds on this thread, by mode.
//!
//! `cargo run --release -p foolsgold --example requests [ROUNDS]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example talks to a person")]

use bytes::Bytes;
use foolsgold_core::files::VPath;
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::{Application, Job, Mode, Request, RequestBody, Unwatched};
use foolsgold_ruby::library::{BUILTIN, Builtin, DEMONSTRATION};
use foolsgold_ruby::{App, Settings};
use http::{HeaderMap, HeaderValue, Method, Version, header};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn request(path: &'static str) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:8000"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("ApacheBench/2.3"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    Request {
        method: Method::GET,
        uri: path.parse().unwrap(),
        version: Version::HTTP_11,
        headers,
        scheme: "http",
        server: ("127.0.0.1".into(), 8000),
        peer: Some("127.0.0.1".parse().unwrap()),
        body: RequestBody::Whole(Bytes::new()),
        arrived: Instant::now(),
    }
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let settings = Settings {
        files: Arc::new(Builtin),
        rackup: VPath::new(DEMONSTRATION).unwrap(),
        load_path: vec![BUILTIN.to_owned()],
        mode: Mode::SharedNothing,
        routes: vec![("/fresh".to_owned(), Mode::Fresh)],
        development: false,
        memory: 64 << 20,
        budget: Duration::from_secs(10),
        metrics: Arc::new(Registry::new(100)),
        error_log: Arc::new(|text| println!("{text}")),
    };
    let began = Instant::now();
    let mut worker = Arc::new(App::new(settings)).worker(Arc::new(Unwatched)).unwrap();
    println!("loaded in {:.2} ms", began.elapsed().as_secs_f64() * 1e3);
    for (name, path, rounds) in [
        ("prefork", "/fools-gold/prefork", rounds),
        ("shared nothing", "/fools-gold", rounds),
        ("fresh", "/fresh", (rounds / 100).max(1)),
    ] {
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            for _ in 0..rounds {
                let (reply, mut answer) = foolsgold_core::work::oneshot::channel();
                worker.work(Job { request: request(path), reply, queued: Instant::now() });
                assert!(answer.try_recv().is_ok());
            }
            fastest = fastest.min(began.elapsed() / rounds);
        }
        println!("{name}: {:.2} us a request", fastest.as_secs_f64() * 1e6);
    }
}
