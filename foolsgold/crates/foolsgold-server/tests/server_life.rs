//! The server over time: load beyond its threads, reloads, its end, and the ways to reach it. Signals: server_process.rs.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::Ending;
use foolsgold_server::config::{AccessFormat, AccessLog, Bind, LogTarget, Pages, StaticMount, TlsFiles};
use rig::{PATIENCE, field, payload, read_until, rest, start, status, try_start, wait_until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use underpin_test_support::need;

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
        // Pages of the server need no interpreter.
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
        // From now on requests are known to be quick.
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

/// Certificate and key for `localhost`, on disk.
fn certificate(folder: &Path) -> TlsFiles {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    files
}

fn curl(arguments: &[&str]) -> String {
    let output =
        Command::new("curl").args(["--silent", "--show-error", "--max-time", "30"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tls_speaks_http_2_or_1_as_the_client_likes() {
    need!("curl");
    let folder = tempfile::tempdir().unwrap();
    let files = certificate(folder.path());
    let server = start(|config| config.tls = Some(files.clone()));
    let (port, trust) = (server.address.port(), files.cert.to_str().unwrap());
    let url = |path: &str| format!("https://localhost:{port}{path}");
    for (version, spoken) in [("--http2", "HTTP/2.0"), ("--http1.1", "HTTP/1.1")] {
        let answer = curl(&[version, "--cacert", trust, "--data", "abc", &url("/echo?q")]);
        assert!(answer.starts_with(&format!("POST /echo?q {spoken}\nserver localhost:{port}\n")), "{answer}");
        assert!(answer.contains("scheme https\n") && answer.ends_with("body 3 whole true\n"), "{answer}");
        let size =
            curl(&[version, "--cacert", trust, "-o", "/dev/null", "-w", "%{size_download}", &url("/large?3000000")]);
        assert_eq!(size, "3000000");
    }
    let plain = server.raw(VERSION);
    assert!(status(&plain) != "200", "{plain}");
    // Certificate and key are loaded again with the application.
    let renewed = certificate(folder.path());
    server.server().reload().unwrap();
    assert!(curl(&["--cacert", renewed.cert.to_str().unwrap(), &url("/version")]).contains("one"));
    std::fs::write(&renewed.key, "nonsense").unwrap();
    let failed = server.server().reload().unwrap_err().to_string();
    assert!(failed.ends_with("key.pem: the private key cannot be read"), "{failed}");
}

#[test]
fn http_2_is_spoken_without_tls_to_who_begins_with_it() {
    need!("curl");
    let server = start(|config| config.limits.body = 100_000);
    let url = |path: &str| format!("http://{}{path}", server.address);
    let answer = curl(&["--http2-prior-knowledge", "--data", "abc", &url("/echo")]);
    assert!(answer.starts_with("POST /echo HTTP/2.0\nserver 127.0.0.1:"), "{answer}");
    assert!(answer.contains(&format!("\nhost: {}\n", server.address)), "{answer}");
    let code = |path: &str| curl(&["--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", &url(path)]);
    assert_eq!([code("/status?204"), code("/fail"), code("/fields"), code("/stream")], ["204", "500", "200", "200"]);
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large");
    std::fs::write(&large, vec![b'x'; 200_000]).unwrap();
    let data = format!("@{}", large.display());
    let code = ["--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", &data];
    assert_eq!(curl(&[&code[..], &[&url("/echo")]].concat()), "413");
}

#[test]
fn http_2_connections_are_idle_or_stalled_only_so_long() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let server = start(|config| {
        config.limits.head_time = Duration::from_millis(100);
        config.limits.idle = Duration::from_millis(600);
        config.limits.write_time = Duration::from_millis(300);
    });
    let mut idle = server.connect();
    idle.write_all(preface).unwrap();
    // A PING now and then is no request, but the time for a head is not what ends it.
    std::thread::sleep(Duration::from_millis(300));
    idle.write_all(b"\0\0\x08\x06\0\0\0\0\0pingpong").unwrap();
    assert!(read_until(&mut idle, "pingpong").contains("pingpong"));
    rest(&mut idle);

    // GET /large?9000000 with a window of 64 KiB that is never enlarged.
    let mut stalled = server.connect();
    stalled.write_all(preface).unwrap();
    let target = b"/large?9000000";
    let mut block = vec![0x82, 0x86, 0x41, 4];
    block.extend_from_slice(b"test");
    block.extend_from_slice(&[0x04, target.len() as u8]);
    block.extend_from_slice(target);
    let mut frame = vec![0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    frame.extend_from_slice(&block);
    stalled.write_all(&frame).unwrap();
    let answer = rest(&mut stalled);
    assert!((60_000..200_000).contains(&answer.len()), "{}", answer.len());
    wait_until("the connections to go", || server.server().connections() == 0);
}

#[test]
fn an_http_2_connection_ends_after_as_many_requests_as_allowed() {
    let server = start(|config| config.limits.requests = Some(2));
    let mut stream = server.connect();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // GET / of `test`, as streams 1 and 3.
    let block = [0x82, 0x86, 0x41, 4, b't', b'e', b's', b't', 0x84];
    for id in [1, 3] {
        bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, id]);
        bytes.extend_from_slice(&block);
    }
    stream.write_all(&bytes).unwrap();
    let (mut answered, mut ended) = (Vec::new(), false);
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let mut frame = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut frame).unwrap();
        match head[3] {
            0x1 => answered.push(head[8]),
            // The server asks whether its GOAWAY was seen.
            0x6 if head[4] == 0 => {
                stream.write_all(&[0, 0, 8, 6, 1, 0, 0, 0, 0]).unwrap();
                stream.write_all(&frame).unwrap();
            }
            0x7 => ended = true,
            _ => {}
        }
    }
    answered.sort_unstable();
    assert_eq!((answered, ended), (vec![1, 3], true));
}

