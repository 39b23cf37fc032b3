//! The workloads of this repository: their output, and that they recognise the allocator they really run on.

mod common;

use common::underpin;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, need};

const JEMALLOC_OF_DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
const NO_ALLOCATOR: &str = "/lib/x86_64-linux-gnu/libz.so.1";
const RUBY: &str = "/usr/bin/ruby";
const PYTHON: &str = "/usr/bin/python3";
const NODE: &str = "/usr/bin/node";

fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name).canonicalize().expect("a workload")
}

/// An interpreter and its allocation workload.
fn benches() -> [(&'static str, PathBuf); 3] {
    [
        (RUBY, workload("ruby/bench_alloc.rb")),
        (PYTHON, workload("python/bench_alloc.py")),
        (NODE, workload("node/bench_alloc.js")),
    ]
}

/// Without the developer's own settings, and short.
fn small(command: &mut Command) -> &mut Command {
    for name in ["LD_PRELOAD", "MALLOC_CONF", "GLIBC_TUNABLES", "PYTHONMALLOC", "NODE_OPTIONS", "RUBYOPT"] {
        command.env_remove(name);
    }
    let sizes = [("BENCH_THREADS", "3"), ("BENCH_ITERS", "4000"), ("BENCH_ROUNDS", "2")];
    command.envs(sizes).envs([("BENCH_SLEEP_BEFORE", "0"), ("BENCH_SLEEP_AFTER", "0")]).stdin(Stdio::null())
}

fn figures(command: &mut Command) -> Value {
    let output = Output::of(command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stderr, "");
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// `underpin run` with a cache of its own.
fn run(dir: &Fixture, malloc: &str) -> Command {
    let mut command = underpin(["run", "--malloc", malloc, "--"]);
    command.env("XDG_CACHE_HOME", dir.join("cache"));
    command
}

#[test]
fn an_allocation_workload_prints_its_documented_fields() {
    need!(RUBY, PYTHON, NODE);
    for (interpreter, file) in benches() {
        let printed = figures(small(Command::new(interpreter).arg(&file)));
        let number = |name: &str| printed[name].as_f64().unwrap_or_else(|| panic!("{name} in {printed}"));
        assert!(number("time_s") > 0.0, "{printed}");
        for name in ["rss_start_mb", "rss_live_mb", "rss_end_mb"] {
            assert!(number(name) > 1.0 && number(name) <= number("rss_peak_mb") + 1.0, "{name}: {printed}");
        }
        let growth = number("rss_end_mb") - number("rss_start_mb");
        assert!((growth - number("rss_delta_mb")).abs() < 0.03, "{printed}");
        let given = ["threads", "iters", "rounds", "sleep_after_s"].map(number);
        assert_eq!(given, [3.0, 4000.0, 2.0, 0.0]);
        assert_eq!(printed["allocator"], "glibc (libc)");
    }
}

#[test]
fn a_wrong_setting_of_a_workload_is_named() {
    need!(RUBY, PYTHON, NODE);
    for (interpreter, file) in benches() {
        for (name, value) in
            [("BENCH_THREADS", "0"), ("BENCH_ITERS", "1.5"), ("BENCH_ROUNDS", ""), ("BENCH_SLEEP_AFTER", "-1")]
        {
            let output = Output::of(small(Command::new(interpreter).arg(&file)).env(name, value));
            assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{interpreter} {name}={value}");
            assert!(output.stderr.contains(&format!("{name}={value} must be")), "{}", output.stderr);
        }
    }
}

#[test]
fn a_workload_finds_the_allocator_that_underpin_gave_it() {
    need!(RUBY, PYTHON, NODE);
    let dir = Fixture::new();
    for (interpreter, file) in benches() {
        for (malloc, expected) in [
            ("jemalloc:narenas:2", "jemalloc (via LD_PRELOAD)"),
            ("mimalloc", "mimalloc (via LD_PRELOAD)"),
            ("system:arena_max=2", "glibc (libc)"),
        ] {
            let printed = figures(small(run(&dir, malloc).arg(interpreter).arg(&file)));
            assert_eq!(printed["allocator"], expected, "{interpreter}");
        }
    }
}

#[test]
fn a_preload_that_is_no_allocator_is_not_believed() {
    need!(RUBY, PYTHON, NODE, NO_ALLOCATOR, JEMALLOC_OF_DEBIAN);
    let dir = Fixture::new();
    // A copy under an allocator's name deceives only programs that cannot look up addresses: Node goes by names.
    let named = dir.write("libjemalloc.so.2", std::fs::read(NO_ALLOCATOR).expect("a library"));
    for (interpreter, file) in benches() {
        let allocator = |preload: &Path| {
            let printed = figures(small(Command::new(interpreter).arg(&file)).env("LD_PRELOAD", preload));
            printed["allocator"].as_str().expect("a text").to_owned()
        };
        assert_eq!(allocator(Path::new(NO_ALLOCATOR)), "glibc (libc)", "{interpreter}");
        assert_eq!(allocator(Path::new(JEMALLOC_OF_DEBIAN)), "jemalloc (via LD_PRELOAD)", "{interpreter}");
        if interpreter != NODE {
            assert_eq!(allocator(&named), "glibc (libc)", "{interpreter}");
        }
    }
}

#[test]
fn an_allocator_that_the_interpreter_is_linked_with_is_told_from_a_preloaded_one() {
    need!(RUBY, PYTHON, NODE, "patchelf", JEMALLOC_OF_DEBIAN);
    let dir = Fixture::new();
    for (interpreter, file) in benches() {
        let copy = dir.write("interpreter", std::fs::read(interpreter).expect("an interpreter"));
        dir.chmod("interpreter", 0o755);
        dir.must("patchelf", ["--add-needed", "libjemalloc.so.2", "interpreter"]);
        let printed = figures(small(Command::new(&copy).arg(&file)).env("PYTHONHOME", "/usr"));
        assert_eq!(printed["allocator"], "jemalloc (linked)", "{interpreter}");
    }
}

/// A Puma that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

/// How long a server may take to start or to end, on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(60);

impl Server {
    /// Starts it on a port that the kernel chooses, and waits until it prints the port.
    fn start(command: &mut Command) -> Server {
        small(command).env("PORT", "0").stdout(Stdio::piped());
        let mut child = command.arg("puma").arg("-C").arg(workload("ruby/puma.rb")).spawn().expect("puma starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.split_once("http://127.0.0.1:")?.1.trim().parse().ok());
        // Its later output must be read by something.
        std::thread::spawn(move || lines.for_each(drop));
        let mut server = Server { child, port: 0 };
        server.port = port.unwrap_or_else(|| panic!("puma did not listen: {:?}", server.child.try_wait()));
        server
    }

    fn get(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }

    fn document(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    /// Stops it as an administrator would, and waits for it.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().expect("kill runs").success());
        let start = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(start.elapsed() < PATIENCE, "puma does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(TcpStream::connect(("127.0.0.1", self.port)).is_err(), "somebody still listens");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if the test got as far as `stop`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_puma_application_says_what_it_stands_on() {
    need!(RUBY, "puma");
    let server = Server::start(&mut Command::new("env"));
    let about = server.document("/");
    assert_eq!(about["pid"], server.child.id());
    for name in ["ruby_version", "ruby_platform", "puma", "rack", "allocator_object"] {
        assert!(about[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {about}");
    }
    let time = about["time"].as_str().expect("a time");
    assert!(time.len() == 20 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert_eq!(about["allocator"], "glibc (libc)");
    for name in ["ld_preload", "malloc_conf", "glibc_tunables", "allocator_settings"] {
        assert!(about.get(name).is_some_and(Value::is_null), "{name}: {about}");
    }
    assert!(about["openssl"]["library"].as_str().is_some_and(|text| text.contains("SSL")), "{about}");
    assert!(about["openssl"]["fips"].is_boolean(), "{about}");
    server.stop();
}

#[test]
fn the_puma_application_serves_pages_to_load() {
    need!(RUBY, "puma");
    let server = Server::start(&mut Command::new("env"));
    assert_eq!(server.get("/healthz"), ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned()));
    assert_eq!(server.document("/alloc?rows=7").as_array().map(Vec::len), Some(7));
    assert!(server.document("/memory")["rss_mb"].as_f64().is_some_and(|size| size > 1.0));
    assert!(server.get("/nothing").0.contains("404"));
    server.stop();
}

#[test]
fn the_puma_application_finds_the_allocator_that_underpin_gave_it() {
    need!(RUBY, "puma");
    let dir = Fixture::new();
    let server = Server::start(&mut run(&dir, "jemalloc:narenas:2"));
    let about = server.document("/");
    assert_eq!(about["pid"], server.child.id(), "the server takes the place of underpin");
    assert_eq!(about["allocator"], "jemalloc (via LD_PRELOAD)");
    assert_eq!(about["allocator_settings"]["narenas"], 2);
    let starts = |name: &str, with: &str| about[name].as_str().is_some_and(|text| text.starts_with(with));
    assert!(starts("ld_preload", dir.join("cache/underpin/jemalloc-").to_str().unwrap()), "{about}");
    assert!(starts("malloc_conf", "narenas:2"), "{about}");
    server.stop();
    let server = Server::start(&mut run(&dir, "system:arena_max=2"));
    let about = server.document("/");
    assert_eq!(about["allocator"], "glibc (libc)");
    assert_eq!(about["glibc_tunables"], "glibc.malloc.arena_max=2");
    server.stop();
}

#[test]
fn a_variable_that_names_an_allocator_does_not_convince_the_puma_application() {
    need!(RUBY, "puma", NO_ALLOCATOR);
    let server =
        Server::start(Command::new("env").arg(format!("LD_PRELOAD={NO_ALLOCATOR}")).arg("MALLOC_CONF=narenas:2"));
    let about = server.document("/");
    assert_eq!(about["allocator"], "glibc (libc)");
    assert_eq!(about["ld_preload"], NO_ALLOCATOR, "said, and not believed");
    assert_eq!(about["malloc_conf"], "narenas:2");
    server.stop();
}
