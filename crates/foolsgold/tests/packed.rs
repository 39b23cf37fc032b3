//! A packed application serves by itself, and a damaged one says so and ends.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const FOOLSGOLD: &str = env!("CARGO_BIN_EXE_foolsgold");
/// Only a server that hangs takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

fn application() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "config.ru",
            "require_relative \"lib/page\"\nrun lambda { |env| env[\"PATH_INFO\"] == \"/bad\" ? Page.bad : \
             [200, { \"content-type\" => \"text/plain\" }, [Page.new.text, __FILE__]] }\n",
        ),
        (
            "lib/page.rb",
            "class Page\n  def text = File.read(File.join(__dir__, \"../views/page.txt\"))\n  def self.bad\n    \
             raise \"on purpose\"\n  end\nend\n",
        ),
        ("views/page.txt", "from the pack: "),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Packs the application, and lets its folder vanish.
fn packed() -> (tempfile::TempDir, PathBuf) {
    let (app, folder) = (application(), tempfile::tempdir().unwrap());
    let output = folder.path().join("app-server");
    let done = run(Path::new(FOOLSGOLD), &["pack", app.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("3 files, 2 of them compiled"), "{said} {done:?}");
    (folder, output)
}

/// A server that is ended at the end of the test.
struct Server(Child, u16);

impl Server {
    fn start(program: &Path) -> Server {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["--bind", &format!("127.0.0.1:{port}")]).current_dir("/");
        Server(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap(), port)
    }

    fn get(&self, path: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut stream = loop {
            match TcpStream::connect(("127.0.0.1", self.1)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Ends it; what it said.
    fn end(mut self) -> String {
        self.0.kill().unwrap();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_packed_application_serves_without_its_folder_and_errors_have_file_and_line() {
    let (_folder, program) = packed();
    let server = Server::start(&program);
    let answer = server.get("/");
    assert!(answer.starts_with("HTTP/1.") && answer.contains(" 200 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nfrom the pack: /foolsgold/app/config.ru"), "{answer}");
    assert!(server.get("/bad").contains(" 500 "));
    let said = server.end();
    assert!(said.contains("/foolsgold/app/lib/page.rb:4"), "{said}");
}

#[test]
fn a_packed_executable_packs_another_application() {
    let (folder, program) = packed();
    let (app, again) = (application(), folder.path().join("again"));
    let done = run(&program, &["pack", app.path().to_str().unwrap(), "-o", again.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
    assert!(fs::read(program).unwrap() == fs::read(again).unwrap());
}

#[test]
fn a_damaged_or_shortened_pack_is_one_sentence_and_exit_2() {
    let (_folder, program) = packed();
    let file = OpenOptions::new().read(true).write(true).open(&program).unwrap();
    let size = file.metadata().unwrap().len();
    let own = fs::metadata(FOOLSGOLD).unwrap().len();
    let mut byte = [0];
    file.read_exact_at(&mut byte, own).unwrap();
    let refused = |what: &str| {
        let done = run(&program, &["--bind", "127.0.0.1:0"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.lines().count() == 1, "{said}");
    };
    file.write_all_at(&[byte[0] ^ 1], own).unwrap();
    drop(file);
    refused("its file config.ru is not as it was written");
    OpenOptions::new().write(true).open(&program).unwrap().set_len(size - 1).unwrap();
    refused("was it copied in part?");
}

#[test]
fn a_syntax_error_is_told_with_file_and_line_and_nothing_is_written() {
    let (app, folder) = (application(), tempfile::tempdir().unwrap());
    fs::write(app.path().join("lib/wrong.rb"), "class Wrong\n  def a(\nend\n").unwrap();
    let output = folder.path().join("server");
    let done = run(Path::new(FOOLSGOLD), &["pack", app.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("/foolsgold/app/lib/wrong.rb:") && said.contains("syntax error"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