#[test]
fn an_idle_http_2_connection_is_ended_at_the_end() {
    let mut server = start(|_| ());
    let mut stream = server.connect();
    // Preface and an empty SETTINGS frame.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut settings = [0; 9];
    stream.read_exact(&mut settings).unwrap();
    assert_eq!(settings[3], 4, "SETTINGS");
    assert!(matches!(server.take().stop(Duration::from_secs(2), || false), Ending::Drained | Ending::CutOff(1)));
    rest(&mut stream);
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
fn files_of_a_folder_are_served_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let public = folder.path().join("public");
    std::fs::create_dir_all(public.join("sub")).unwrap();
    std::fs::write(public.join("a.css"), "body {}").unwrap();
    std::fs::write(public.join("large.bin"), vec![b'z'; 1_000_000]).unwrap();
    std::fs::write(public.join("sub/index.html"), "<p>index").unwrap();
    std::fs::write(public.join(".secret"), "secret").unwrap();
    std::fs::write(folder.path().join("outside"), "secret").unwrap();
    std::os::unix::fs::symlink("../outside", public.join("link")).unwrap();
    std::os::unix::fs::symlink("a.css", public.join("inside")).unwrap();
    let server = start(|config| config.statics = vec![StaticMount { path: "/static".into(), folder: public.clone() }]);

    let css = server.get("/static/a.css");
    assert_eq!((status(&css), payload(&css)), ("200", "body {}"));
    assert_eq!(field(&css, "content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(payload(&server.get("/static/inside")), "body {}");
    assert_eq!(payload(&server.get("/static/sub/")), "<p>index");
    let head = server.request("HEAD", "/static/large.bin", "");
    assert_eq!((field(&head, "content-length"), payload(&head)), (Some("1000000"), ""));
    assert_eq!(payload(&server.get("/static/large.bin")).len(), 1_000_000);

    for path in [
        "/static/../outside",
        "/static/%2e%2e/outside",
        "/static/..%2foutside",
        "/static/link",
        "/static/.secret",
        "/static/sub/../../outside",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/a.css%00",
        "/static",
        "/static/none",
    ] {
        let answer = server.get(path);
        assert!(status(&answer) == "404" && payload(&answer).starts_with("nothing at"), "{path}: {answer}");
    }

    let tag = field(&css, "etag").unwrap();
    let same = server.request("GET", "/static/a.css", &format!("If-None-Match: \"x\", {tag}\r\n"));
    assert_eq!((status(&same), payload(&same), field(&same, "etag")), ("304", "", Some(tag)));
    let date = field(&css, "last-modified").unwrap();
    assert_eq!(status(&server.request("GET", "/static/a.css", &format!("If-Modified-Since: {date}\r\n"))), "304");
    let old = "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
    assert_eq!(status(&server.request("GET", "/static/a.css", old)), "200");
    let part = server.request("GET", "/static/a.css", "Range: bytes=1-3\r\n");
    assert_eq!((status(&part), payload(&part), field(&part, "content-range")), ("206", "ody", Some("bytes 1-3/7")));
    let part = server.request("GET", "/static/large.bin", "Range: bytes=-500000\r\n");
    assert_eq!((status(&part), payload(&part).len()), ("206", 500_000));
    let beyond = server.request("GET", "/static/a.css", "Range: bytes=7-\r\n");
    assert_eq!((status(&beyond), field(&beyond, "content-range")), ("416", Some("bytes */7")));
    let other = server.request("GET", "/static/a.css", "Range: bytes=1-3\r\nIf-Range: \"other\"\r\n");
    assert_eq!(status(&other), "200");
}

#[test]
fn a_file_that_the_application_names_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(|_| ());
    for size in [0, 5, 300_000] {
        let path = folder.path().join(size.to_string());
        std::fs::write(&path, vec![b'f'; size]).unwrap();
        *server.control.file.lock().unwrap() = path;
        let answer = server.get("/file");
        assert_eq!(
            (status(&answer), payload(&answer).len(), field(&answer, "content-type")),
            ("200", size, Some("x/y"))
        );
        assert_eq!(field(&answer, "content-length"), Some(size.to_string().as_str()));
    }
    *server.control.file.lock().unwrap() = folder.path().join("none");
    assert_eq!(status(&server.get("/file")), "500");
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
