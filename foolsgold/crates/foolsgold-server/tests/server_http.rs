//! What the server does with single requests: answers, limits, and anything that is not a valid request.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::config::Pages;
use rig::{field, payload, read_until, rest, start, status, wait_until};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const OK: &str = "GET /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

#[test]
fn the_application_gets_the_request_as_it_was_sent() {
    let server = start(|_| ());
    let answer = server.request("POST", "/echo?a=%20b&c", "X-Own: 1\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(status(&answer), "200");
    let body = payload(&answer);
    for line in ["POST /echo?a=%20b&c HTTP/1.1", "server test:80", "peer Some(127.0.0.1)", "scheme http", "x-own: 1"] {
        assert!(body.lines().any(|found| found == line), "no {line:?} in {body}");
    }
    assert!(body.ends_with("body 3 whole true\n"), "{body}");
    assert!(field(&answer, "date").is_some());
}

#[test]
fn forms_that_servers_read_differently_are_refused() {
    let server = start(|config| config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() });
    let post = |fields: &str, body: &str| format!("POST /echo HTTP/1.1\r\nHost: test\r\n{fields}\r\n{body}");
    let cases = [
        post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
        post("Content-Length: 5\r\nContent-Length: 5\r\n", "abcde"),
        post("Content-Length: 5\r\nContent-Length: 6\r\n", "abcde"),
        post("Content-Length: 5, 5\r\n", "abcde"),
        post("Content-Length: +5\r\n", "abcde"),
        post("Content-Length: 5a\r\n", "abcde"),
        post("Content-Length : 5\r\n", "abcde"),
        post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: gzip\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "5 \r\nabcde\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "0x5\r\nabcde\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "-1\r\nabcde\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nabcde\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "5\nabcde\n0\n\n"),
        post("Transfer-Encoding: chunked\r\n", "5\r\nabcdefg\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "5;a\nb\r\nabcde\r\n0\r\n\r\n"),
        post("X: a\r\n folded\r\n", ""),
        post("X: a\r\n\tfolded\r\n", ""),
        post(" X: a\r\n", ""),
        post("X: a\nY: b\r\n", ""),
        post("X: a\rY: b\r\n", ""),
        post("X: a\0b\r\n", ""),
        post("X\r\n", ""),
        post(": x\r\n", ""),
        post("X(: x\r\n", ""),
        post("Host: other\r\n", ""),
        "GET /echo HTTP/1.1\r\n\r\n".into(),
        "GET /echo HTTP/1.1\r\nHost: a b\r\n\r\n".into(),
        "GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n".into(),
        "GET /echo HTTP/1.1\r\nHost: a:b\r\n\r\n".into(),
        "GET /echo HTTP/1.1\nHost: test\n\n".into(),
        "GET  /echo HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "GET /echo  HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "GET\t/echo HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "GET /echo HTTP/2.0\r\nHost: test\r\n\r\n".into(),
        "GET /echo HTTP/1.2\r\nHost: test\r\n\r\n".into(),
        "GET /echo\r\n\r\n".into(),
        "GET /echo#part HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "GET echo HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "GET * HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "G\u{e9}T / HTTP/1.1\r\nHost: test\r\n\r\n".into(),
        "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(),
        "\0\0\0\0\r\n\r\n".into(),
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".into(),
    ];
    for case in &cases {
        let answer = server.raw(case);
        assert_eq!(status(&answer), "400", "{case:?}: {answer:?}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "a second answer to {case:?}: {answer:?}");
    }
    assert_eq!(status(&server.raw(OK)), "200");
    assert!(server.metric("foolsgold_malformed_total") > 30.0);
}

#[test]
fn a_smuggled_second_request_is_never_answered() {
    let server = start(|_| ());
    let smuggled = "GET /version HTTP/1.1\r\nHost: test\r\n\r\n";
    let case = format!(
        "POST /unread HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}",
        smuggled.len() + 5
    );
    let answer = server.raw(case);
    assert_eq!(status(&answer), "400");
    assert!(!answer.contains("one"), "{answer}");
}

#[test]
fn a_proper_request_before_a_bad_one_is_answered() {
    let server = start(|_| ());
    let answer = server.raw("GET /version HTTP/1.1\r\nHost: test\r\n\r\nGET /version HTTP/1.1\nHost: test\n\n");
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("one") && answer.contains("HTTP/1.1 400"), "{answer}");
}

#[test]
fn whatever_bytes_come_the_server_serves_on() {
    let server = start(|config| config.limits.head_time = Duration::from_millis(300));
    let whole = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    // Each prefix, then the client is gone; and each byte changed.
    std::thread::scope(|scope| {
        for part in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for end in (part..whole.len()).step_by(4) {
                    let mut stream = server.connect();
                    stream.write_all(&whole.as_bytes()[..end]).unwrap();
                    drop(stream);
                    for change in [0x00, 0x0a, 0x7f, 0xff] {
                        let mut bytes = whole.as_bytes().to_vec();
                        bytes[end] = change;
                        let mut stream = server.connect();
                        stream.write_all(&bytes).unwrap();
                        stream.shutdown(std::net::Shutdown::Write).unwrap();
                        let answer = rest(&mut stream);
                        assert!(["200", "400", "404", "none"].contains(&status(&answer)), "{end} {change}: {answer}");
                    }
                }
            });
        }
    });
    assert_eq!(status(&server.raw(OK)), "200");
    wait_until("the connections to go", || server.server().connections() == 0);
}

