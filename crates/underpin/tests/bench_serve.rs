//! `underpin bench --serve` and `--load` from outside: screens, documents, variants, refusals.

mod common;

use common::underpin;
use serde_json::Value;
use std::net::TcpListener;
use underpin_test_support::{Fixture, Output, need};

/// A Python server that answers with the variable NAME; each request keeps as many bytes as KEEP says.
const SERVER: &str = r#"
import http.server, os, sys
kept = []
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        kept.append(b"x" * int(os.environ.get("KEEP", "0")))
        found = self.path != "/missing" and os.environ.get("NEEDED", "yes") == "yes"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        good = body == b"a=1" and self.headers["X-Key"] == "k"
        self.send_response(200 if good else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const LOAD: &str = "GET http://127.0.0.1:{PORT}/";
const SERVE: &str = "python3 server.py {PORT}";
const SHORT: [&str; 6] = ["--duration", "200ms", "--warmup-load", "50ms", "--settle", "10ms"];

fn bench(dir: &Fixture, args: &[&str]) -> Output {
    dir.write("server.py", SERVER);
    Output::of(underpin([&["bench"], &SHORT[..], args].concat()).current_dir(dir.path()))
}

fn document(output: &Output) -> Value {
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("no document ({error}): {}{}", output.stdout, output.stderr))
}

fn metric<'a>(variant: &'a Value, name: &str) -> Option<&'a Value> {
    variant["metrics"].as_array().expect("metrics").iter().find(|one| one["metric"] == name)
}

#[test]
fn servers_under_variants_are_compared_by_answers_and_growth() {
    need!("python3");
    let dir = Fixture::new();
    let args = ["--serve", SERVE, "--load", LOAD, "--variant", "keeping=KEEP=30000", "-r", "2", "--json"];
    let output = bench(&dir, &args);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    assert_eq!(document["load"]["request"], LOAD);
    assert_eq!(document["load"]["connections"], 16);
    let variants = document["variants"].as_array().unwrap();
    assert_eq!((&variants[0]["name"], &variants[1]["name"]), (&"as it is".into(), &"keeping".into()));
    for variant in variants {
        for name in ["rps", "p50", "p90", "p99", "p99.9", "latency-max", "errors", "rss-end", "rss-growth", "rss"] {
            assert!(metric(variant, name).is_some(), "{name}: {variant}");
        }
        assert!(metric(variant, "wall").is_none());
        let load = &variant["runs"][0]["load"];
        assert_eq!(load["errors"]["status"], 0);
        assert!(load["requests"].as_u64().unwrap() > 0, "{load}");
    }
    assert_eq!(metric(&variants[0], "rps").unwrap()["direction"], "higher_is_better");
    let growth = |index: usize| metric(&variants[index], "rss-growth").unwrap()["median"]["estimate"].as_f64().unwrap();
    assert!(growth(1) > growth(0) + 200_000.0, "{} {}", growth(0), growth(1));
}

