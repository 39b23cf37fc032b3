//! The command itself: what it serves, what it refuses and with which messages, how it ends.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod child;

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything takes unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(child::foolsgold());
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).env_remove("NOTIFY_SOCKET");
    command
}

/// A server with its output so far.
struct Serving {
    child: Child,
    said: Arc<Mutex<String>>,
    port: u16,
}

impl Serving {
    fn start(folder: &Path, arguments: &[&str]) -> Serving {
        let mut all = vec!["--bind", "127.0.0.1:0"];
        all.extend(arguments);
        let mut child = command(folder, &all).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (stderr, heard) = (child.stderr.take().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &format!("{line}\n");
            }
        });
        let mut serving = Serving { child, said, port: 0 };
        let line = serving.hear("serves at 127.0.0.1:");
        serving.port = line.rsplit(':').next().unwrap().parse().unwrap();
        serving
    }

    /// The line that contains this text, once it is there.
    fn hear(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = self.said.lock().unwrap().clone();
            if let Some(line) = said.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(begun.elapsed() < PATIENCE, "no {words:?} in {said}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn application(folder: &Path, body: &str) {
    let text = format!("run lambda {{ |env| [200, {{'content-type' => 'text/plain'}}, [{body}]] }}\n");
    std::fs::write(folder.join("config.ru"), text).unwrap();
}

/// The message of a refusal; checks that it exits with 2.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output: Output = command(folder, arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

#[test]
fn the_demonstration_is_served_where_nothing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(folder.path(), &[]);
    for path in ["/fools-gold", "/fools-gold/prefork"] {
        let answer = serving.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    let metrics = serving.get("/metrics");
    for mode in ["shared-nothing", "prefork"] {
        let line = format!("foolsgold_requests_total{{mode=\"{mode}\",status=\"2xx\"}} 1");
        assert!(metrics.contains(&line), "{metrics}");
    }
    let info = serving.get("/info");
    assert!(info.contains("\"interpreter\": \"mruby 3.2.0\"") && info.contains("\"allocator\": "), "{info}");
    serving.signal(Signal::TERM);
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_application_is_served_and_loaded_again_on_sighup() {
    let folder = tempfile::tempdir().unwrap();
    application(folder.path(), "'one'");
    let mut serving = Serving::start(folder.path(), &["config.ru", "--threads", "2"]);
    assert!(serving.get("/").ends_with("one"));
    assert!(serving.get("/metrics").ends_with("one"), "pages of the server only where they are asked for");
    application(folder.path(), "'two'");
    serving.signal(Signal::HUP);
    serving.hear("the application was loaded again");
    assert!(serving.get("/").ends_with("two"));
    std::fs::write(folder.path().join("config.ru"), "run(\n").unwrap();
    serving.signal(Signal::HUP);
    let line = serving.hear("the old application goes on");
    assert!(line.contains("config.ru"), "{line}");
    assert!(serving.get("/").ends_with("two"));
    serving.signal(Signal::INT);
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_configuration_file_of_the_folder_is_used_and_the_command_line_wins() {
    let folder = tempfile::tempdir().unwrap();
    application(folder.path(), "env['PATH_INFO']");
    let settings = "rackup = \"config.ru\"\nbind = [\"unix:socket\"]\ninfo = \"/facts\"\nmode = \"prefork\"\n";
    std::fs::write(folder.path().join("foolsgold.toml"), settings).unwrap();
    let serving = Serving::start(folder.path(), &[]);
    assert!(serving.get("/a").ends_with("/a"));
    assert!(serving.get("/facts").contains("\"mode\": \"prefork\""));
    assert!(!folder.path().join("socket").exists(), "--bind wins");
}

#[test]
fn what_cannot_be_done_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = taken.local_addr().unwrap().to_string();
    let expected =
        format!("foolsgold: cannot listen at {place}: another program does; choose another port with --bind\n");
    assert_eq!(refusal(path, &["--bind", &place]), expected);

    assert_eq!(refusal(path, &["none.ru"]), "foolsgold: none.ru: there is no such rackup file\n");

    std::fs::write(path.join("bad.toml"), "threads = 1\nthreds = 2\n").unwrap();
    let said = refusal(path, &["--config", "bad.toml"]);
    assert!(said.starts_with("foolsgold: bad.toml:2: unknown field `threds`"), "{said}");
    let said = refusal(path, &["--config", "none.toml"]);
    assert!(said.starts_with("foolsgold: none.toml: the configuration cannot be read"), "{said}");

    let tls = ["--bind", "127.0.0.1:0", "--tls-cert", "none.pem", "--tls-key", "none.key"];
    let said = refusal(path, &tls);
    assert!(said.starts_with("foolsgold: none.pem: the certificate cannot be read"), "{said}");

    std::fs::write(path.join("broken.ru"), "run nothing_of_that_name\n").unwrap();
    let said = refusal(path, &["--bind", "127.0.0.1:0", "broken.ru"]);
    assert!(said.contains("nothing_of_that_name") && said.contains("broken.ru"), "{said}");

    for arguments in [&["--threads", "0"][..], &["--memory", "lots"], &["--bind", "nowhere"], &["--metrics", "x"]] {
        let said = refusal(path, arguments);
        assert!(said.contains(arguments[1]), "{said}");
    }
}
