//! What the records of a run say, computed by hand.

use underpin_bench::{
    BenchRecord, Change, GateOutcome, GateResult, Header, Machine, Nanos, Reported, RowName, Rules, RunOutcome, Sample,
    VariantRecord,
};
use underpin_suite::{Build, Cell, Failure, Row, RowRun, Suite, SuiteRun, Summary, find, rows, summarise};

const BLOCKS: u32 = 10;

/// Times of one operation in ns and dirty memory in bytes, for each build of a row.
struct Figures<'a>(&'a str, f64, u64);

fn row(suite: &str, name: &str) -> &'static Row {
    find(suite, name).expect("a row")
}

fn sample(variant: usize, block: u32, ns: f64, dirty: u64) -> Sample {
    // A little noise that is the same for all, so that medians and ratios are those of the times.
    let ns = ns * (1.0 + 0.001 * f64::from(block % 3));
    let reported = Reported {
        ns,
        operations: 1,
        repetitions: 5,
        bytes: 1000,
        virtual_memory: 2 * dirty,
        resident: dirty,
        dirty,
        mhz: None,
    };
    Sample::of_report(variant, block, Nanos(0), RunOutcome::Exited(0), reported)
}

fn record(row: &Row, builds: &[Figures<'_>]) -> BenchRecord {
    let variant = |name: &str| VariantRecord { name: name.to_owned(), ..VariantRecord::default() };
    let header = Header {
        started: 1,
        underpin: "0".to_owned(),
        machine: Machine { processors: 2, ..Machine::default() },
        variants: builds.iter().map(|build| variant(build.0)).collect(),
        reference: 0,
        rules: Rules::default(),
        load: None,
        row: Some(RowName { suite: row.suite.to_string(), row: row.name.to_owned() }),
    };
    let samples = (0..BLOCKS)
        .flat_map(|block| builds.iter().enumerate().map(move |(index, build)| sample(index, block, build.1, build.2)));
    BenchRecord { header, samples: samples.collect(), memory: Vec::new(), end: None }
}

fn measured(row: &'static Row, builds: &[Figures<'_>]) -> RowRun {
    RowRun { row, record: Some(record(row, builds)), failures: Vec::new() }
}

fn run(rows: Vec<RowRun>) -> SuiteRun {
    let build = |name: &str| Build { name: name.to_owned(), description: String::new(), emulator: None };
    SuiteRun {
        started: 1,
        underpin: "0".to_owned(),
        machine: Machine { processors: 2, ..Machine::default() },
        builds: vec![build("glibc"), build("musl")],
        guest: None,
        is_quick: false,
        originals: Vec::new(),
        seconds: 1.0,
        is_interrupted: false,
        rows,
    }
}

fn near(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() < 1e-9
}

fn two_rows() -> Summary {
    summarise(&run(vec![
        measured(row("libc", "strlen"), &[Figures("glibc", 100.0, 4096), Figures("musl", 400.0, 1024)]),
        measured(row("libc", "memset"), &[Figures("glibc", 100.0, 1000), Figures("musl", 25.0, 3000)]),
    ]))
}

#[test]
fn the_mean_of_ratios_is_geometric_and_the_claims_are_counted() {
    let summary = two_rows();
    let means = &summary.suites[0].means[0];
    // 4 and 1/4.
    assert!(near(means.time.estimate, 1.0), "{means:?}");
    assert_eq!((means.rows, means.faster, means.slower, means.failed), (2, 1, 1, 0));
    let compared = summary.suites[0].rows[0].cells[1].compared().unwrap();
    assert!(near(compared.time.ratio.estimate, 4.0));
    assert_eq!(compared.time.verdict, Change::More);
}

#[test]
fn the_claims_of_a_run_are_corrected_for_the_number_of_its_rows() {
    let differs = |row: &Row| if row.name == "strlen" { 101.0 } else { 100.0 };
    let claims = |rows: &[&'static Row]| {
        let rows =
            rows.iter().map(|row| measured(row, &[Figures("glibc", 100.0, 4096), Figures("musl", differs(row), 4096)]));
        summarise(&run(rows.collect())).suites[0].means[0].slower
    };
    // Ten blocks, all of one sign, have a p-value of 2 / 2^10: a claim at 1 % alone, and not as the only one of ten.
    assert_eq!(claims(&[row("libc", "strlen")]), 1);
    let ten: Vec<&'static Row> = rows(Suite::Libc).iter().filter(|row| row.name != "strlen").take(9).collect();
    assert_eq!(claims(&[ten, vec![row("libc", "strlen")]].concat()), 0);
}