#[test]
fn the_document_of_servers_keeps_to_the_schema() {
    let schema: Value = serde_json::from_str(&common::says(["generate", "schema", "bench"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let dir = Fixture::new();
    for args in [
        &["--serve", "serve 1000 memory=200", "--serve", "serve 1100 errors=2", "--load", LOAD, "--aa"][..],
        &["--load", "GET http://h/", "--rate", "10.5"],
        &["--serve", "serve 1000", "--serve", "serve 900", "--load", LOAD, "--gate", "rps>-5%,p99<+5%"],
    ] {
        let document = document(&bench(&dir, &[&["--debug-mode", "--json"], args].concat()));
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
    }
}

#[test]
fn a_gate_knows_which_side_of_a_rate_is_worse() {
    let dir = Fixture::new();
    let run = |other: &str, gate: &str| {
        let args = ["--debug-mode", "-r", "10", "--serve", "serve 1000", "--serve", other, "--load", LOAD];
        bench(&dir, &[&args[..], &["--gate", gate]].concat())
    };
    assert_eq!(run("serve 900", "rps>-5%").code, Some(1));
    assert_eq!(run("serve 1200", "rps>-5%").code, Some(0));
    assert_eq!(run("serve 900", "p99<+5%").code, Some(1));
    let wrong = run("serve 900", "rps<5%");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("more is better"), "{}", wrong.stderr);
}

#[test]
fn the_screen_of_servers_is_shown_again_from_the_record() {
    let dir = Fixture::new();
    let args = ["--debug-mode", "--serve", "serve 1000 memory=300", "--load", LOAD, "-n", "app"];
    let output = bench(&dir, &args);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for words in ["Requests/s", "Answer times", "p99.9", "Memory growth", "16 connections"] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    let again = Output::of(underpin(["report"]).current_dir(dir.path()));
    assert_eq!(again.stdout, output.stdout);
}

#[test]
fn a_server_that_somebody_else_runs_is_loaded_and_left_alone() {
    need!("python3");
    let dir = Fixture::new();
    dir.write("server.py", SERVER);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let script = dir.path().join("server.py");
    let mut server = std::process::Command::new("python3").arg(script).arg(&port).spawn().unwrap();
    while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        std::thread::yield_now();
    }
    let address = format!("http://127.0.0.1:{port}/");
    let post = ["--load", &address, "--body", "a=1", "--header", "X-Key: k", "--rate", "50", "-r", "2", "--json"];
    let output = bench(&dir, &post);
    let still_runs = server.try_wait().unwrap().is_none();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(still_runs && output.code == Some(0), "{}", output.stderr);
    let document = document(&output);
    assert_eq!(document["load"]["rate"], 50.0);
    assert_eq!(document["load"]["starts_server"], false);
    assert_eq!(document["variants"][0]["runs"][0]["load"]["errors"]["status"], 0, "{document}");
    let missing = document["missing"].as_array().unwrap();
    let growth = missing.iter().find(|one| one["metric"] == "rss-growth").unwrap();
    assert!(growth["reason"].as_str().unwrap().contains("--serve"), "{growth}");
}

#[test]
fn the_proof_of_an_allocator_holds_for_servers_too() {
    need!("python3");
    let dir = Fixture::new();
    let args = ["--serve", SERVE, "--load", LOAD, "--malloc", "system,mimalloc", "-r", "1", "--memory-runs", "0"];
    let output = bench(&dir, &[&args[..], &["--json"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(document(&output)["variants"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_use_of_servers_says_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("GET http://{}/", taken.local_addr().unwrap());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("GET http://127.0.0.1:{free}/");
    let dir = Fixture::new();
    for (args, words) in [
        (&["--serve", "sleep 9"][..], "--load"),
        (&["--load", "GET https://h/"], "https is not supported"),
        (&["--load", "GET h"], "only http://"),
        (&["--load", "GET http://h/ x"], "invalid request"),
        (&["--load", LOAD], "--serve"),
        (&["--load", &nobody], "cannot connect to 127.0.0.1"),
        (&["--load", &nobody, "--env", "A=1"], "--serve"),
        (&["--load", &nobody, "--connections", "0"], "0 is not in 1..=60000"),
        (&["--load", &nobody, "--rate", "0"], "requests in a second"),
        (&["--load", &nobody, "--duration", "0s"], "more than nothing"),
        (&["--load", &nobody, "--header", "x"], "NAME: VALUE"),
        (&["--load", &nobody, "--body", "@nowhere"], "--body @nowhere"),
        (&["--load", &nobody, "true"], "cannot be used with"),
        (&["--serve", "no-such-server", "--load", LOAD], "not found in PATH"),
        (&["--serve", "sleep 9", "--load", &taken], "listens on 127.0.0.1"),
        (&["--serve", "sleep 9", "--load", LOAD, "--load", LOAD], "--load is given 2 times"),
        (&["--serve", "sleep 9", "--load", LOAD, "--ready-timeout", "100ms"], "no answer from the server 0.1 s"),
        (&["--serve", "sh -c 'echo so >&2; exit 5'", "--load", LOAD], "ended with status 5 before it answered"),
        (&["--serve", "sh -c 'echo so >&2; exit 5'", "--load", LOAD], "it wrote:\n  so"),
    ] {
        let output = Output::of(underpin([&["bench"], args].concat()).current_dir(dir.path()));
        assert_eq!(output.code, Some(2), "{args:?} {}", output.stderr);
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn runs_of_servers_before_a_failure_are_kept() {
    need!("python3");
    let dir = Fixture::new();
    // The third start exits at once.
    let serve = "sh -c 'echo x >>starts; test $(wc -l <starts) -lt 3 && exec python3 server.py {PORT}'";
    let output = bench(&dir, &["--serve", serve, "--load", LOAD, "-r", "5"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("2 runs up to here are kept"), "{}", output.stderr);
    let shown = Output::of(underpin(["report"]).current_dir(dir.path()));
    assert!(shown.stdout.contains("Requests/s") && shown.stdout.contains("interrupted"), "{}", shown.stdout);
}

#[test]
fn a_server_without_a_good_answer_is_an_error_unless_failures_are_wanted() {
    need!("python3");
    let dir = Fixture::new();
    let load = "GET http://127.0.0.1:{PORT}/missing";
    let args = ["--serve", SERVE, "--load", load, "-r", "1", "--memory-runs", "0"];
    let output = bench(&dir, &args);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("it answers with status 404"), "{}", output.stderr);
    let output = bench(&dir, &[&args[..], &["-i"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("100.0 %"), "{}", output.stdout);
}

#[test]
fn requests_that_are_sent_again_are_counted_as_the_server_counts_them() {
    need!("node");
    let dir = Fixture::new();
    // Every tenth request finds its connection closed; the server prints at its end how many those were.
    dir.write(
        "drop.js",
        "let n = 0, d = 0\nrequire('http').createServer((q, r) => { if (++n % 10 == 0) { d++; return q.socket.destroy() } \
         r.end('hello\\n') }).listen(process.env.PORT, '127.0.0.1')\n\
         process.on('SIGTERM', () => { require('fs').writeFileSync('drop.count', `${d} ${n}`); process.exit() })\n",
    );
    // No warm-up: the server counts from its first request.
    let args = "bench --duration 300ms --warmup-load 0ms --settle 10ms -r 1 --memory-runs 0 --json --env PORT={PORT}";
    let args = args.split(' ').chain(["--serve", "node drop.js", "--load", LOAD]);
    let output = Output::of(underpin(args).current_dir(dir.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let counts = std::fs::read_to_string(dir.join("drop.count")).unwrap();
    let (dropped, of) = counts.split_once(' ').unwrap();
    let [dropped, of] = [dropped, of].map(|text| text.parse::<f64>().unwrap());
    let document = document(&output);
    let load = &document["variants"][0]["runs"][0]["load"];
    let told = load["sent_again"].as_f64().unwrap() + load["errors"]["broken"].as_f64().unwrap();
    // A request whose second try is dropped too is an error that was resent.
    assert!((told - dropped).abs() <= 1.0 + dropped * 0.05, "{told} of {dropped} of {of}: {load}");
    let doubts = document["doubts"].to_string();
    assert!(doubts.contains("were sent again"), "{doubts}");
}

#[test]
fn answers_that_point_elsewhere_are_counted_and_said() {
    need!("node");
    let dir = Fixture::new();
    dir.write(
        "moved.js",
        "require('http').createServer((q, r) => { r.writeHead(302, { location: '/there' }); r.end() })\
         .listen(process.env.PORT, '127.0.0.1')\n",
    );
    let args = ["--env", "PORT={PORT}", "--serve", "node moved.js", "--load", LOAD, "-r", "1", "--memory-runs", "0"];
    let document = document(&bench(&dir, &[&args[..], &["--json"]].concat()));
    let load = &document["variants"][0]["runs"][0]["load"];
    assert!(load["redirected"].as_u64().unwrap() > 0 && load["redirected"] == load["requests"], "{load}");
    assert!(document["doubts"].to_string().contains("3xx"), "{document}");
}
