//! Serves the same bytes for every request, without Ruby: measures the cost of the server itself.
//!
//! `cargo run --release -p foolsgold --example constant -- [options of foolsgold]`

use bytes::Bytes;
use clap::Parser;
use foolsgold::cli::Cli;
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::{Application, Job, Mode, Response, ResponseBody, Slot, Timings, Worker};
use foolsgold_server::log::say;
use foolsgold_server::{Facts, Parts, Server};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Constant;

impl Application for Constant {
    fn worker(self: Arc<Self>, slot: Arc<dyn Slot>) -> anyhow::Result<Box<dyn Worker>> {
        Ok(Box::new(ConstantWorker { slot, stop: Arc::new(|| ()) }))
    }
}

struct ConstantWorker {
    slot: Arc<dyn Slot>,
    stop: Arc<dyn Fn() + Send + Sync>,
}

impl Worker for ConstantWorker {
    fn work(&mut self, job: Job) {
        let begun = Instant::now();
        self.slot.begin(std::time::Duration::from_secs(10), Arc::clone(&self.stop));
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let body = ResponseBody::Whole(Bytes::from_static(&[b'x'; 500]));
        let response = Response { status: StatusCode::OK, headers, body };
        self.slot.end();
        let queued = begun.duration_since(job.queued);
        let timings = Timings { queued, ruby: begun.elapsed(), mode: Some(Mode::Prefork), ..Timings::default() };
        let _ = job.reply.send((response, timings));
    }
}

fn main() -> anyhow::Result<()> {
    let config = Cli::parse().serve.into_config(None)?;
    let drain = config.server.drain;
    let parts = Parts {
        archive: None,
        load: Box::new(|| Ok(Arc::new(Constant))),
        registry: Arc::new(Registry::new(1000)),
        facts: Facts::default(),
        report: Arc::new(say),
    };
    let server = Server::start(config.server, parts)?.catch_signals()?;
    server.places().for_each(|place| say(&format!("listening at {place}")));
    let _ = server.until_told(drain);
    Ok(())
}
