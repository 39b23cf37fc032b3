//! The server over time: load beyond its threads, reloads, shutdown, and the addresses it listens on. Signals:
//! server_process.rs.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::Ending;
use foolsgold_server::config::{AccessFormat, AccessLog, Bind, LogTarget, Pages, StaticMount};
use rig::{PATIENCE, field, payload, read_until, rest, start, status, try_start, wait_until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const VERSION: &[u8] = b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n";

fn held(server: &rig::Running) -> usize {
    server.control.held.load(Ordering::SeqCst)
}

#[test]
fn more_requests_than_may_wait_are_refused_at_once() {
    let server = start(|config| (config.threads, config.queue) = (1, 2));
    std::thread::scope(|scope| {
        let get = || scope.spawn(|| server.get("/held"));
        let first = get();
        server.control.wait_until("the first", |control| control.held.load(Ordering::SeqCst) == 1);
        let answers: Vec<_> = (0..6).map(|_| get()).collect();
        wait_until("the refusals", || answers.iter().filter(|answer| answer.is_finished()).count() == 4);
        server.control.open.store(true, Ordering::SeqCst);
        let answers: Vec<String> = answers.into_iter().map(|answer| answer.join().unwrap()).collect();
        let refused: Vec<_> = answers.iter().filter(|answer| status(answer) == "503").collect();
        assert_eq!(refused.len(), 4, "{answers:?}");
        assert!(refused.iter().all(|answer| field(answer, "retry-after") == Some("1")), "{refused:?}");
        assert_eq!(status(&first.join().unwrap()), "200");
    });
}

#[test]
fn a_request_that_waits_too_long_is_refused() {
    let server = start(|config| {
        config.threads = 1;
        config.queue_time = Duration::from_millis(100);
        config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() };
    });
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| server.get("/held"));
        server.control.wait_until("the stuck one", |control| control.held.load(Ordering::SeqCst) == 1);
        let late = server.get("/version");
        assert_eq!((status(&late), field(&late, "retry-after")), ("503", Some("1")));
        // The server's own pages need no interpreter.
        assert_eq!(server.metric("foolsgold_failed_requests_total{how=\"expired\"}"), 1.0);
        assert_eq!(server.metric("foolsgold_busy_interpreters"), 1.0);
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&stuck.join().unwrap()), "200");
    });
}

#[test]
fn a_stuck_worker_holds_up_nobody_else() {
    let server = start(|config| config.threads = 2);
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| server.get("/held"));
        server.control.wait_until("the stuck one", |control| control.held.load(Ordering::SeqCst) == 1);
        for _ in 0..200 {
            assert_eq!(status(&server.get("/version")), "200");
        }
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&stuck.join().unwrap()), "200");
    });
}

#[test]
fn what_is_queued_behind_a_long_request_is_served_by_another_thread() {
    let server = start(|config| config.threads = 2);
    for _ in 0..200 {
        // From now on requests are known to be short.
        assert_eq!(status(&server.get("/version")), "200");
    }
    let mut together = server.connect();
    let held = "GET /held HTTP/1.1\r\nHost: test\r\n\r\n";
    let mut streams: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    together.write_all(held.as_bytes()).unwrap();
    for stream in &mut streams {
        stream.write_all(VERSION).unwrap();
    }
    for stream in &mut streams {
        assert!(read_until(stream, "one").starts_with("HTTP/1.1 200"));
    }
    server.control.open.store(true, Ordering::SeqCst);
    assert!(read_until(&mut together, "held").starts_with("HTTP/1.1 200"));
}

#[test]
fn slow_clients_hold_no_interpreter() {
    let server = start(|config| config.threads = 1);
    let begun: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc").unwrap();
            stream
        })
        .collect();
    assert_eq!(status(&server.get("/version")), "200");
    for mut stream in begun {
        stream.write_all(b"defghij").unwrap();
        assert!(read_until(&mut stream, "body 10 whole true").starts_with("HTTP/1.1 200"));
    }
}

