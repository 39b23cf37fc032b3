//! A foolsgold process, started by a test and ended with it.
#![allow(dead_code, clippy::unwrap_used, reason = "each test program uses its part; a panic is how a test fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::LazyLock;

/// The binary under test: cargo's, or the one that FOOLSGOLD_TEST_PROGRAM names (the released file: `cargo xtask
/// test --released`).
pub fn foolsgold() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("FOOLSGOLD_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_foolsgold").to_owned())
    });
    &PROGRAM
}

/// A program that was just written may briefly be open for writing in a process that another test is starting.
pub fn once_free<T>(mut start: impl FnMut() -> std::io::Result<T>) -> T {
    loop {
        match start() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            started => return started.unwrap(),
        }
    }
}

/// A server that is stopped at the end of the test.
pub struct Server {
    pub child: Child,
    pub stderr: BufReader<ChildStderr>,
    pub said: String,
    pub port: u16,
}

impl Server {
    /// Starts one on a port of its choice, and waits until it prints the port.
    pub fn start(program: &Path) -> Server {
        Server::start_in(program, Path::new("/"), &["--bind", "127.0.0.1:0"])
    }

    pub fn start_in(program: &Path, folder: &Path, args: &[&str]) -> Server {
        let mut command = Command::new(program);
        command.args(args).current_dir(folder);
        Server::of(command)
    }

    /// Starts a command that prints the address it serves.
    pub fn of(mut command: Command) -> Server {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = once_free(|| command.spawn());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut server = Server { child, stderr, said: String::new(), port: 0 };
        server.port = loop {
            let begin = server.said.len();
            assert!(server.stderr.read_line(&mut server.said).unwrap() > 0, "it ended: {}", server.said);
            if let Some((_, port)) = server.said[begin..].trim_end().split_once("serves at 127.0.0.1:") {
                break port.parse().unwrap();
            }
        };
        server
    }

    pub fn get(&mut self, path: &str) -> String {
        self.get_with(path, "")
    }

    /// With more header fields, each with its line end.
    pub fn get_with(&mut self, path: &str, fields: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n{fields}\r\n").unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        assert!(read.is_ok(), "{read:?} after {answer:?}, {:?}: {}", self.child.try_wait(), self.end());
        answer
    }

    /// Stops it and returns its output.
    pub fn end(&mut self) -> String {
        self.child.kill().unwrap();
        self.stderr.read_to_string(&mut self.said).unwrap();
        std::mem::take(&mut self.said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of a header field of an answer.
pub fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
