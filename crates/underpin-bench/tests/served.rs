//! Servers as work: on a model of a machine, and real ones (Python's) that are started, loaded and stopped.

mod common;

use common::{candidate, experiment, run};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use underpin_bench::{
    BenchError, Candidate, Change, CommandLine, Executor, Followed, Load, Metric, MockExecutor, Nanos, NullObserver,
    OutputTo, PORT, Pace, Proof, RealExecutor, Rules, Server, Store, StreamsPlan, Variant, WarningKind, measure,
};
use underpin_sys::{RawPid, Tracee};
use underpin_test_support::need;

fn load() -> Load {
    Load {
        server: Server::Started,
        line: format!("GET http://127.0.0.1:{PORT}/"),
        headers: Vec::new(),
        body: Vec::new(),
        pace: Pace::Closed { connections: 4 },
        threads: 1,
        warmup: Duration::from_millis(100),
        window: Duration::from_millis(400),
        timeout: Duration::from_secs(20),
        ready: Duration::from_secs(20),
        settle: Duration::from_millis(20),
    }
}

fn served(name: &str, words: &[&str], load: Load) -> Candidate {
    let command = CommandLine::of_words(words.iter().map(Into::into).collect()).expect("a command");
    Candidate { load: Some(Arc::new(load)), ..Candidate::new(name, command) }
}

fn model(name: &str, text: &str) -> Candidate {
    let load = Load { window: Duration::from_secs(5), ..load() };
    Candidate { load: Some(Arc::new(load)), ..candidate(name, text) }
}

#[test]
fn a_served_comparison_takes_what_it_takes_to_tell_and_says_which_side_is_better() {
    let candidates = vec![model("a", "serve 1000 memory=300"), model("b", "serve 1200 memory=60")];
    let rules = Rules { min_runs: 4, memory_runs: 1, ..Rules::default() };
    let (record, analysis) = run(&experiment(candidates, rules));
    let least = underpin_bench::least_blocks(1);
    assert_eq!(record.samples.len(), 2 * least, "one run of each in a block");
    assert_eq!(record.primary(), Metric::Rps);
    let of = |metric| analysis.comparison("b", metric).map(|one| one.verdict);
    assert_eq!(of(Metric::Rps), Some(Change::More));
    assert_eq!(of(Metric::P50), Some(Change::Less));
    assert_eq!(of(Metric::RssGrowth), Some(Change::Less));
    assert_eq!(of(Metric::Wall), None, "the time of a load says nothing of the server");
    assert_eq!(of(Metric::User), None);
    let growth = analysis.variants[0].metric(Metric::RssGrowth).unwrap();
    assert_eq!(growth.count, least, "of the timed runs alone");
    let pareto = analysis.pareto.unwrap();
    assert_eq!((pareto.metrics, pareto.front), ([Metric::Rps, Metric::RssEnd], vec!["b".to_owned()]));
    assert!(
        !analysis.warnings.iter().any(|one| matches!(one.kind, WarningKind::FewBlocks { .. })),
        "{:?}",
        analysis.warnings
    );
}

#[test]
fn few_runs_of_servers_claim_nothing_and_say_how_many_it_takes() {
    let candidates = vec![model("a", "serve 1000"), model("b", "serve 3000")];
    let (_, analysis) = run(&experiment(candidates, Rules { runs: Some(4), ..Rules::default() }));
    assert_eq!(analysis.comparison("b", Metric::Rps).unwrap().verdict, Change::Undecided);
    let warning = analysis
        .warnings
        .iter()
        .find(|one| matches!(one.kind, WarningKind::FewBlocks { .. }))
        .unwrap()
        .kind
        .to_string();
    let least = underpin_bench::least_blocks(1);
    assert!(warning.contains(&format!("{least} runs of each ({least} blocks)")), "{warning}");
}

#[test]
fn at_a_fixed_rate_the_answer_times_are_what_counts() {
    let pace = Pace::Open { rate: 500.0, connections: 8 };
    let with = |name: &str, text: &str| {
        let load = Load { pace, window: Duration::from_secs(5), ..load() };
        Candidate { load: Some(Arc::new(load)), ..model(name, text) }
    };
    let (record, analysis) = run(&experiment(vec![with("a", "serve 1000"), with("b", "serve 2000")], Rules::default()));
    assert_eq!(record.primary(), Metric::P99);
    assert_eq!(analysis.comparison("b", Metric::P99).unwrap().verdict, Change::Less);
}

#[test]
fn until_looks_at_what_the_experiment_is_about() {
    let rules = Rules {
        until: Some("ratio ±5%".parse().unwrap()),
        budget_ns: Some(Nanos(3_600_000_000_000)),
        memory_runs: 0,
        ..Rules::default()
    };
    let (record, _) = run(&experiment(vec![model("a", "serve 1000"), model("b", "serve 1100")], rules));
    assert_eq!(record.end.unwrap().stopped, underpin_bench::Stopped::Narrow);
}

