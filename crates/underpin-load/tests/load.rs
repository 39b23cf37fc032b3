//! The generator against small servers with one habit each: what is counted, and as what.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;
use underpin_load::{Endpoint, LoadError, LoadPlan, LoadResult, Pace, Request, drive, is_taken, probe};

const FINE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// Long enough for a busy machine to answer at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: AtomicUsize,
}

/// What a server does with a request, given its number; `None` closes the connection.
type Habit = dyn Fn(usize) -> Option<String> + Send + Sync;

/// Reads up to the empty line; `false` at the end of the connection.
fn request(stream: &mut impl Read) -> bool {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            Ok(_) => return false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

fn answer(mut stream: impl Read + Write, seen: &Seen, habit: &Habit) {
    seen.connections.fetch_add(1, Ordering::SeqCst);
    while request(&mut stream) {
        let number = seen.requests.fetch_add(1, Ordering::SeqCst);
        let Some(text) = habit(number) else { return };
        let closes = text.contains("Connection: close") || !text.contains("HTTP/1.1");
        // The client may have closed the connection.
        if stream.write_all(text.as_bytes()).is_err() || closes {
            return;
        }
    }
}

/// A server for the rest of the test; its address.
fn server(habit: impl Fn(usize) -> Option<String> + Send + Sync + 'static) -> (String, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/", listener.local_addr().expect("an address"));
    let seen = Arc::new(Seen::default());
    let (counted, habit) = (Arc::clone(&seen), Arc::new(habit));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, seen, habit) = (stream.expect("a connection"), Arc::clone(&counted), Arc::clone(&habit));
            stream.set_nodelay(true).expect("a socket");
            std::thread::spawn(move || answer(stream, &seen, habit.as_ref()));
        }
    });
    (address, seen)
}

fn plan(address: &str, pace: Pace) -> LoadPlan {
    LoadPlan {
        request: Request::new(address, &[], b"").expect("a request"),
        pace,
        threads: 1,
        warmup: Duration::ZERO,
        window: Duration::from_millis(300),
        timeout: PATIENCE,
    }
}

fn closed(connections: usize) -> Pace {
    Pace::Closed { connections }
}

fn load(plan: &LoadPlan) -> LoadResult {
    drive(plan, Duration::from_millis(20), &mut || true).expect("a load")
}

fn fine(result: &LoadResult) {
    assert_eq!(result.errors.total(), 0, "{:?}", result.first_failure);
    assert!(result.requests > 0 && result.answered > 0, "{result:?}");
    assert_eq!(result.latencies.count(), result.requests);
}

#[test]
fn a_connection_is_used_again_until_the_server_closes_it() {
    let (address, seen) = server(|_| Some(FINE.to_owned()));
    let result = load(&LoadPlan { threads: 2, ..plan(&address, closed(3)) });
    fine(&result);
    assert_eq!(seen.connections.load(Ordering::SeqCst), 3);
    let asked = seen.requests.load(Ordering::SeqCst) as u64;
    assert_eq!(asked, result.requests, "every request of a window without a warm-up is counted");
    assert_eq!(result.bytes, result.answered * FINE.len() as u64);
    assert!((result.requests_per_second() - result.answered as f64 / 0.3).abs() < 1e-6);
}

#[test]
fn connection_close_makes_a_connection_for_each_request() {
    for text in [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end",
        "HTTP/1.0 200 OK\r\n\r\nto the end",
    ] {
        let (address, seen) = server(move |_| Some(text.to_owned()));
        let result = load(&plan(&address, closed(2)));
        fine(&result);
        let (connections, requests) = (seen.connections.load(Ordering::SeqCst), seen.requests.load(Ordering::SeqCst));
        assert_eq!(requests as u64, result.requests, "{text}");
        assert!(connections >= requests, "{connections} for {requests}");
    }
}

#[test]
fn a_connection_that_was_closed_while_it_was_idle_is_no_error() {
    let (address, seen) = server(|number| (number % 4 != 3).then(|| FINE.to_owned()));
    let result = load(&plan(&address, closed(1)));
    fine(&result);
    assert!(seen.connections.load(Ordering::SeqCst) > 1);
    // Each connection but the last was closed on a request, which was then sent again.
    let again = seen.connections.load(Ordering::SeqCst) as u64 - 1;
    assert!(result.sent_again == again || result.sent_again + 1 == again, "{again}: {result:?}");
}

#[test]
fn the_time_of_both_tries_is_in_the_answer_time() {
    const STALL: Duration = Duration::from_millis(60);
    let (address, _) = server(|number| {
        let dropped = number % 4 == 3;
        if dropped {
            std::thread::sleep(STALL);
        }
        (!dropped).then(|| FINE.to_owned())
    });
    let result = load(&plan(&address, closed(1)));
    assert!(result.sent_again > 0, "{result:?}");
    assert!(result.latencies.longest().unwrap() >= STALL, "{result:?}");
}

