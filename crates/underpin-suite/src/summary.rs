//! What the records of a run of suites say: a table for each suite, the rows that differ, the means, the index.

use crate::gate::RowGate;
use crate::guest::Guest;
use crate::index::{Indexed, index, row_score};
use crate::row::{Measure, Original, Row, Suite};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use underpin_bench::stats::{Bootstrap, Order, Outliers, median, median_interval, q_values};
use underpin_bench::{BenchRecord, Change, Comparison, Interval, Machine, MachineSummary, Metric, paired_ratio};

/// A run of suites: what was asked for, and what was measured.
#[derive(Clone, Debug)]
pub struct SuiteRun {
    /// Seconds since 1970, when it began.
    pub started: u64,
    /// The version of underpin.
    pub underpin: String,
    /// Where.
    pub machine: Machine,
    /// The builds; the first is the reference.
    pub builds: Vec<Build>,
    /// The guest that they ran in; `None` if they ran on the machine itself.
    pub guest: Option<Guest>,
    /// It was the short form.
    pub is_quick: bool,
    /// The originals whose own programs measured the rows of their suites: `libc-bench`.
    pub originals: Vec<String>,
    /// How long it took in all, in seconds.
    pub seconds: f64,
    /// It was interrupted: rows are missing.
    pub is_interrupted: bool,
    /// Rows in the order in which they were measured.
    pub rows: Vec<RowRun>,
}

/// A build, as it was asked for and as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// As the user wrote it: `musl+mimalloc`.
    pub name: String,
    /// What the files are, in a few words: `static PIE, musl 1.2.5, mimalloc, overlay; by zig 0.15.2`.
    pub description: String,
    /// The command that runs its programs, if they are for another processor: their times are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<String>,
}

/// One row, measured.
#[derive(Clone, Debug)]
pub struct RowRun {
    /// Which.
    pub row: &'static Row,
    /// The figures; the names of its variants are those of the builds. `None` if it failed under every build.
    pub record: Option<BenchRecord>,
    /// The builds under which it failed.
    pub failures: Vec<Failure>,
}

/// A row that could not be measured under one build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The index of the build.
    pub build: usize,
    /// Why: the signal or exit code, and the last line that the program wrote.
    pub reason: String,
}

/// What a run says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Seconds since 1970, when it began.
    pub started: u64,
    /// The version of underpin.
    pub underpin: String,
    /// Where.
    pub machine: MachineSummary,
    /// The builds; the first is the reference.
    pub builds: Vec<Build>,
    /// The guest that they ran in; absent if they ran on the machine itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// It was the short form.
    pub is_quick: bool,
    /// The originals whose own programs measured the rows of their suites: `libc-bench`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub originals: Vec<String>,
    /// How long it took in all.
    pub seconds: f64,
    /// It was interrupted: rows are missing.
    pub is_interrupted: bool,
    /// The suites in the order in which they ran.
    pub suites: Vec<SuiteSummary>,
    /// What came of the limits, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<RowGate>,
}

/// What one suite says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuiteSummary {
    /// Which.
    pub suite: Suite,
    /// Its rows.
    pub rows: Vec<RowSummary>,
    /// What all rows say together, for each build but the reference.
    pub means: Vec<Means>,
    /// The index of each build, if the suite has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<Indexed>,
}

/// What one row says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowSummary {
    /// Its name.
    pub row: String,
    /// What it does.
    pub label: String,
    /// The table of the suite that it stands in.
    pub group: String,
    /// How its figure is shown.
    pub measure: Measure,
    /// What it was made after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Original>,
    /// musl's time over glibc's in the published figures of the original, which are of another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_ratio: Option<f64>,
    /// Its figures under each build, in their order.
    pub cells: Vec<Cell>,
}