#[test]
fn a_head_is_bounded_in_bytes_and_fields() {
    let server = start(|_| ());
    let long = format!("X: {}\r\n", "a".repeat(70 << 10));
    assert_eq!(status(&server.request("GET", "/echo", &long)), "431");
    let many: String = (0..101).map(|number| format!("X-{number}: a\r\n")).collect();
    assert_eq!(status(&server.request("GET", "/echo", &many)), "431");
    let target = format!("/echo?{}", "a".repeat(70 << 10));
    assert!(["414", "431"].contains(&status(&server.get(&target))));
    let fine: String = (0..90).map(|number| format!("X-{number}: {}\r\n", "a".repeat(500))).collect();
    assert_eq!(status(&server.request("GET", "/echo", &fine)), "200");
}

#[test]
fn a_body_is_bounded_by_its_announced_and_by_its_counted_size() {
    let server = start(|config| config.limits.body = 1000);
    let answer = server.request("POST", "/echo", "Content-Length: 1001\r\n");
    assert_eq!((status(&answer), field(&answer, "connection")), ("413", Some("close")));
    let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let body = |count: usize| format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(count));
    assert_eq!(status(&server.request("POST", "/echo", &body(3))), "413");
    let fits = server.request("POST", "/echo", &body(2));
    assert_eq!(status(&fits), "200");
    assert!(payload(&fits).ends_with("body 1000 whole true\n"));
    assert_eq!(status(&server.request("POST", "/echo", "Content-Length: 99999999999999999999\r\n")), "400");
}

#[test]
fn a_client_that_is_refused_while_it_sends_still_sees_why() {
    let server = start(|config| config.limits.body = 1000);
    let mut stream = server.connect();
    stream.write_all(b"POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n").unwrap();
    for _ in 0..30 {
        // The server may have stopped reading.
        let _ = stream.write_all(&[b'x'; 10_000]);
    }
    assert_eq!(status(&rest(&mut stream)), "413");
}

#[test]
fn a_large_body_is_streamed_and_bounded_while_it_comes() {
    let server = start(|config| config.limits.body = 1 << 20);
    let post = |size: usize| {
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
        let body = chunk.repeat(size >> 16);
        server.request("POST", "/echo", &format!("Transfer-Encoding: chunked\r\n\r\n{body}0\r\n\r\n"))
    };
    let answer = post(1 << 20);
    assert!(payload(&answer).ends_with(&format!("body {} whole false\n", 1 << 20)), "{answer}");
    assert_eq!(status(&post((1 << 20) + (1 << 16))), "413");
}

#[test]
fn an_application_may_answer_without_reading_a_body() {
    let server = start(|_| ());
    let answer = server.request("POST", "/unread", &format!("Content-Length: 500000\r\n\r\n{}", "x".repeat(500_000)));
    assert_eq!((status(&answer), payload(&answer)), ("200", "did not read it"));
}