#[test]
fn failed_requests_are_a_warning_with_their_reason() {
    let (_, analysis) = run(&experiment(vec![model("a", "serve 1000 errors=3")], Rules::default()));
    let warning = analysis
        .warnings
        .iter()
        .find(|one| matches!(one.kind, WarningKind::FailedRequests { .. }))
        .unwrap()
        .kind
        .to_string();
    assert!(warning.contains("does not answer in time"), "{warning}");
    assert_eq!(analysis.variants[0].metric(Metric::Errors).unwrap().median.estimate, 3.0);
}

#[test]
fn of_a_server_that_somebody_else_runs_no_memory_is_known_and_that_is_said() {
    let theirs = Load { server: Server::Running, window: Duration::from_secs(5), ..load() };
    let candidate = Candidate { load: Some(Arc::new(theirs)), ..model("a", "GET http://127.0.0.1/") };
    let (record, analysis) = run(&experiment(vec![candidate], Rules::default()));
    assert!(analysis.variants[0].metric(Metric::Rps).is_some());
    assert!(analysis.variants[0].metric(Metric::RssEnd).is_none());
    let missing = record.end.unwrap().missing;
    for metric in [Metric::RssEnd, Metric::Rss, Metric::RssGrowth, Metric::CpuPerRequest] {
        assert!(missing.iter().any(|one| one.metric == metric), "{metric}");
    }
}

#[test]
fn served_records_are_read_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let mut file = store.begin(1, Some("served")).unwrap();
    let rules = Rules { runs: Some(2), memory_runs: 1, ..Rules::default() };
    let experiment = experiment(vec![model("a", "serve 1000 errors=1")], rules);
    let record = measure(&experiment, &mut MockExecutor::new(1), &mut file).unwrap();
    assert_eq!(store.load(Some("served")).unwrap().1, record);
    assert_eq!(record.header.load.unwrap().connections, 4);
}

/// A server of Python's: each request keeps as many bytes as `KEEP` says.
const SERVER: &str = r#"
import http.server, os, signal, sys
kept, keep, left = [], int(os.environ.get("KEEP", "0")), int(os.environ.get("LEFT", "-1"))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        global left
        left -= 1
        if left == 0:
            print("no more", flush=True)
            os._exit(3)
        kept.append(b"x" * keep)
        body = os.environ.get("BODY", "hello").encode()
        self.send_response(int(os.environ.get("STATUS", "200")))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

fn python(changes: &[(&str, &str)]) -> Candidate {
    let changes = changes.iter().map(|(name, value)| ((*name).into(), Some((*value).into())));
    let variant = Variant { changes: changes.collect(), ..Variant::default() };
    Candidate { variant, ..served("python", &["python3", "-c", SERVER, PORT], load()) }
}

fn executor() -> RealExecutor {
    RealExecutor::new(StreamsPlan::default(), &[], 1)
}

fn refusal(candidate: &Candidate) -> BenchError {
    executor().run(candidate, None).expect_err("a refusal")
}

fn with_load(candidate: Candidate, change: impl FnOnce(&mut Load)) -> Candidate {
    let mut changed = load();
    change(&mut changed);
    Candidate { load: Some(Arc::new(changed)), ..candidate }
}

#[test]
fn a_server_is_started_loaded_measured_and_stopped() {
    need!("python3");
    let run = executor().run(&python(&[("KEEP", "20000")]), None).unwrap();
    let load = run.load.unwrap();
    assert_eq!(load.errors.total(), 0, "{:?}", load.first_failure);
    assert!(load.answered > 0 && load.requests > 0 && load.latency.is_some());
    // What it kept is in its growth; some requests end before the first or after the last reading.
    let grown = load.memory_after.unwrap().rss.0 - load.memory_before.unwrap().rss.0;
    assert!(grown as f64 >= 0.5 * 20_000.0 * load.requests as f64, "{grown} for {}", load.requests);
    assert!(load.cpu_ns.is_some());
}

#[test]
fn the_port_is_told_to_servers_that_take_it_from_a_variable() {
    need!("python3");
    let words = ["sh", "-c", "exec python3 -c \"$SERVER\" \"$LISTEN\""];
    let changes = [("SERVER", SERVER), ("LISTEN", PORT)].map(|(name, value)| (name.into(), Some(value.into())));
    let variant = Variant { changes: changes.to_vec(), ..Variant::default() };
    let run = executor().run(&Candidate { variant, ..served("sh", &words, load()) }, None).unwrap();
    assert!(run.load.unwrap().answered > 0);
}

#[test]
fn a_watched_server_has_memory_over_time_and_its_processes() {
    need!("python3");
    let run = executor().watch(&python(&[("KEEP", "20000")]), None, Duration::ZERO).unwrap().unwrap();
    assert!(run.series.len() >= 2 && run.peak_rss >= run.at_end.unwrap().rss, "{run:?}");
    assert!(run.at_end.unwrap().rss > run.at_start.unwrap().rss);
    assert!(run.processes.iter().any(|process| process.name.starts_with("python")), "{run:?}");
}