/// A row under a build.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Cell {
    /// It was measured.
    Measured {
        /// Seconds of one operation, the median.
        seconds: Interval,
        /// Bytes in a second, if its operations move bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<Interval>,
        /// Operations in the time of the row's rate, if it is shown as a rate.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<Interval>,
        /// Runs far from the others.
        #[serde(skip_serializing_if = "Option::is_none")]
        outliers: Option<Outliers>,
        /// The memory that its work left.
        memory: Memory,
        /// The processor's frequency, if the program measured it: the median.
        #[serde(skip_serializing_if = "Option::is_none")]
        mhz: Option<f64>,
        /// The row beside the reference; `None` for the reference, for a row without a figure there, and for programs
        /// that an emulator ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        compared: Option<Box<Comparisons>>,
    },
    /// It failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was not reached.
    Missing,
}

/// The memory that a row's work left, in bytes, as libc-bench sums it: mappings of no file and no stack. Medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Memory {
    /// Addresses.
    pub virtual_bytes: f64,
    /// Of them in memory.
    pub resident_bytes: f64,
    /// Of them written to and not shared.
    pub dirty_bytes: f64,
}

/// A row beside the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparisons {
    /// The time of one operation: above 1, this build is slower.
    pub time: Comparison,
    /// Dirty memory over the reference's; `None` if the reference has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<f64>,
    /// Dirty memory less the reference's, in bytes.
    pub dirty_bytes: f64,
    /// Virtual memory less the reference's, in bytes.
    pub virtual_bytes: f64,
}

/// What all rows of a suite say about a build.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Means {
    /// The build.
    pub build: usize,
    /// The geometric mean of its times over the reference's. The interval holds for these rows: it is that of the rows'
    /// intervals together, as if they were independent.
    pub time: Interval,
    /// Rows in it.
    pub rows: usize,
    /// Rows whose time is less with certainty, and more.
    pub faster: usize,
    /// Rows whose time is more with certainty.
    pub slower: usize,
    /// Rows that failed under it.
    pub failed: usize,
    /// Its memory beside the reference's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryMeans>,
}

/// Memory over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryMeans {
    /// The median over the rows of dirty memory over the reference's.
    pub median_dirty: f64,
    /// The sum of dirty memory over the rows, over that of the reference.
    pub sum_dirty: f64,
    /// Rows with more dirty memory than the reference.
    pub more: usize,
    /// The row with the most dirty memory above the reference's.
    pub worst_dirty: Worst,
    /// The row with the most virtual memory above the reference's.
    pub worst_virtual: Worst,
}

/// The row that is furthest above the reference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worst {
    /// The row.
    pub row: String,
    /// How far, in bytes; below zero if every row is below the reference.
    pub bytes: f64,
}

/// What a run says.
#[must_use]
pub fn summarise(run: &SuiteRun) -> Summary {
    let mut suites: Vec<(Suite, Vec<RowSummary>)> =
        Suite::ALL.into_iter().map(|suite| (suite, rows_of(run, suite))).collect();
    suites.retain(|(_, rows)| !rows.is_empty());
    correct(suites.iter_mut().flat_map(|(_, rows)| rows));
    Summary {
        started: run.started,
        underpin: run.underpin.clone(),
        machine: MachineSummary::from(&run.machine),
        builds: run.builds.clone(),
        guest: run.guest.clone(),
        is_quick: run.is_quick,
        originals: run.originals.clone(),
        seconds: run.seconds,
        is_interrupted: run.is_interrupted,
        suites: suites.into_iter().map(|(suite, rows)| of_suite(run, suite, rows)).collect(),
        gate: None,
    }
}

/// Corrects the claims for their number, over all suites and builds: at the level of a row, one row in a hundred of two
/// equal builds would be claimed.
fn correct<'a>(rows: impl Iterator<Item = &'a mut RowSummary>) {
    let cells = rows.flat_map(|row| &mut row.cells);
    let mut times: Vec<&mut Comparison> = cells.filter_map(Cell::time_compared).collect();
    let p_values: Vec<f64> = times.iter().map(|one| one.p_value).collect();
    times.iter_mut().zip(q_values(&p_values)).for_each(|(one, corrected)| one.correct(corrected));
}

