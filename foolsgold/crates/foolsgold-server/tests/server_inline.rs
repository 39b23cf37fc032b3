//! Connections that an interpreter thread runs while requests are short: slow requests among them do not hold up the
//! rest.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::Ending;
use foolsgold_server::config::{Pages, ServerConfig};
use rig::{PATIENCE, Running, payload, read_until, rest, start, status, wait_until};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const VERSION: &[u8] = b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n";

fn inline_threads(server: &Running) -> f64 {
    server.metric("foolsgold_inline_connection_threads")
}

/// A server of `threads` interpreter threads, one of which runs the connections.
fn start_inline(threads: usize) -> Running {
    let server = start(|config| {
        config.threads = threads;
        config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() };
    });
    until_inline(&server);
    server
}

/// Sends short requests until an interpreter thread runs the connections.
fn until_inline(server: &Running) {
    let begun = Instant::now();
    while inline_threads(server) == 0.0 {
        assert!(begun.elapsed() < PATIENCE, "nobody runs the connections");
        for _ in 0..20 {
            assert_eq!(status(&server.get("/version")), "200");
        }
    }
}

fn held(server: &Running) -> usize {
    server.control.held.load(Ordering::SeqCst)
}

#[test]
fn a_request_that_takes_its_time_hands_the_connections_back() {
    let server = start_inline(1);
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| server.get("/held"));
        server.control.wait_until("the stuck one", |control| control.held.load(Ordering::SeqCst) == 1);
        // The server's own pages need no interpreter, and the only one is stuck.
        wait_until("the connections", || inline_threads(&server) == 0.0);
        assert_eq!(server.metric("foolsgold_busy_interpreters"), 1.0);
        let mut next = server.connect();
        next.write_all(VERSION).unwrap();
        wait_until("its arrival", || server.metric("foolsgold_queue_depth") == 1.0);
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&stuck.join().unwrap()), "200");
        assert!(read_until(&mut next, "one").starts_with("HTTP/1.1 200"));
    });
    until_inline(&server);
}

#[test]
fn others_serve_while_one_is_stuck() {
    let server = start_inline(2);
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| server.get("/held"));
        wait_until("the connections", || inline_threads(&server) == 0.0);
        until_inline(&server);
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&stuck.join().unwrap()), "200");
    });
}

#[test]
fn what_waits_for_the_client_or_is_sent_in_parts_comes_to_its_end() {
    let server = start_inline(1);
    for _ in 0..3 {
        assert!(payload(&server.get("/stream")).contains("chunk 2"));
        assert_eq!(payload(&server.get("/large?3000000")).len(), 3_000_000);
        assert!(server.get("/paused").contains("stopped false"));
        let long = "x".repeat(500_000);
        let answer = server.raw(format!(
            "POST /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{long}",
            long.len()
        ));
        assert!(answer.contains("body 500000 whole"), "{answer}");
        assert_eq!(status(&server.get("/fail")), "500");
        assert_eq!(status(&server.get("/panic")), "500");
        until_inline(&server);
    }
}

#[test]
fn applications_are_replaced_while_connections_are_lent() {
    let server = start_inline(2);
    for version in ["two", "three"] {
        *server.control.version.lock().unwrap() = version.into();
        server.server().reload().unwrap();
        assert_eq!(payload(&server.get("/version")), version);
        until_inline(&server);
    }
}

#[test]
fn the_end_waits_for_requests_and_cuts_off_what_is_stuck() {
    let mut server = start_inline(1);
    let mut idle = server.connect();
    idle.write_all(VERSION).unwrap();
    read_until(&mut idle, "one");
    assert_eq!(server.take().stop(PATIENCE, || false), Ending::Drained);
    assert_eq!(rest(&mut idle), "");

    let mut server = start_inline(1);
    let mut stuck = server.connect();
    stuck.write_all(b"GET /held HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    server.control.wait_until("the stuck one", |control| control.held.load(Ordering::SeqCst) == 1);
    assert_eq!(server.take().stop(Duration::from_millis(50), || false), Ending::CutOff(1));
}

/// Clients that send a mix of quick and slow requests, with fewer interpreters than I/O threads and with more.
#[test]
fn no_request_is_forgotten_whoever_runs_the_connections() {
    const CLIENTS: usize = 16;
    const ROUNDS: usize = 150;
    for (threads, io_threads) in [(1, 1), (1, 2), (2, 1), (3, 2)] {
        let server = start(|config: &mut ServerConfig| {
            (config.threads, config.io_threads) = (threads, io_threads);
            config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() };
        });
        server.control.open.store(true, Ordering::SeqCst);
        let (served, was_inline, over) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, served) = (&server, &served);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        // One request in two hundred takes longer than the connections may be kept waiting.
                        let target = match (client * ROUNDS + round) % 200 {
                            0 => "/paused",
                            1 => "/stream",
                            2 => "/held",
                            _ => "/version",
                        };
                        assert_eq!(status(&server.get(target)), "200", "{target}");
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let watch = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    was_inline.fetch_or(inline_threads(&server) > 0.0, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            wait_until("every answer", || served.load(Ordering::Relaxed) == CLIENTS * ROUNDS || watch.is_finished());
            over.store(true, Ordering::Relaxed);
        });
        assert!(was_inline.into_inner(), "{threads} {io_threads}");
        assert!(held(&server) > 0);
    }
}
