//! hyper's settings.

use crate::config::Limits;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// hyper's settings for HTTP/1. Timeouts are handled by `timers`, so hyper gets no timer.
pub(super) fn http1(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_header_size(limits.head).max_buf_size(limits.head.max(64 << 10) + (8 << 10));
    if limits.fields != 100 {
        // 100 is hyper's default, which costs nothing as long as no limit is set.
        builder.max_headers(limits.fields);
    }
    builder
}

/// hyper's settings for HTTP/2: a bounded number of streams, each with a bounded window.
pub(super) fn http2(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.write_time)
        .max_concurrent_streams(128)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .max_send_buf_size(256 << 10)
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}