#[test]
fn a_request_whose_client_is_gone_is_not_worked_on() {
    let server = start(|config| config.threads = 1);
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| server.get("/held"));
        server.control.wait_until("the stuck one", |control| control.held.load(Ordering::SeqCst) == 1);
        let mut gone = server.connect();
        gone.write_all(b"GET /held HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        wait_until("its arrival", || server.server().connections() == 2);
        drop(gone);
        wait_until("its end", || server.server().connections() == 1);
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&stuck.join().unwrap()), "200");
        assert_eq!(status(&server.get("/version")), "200");
        assert_eq!(held(&server), 1);
    });
}

#[test]
fn no_request_is_lost_while_applications_are_replaced() {
    let server = start(|_| ());
    *server.control.version.lock().unwrap() = "v0;".into();
    server.server().reload().unwrap();
    let (done, over, mut number) = (AtomicUsize::new(0), AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut stream = server.connect();
                while !over.load(Ordering::Relaxed) {
                    if done.fetch_add(1, Ordering::Relaxed) % 50 == 0 {
                        stream = server.connect();
                    }
                    stream.write_all(VERSION).unwrap();
                    assert!(read_until(&mut stream, ";").starts_with("HTTP/1.1 200"));
                }
            });
        }
        while number < 40 || done.load(Ordering::Relaxed) < 3000 {
            number += 1;
            *server.control.version.lock().unwrap() = format!("v{number};");
            server.server().reload().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(payload(&server.get("/version")), format!("v{number};"));
}

#[test]
fn a_long_request_holds_up_no_reload() {
    let server = start(|config| config.threads = 2);
    std::thread::scope(|scope| {
        let long = scope.spawn(|| server.get("/held"));
        server.control.wait_until("the long one", |control| control.held.load(Ordering::SeqCst) == 1);
        *server.control.version.lock().unwrap() = "two".into();
        server.server().reload().unwrap();
        assert_eq!(payload(&server.get("/version")), "two");
        server.control.open.store(true, Ordering::SeqCst);
        assert_eq!(status(&long.join().unwrap()), "200");
    });
}

#[test]
fn an_application_that_cannot_be_loaded_changes_nothing() {
    let server = start(|config| config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() });
    server.control.version.lock().unwrap().clear();
    assert_eq!(server.server().reload().unwrap_err().to_string(), "the application is broken");
    assert_eq!(payload(&server.get("/version")), "one");
    assert_eq!(server.metric("foolsgold_failed_reloads_total"), 1.0);
    *server.control.version.lock().unwrap() = "two".into();
    server.server().reload().unwrap();
    for _ in 0..10 {
        assert_eq!(payload(&server.get("/version")), "two");
    }
}