#[test]
fn who_expects_100_continue_gets_it_or_the_refusal() {
    let server = start(|config| config.limits.body = 1000);
    let mut stream = server.connect();
    let head = |length| {
        format!(
            "POST /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    stream.write_all(head(3).as_bytes()).unwrap();
    assert_eq!(read_until(&mut stream, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").unwrap();
    assert_eq!(status(&rest(&mut stream)), "200");
    assert_eq!(status(&server.raw(head(2000))), "413");
}

#[test]
fn a_body_that_comes_too_slowly_is_refused() {
    let server = start(|config| {
        config.limits.body_grace = Duration::from_millis(100);
        config.limits.body_rate = 1_000_000;
    });
    for fields in ["Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n"] {
        let mut stream = server.connect();
        stream.write_all(format!("POST /echo HTTP/1.1\r\nHost: test\r\n{fields}\r\n1\r\n").as_bytes()).unwrap();
        let answer = rest(&mut stream);
        assert_eq!((status(&answer), field(&answer, "connection")), ("408", Some("close")), "{fields}");
    }
}

#[test]
fn a_head_that_comes_too_slowly_ends_the_connection() {
    let server = start(|config| {
        config.limits.head_time = Duration::from_millis(200);
        config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() };
    });
    let mut silent = server.connect();
    assert_eq!(rest(&mut silent), "", "who says nothing is told nothing");
    let mut slow = server.connect();
    let begun = Instant::now();
    // A byte now and then does not keep it alive.
    for byte in b"GET /echo HTTP/1.1\r\nHost: test\r\n".iter().cycle() {
        if slow.write_all(&[*byte]).is_err() || begun.elapsed() > Duration::from_secs(2) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(["408", "none"].contains(&status(&text)), "{text}");
    assert!(server.metric("foolsgold_timeouts_total{what=\"head\"}") >= 2.0);
}

#[test]
fn a_connection_is_kept_for_the_next_request_and_closed_when_idle() {
    let server = start(|config| config.limits.idle = Duration::from_millis(200));
    let mut stream = server.connect();
    for _ in 0..3 {
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        assert!(read_until(&mut stream, "one").starts_with("HTTP/1.1 200"));
    }
    assert_eq!(rest(&mut stream), "");
}

#[test]
fn a_connection_ends_after_as_many_requests_as_allowed_and_says_so() {
    let server = start(|config| config.limits.requests = Some(3));
    for path in ["/version", "/stream", "/nowhere"] {
        let mut stream = server.connect();
        for _ in 0..2 {
            stream.write_all(b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
            let answer = read_until(&mut stream, "one");
            assert_eq!(field(&answer, "connection"), None, "{answer}");
        }
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
        let answer = rest(&mut stream);
        assert_eq!(field(&answer, "connection"), Some("close"), "{answer}");
    }
    let together = "GET /version HTTP/1.1\r\nHost: test\r\n\r\n".repeat(5);
    assert_eq!(server.raw(together).matches("HTTP/1.1 200").count(), 3);
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    let server = start(|_| ());
    let together = ["/version", "/echo", "/nothing", "/version"];
    let requests: String = together.iter().map(|path| format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).collect();
    let answer = server.raw(format!("{requests}{OK}"));
    let codes: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).map(|part| &part[..3]).collect();
    // The paths in echoed bodies are not followed by a status.
    let codes: Vec<&str> = codes.into_iter().filter(|code| code.parse::<u16>().is_ok()).collect();
    assert_eq!(codes, ["200", "200", "404", "200", "200"], "{answer}");
}

#[test]
fn an_old_client_is_answered_and_the_connection_closed() {
    let server = start(|_| ());
    let answer = server.raw("GET /version HTTP/1.0\r\n\r\n");
    assert_eq!((status(&answer), payload(&answer)), ("200", "one"));
    let streamed = server.raw("GET /stream HTTP/1.0\r\n\r\n");
    assert_eq!(field(&streamed, "transfer-encoding"), None);
    assert_eq!(payload(&streamed), "chunk 0\nchunk 1\nchunk 2\n");
    let mut kept = server.connect();
    kept.write_all(b"GET /version HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap();
    let first = read_until(&mut kept, "one");
    assert!(field(&first, "connection").is_some_and(|value| value.eq_ignore_ascii_case("keep-alive")), "{first}");
}

#[test]
fn head_has_the_length_and_no_body() {
    let server = start(|_| ());
    let answer = server.request("HEAD", "/large?1234", "");
    assert_eq!((field(&answer, "content-length"), payload(&answer)), (Some("1234"), ""));
    let streamed = server.request("HEAD", "/stream", "");
    assert_eq!((status(&streamed), payload(&streamed)), ("200", ""));
    assert_eq!(field(&streamed, "content-length"), None, "{streamed}");
}

#[test]
fn statuses_without_a_body_get_none() {
    let server = start(|_| ());
    for code in ["204", "304"] {
        let answer = server.get(&format!("/status?{code}"));
        assert_eq!((status(&answer), payload(&answer)), (code, ""));
        assert_eq!((field(&answer, "content-length"), field(&answer, "content-type")), (None, None), "{answer}");
        assert_eq!(field(&answer, "x-own"), Some("yes"));
    }
    let answer = server.get("/status?205");
    assert_eq!(payload(&answer), "a body!");
}

#[test]
fn fields_of_the_connection_are_the_servers_business() {
    let server = start(|_| ());
    let answer = server.get("/fields");
    assert_eq!((field(&answer, "transfer-encoding"), field(&answer, "keep-alive")), (None, None));
    assert_eq!((field(&answer, "content-length"), payload(&answer)), (Some("1"), "x"));
    assert_eq!(answer.matches("set-cookie: ").count(), 2);
    assert_eq!(answer.to_lowercase().matches("date: ").count(), 1);
    let mut kept = server.connect();
    kept.write_all(b"GET /close HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    assert_eq!(field(&rest(&mut kept), "connection"), Some("close"));
}

#[test]
fn a_streamed_answer_is_chunked_and_one_that_fails_breaks_off() {
    let server = start(|_| ());
    let answer = server.get("/stream");
    assert_eq!(field(&answer, "transfer-encoding"), Some("chunked"));
    assert!(payload(&answer).contains("chunk 2") && payload(&answer).ends_with("\r\n0\r\n\r\n"), "{answer}");
    let broken = server.get("/aborted");
    assert!(!broken.ends_with("0\r\n\r\n"), "{broken}");
}

#[test]
fn a_worker_that_fails_or_panics_is_a_500_and_replaced() {
    let server = start(|config| config.threads = 1);
    for path in ["/fail", "/panic", "/panic"] {
        assert_eq!(status(&server.get(path)), "500", "{path}");
    }
    assert_eq!(status(&server.get("/version")), "200");
    let reports = server.control.reports.lock().unwrap();
    assert_eq!(reports.iter().filter(|sentence| sentence.contains("panicked")).count(), 2, "{reports:?}");
}

#[test]
fn the_watchdog_stops_what_runs_too_long_and_counts_no_pauses() {
    let server = start(|_| ());
    assert_eq!(payload(&server.get("/stopped")), "stopped");
    assert_eq!(payload(&server.get("/paused")), "stopped false false");
}

#[test]
fn fields_that_would_pass_for_others_do_not_reach_the_application() {
    let server = start(|config| config.trusted = vec![]);
    let fields = "X_Forwarded_For: 1.1.1.1\r\nProxy: http://evil\r\nX-Forwarded-For: 2.2.2.2\r\nX-Forwarded-Proto: https\r\nX-Fine: 1\r\n";
    let body = server.request("GET", "/echo", fields);
    assert!(payload(&body).contains("x-fine: 1") && payload(&body).contains("peer Some(127.0.0.1)"), "{body}");
    for gone in ["1.1.1.1", "evil", "2.2.2.2", "scheme https"] {
        assert!(!payload(&body).contains(gone), "{gone} in {body}");
    }
    let trusting = start(|config| config.trusted = vec!["127.0.0.1".parse().unwrap()]);
    let body = trusting.request("GET", "/echo", fields);
    assert!(payload(&body).contains("peer Some(2.2.2.2)") && payload(&body).contains("scheme https"), "{body}");
}

#[test]
fn an_absolute_target_names_the_host() {
    let server = start(|_| ());
    let answer = server.raw("GET http://other:81/echo?x HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    assert!(payload(&answer).contains("GET /echo?x ") && payload(&answer).contains("server other:81"), "{answer}");
    assert_eq!(status(&server.raw("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n")), "405");
}

#[test]
fn a_reader_that_takes_nothing_is_cut_off_and_the_application_told() {
    let server = start(|config| config.limits.write_time = Duration::from_millis(200));
    let mut stream = server.connect();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    server
        .control
        .wait_until("the end of the body", |control| control.abandoned.load(std::sync::atomic::Ordering::SeqCst) == 1);
    let chunks = server.control.chunks.load(std::sync::atomic::Ordering::SeqCst);
    assert!(chunks < 1000, "{chunks} chunks were taken for a client that reads nothing");
    assert_eq!(status(&server.get("/version")), "200");
}

#[test]
fn a_client_that_goes_away_ends_the_body_that_it_asked_for() {
    let server = start(|_| ());
    let mut stream = server.connect();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    read_until(&mut stream, "xxxx");
    drop(stream);
    server
        .control
        .wait_until("the end of the body", |control| control.abandoned.load(std::sync::atomic::Ordering::SeqCst) == 1);
}

#[test]
fn large_answers_arrive_whole() {
    let server = start(|_| ());
    let size = 20 << 20;
    let answer = server.get(&format!("/large?{size}"));
    assert_eq!(payload(&answer).len(), size);
}
