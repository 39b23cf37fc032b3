//! Summaries of suites, put together by hand.

use crate::document::suite::SuiteDocument;
use underpin_bench::stats::Outliers;
use underpin_bench::{Change, Comparison, Interval, LEVEL, MachineSummary, Metric, RankTest};
use underpin_suite::{
    Build, Cell, Comparisons, Figures, Indexed, IndexedRow, Means, Measure, Memory, MemoryMeans, Original, RowSummary,
    Suite, SuiteSummary, Summary, Worst,
};

pub(crate) const PER_MINUTE: Measure = Measure::Rate { seconds: 60.0, unit: "loops/min" };
const ITERATIONS: Measure = Measure::Rate { seconds: 1.0, unit: "iterations/s" };

/// A row of a table that is put together: how it fares under each build.
pub(crate) struct Fared<'a> {
    pub name: &'a str,
    pub group: &'a str,
    pub measure: Measure,
    /// Seconds of an operation under the reference.
    pub seconds: f64,
    /// The other builds, in order.
    pub others: &'a [Fate],
}

/// A row under a build.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    /// The time over the reference's, half the width of its interval, and dirty memory in KiB.
    Took(f64, f64, f64),
    Failed(&'static str),
    Missing,
}

use Fate::{Failed, Missing, Took};

/// Bytes that an operation of a bandwidth moves.
const MOVED: f64 = 1e6;
/// Dirty memory of the reference in every row, in KiB.
const DIRTY: f64 = 160.0;

fn around(estimate: f64, half: f64) -> Interval {
    Interval { estimate, low: estimate - half, high: estimate + half, confidence: 0.95 }
}

fn comparison(variant: &str, reference: &str, ratio: Interval) -> Comparison {
    let verdict = match ratio {
        one if one.low > 1.0 => Change::More,
        one if one.high < 1.0 => Change::Less,
        one if one.low > 0.99 && one.high < 1.01 => Change::Same,
        _ => Change::Undecided,
    };
    let p_value = if verdict.is_claimed() { 0.0004 } else { 0.31 };
    Comparison {
        variant: variant.to_owned(),
        reference: reference.to_owned(),
        metric: Metric::Operation,
        ratio,
        p_value,
        p_corrected: p_value,
        test: RankTest::SignedRankExact,
        count: 12,
        level: LEVEL,
        verdict,
    }
}

fn measured(measure: Measure, seconds: Interval, dirty: f64, compared: Option<Comparisons>) -> Cell {
    let inverse = |share: f64| Interval {
        estimate: share / seconds.estimate,
        low: share / seconds.high,
        high: share / seconds.low,
        ..seconds
    };
    let bytes = dirty * 1024.0;
    Cell::Measured {
        seconds,
        bytes_per_second: matches!(measure, Measure::Bandwidth).then(|| inverse(MOVED)),
        rate: match measure {
            Measure::Rate { seconds, .. } => Some(inverse(seconds)),
            Measure::Time | Measure::Bandwidth => None,
        },
        outliers: Some(Outliers { low_mild: 2, high_severe: 1, of: 100, ..Outliers::default() }),
        memory: Memory { virtual_bytes: bytes + 132.0 * 1024.0, resident_bytes: bytes + 4096.0, dirty_bytes: bytes },
        mhz: matches!(measure, Measure::Rate { unit: "iterations/s", .. }).then_some(3200.4),
        compared: compared.map(Box::new),
    }
}

/// The cells of a row under all builds; an emulated one is not compared.
fn cells(builds: &[Build], row: &Fared<'_>) -> Vec<Cell> {
    let half = row.seconds * 0.01;
    let mut cells = vec![measured(row.measure, around(row.seconds, half), DIRTY, None)];
    for (build, outcome) in builds.iter().skip(1).zip(row.others) {
        cells.push(match *outcome {
            Failed(reason) => Cell::Failed { reason: reason.to_owned() },
            Missing => Cell::Missing,
            Took(ratio, half_ratio, dirty) => {
                let seconds = around(row.seconds * ratio, half * ratio);
                let compared = build.emulator.is_none().then(|| Comparisons {
                    time: comparison(&build.name, &builds[0].name, around(ratio, half_ratio)),
                    dirty: Some(dirty / DIRTY),
                    dirty_bytes: (dirty - DIRTY) * 1024.0,
                    virtual_bytes: (dirty - DIRTY) * 1024.0,
                });
                measured(row.measure, seconds, dirty, compared)
            }
        });
    }
    cells
}

