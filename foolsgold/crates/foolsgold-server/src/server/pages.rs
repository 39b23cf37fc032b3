//! Pages that the server answers itself: metrics, what runs here, whether it is ready.

use super::reply::{Answer, Source};
use super::shared::{Facts, Shared};
use bytes::Bytes;
use foolsgold_core::metrics;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use std::sync::atomic::Ordering;

/// What runs here.
#[derive(Serialize)]
struct Info<'f> {
    foolsgold: &'static str,
    #[serde(flatten)]
    facts: &'f Facts,
    libc: &'static str,
    linkage: &'static str,
    arch: &'static str,
    pid: u32,
    rss_bytes: Option<u64>,
    uptime_seconds: f64,
    threads: usize,
    ready_threads: usize,
    io_threads: usize,
    reloads: u64,
}

/// The answer, if the path is that of a page.
pub(super) fn answer(shared: &Shared, path: &str) -> Option<Answer> {
    let pages = &shared.config.pages;
    if pages.metrics.as_deref() == Some(path) {
        return Some(page(StatusCode::OK, metrics::CONTENT_TYPE, shared.registry.render().into()));
    }
    if pages.info.as_deref() == Some(path) {
        let json = serde_json::to_vec_pretty(&info(shared)).unwrap_or_default();
        return Some(page(StatusCode::OK, "application/json", json.into()));
    }
    if pages.ready.as_deref() == Some(path) {
        let (status, word) = if shared.draining.load(Ordering::Relaxed) {
            (StatusCode::SERVICE_UNAVAILABLE, "ending\n")
        } else if shared.pool.stats().able == 0 {
            (StatusCode::SERVICE_UNAVAILABLE, "no interpreter can take work\n")
        } else {
            (StatusCode::OK, "ready\n")
        };
        return Some(page(status, "text/plain; charset=utf-8", Bytes::from_static(word.as_bytes())));
    }
    None
}

fn page(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Answer { status, headers, source: Source::Whole(body) }
}

fn info(shared: &Shared) -> Info<'_> {
    let stats = shared.pool.stats();
    Info {
        foolsgold: env!("CARGO_PKG_VERSION"),
        facts: &shared.facts,
        libc: if cfg!(target_env = "musl") { "musl" } else { "glibc" },
        linkage: if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" },
        arch: std::env::consts::ARCH,
        pid: std::process::id(),
        rss_bytes: resident(),
        uptime_seconds: shared.started.elapsed().as_secs_f64(),
        threads: shared.config.threads,
        ready_threads: stats.ready,
        io_threads: shared.config.io_threads,
        reloads: stats.reloads,
    }
}

/// Resident memory in bytes, from /proc/self/statm (proc(5)).
pub(super) fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