fn rows_of(run: &SuiteRun, suite: Suite) -> Vec<RowSummary> {
    run.rows.iter().filter(|one| one.row.suite == suite).map(|one| of_row(run, one)).collect()
}

fn of_suite(run: &SuiteRun, suite: Suite, rows: Vec<RowSummary>) -> SuiteSummary {
    let of: Vec<&RowRun> = run.rows.iter().filter(|one| one.row.suite == suite).collect();
    let means = (1..run.builds.len()).filter_map(|build| means(&rows, build)).collect();
    let indices = (0..run.builds.len())
        .filter_map(|build| index(build, of.iter().map(|one| (one.row, passes(one, &run.builds[build].name)))));
    SuiteSummary { suite, means, indices: indices.collect(), rows }
}

/// The score of a row's runs under a build.
fn passes(run: &RowRun, build: &str) -> Option<f64> {
    let record = run.record.as_ref()?;
    let figures = record.figures(Metric::Operation, variant(record, build)?);
    let scores: Vec<f64> = figures.into_iter().filter_map(|seconds| run.row.score(seconds)).collect();
    row_score(&scores)
}

/// The index of a build's variant. A build that failed has none.
fn variant(record: &BenchRecord, build: &str) -> Option<usize> {
    record.header.variants.iter().position(|variant| variant.name == build)
}

fn of_row(run: &SuiteRun, one: &RowRun) -> RowSummary {
    let row = one.row;
    RowSummary {
        row: row.name.to_owned(),
        label: row.label.to_owned(),
        group: row.group.to_owned(),
        measure: row.measure,
        original: row.original,
        original_ratio: row.time_ratio_of_original(),
        cells: (0..run.builds.len()).map(|build| cell(run, one, build)).collect(),
    }
}

fn cell(run: &SuiteRun, one: &RowRun, build: usize) -> Cell {
    if let Some(failure) = one.failures.iter().find(|failure| failure.build == build) {
        return Cell::Failed { reason: failure.reason.clone() };
    }
    let measured = one.record.as_ref().and_then(|record| {
        let variant = variant(record, &run.builds[build].name)?;
        Some((record, variant, median_interval(&record.blocks(Metric::Operation, variant), Bootstrap::default())?))
    });
    let Some((record, variant, seconds)) = measured else { return Cell::Missing };
    let reports =
        record.samples.iter().filter(|sample| sample.variant == variant).filter_map(|one| one.reported.as_ref());
    let bytes = reports.clone().map(|one| one.bytes).max().unwrap_or(0);
    Cell::Measured {
        seconds,
        bytes_per_second: (bytes > 0).then(|| inverse(seconds, bytes as f64)),
        rate: match one.row.measure {
            Measure::Rate { seconds: time, .. } => Some(inverse(seconds, time)),
            Measure::Time | Measure::Bandwidth => None,
        },
        outliers: Order::new(&record.figures(Metric::Operation, variant)).outliers(),
        memory: memory(record, variant),
        // Under an emulator it is the machine's own.
        mhz: run.builds[build]
            .emulator
            .is_none()
            .then(|| median(&reports.filter_map(|one| one.mhz).collect::<Vec<f64>>()))
            .flatten(),
        compared: compared(run, record, build, variant).map(Box::new),
    }
}

/// A share of a time as a rate; what was the upper bound is the lower one.
fn inverse(seconds: Interval, share: f64) -> Interval {
    Interval { estimate: share / seconds.estimate, low: share / seconds.high, high: share / seconds.low, ..seconds }
}

fn memory(record: &BenchRecord, variant: usize) -> Memory {
    let of = |metric| median(&record.figures(metric, variant)).unwrap_or(0.0);
    Memory {
        virtual_bytes: of(Metric::Virtual),
        resident_bytes: of(Metric::Resident),
        dirty_bytes: of(Metric::PrivateDirty),
    }
}