/// What a suite's rows say together, as `underpin_suite::summarise` has it.
fn means(rows: &[RowSummary], build: usize) -> Option<Means> {
    let compared: Vec<(&str, &Comparisons)> =
        rows.iter().filter_map(|row| Some((row.row.as_str(), row.cells[build].compared()?))).collect();
    let count = compared.len() as f64;
    let centre = (compared.iter().map(|(_, one)| one.time.ratio.estimate.ln()).sum::<f64>() / count).exp();
    let verdicts = |wanted| compared.iter().filter(|(_, one)| one.time.verdict == wanted).count();
    let (worst, most) = compared.iter().max_by(|one, other| one.1.dirty_bytes.total_cmp(&other.1.dirty_bytes))?;
    let worst = Worst { row: (*worst).to_owned(), bytes: most.dirty_bytes };
    let mut dirty: Vec<f64> = compared.iter().filter_map(|(_, one)| one.dirty).collect();
    dirty.sort_by(f64::total_cmp);
    Some(Means {
        build,
        time: around(centre, centre * 0.02),
        rows: compared.len(),
        faster: verdicts(Change::Less),
        slower: verdicts(Change::More),
        failed: rows.iter().filter(|row| matches!(row.cells[build], Cell::Failed { .. })).count(),
        memory: Some(MemoryMeans {
            median_dirty: dirty[dirty.len() / 2],
            sum_dirty: dirty.iter().sum::<f64>() / count,
            more: compared.iter().filter(|(_, one)| one.dirty_bytes > 0.0).count(),
            worst_dirty: worst.clone(),
            worst_virtual: worst,
        }),
    })
}

pub(crate) fn build(name: &str, description: &str) -> Build {
    Build { name: name.to_owned(), description: description.to_owned(), emulator: None }
}

/// A suite of these rows.
pub(crate) fn suite_of(suite: Suite, builds: &[Build], rows: &[Fared<'_>]) -> SuiteSummary {
    let rows: Vec<RowSummary> = rows
        .iter()
        .map(|row| RowSummary {
            row: row.name.to_owned(),
            label: format!("what {} does", row.name),
            group: row.group.to_owned(),
            measure: row.measure,
            original: None,
            original_ratio: None,
            cells: cells(builds, row),
        })
        .collect();
    let means = (1..builds.len()).filter_map(|build| means(&rows, build)).collect();
    SuiteSummary { suite, rows, means, indices: Vec::new() }
}

/// The document of these suites.
pub(crate) fn summary_of(builds: Vec<Build>, suites: Vec<SuiteSummary>) -> SuiteDocument {
    let machine = MachineSummary {
        processor: "a model".to_owned(),
        processors: 2,
        memory_bytes: Some(8 << 30),
        kernel: "6.1".to_owned(),
        system: "a system".to_owned(),
        governor: None,
        aslr: true,
        load_before: Some(0.1),
        load_after: Some(0.5),
    };
    SuiteDocument::new(Summary {
        started: 1_795_291_458,
        underpin: "0".to_owned(),
        machine,
        builds,
        guest: None,
        is_quick: true,
        originals: Vec::new(),
        seconds: 312.0,
        is_interrupted: false,
        gate: None,
        suites,
    })
}

fn timed<'a>(name: &'a str, group: &'a str, seconds: f64, others: &'a [Fate]) -> Fared<'a> {
    Fared { name, group, measure: Measure::Time, seconds, others }
}

fn libc(builds: &[Build]) -> SuiteSummary {
    let mut suite = suite_of(
        Suite::Libc,
        builds,
        &[
            timed("malloc-tiny1", "Allocation", 0.0041, &[Took(1.33, 0.02, 32.0)]),
            timed("malloc-big2", "Allocation", 0.0264, &[Took(1.6, 0.05, 3296.0)]),
            timed("strlen", "Strings", 31.4e-9, &[Took(1.002, 0.004, 16.0)]),
            timed("strstr-abcd", "Strings", 1.934e-6, &[Took(0.9, 0.01, 16.0)]),
            timed("memset", "Strings", 0.021, &[Took(1.01, 0.05, 16.0)]),
            timed("regex-search", "Text", 0.2, &[Failed("signal 11 (SIGSEGV): \"matching\"")]),
            timed("dlopen", "Text", 0.001, &[Missing]),
        ],
    );
    let glibc = [0.004_129_741, 0.006_242_797];
    let figures = Figures { glibc: glibc[0], musl: glibc[1] };
    suite.rows[0].original = Some(Original { name: "b_malloc_tiny1", figures: Some(figures) });
    suite.rows[0].original_ratio = Some(glibc[1] / glibc[0]);
    suite.rows[3].original = Some(Original { name: "b_string_strstr", figures: None });
    suite
}

fn system(builds: &[Build]) -> SuiteSummary {
    let shell = Fared { measure: PER_MINUTE, ..timed("shell-1", "System", 0.0396, &[Took(0.8, 0.01, 32.0)]) };
    let mut suite = suite_of(Suite::System, builds, &[shell]);
    let row = |score: f64| IndexedRow { row: "shell-1".to_owned(), score, index: 10.0 * score / 42.4 };
    let indexed =
        |build, score: f64| Indexed { build, index: 10.0 * score / 42.4, rows: vec![row(score)], missing: Vec::new() };
    suite.indices = vec![indexed(0, 1516.3), indexed(1, 1894.0)];
    suite
}

