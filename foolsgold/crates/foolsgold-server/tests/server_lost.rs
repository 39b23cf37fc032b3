//! Interpreter threads that cannot be stopped, and those that wait while others have work.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::Ending;
use foolsgold_server::config::{Pages, ServerConfig};
use rig::{PATIENCE, payload, start, status, wait_until};
use std::sync::atomic::Ordering;

fn with_pages(config: &mut ServerConfig) {
    config.pages = Pages { metrics: Some("/metrics".into()), ready: Some("/ready".into()), ..Pages::default() };
}

fn reports(server: &rig::Running) -> String {
    server.control.reports.lock().unwrap().join("\n")
}

#[test]
fn a_thread_that_cannot_be_stopped_is_replaced_logged_and_counted() {
    let server = start(|config| {
        (config.threads, config.max_threads) = (2, 2);
        with_pages(config);
    });
    std::thread::scope(|scope| {
        let stuck: Vec<_> = (0..2).map(|_| scope.spawn(|| server.get("/unstoppable"))).collect();
        server.control.wait_until("both", |control| control.held.load(Ordering::SeqCst) == 2);
        // Both are stopped after 30 ms and not given up yet: nothing can be served.
        wait_until("the word that nothing can be served", || status(&server.get("/ready")) == "503");
        for stuck in stuck {
            let answer = stuck.join().unwrap();
            assert_eq!((status(&answer), payload(&answer)), ("503", "given up"));
        }
        // While both still run.
        wait_until("the replacements", || server.metric("foolsgold_ready_interpreters") == 2.0);
        assert_eq!(server.metric("foolsgold_lost_interpreters"), 2.0);
        assert_eq!(server.metric("foolsgold_replaced_interpreters"), 2.0);
        assert_eq!(status(&server.get("/ready")), "200");
        for _ in 0..20 {
            assert_eq!(status(&server.get("/version")), "200");
        }
        let said = reports(&server);
        assert_eq!(said.matches("GET /unstoppable: cannot be stopped").count(), 2, "{said}");
        server.control.open.store(true, Ordering::SeqCst);
        wait_until("the end of both", || server.metric("foolsgold_lost_interpreters") == 0.0);
        assert_eq!(server.metric("foolsgold_ready_interpreters"), 2.0);
        assert_eq!(status(&server.get("/version")), "200");
    });
}

#[test]
fn a_server_that_has_lost_every_thread_ends_by_itself() {
    let mut server = start(|config| {
        (config.threads, config.max_threads) = (1, 1);
        config.queue_time = PATIENCE;
        with_pages(config);
    });
    let control = std::sync::Arc::clone(&server.control);
    let address = server.address;
    let signalled = server.take().catch_signals().unwrap();
    let ending = std::thread::spawn(move || signalled.until_told(PATIENCE));
    std::thread::scope(|scope| {
        // One after the other, since each replacement takes the next.
        for _ in 0..12 {
            scope.spawn(move || {
                use std::io::{Read, Write};
                let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
                let asked = stream.write_all(b"GET /unstoppable HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
                let mut answer = Vec::new();
                let _ = asked.and_then(|()| stream.read_to_end(&mut answer));
            });
        }
        assert_eq!(ending.join().unwrap(), Ending::Failed);
    });
    let said = control.reports.lock().unwrap().join("\n");
    assert!(said.contains("every interpreter is lost"), "{said}");
    control.open.store(true, Ordering::SeqCst);
}

#[test]
fn requests_are_answered_beside_more_sleeping_ones_than_there_are_threads() {
    let server = start(|config| {
        config.threads = 2;
        with_pages(config);
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sleeping = (4 * cores).min(24);
    std::thread::scope(|scope| {
        let asleep: Vec<_> = (0..sleeping).map(|_| scope.spawn(|| server.get("/asleep"))).collect();
        server.control.wait_until("all", |control| control.held.load(Ordering::SeqCst) == sleeping);
        for _ in 0..20 {
            assert_eq!(status(&server.get("/version")), "200");
        }
        assert_eq!(server.metric("foolsgold_lost_interpreters"), 0.0);
        server.control.open.store(true, Ordering::SeqCst);
        for asleep in asleep {
            assert_eq!(status(&asleep.join().unwrap()), "200");
        }
    });
}

#[test]
fn there_are_never_more_threads_than_allowed() {
    let server = start(|config| {
        (config.threads, config.max_threads) = (1, 3);
        with_pages(config);
    });
    std::thread::scope(|scope| {
        let asleep: Vec<_> = (0..6).map(|_| scope.spawn(|| server.get("/asleep"))).collect();
        server.control.wait_until("three", |control| control.held.load(Ordering::SeqCst) == 3);
        wait_until("the queue", || server.metric("foolsgold_queue_depth") == 3.0);
        assert_eq!(server.metric("foolsgold_ready_interpreters"), 3.0);
        server.control.open.store(true, Ordering::SeqCst);
        for asleep in asleep {
            assert_eq!(status(&asleep.join().unwrap()), "200");
        }
    });
}