#[test]
fn what_is_not_idempotent_is_not_sent_twice() {
    let (address, seen) = server(|number| (number % 4 != 3).then(|| FINE.to_owned()));
    let request = Request::new(&format!("POST {address}"), &[], b"").unwrap();
    let result = load(&LoadPlan { request, ..plan(&address, closed(1)) });
    assert_eq!(result.sent_again, 0);
    let asked = seen.requests.load(Ordering::SeqCst) as u64;
    assert!(result.errors.broken > 0 && result.requests + result.errors.broken == asked, "{asked}: {result:?}");
}

#[test]
fn answers_that_point_elsewhere_are_good_and_counted() {
    let (address, _) = server(|number| {
        let status = if number % 2 == 0 { "200 OK" } else { "302 Found" };
        Some(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
    });
    let result = load(&plan(&address, closed(1)));
    fine(&result);
    assert!(result.redirected > 0 && result.redirected.abs_diff(result.requests / 2) <= 1, "{result:?}");
}

#[test]
fn chunked_answers_end_with_their_last_chunk() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
    let (address, seen) = server(move |_| Some(chunked.to_owned()));
    fine(&load(&plan(&address, closed(2))));
    assert_eq!(seen.connections.load(Ordering::SeqCst), 2);
}

#[test]
fn a_status_of_400_and_above_is_an_error_and_no_answer() {
    let (address, _) = server(|number| {
        let status = if number % 2 == 0 { "200 OK" } else { "500 No" };
        Some(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
    });
    let result = load(&plan(&address, closed(1)));
    assert!(result.errors.status > 0 && result.errors.status == result.errors.total(), "{result:?}");
    assert!(result.requests.abs_diff(result.errors.status) <= 1, "{result:?}");
    assert_eq!(result.latencies.count(), result.requests);
    assert_eq!(result.first_failure.unwrap(), "it answers with status 500");
}

/// The classic: a server that is fast but for one pause. A closed loop asks nothing while it waits, so the pause is in
/// the figures of one request for each connection; users who come at their own times meet it in proportion to its length.
#[test]
fn a_stall_is_in_the_percentiles_of_an_open_loop_and_hidden_from_a_closed_one() {
    let stall = Duration::from_millis(400);
    let stalling = || {
        let gate = RwLock::new(());
        server(move |number| {
            if number == 100 {
                let _closed = gate.write().unwrap();
                std::thread::sleep(stall);
            } else {
                drop(gate.read().unwrap());
            }
            Some(FINE.to_owned())
        })
    };
    let window = Duration::from_millis(2000);
    let of = |pace: Pace| {
        let (address, _) = stalling();
        let result = load(&LoadPlan { window, ..plan(&address, pace) });
        fine(&result);
        result
    };
    let open = of(Pace::Open { rate: 500.0, connections: 4 });
    // 200 of the 1000 requests were due during the pause; the one percent that waited longest waited nearly all of it.
    assert!(open.latencies.quantile(0.99).unwrap() > stall / 2, "{:?}", open.latencies.quantile(0.99));
    let closed = of(closed(2));
    assert!(closed.latencies.longest().unwrap() >= stall);
    assert!(closed.latencies.quantile(0.99) < open.latencies.quantile(0.99), "{closed:?}");
}

#[test]
fn every_request_of_an_open_loop_is_accounted_for() {
    let (address, seen) = server(|_| Some(FINE.to_owned()));
    let pace = Pace::Open { rate: 400.0, connections: 8 };
    let result = load(&LoadPlan { window: Duration::from_millis(500), threads: 2, ..plan(&address, pace) });
    assert_eq!(result.requests + result.unsent + result.errors.total(), 200);
    assert_eq!(seen.requests.load(Ordering::SeqCst) as u64, result.requests);
    // A server that cannot keep up: what it never got to is reported, and is in the percentiles.
    let (address, _) = server(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Some(FINE.to_owned())
    });
    let pace = Pace::Open { rate: 1000.0, connections: 1 };
    let result = load(&LoadPlan { window: Duration::from_millis(500), ..plan(&address, pace) });
    assert_eq!(result.requests + result.unsent, 500);
    assert!(result.unsent > 400, "{result:?}");
    assert_eq!(result.latencies.count(), 500);
    assert!(result.latencies.quantile(0.5).unwrap() > Duration::from_millis(100), "{result:?}");
}

