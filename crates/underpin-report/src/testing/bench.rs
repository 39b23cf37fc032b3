//! Records from a simulated machine.

use std::sync::Arc;
use std::time::Duration;
use underpin_bench::{
    Analysis, BenchRecord, Candidate, CommandLine, Experiment, Load, Machine, MockExecutor, NullObserver, Pace, Rules,
    Server, Shell, Variant, analyse, measure,
};

fn candidate(name: &str, command: &str) -> Candidate {
    let variant = Variant { changes: vec![("MALLOC_ARENA_MAX".into(), Some("1".into()))], ..Variant::default() };
    Candidate { variant, ..Candidate::new(name, CommandLine::parse(command, &Shell::None).expect("a command")) }
}

fn record(candidates: Vec<Candidate>, rules: Rules, started: u64) -> (BenchRecord, Analysis) {
    let machine = Machine {
        processor: "a model".to_owned(),
        processors: 2,
        kernel: "6.1".to_owned(),
        load_hundredths: Some(112),
        ..Machine::default()
    };
    let experiment =
        Experiment { candidates, reference: 0, rules, version: "0".to_owned(), started, machine, row: None };
    let mut record = measure(&experiment, &mut MockExecutor::new(4), &mut NullObserver).expect("an experiment");
    // The load of the machine on which the test runs.
    record.end.as_mut().expect("it ended").load_hundredths = None;
    let analysis = analyse(&record);
    (record, analysis)
}

/// Three variants and the reference a second time.
pub(crate) fn sample_bench() -> (BenchRecord, Analysis) {
    let copy = Candidate { is_copy: true, ..candidate("glibc (again)", "sleep 0.5 memory=300") };
    let candidates = vec![
        candidate("glibc", "sleep 0.5 memory=300"),
        candidate("jemalloc", "sleep 0.54 memory=58"),
        candidate("mimalloc", "sleep 0.501 memory=70 noise=0.1"),
        copy,
    ];
    record(candidates, Rules { runs: Some(20), ..Rules::default() }, 1_000_000)
}

/// Two servers under load, one of which fails sometimes.
pub(crate) fn served_bench() -> (BenchRecord, Analysis) {
    let load = Load {
        server: Server::Started,
        line: "GET http://127.0.0.1:{PORT}/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        pace: Pace::Closed { connections: 16 },
        threads: 1,
        warmup: Duration::from_secs(1),
        window: Duration::from_secs(5),
        timeout: Duration::from_secs(10),
        ready: Duration::from_secs(30),
        settle: Duration::from_millis(200),
    };
    let load = Arc::new(load);
    let served = |name: &str, text: &str| Candidate { load: Some(Arc::clone(&load)), ..candidate(name, text) };
    let candidates = vec![
        served("glibc", "serve 4000 memory=300"),
        served("jemalloc", "serve 4400 memory=120 noise=0.01"),
        served("mimalloc", "serve 4010 memory=130 errors=400"),
    ];
    record(candidates, Rules { min_runs: 4, memory_runs: 1, ..Rules::default() }, 3_000_000)
}

/// One command alone, with too few runs.
pub(crate) fn lone_bench() -> (BenchRecord, Analysis) {
    record(vec![candidate("app", "sleep 0.001 status=0")], Rules { runs: Some(3), ..Rules::default() }, 2_000_000)
}

/// Names and commands that would control a terminal or a page.
pub(crate) fn hostile_bench() -> (BenchRecord, Analysis) {
    let candidates = vec![candidate("a\u{1b}[31m\u{202e}", "sleep 0.5 '<script>|'"), candidate("b,\"|\n", "sleep 0.5")];
    record(candidates, Rules { runs: Some(12), ..Rules::default() }, 1)
}