/// glibc and musl over all suites.
pub(crate) fn sample_suite() -> SuiteDocument {
    let builds = vec![
        build("glibc", "dynamic, glibc 2.99; by gcc 12"),
        build("musl", "static PIE, musl 1.2.5, overlay; by zig 0.15.2"),
    ];
    let alloc = [
        timed("single", "Allocation benchmark", 5.401_87e-3, &[Took(1.445, 0.002, 300.0)]),
        timed("multi", "Allocation benchmark", 10.2021e-3, &[Took(0.995, 0.05, 300.0)]),
        timed("churn", "More allocation patterns", 0.05, &[Took(0.7, 0.02, 300.0)]),
    ];
    let pipe = Fared { measure: Measure::Bandwidth, ..timed("pipe", "Bandwidth", 3.3e-3, &[Took(0.99, 0.004, 8.0)]) };
    let core = Fared { measure: ITERATIONS, ..timed("core-1", "Processor", 30.6e-6, &[Took(1.006, 0.002, 8.0)]) };
    let suites = vec![
        suite_of(Suite::Alloc, &builds, &alloc),
        libc(&builds),
        suite_of(Suite::Os, &builds, &[timed("fork", "Processes", 140e-6, &[Took(0.5, 0.01, 8.0)]), pipe]),
        system(&builds),
        suite_of(Suite::Cpu, &builds, &[core]),
    ];
    summary_of(builds, suites)
}

/// Four builds and rows with long names.
pub(crate) fn wide_suite() -> SuiteDocument {
    let long = "musl+mimalloc+overlay, static PIE, by clang 19.1.7 of the distribution";
    let builds = vec![
        build("glibc", "dynamic"),
        build(long, "static"),
        build(&long.replace("mimalloc", "jemalloc"), "static"),
        build("musl", "static"),
    ];
    let three = [Took(23.4, 0.4, 16.0), Took(0.001, 0.000_01, 68_272.0), Took(1.0, 0.002, 0.0)];
    let failed = [
        Failed("exit code 1: no such thing, which takes a long sentence to explain, in every detail that there is"),
        Missing,
        Took(1.0, 0.2, 160.0),
    ];
    let rows = [
        timed("pthread-create-minimal-1", "Threads with stacks of every size", 0.526_583, &three),
        timed("pthread-create-minimal-2", "Threads with stacks of every size", 12.3e-9, &failed),
        Fared { measure: Measure::Bandwidth, ..timed("bandwidth-of-everything1", "Bandwidths", 1e-6, &three) },
        timed("alike", "Bandwidths", 1.0, &[Took(1.0, 0.002, 1.0), Took(1.0, 0.2, 1.0), Took(1.0, 0.2, 1.0)]),
    ];
    let broker = timed("single-own", "Allocation benchmark", 0.005, &three);
    let suites = vec![suite_of(Suite::Alloc, &builds, &[broker]), suite_of(Suite::Libc, &builds, &rows)];
    summary_of(builds, suites)
}

/// A build for another processor.
pub(crate) fn emulated_suite() -> SuiteDocument {
    let emulator = Some("qemu-aarch64".to_owned());
    let builds = vec![build("glibc", "dynamic"), Build { emulator, ..build("aarch64-musl", "static") }];
    let suite = suite_of(Suite::Libc, &builds, &[timed("strlen", "Strings", 31.4e-9, &[Took(12.0, 0.1, 16.0)])]);
    summary_of(builds, vec![suite])
}

/// Names and reasons that would control a terminal or a page.
pub(crate) fn hostile_suite() -> SuiteDocument {
    let mut document = sample_suite();
    let summary = &mut document.summary;
    summary.builds[0].name = "a\u{1b}[31m\u{202e}<b>".to_owned();
    summary.builds[1].name = "</script><script>alert(1)</script>,\"|\n".to_owned();
    summary.builds[1].description = "`<img src=x onerror=alert(1)>`".to_owned();
    summary.builds[1].emulator = Some("qemu\r\u{9b}31m<i>".to_owned());
    summary.machine.processor = "\u{7}<u>".to_owned();
    let row = &mut summary.suites[1].rows[5];
    row.row = "regex\"onmouseover='x'".to_owned();
    row.label = "<em>\u{1b}]0;owned\u{7}".to_owned();
    row.group = "<table>\u{202e}".to_owned();
    row.cells[1] = Cell::Failed { reason: "<b>\u{1b}[2J, it \"said\"\n|".to_owned() };
    document
}