fn compared(run: &SuiteRun, record: &BenchRecord, build: usize, at: usize) -> Option<Comparisons> {
    let reference = run.builds.first()?;
    if build == 0 || run.builds[build].emulator.is_some() || reference.emulator.is_some() {
        return None;
    }
    let reference = variant(record, &reference.name)?;
    let time = paired_ratio(record, Metric::Operation, reference, at).ok()?;
    let (before, after) = (memory(record, reference), memory(record, at));
    Some(Comparisons {
        time,
        dirty: (before.dirty_bytes > 0.0).then(|| after.dirty_bytes / before.dirty_bytes),
        dirty_bytes: after.dirty_bytes - before.dirty_bytes,
        virtual_bytes: after.virtual_bytes - before.virtual_bytes,
    })
}

impl Cell {
    /// The row beside the reference.
    #[must_use]
    pub fn compared(&self) -> Option<&Comparisons> {
        match self {
            Cell::Measured { compared, .. } => compared.as_deref(),
            Cell::Failed { .. } | Cell::Missing => None,
        }
    }

    fn time_compared(&mut self) -> Option<&mut Comparison> {
        match self {
            Cell::Measured { compared, .. } => compared.as_deref_mut().map(|one| &mut one.time),
            Cell::Failed { .. } | Cell::Missing => None,
        }
    }

    /// The memory that the row left.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        match self {
            Cell::Measured { memory, .. } => Some(memory),
            Cell::Failed { .. } | Cell::Missing => None,
        }
    }
}

/// `None` if no row has a figure on both sides.
fn means(rows: &[RowSummary], build: usize) -> Option<Means> {
    let compared: Vec<(&RowSummary, &Comparisons)> =
        rows.iter().filter_map(|row| Some((row, row.cells[build].compared()?))).collect();
    let count = compared.len() as f64;
    let ratios = || compared.iter().map(|(_, one)| one.time.ratio);
    let centre = ratios().map(|ratio| ratio.estimate.ln()).sum::<f64>() / count;
    // Half the width of each row's interval, on the scale of logarithms, adds up as independent errors do.
    let squares: f64 = ratios().map(|ratio| ((ratio.high.ln() - ratio.low.ln()) / 2.0).powi(2)).sum();
    let half = squares.sqrt() / count;
    let verdicts = |wanted: Change| compared.iter().filter(|(_, one)| one.time.verdict == wanted).count();
    let confidence = ratios().map(|ratio| ratio.confidence).fold(1.0, f64::min);
    (!compared.is_empty()).then(|| Means {
        build,
        time: Interval { estimate: centre.exp(), low: (centre - half).exp(), high: (centre + half).exp(), confidence },
        rows: compared.len(),
        faster: verdicts(Change::Less),
        slower: verdicts(Change::More),
        failed: rows.iter().filter(|row| matches!(row.cells[build], Cell::Failed { .. })).count(),
        memory: memory_means(&compared, build),
    })
}

fn memory_means(compared: &[(&RowSummary, &Comparisons)], build: usize) -> Option<MemoryMeans> {
    let sum = |cell: usize| -> f64 {
        compared.iter().filter_map(|(row, _)| row.cells[cell].memory()).map(|memory| memory.dirty_bytes).sum()
    };
    let worst = |of: fn(&Comparisons) -> f64| {
        let most = compared.iter().max_by(|(_, left), (_, right)| of(left).total_cmp(&of(right)));
        most.map(|(row, one)| Worst { row: row.row.clone(), bytes: of(one) })
    };
    let reference = sum(0);
    (reference > 0.0).then_some(())?;
    Some(MemoryMeans {
        median_dirty: median(&compared.iter().filter_map(|(_, one)| one.dirty).collect::<Vec<f64>>())?,
        sum_dirty: sum(build) / reference,
        more: compared.iter().filter(|(_, one)| one.dirty_bytes > 0.0).count(),
        worst_dirty: worst(|one| one.dirty_bytes)?,
        worst_virtual: worst(|one| one.virtual_bytes)?,
    })
}