#[test]
fn the_end_waits_for_requests_and_accepts_no_more() {
    let mut server = start(|_| ());
    let (mut working, mut idle) = (server.connect(), server.connect());
    idle.write_all(VERSION).unwrap();
    read_until(&mut idle, "one");
    working.write_all(b"GET /held HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    server.control.wait_until("the request", |control| control.held.load(Ordering::SeqCst) == 1);
    let ending = server.take();
    let ending = std::thread::spawn(move || ending.stop(PATIENCE, || false));
    assert_eq!(rest(&mut idle), "", "an idle connection is closed");
    wait_until("the port to close", || TcpStream::connect(server.address).is_err());
    assert!(!ending.is_finished());
    server.control.open.store(true, Ordering::SeqCst);
    let answer = rest(&mut working);
    assert_eq!((status(&answer), field(&answer, "connection"), payload(&answer)), ("200", Some("close"), "held"));
    assert_eq!(ending.join().unwrap(), Ending::Drained);
}

#[test]
fn the_end_cuts_off_what_takes_too_long_or_when_hurried() {
    for hurried in [false, true] {
        let mut server = start(|_| ());
        let mut working = server.connect();
        working.write_all(b"GET /held HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        server.control.wait_until("the request", |control| control.held.load(Ordering::SeqCst) == 1);
        let patience = if hurried { PATIENCE } else { Duration::from_millis(100) };
        assert_eq!(server.take().stop(patience, || hurried), Ending::CutOff(1));
        assert_eq!(rest(&mut working), "");
    }
}

#[test]
fn a_unix_socket_serves_replaces_a_stale_one_and_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut server = start(|config| config.binds = vec![Bind::Unix(path.clone())]);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream
        .write_all(b"GET /echo HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n")
        .unwrap();
    let answer = rest(&mut stream);
    assert!(status(&answer) == "200" && payload(&answer).contains("peer Some(1.2.3.4)"), "{answer}");
    let taken = try_start(|config| config.binds = vec![Bind::Unix(path.clone())]).err().unwrap().to_string();
    assert_eq!(taken, format!("cannot listen at unix:{}: another program does", path.display()));
    assert_eq!(server.take().stop(PATIENCE, || false), Ending::Drained);
    assert!(!path.exists());
    std::fs::write(&path, "a file").unwrap();
    let file = try_start(|config| config.binds = vec![Bind::Unix(path.clone())]).err().unwrap().to_string();
    assert!(file.ends_with("a file that is not a socket is in the way"), "{file}");
}

#[test]
fn a_port_that_is_taken_is_said_in_a_sentence() {
    let server = start(|_| ());
    let again = try_start(|config| config.binds = vec![Bind::Tcp(server.address.to_string())]).err().unwrap();
    let expected =
        format!("cannot listen at {}: another program does; choose another port with --bind", server.address);
    assert_eq!(again.to_string(), expected);
}

#[test]
fn every_request_is_a_line_in_the_access_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let log = AccessLog { format: AccessFormat::Json, target: LogTarget::File(path.clone()) };
    let mut server = start(|config| {
        config.access = log;
        config.statics = vec![StaticMount { path: "/static".into(), folder: folder.path().into() }];
    });
    let seen = server.request("GET", "/echo?x=1", "User-Agent: me\r\nX-Request-Id: known-1\r\n");
    assert!(payload(&seen).contains("x-request-id: known-1"), "{seen}");
    let made = server.request("GET", "/echo", "X-Request-Id: bad id\r\n");
    assert!(!payload(&made).contains("bad id"), "{made}");
    server.get("/aborted");
    server.get("/static/access.log");
    server.get("/nothing\"%0a");
    server.take().stop(PATIENCE, || false);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5, "{text}");
    let first = &lines[0];
    assert_eq!(
        (&first["target"], &first["status"], &first["id"]),
        (&"/echo?x=1".into(), &200.into(), &"known-1".into())
    );
    assert_eq!(
        (&first["mode"], &first["agent"], &first["peer"]),
        (&"prefork".into(), &"me".into(), &"127.0.0.1".into())
    );
    assert_eq!(first["bytes"].as_u64(), Some(payload(&seen).len() as u64));
    let id = lines[1]["id"].as_str().unwrap();
    assert!(payload(&made).contains(&format!("x-request-id: {id}")), "{id} in {made}");
    assert_eq!(lines[2]["trouble"], "broken-off");
    assert!(lines[3].get("mode").is_none(), "a file needs no interpreter: {}", lines[3]);
    assert_eq!(lines[4]["status"], 404);
}

#[test]
fn pages_of_the_server_are_there_where_they_were_asked_for() {
    let pages = Pages { metrics: Some("/m".into()), info: Some("/i".into()), ready: Some("/r".into()) };
    let server = start(|config| config.pages = pages);
    server.get("/version");
    let metrics = server.get("/m");
    assert_eq!(field(&metrics, "content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let counted = "foolsgold_requests_total{mode=\"prefork\",status=\"2xx\"} 1";
    assert!(payload(&metrics).lines().any(|line| line == counted), "{metrics}");
    let info: serde_json::Value = serde_json::from_str(payload(&server.get("/i"))).unwrap();
    assert_eq!(info["pid"], std::process::id());
    assert!(info["rss_bytes"].as_u64() > Some(1 << 20) && info["interpreter"] == "none", "{info}");
    assert_eq!(payload(&server.get("/r")), "ready\n");
    let plain = start(|_| ());
    for path in ["/m", "/metrics", "/info"] {
        assert_eq!(status(&plain.get(path)), "404", "{path}");
    }
}

#[test]
fn no_more_connections_are_taken_than_allowed() {
    let server = start(|config| config.limits.connections = 3);
    let mut kept: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    wait_until("three connections", || server.server().connections() == 3);
    let mut fourth = server.connect();
    fourth.write_all(VERSION).unwrap();
    fourth.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(fourth.read(&mut [0; 1]).is_err(), "the fourth is served");
    kept.pop();
    fourth.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(read_until(&mut fourth, "one").starts_with("HTTP/1.1 200"));
}
