//! The server as a process of its own: signals, sockets passed to it, many connections.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::config::Pages;
use rig::{PATIENCE, read_until, rest, start, status, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use underpin_test_support::skip;

const VERSION: &[u8] = b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n";

/// Not a test: the server that some tests start as a process of its own. It prints its port and serves until told to
/// stop.
#[test]
#[ignore = "started by other tests"]
fn serves_as_a_child() {
    if std::env::var_os("FOOLSGOLD_CHILD").is_none() {
        return;
    }
    let mut server = start(|config| {
        config.pages = Pages { metrics: Some("/metrics".into()), ..Pages::default() };
        config.limits.head_time = PATIENCE * 4;
    });
    let control = Arc::clone(&server.control);
    let signalled = server.take().catch_signals().unwrap();
    println!("\nhanded {}", std::env::var_os("LISTEN_FDS").is_some() || std::env::var_os("LISTEN_PID").is_some());
    println!("\nport {}", server.address.port());
    let watch = Arc::clone(&control);
    std::thread::spawn(move || {
        loop {
            let said = std::mem::take(&mut *watch.reports.lock().unwrap());
            said.iter().for_each(|sentence| println!("\nreport {sentence}"));
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let ending = signalled.until_told(PATIENCE);
    println!("\nending {ending:?}");
    // Releases whatever a test left waiting in `/held`.
    control.open.store(true, Ordering::SeqCst);
}

struct OwnProcess {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    port: u16,
}

impl OwnProcess {
    /// Starts the child from a shell that prepares its descriptors.
    fn start(prepare: &str, stdin: Stdio, notify: Option<&Path>) -> OwnProcess {
        let mut command = Command::new("sh");
        let program = std::env::current_exe().unwrap();
        command
            .args(["-c", &format!("{prepare} exec \"$0\" --ignored --exact serves_as_a_child --nocapture")])
            .arg(program);
        command.env("FOOLSGOLD_CHILD", "1").env_remove("NOTIFY_SOCKET").stdin(stdin).stdout(Stdio::piped());
        if let Some(path) = notify {
            command.env("NOTIFY_SOCKET", path);
        }
        let mut child = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stdout, said) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| said.lock().unwrap().push(line));
        });
        let mut own = OwnProcess { child, lines, port: 0 };
        own.port = own.hear("port ").parse().unwrap();
        own
    }

    /// The rest of a line that begins with this text.
    fn hear(&self, begin: &str) -> String {
        wait_until(begin, || self.heard(begin).is_some());
        self.heard(begin).unwrap()
    }

    fn heard(&self, begin: &str) -> Option<String> {
        self.lines.lock().unwrap().iter().find_map(|line| line.strip_prefix(begin).map(str::to_owned))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn version(&self) -> String {
        let mut stream = self.connect();
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        rest(&mut stream)
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sigterm_ends_after_requests_under_way_and_sighup_reloads() {
    let mut own = OwnProcess::start("", Stdio::null(), None);
    own.signal(Signal::HUP);
    own.hear("report the application was loaded again");
    own.signal(Signal::USR1);
    assert_eq!(status(&own.version()), "200");
    own.signal(Signal::TERM);
    assert_eq!(own.hear("ending "), "Drained");
    assert!(own.child.wait().unwrap().success());
}

#[test]
fn a_second_signal_ends_at_once() {
    let own = OwnProcess::start("", Stdio::null(), None);
    let mut working = own.connect();
    working.write_all(b"GET /held HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let held = || {
        let mut stream = own.connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        rest(&mut stream).contains("foolsgold_busy_interpreters 1")
    };
    wait_until("the request to be worked on", held);
    own.signal(Signal::TERM);
    wait_until("the port to close", || TcpStream::connect(("127.0.0.1", own.port)).is_err());
    // Signals that follow the first one at once count as the first.
    wait_until("the end", || {
        own.signal(Signal::TERM);
        own.heard("ending ").is_some()
    });
    assert_eq!(own.hear("ending "), "CutOff(1)");
}

#[test]
fn a_socket_that_was_handed_over_is_served_and_readiness_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let handed = Stdio::from(OwnedFd::from(listener));
    let own = OwnProcess::start("exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$;", handed, Some(&path));
    // sd_listen_fds(3): processes that the server starts must not take them for their own.
    assert_eq!(own.hear("handed "), "false");
    assert_eq!(own.port, port);
    assert_eq!(status(&own.version()), "200");
    let mut said = [0; 64];
    let length = manager.recv(&mut said).unwrap();
    assert_eq!(&said[..length], b"READY=1");
    own.signal(Signal::TERM);
    let length = manager.recv(&mut said).unwrap();
    assert_eq!(&said[..length], b"STOPPING=1");
}

#[test]
fn ten_thousand_idle_connections_are_held() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    const COUNT: usize = 10_000;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    if limit.maximum.is_some_and(|most| most < COUNT as u64 + 500) {
        return skip("this process may not have 10,500 descriptors");
    }
    let own = OwnProcess::start("", Stdio::null(), None);
    let mut idle: Vec<TcpStream> = (0..COUNT).map(|_| own.connect()).collect();
    // Every tenth has been used before.
    for stream in idle.iter_mut().step_by(10) {
        stream.write_all(VERSION).unwrap();
    }
    for stream in idle.iter_mut().step_by(10) {
        assert!(read_until(stream, "one").starts_with("HTTP/1.1 200"));
    }
    let mut stream = own.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let page = rest(&mut stream);
    assert!(page.contains(&format!("\nfoolsgold_connections {}\n", COUNT + 1)), "{page}");
    assert_eq!(status(&own.version()), "200");
    for stream in idle.iter_mut().step_by(1000) {
        stream.write_all(VERSION).unwrap();
        assert!(read_until(stream, "one").starts_with("HTTP/1.1 200"));
    }
}