#[test]
fn warm_up_is_not_counted() {
    let (address, seen) = server(|_| Some(FINE.to_owned()));
    let pace = Pace::Open { rate: 200.0, connections: 4 };
    let warmup = Duration::from_millis(500);
    let result = load(&LoadPlan { warmup, window: Duration::from_millis(250), ..plan(&address, pace) });
    assert_eq!(result.requests + result.unsent, 50);
    assert!(seen.requests.load(Ordering::SeqCst) >= 100);
}

#[test]
fn a_server_that_never_answers_times_out() {
    let (address, _) = server(|_| {
        std::thread::sleep(PATIENCE);
        None
    });
    let timeout = Duration::from_millis(100);
    let result = load(&LoadPlan { timeout, ..plan(&address, closed(2)) });
    assert_eq!((result.requests, result.answered), (0, 0));
    assert!(result.errors.timed_out >= 2 && result.errors.timed_out == result.errors.total(), "{result:?}");
    assert!(result.latencies.longest().unwrap() >= timeout, "a request that was given up took at least so long");
    assert_eq!(probe(&Request::new(&address, &[], b"").unwrap(), timeout).unwrap_err().to_string(), {
        "it accepts connections and does not answer in time"
    });
}

#[test]
fn malformed_answers_and_early_ends_are_broken() {
    for (text, words) in [
        ("220 mail.example.org ESMTP\r\n", "not HTTP/1"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 50\r\n\r\nhalf", "in the middle of an answer"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore than four", "follow the end"),
    ] {
        let (address, _) = server(move |_| Some(text.to_owned()));
        let result = load(&plan(&address, closed(1)));
        assert_eq!((result.requests, result.errors.total()), (0, result.errors.broken), "{text}");
        assert!(result.first_failure.as_ref().is_some_and(|reason| reason.contains(words)), "{text}: {result:?}");
    }
    let (address, _) = server(|_| None);
    let result = load(&plan(&address, closed(1)));
    assert!(result.errors.broken > 0, "{result:?}");
    assert!(result.first_failure.unwrap().contains("before an answer"));
}

#[test]
fn a_server_that_goes_away_is_refused_connections_not_a_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        drop(listener);
        request(&mut stream);
        stream.write_all(FINE.as_bytes()).unwrap();
    });
    let result = load(&plan(&address, closed(1)));
    assert_eq!(result.requests, 1);
    assert!(result.errors.connect > 0, "{result:?}");
}

#[test]
fn nobody_there_is_said_at_once() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}/");
    let error = drive(&plan(&address, closed(8)), PATIENCE, &mut || true).unwrap_err();
    assert!(matches!(&error, LoadError::Unreachable { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("cannot connect to 127.0.0.1:{port}")), "{error}");
    assert!(probe(&Request::new(&address, &[], b"").unwrap(), PATIENCE).is_err());
}

#[test]
fn plans_that_ask_for_nothing_are_refused() {
    let good = plan("http://127.0.0.1:1/", closed(1));
    for (wrong, words) in [
        (LoadPlan { pace: closed(0), ..good.clone() }, "at least one connection"),
        (LoadPlan { pace: Pace::Open { rate: 0.0, connections: 1 }, ..good.clone() }, "requests per second"),
        (LoadPlan { pace: Pace::Open { rate: f64::NAN, connections: 1 }, ..good.clone() }, "requests per second"),
        (LoadPlan { window: Duration::ZERO, ..good.clone() }, "must not be zero"),
        (LoadPlan { timeout: Duration::ZERO, ..good.clone() }, "must not be zero"),
    ] {
        let error = drive(&wrong, PATIENCE, &mut || true).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_caller_can_end_it_early() {
    let (address, _) = server(|_| Some(FINE.to_owned()));
    let mut looks = 0;
    let long = LoadPlan { window: Duration::from_secs(3600), ..plan(&address, closed(1)) };
    drive(&long, Duration::from_millis(10), &mut || {
        looks += 1;
        looks < 3
    })
    .unwrap();
    assert!(looks >= 3);
}

#[test]
fn sockets_in_the_file_system_are_loaded_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(|| answer(stream.unwrap(), &Seen::default(), &|_| Some(FINE.to_owned())));
        }
    });
    fine(&load(&plan(&format!("GET http://unix:{}:/", path.display()), closed(2))));
    assert!(is_taken(&Endpoint::Unix(path)));
}

#[test]
fn a_probe_tells_the_status_and_a_port_whether_it_is_taken() {
    let (address, _) = server(|_| Some("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n".to_owned()));
    let request = Request::new(&address, &[], b"").unwrap();
    assert_eq!(probe(&request, PATIENCE), Ok(503));
    assert!(is_taken(request.endpoint()));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(!is_taken(&Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: free }));
}