#[test]
fn nothing_of_a_server_is_left_when_its_run_is_over() {
    need!("python3");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let words = ["python3", "-c", SERVER, &port.to_string()];
    let line = format!("GET http://127.0.0.1:{port}/");
    let candidate = with_load(served("python", &words, load()), |load| load.line = line);
    executor().run(&candidate, None).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "nobody listens any more");
    executor().run(&candidate, None).unwrap();
}

#[test]
fn a_port_that_is_taken_is_refused_before_the_wrong_server_is_measured() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let candidate = with_load(python(&[]), |load| load.line = format!("GET http://{address}/"));
    let error = refusal(&candidate);
    assert!(matches!(error, BenchError::Taken { .. }) && error.to_string().contains("{PORT}"), "{error}");
}

#[test]
fn a_server_that_ends_at_once_is_an_error_with_what_it_wrote() {
    let words = ["sh", "-c", "echo out; echo 'cannot bind\u{1b}[31m' >&2; exit 7"];
    let error = refusal(&served("sh", &words, load())).to_string();
    assert!(error.starts_with("sh: the server ended with status 7 before it answered"), "{error}");
    assert!(error.ends_with("it wrote:\n  out\n  cannot bind[31m"), "{error}");
}

#[test]
fn a_server_that_never_answers_is_given_up_with_the_reason() {
    let ready = Duration::from_millis(300);
    let silent = with_load(served("sleep", &["sleep", "1000"], load()), |load| load.ready = ready);
    let error = refusal(&silent).to_string();
    assert!(error.contains("0.3 s after its start") && error.contains("--ready-timeout"), "{error}");
    need!("python3");
    let failing = with_load(python(&[("STATUS", "503")]), |load| load.ready = Duration::from_secs(4));
    let error = refusal(&failing).to_string();
    let told = ["it answers with status 503", "it answered with status 503", "cannot be reached"];
    assert!(told.iter().any(|words| error.contains(words)), "{error}");
}

#[test]
fn a_server_that_dies_under_load_is_an_error_not_a_figure() {
    need!("python3");
    let error = refusal(&with_load(python(&[("LEFT", "20")]), |load| load.window = Duration::from_secs(3600)));
    assert!(matches!(error, BenchError::ServerEnded { .. }), "{error}");
    assert!(error.to_string().contains("status 3") && error.to_string().ends_with("no more"), "{error}");
}

#[test]
fn a_server_that_answers_nothing_well_is_an_error() {
    need!("python3");
    let rules = || Rules { runs: Some(1), memory_runs: 0, ..Rules::default() };
    let error = measure(&experiment(vec![python(&[("STATUS", "404")])], rules()), &mut executor(), &mut NullObserver);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("it answers with status 404") && error.contains("-i"), "{error}");
    let rules = Rules { ignore_failure: true, ..rules() };
    let record =
        measure(&experiment(vec![python(&[("STATUS", "404")])], rules), &mut executor(), &mut NullObserver).unwrap();
    assert!(record.samples[0].load.as_ref().unwrap().errors.status > 0);
}

#[test]
fn output_goes_where_it_was_asked_to() {
    need!("python3");
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let streams = StreamsPlan { input: None, output: OutputTo::File(log.clone()) };
    let candidate = with_load(python(&[("LEFT", "5")]), |load| load.window = Duration::from_secs(3600));
    RealExecutor::new(streams, &[], 1).run(&candidate, None).unwrap_err();
    assert_eq!(std::fs::read_to_string(log).unwrap(), "no more\n");
}

#[derive(Debug, Default)]
struct Asked {
    followed: AtomicUsize,
    refuses: bool,
}

impl Proof for Asked {
    fn follow(&self, task: Tracee) -> Result<Followed, String> {
        assert!(Path::new(&format!("/proc/{}", task.0)).exists());
        self.followed.fetch_add(1, Ordering::SeqCst);
        Ok(Followed::BeforeExec)
    }

    fn took(&self, pid: RawPid) -> Result<(), String> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
        assert!(maps.contains("python"), "{maps}");
        if self.refuses { Err("the allocator is another one".to_owned()) } else { Ok(()) }
    }
}

#[test]
fn the_proof_of_a_variant_holds_for_servers_too() {
    need!("python3");
    let with = |proof: &Arc<Asked>| {
        let proof: Arc<dyn Proof> = Arc::clone(proof) as Arc<dyn Proof>;
        Candidate { variant: Variant { proof: Some(proof), ..Variant::default() }, ..python(&[]) }
    };
    let good = Arc::new(Asked::default());
    executor().prove(&with(&good), None).unwrap();
    assert!(good.followed.load(Ordering::SeqCst) <= 1, "once, where tracing is allowed");
    let bad = Arc::new(Asked { refuses: true, ..Asked::default() });
    let error = executor().prove(&with(&bad), None).unwrap_err();
    assert_eq!(error.to_string(), "python: the variant is not in effect: the allocator is another one");
}