#[test]
fn memory_is_compared_by_its_median_its_sum_and_its_worst_row() {
    let summary = two_rows();
    let memory = summary.suites[0].means[0].memory.clone().unwrap();
    // 1/4 and 3; 4024 of 5096.
    assert!(near(memory.median_dirty, 1.625) && near(memory.sum_dirty, 4024.0 / 5096.0), "{memory:?}");
    assert_eq!((memory.more, memory.worst_dirty.row.as_str(), memory.worst_dirty.bytes), (1, "memset", 2000.0));
    assert_eq!((memory.worst_virtual.row.as_str(), memory.worst_virtual.bytes), ("memset", 4000.0));
}

#[test]
fn a_row_that_failed_has_its_reason_and_no_ratio() {
    let strlen = row("libc", "strlen");
    let alone = RowRun {
        row: strlen,
        record: Some(record(strlen, &[Figures("glibc", 1.0, 1)])),
        failures: vec![Failure { build: 1, reason: "signal 11".to_owned() }],
    };
    let never = RowRun { row: row("libc", "memset"), record: None, failures: Vec::new() };
    let summary = summarise(&run(vec![alone, never]));
    let rows = &summary.suites[0].rows;
    assert!(matches!(&rows[0].cells[0], Cell::Measured { compared: None, .. }));
    assert!(matches!(&rows[0].cells[1], Cell::Failed { reason } if reason == "signal 11"));
    assert!(rows[1].cells.iter().all(|cell| matches!(cell, Cell::Missing)));
    assert!(summary.suites[0].means.is_empty(), "there is nothing to compare");
}

#[test]
fn what_an_emulator_ran_has_figures_and_no_ratio() {
    let strlen = measured(row("libc", "strlen"), &[Figures("glibc", 1.0, 1), Figures("musl", 2.0, 1)]);
    let mut emulated = run(vec![strlen]);
    emulated.builds[1].emulator = Some("qemu-aarch64".to_owned());
    let summary = summarise(&emulated);
    assert!(matches!(&summary.suites[0].rows[0].cells[1], Cell::Measured { compared: None, .. }));
    assert!(summary.suites[0].means.is_empty());
}

#[test]
fn a_bandwidth_and_a_rate_turn_the_time_around() {
    let summary = summarise(&run(vec![
        measured(row("os", "pipe-bandwidth"), &[Figures("glibc", 500.0, 1), Figures("musl", 250.0, 1)]),
        measured(row("system", "shell-8"), &[Figures("glibc", 1e9, 1), Figures("musl", 5e8, 1)]),
    ]));
    let Cell::Measured { bytes_per_second: Some(bandwidth), .. } = &summary.suites[0].rows[0].cells[0] else {
        panic!()
    };
    // 1000 bytes in 500.5 ns, the median of the noise.
    assert!(near(bandwidth.estimate, 1000.0 / 500.5e-9) && bandwidth.low <= bandwidth.high, "{bandwidth:?}");
    let Cell::Measured { rate: Some(rate), .. } = &summary.suites[1].rows[0].cells[1] else { panic!() };
    assert!(near(rate.estimate, 60.0 / 0.5005), "a rate per minute: {rate:?}");
    let indices = &summary.suites[1].indices;
    assert_eq!(indices.len(), 2);
    // Both builds have the same noise, so the index of the faster one is twice the other's.
    assert!(near(indices[1].index / indices[0].index, 2.0), "{indices:?}");
}

#[test]
fn a_limit_of_rows_is_judged_at_each_of_them() {
    let gate = |text: &str| {
        let gate: underpin_bench::Gate = text.parse().unwrap();
        two_rows().with_gate(&gate.rows).gate.unwrap()
    };
    assert_eq!(gate("row:memset<+3%").outcome, GateOutcome::Passed);
    assert_eq!(gate("row:strlen<+3%").outcome, GateOutcome::Failed);
    let both = gate("row:*<+500%");
    assert_eq!((both.limits.len(), both.outcome), (2, GateOutcome::Passed));
    assert_eq!(gate("row:strlen:private-dirty<+0%").outcome, GateOutcome::Passed);
    assert_eq!(gate("row:memset:private-dirty<+0%").outcome, GateOutcome::Failed);
    let none = gate("row:strchr<+3%");
    assert_eq!((none.outcome, none.limits[0].result), (GateOutcome::NotDecided, GateResult::NotMeasured));
    assert_eq!(gate("row:str<+3%").outcome, GateOutcome::NotDecided, "a limit means a whole name, or has a star");
}
