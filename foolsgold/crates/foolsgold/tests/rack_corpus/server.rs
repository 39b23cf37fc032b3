//! The servers that run the corpus, each with all applications at once; a header field of the request chooses one.

use crate::spec::Case;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use underpin_test_support::Fixture;

/// The server that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Debian's Thin, with CRuby and Rack 2.
    Thin,
    /// Debian's Puma, likewise.
    Puma,
    /// foolsgold, restoring the interpreter after each request.
    SharedNothing,
    /// foolsgold with warm interpreters.
    Prefork,
    /// foolsgold with a new interpreter for each request.
    Fresh,
}

/// A running server, stopped when dropped.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    folder: Option<Fixture>,
}

/// Long enough for a slow machine; only a server that does not start takes this long.
const START: Duration = Duration::from_secs(60);

/// How many ports are tried.
const TRIES: usize = 3;

impl Server {
    /// Starts one that serves these applications.
    pub fn start(kind: Kind, cases: &[Case]) -> Server {
        let mut folder = Fixture::new();
        for (name, content) in files(cases) {
            folder.write(&name, &content);
        }
        // Another process may take the port between its choice and the server's start; then the server exits, and
        // another port is tried.
        let mut failures = Vec::new();
        while failures.len() < TRIES {
            let mut server = Server::spawn(kind, folder);
            match server.wait(kind) {
                Ok(()) => return server,
                Err(why) => failures.push(why),
            }
            folder = server.folder.take().expect("it was there");
        }
        panic!("{}", failures.join("\n"));
    }

    fn spawn(kind: Kind, folder: Fixture) -> Server {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a free port");
        let mut command = command(kind, address, &folder.join("config.ru"));
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::File::create(folder.join("log")).expect("a log");
        let child = command.stderr(log).spawn().unwrap_or_else(|error| panic!("{kind:?} does not start: {error}"));
        Server { child, address, folder: Some(folder) }
    }

    /// Waits until it listens; an error if it has exited.
    fn wait(&mut self, kind: Kind) -> Result<(), String> {
        let end = Instant::now() + START;
        let log = || {
            let log = self.folder.as_ref().map(|folder| fs::read_to_string(folder.join("log")));
            log.and_then(Result::ok).unwrap_or_default()
        };
        loop {
            // It has to be alive after something answered: otherwise that was another process.
            let answered = TcpStream::connect(self.address).is_ok();
            if let Some(ended) = self.child.try_wait().expect("the state of a child") {
                return Err(format!("{kind:?} ended with {ended:?}: {}", log()));
            }
            if answered {
                return Ok(());
            }
            assert!(Instant::now() < end, "{kind:?} does not listen: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(kind: Kind, address: SocketAddr, rackup: &Path) -> Command {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let ruby = concat!(env!("CARGO_MANIFEST_DIR"), "/../foolsgold-ruby/ruby/cruby");
    // Ruby's servers keep uploads in files, which they leave behind when they are killed.
    let uploads = rackup.parent().expect("the folder of the applications");
    let rackup = rackup.to_str().expect("a path in UTF-8");
    let mut command;
    match kind {
        Kind::Thin => {
            command = Command::new("thin");
            command.args(["--threaded", "-q", "-e", "none", "-a", &host, "-p", &port, "-R", rackup, "start"]);
            command.env("RUBYLIB", ruby).env("TMPDIR", uploads);
        }
        Kind::Puma => {
            command = Command::new("puma");
            command.args(["-q", "-C", "-", "-e", "none", "-t", "1:4", "-b", &format!("tcp://{address}"), rackup]);
            command.env("RUBYLIB", ruby).env("TMPDIR", uploads);
        }
        Kind::SharedNothing | Kind::Prefork | Kind::Fresh => {
            command = Command::new(crate::child::foolsgold());
            command.args([rackup, "--bind", &address.to_string(), "--threads", "2"]);
            command.args(match kind {
                Kind::Prefork => &["--mode", "prefork"][..],
                Kind::Fresh => &["--fresh"],
                _ => &["--mode", "shared-nothing"],
            });
        }
    }
    command
}

/// The files of an application that serves all of them: names relative to its folder, and contents. The cases are
/// placed beside its config.ru, with the files they read.
pub fn files(cases: &[Case]) -> Vec<(String, String)> {
    let mut text = "require \"rack\"\nrequire \"foolsgold\"\ncorpus = {}\n".to_owned();
    text.push_str("here = File.dirname(File.expand_path(__FILE__))\n");
    let mut all = Vec::new();
    for case in cases {
        let name = format!("{}.ru", case.name);
        text.push_str(&format!("corpus[{:?}] = Rack::Builder.parse_file(File.join(here, {name:?}))\n", case.name));
        all.push((name, fs::read_to_string(&case.path).expect("a file of the corpus")));
    }
    if let Some(folder) = cases.first().and_then(|case| case.path.parent()) {
        beside(&folder.join("files"), "files", &mut all);
    }
    text.push_str(
        "# Rack 2 gives options beside the application.\n\
         corpus.each { |name, app| corpus[name] = app[0] if app.is_a?(Array) }\n\
         run lambda { |env| corpus.fetch(env.delete(\"HTTP_X_CORPUS\")).call(env) }\n",
    );
    all.push(("config.ru".to_owned(), text));
    all
}

/// Everything below a folder, by its name relative to the corpus.
fn beside(folder: &Path, below: &str, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{below}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            beside(&entry.path(), &name, all);
        } else {
            all.push((name, fs::read_to_string(entry.path()).expect("a file beside the corpus")));
        }
    }
}
