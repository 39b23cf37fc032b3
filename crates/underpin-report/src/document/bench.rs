//! `underpin.bench/1`: workloads under variants, compared; each run, each summary, each ratio with its interval.
//!
//! Figures are in base units (seconds, bytes, events). A ratio is the variant's figure over the reference's.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use underpin_bench::Metric;
use underpin_bench::stats::CONFIDENCE;

/// The document of `underpin bench` and `underpin report`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchDocument {
    /// Always `underpin.bench/1`.
    pub schema: SchemaTag<BenchDocument>,
    /// The version of underpin that measured.
    pub underpin: String,
    /// Seconds since 1970, when measuring began.
    pub started_unix_seconds: u64,
    /// Where it was measured.
    pub machine: MachineRecord,
    /// How it was measured.
    pub method: MethodRecord,
    /// The load, where the work is that of servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadMethodRecord>,
    /// What was compared, in the order given.
    pub variants: Vec<BenchVariant>,
    /// Every variant beside the reference, one entry for each figure.
    pub comparisons: Vec<BenchComparison>,
    /// The variants that none other beats in time and memory, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pareto: Option<ParetoRecord>,
    /// The reference beside itself, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<NoiseRecord>,
    /// An earlier run beside this one, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRecord>,
    /// The limits, where some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRecord>,
    /// Figures that could not be had, with the reason.
    pub missing: Vec<MissingRecord>,
    /// What the figures have to be read with.
    pub doubts: Vec<DoubtRecord>,
}

impl Document for BenchDocument {
    const VERB: Verb = Verb::Bench;
}

/// A machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MachineRecord {
    /// The processor's model.
    pub processor: String,
    /// Processors that could be used.
    pub processors: usize,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
    /// The distribution.
    pub system: String,
    /// The frequency governor, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether addresses are randomised.
    pub aslr: bool,
    /// Load average of the last minute before the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_before: Option<f64>,
    /// The same at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_after: Option<f64>,
}

/// The load on every server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadMethodRecord {
    /// `METHOD URL`.
    pub request: String,
    /// Requests in a second, where they are sent at a fixed rate; else each connection sends the next request when the
    /// answer to the last is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Connections at most.
    pub connections: usize,
    /// Threads of the load generator.
    pub threads: usize,
    /// Load before the figures count.
    pub warmup_seconds: f64,
    /// Load whose figures count.
    pub window_seconds: f64,
    /// The server was started for each run; else somebody else ran it.
    pub starts_server: bool,
}

/// What came of the load in one run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadRunRecord {
    /// Requests that were due in the window and got a good answer.
    pub requests: u64,
    /// Good answers within the window.
    pub answered: u64,
    /// How long the window was.
    pub window_seconds: f64,
    /// Requests that were sent a second time, since the connection was closed before a byte of an answer; the time of
    /// both tries is in the answer times.
    pub sent_again: u64,
    /// Good answers with a status of 3xx.
    pub redirected: u64,
    /// Requests that failed, by kind.
    pub errors: LoadErrorsRecord,
    /// At a fixed rate: requests whose turn never came. Their waiting, and that of time-outs, is in the answer times.
    pub unsent: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// The distribution of the answer times: a share of the requests, and the time that they do not exceed.
    pub answer_times: Vec<AnswerTimeRecord>,
    /// The share of the time that the load generator's busiest thread kept a processor.
    pub generator_busy: f64,
    /// At a fixed rate: how much later than due the generator's own timer woke it, on average.
    pub generator_lag_seconds: f64,
}

/// Requests that failed.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LoadErrorsRecord {
    /// No connection could be made.
    pub connect: u64,
    /// Answered with a status of 400 or above.
    pub status: u64,
    /// The connection broke, or the answer was none.
    pub broken: u64,
    /// No answer in time.
    pub timed_out: u64,
}

/// A point of a distribution.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct AnswerTimeRecord {
    /// A share of the requests, from 0 to 1.
    pub share: f64,
    /// They do not take longer.
    pub seconds: f64,
}

/// How it was measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MethodRecord {
    /// Runs of each variant before the first timed one.
    pub warmup: u32,
    /// Blocks of timed runs; in each every variant runs there and back.
    pub blocks: usize,
    /// The seed of the random orders.
    pub seed: u64,
    /// The confidence that intervals aim at.
    pub confidence: f64,
    /// Why measuring ended.
    pub stopped: StoppedRecord,
    /// The stopping rule, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_seconds: Option<f64>,
    /// Time given to a process to settle before its memory counts as that after start-up.
    pub settle_seconds: f64,
    /// What it took in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_seconds: Option<f64>,
}

/// Why measuring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoppedRecord {
    /// The number of runs asked for.
    Runs,
    /// The default time.
    Time,
    /// The budget was spent.
    Budget,
    /// The interval became as narrow as asked for.
    Narrow,
    /// It was interrupted.
    Interrupted,
}

/// One variant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchVariant {
    /// Its name.
    pub name: String,
    /// The command.
    pub command: Vec<String>,
    /// What it changes in the environment; null removes a variable.
    pub environment: BTreeMap<String, Option<String>>,
    /// The others are compared with it.
    pub is_reference: bool,
    /// It is the reference once more.
    pub is_copy: bool,
    /// Runs that failed and are in the figures.
    pub failures: usize,
    /// Each figure over all runs.
    pub metrics: Vec<MetricRecord>,
    /// Each timed run, in the order in which they ran.
    pub runs: Vec<RunRecord>,
    /// Each watched run.
    pub memory_runs: Vec<MemoryRunRecord>,
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IntervalRecord {
    /// The estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The confidence reached; below the one aimed at where there are too few runs.
    pub confidence: f64,
}

/// One figure of a variant over its runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MetricRecord {
    /// Its name: `wall`, `user`, `sys`, `cpu`, `rss`, ..., of a server `rps`, `p50`, `p99`, ...
    pub metric: String,
    /// What it is, in a few words.
    pub label: String,
    /// Its unit.
    pub unit: UnitRecord,
    /// Which figures are the better ones.
    pub direction: DirectionRecord,
    /// Where it comes from.
    pub pass: PassRecord,
    /// Runs that have it.
    pub count: usize,
    /// The median.
    pub median: IntervalRecord,
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// A quarter is below it.
    pub first_quartile: f64,
    /// A quarter is above it.
    pub third_quartile: f64,
    /// The greatest.
    pub max: f64,
    /// Standard deviation by way of the median absolute deviation.
    pub spread: f64,
}

/// A unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnitRecord {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Events.
    Count,
    /// Events in a second.
    PerSecond,
}

/// Which figures are the better ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionRecord {
    /// The less, the better.
    LowerIsBetter,
    /// The more, the better.
    HigherIsBetter,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassRecord {
    /// Runs that are timed and otherwise left alone.
    Timed,
    /// Runs that are watched and never timed.
    Memory,
}

/// One timed run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunRecord {
    /// The block that it belongs to.
    pub block: u32,
    /// When it started, since the beginning.
    pub at_seconds: f64,
    /// Its figures by the names of metrics.
    pub figures: BTreeMap<String, f64>,
    /// Its exit status; null where a signal ended it.
    pub exit_status: Option<i32>,
    /// What came of the load, where it is the run of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRunRecord>,
}

/// One watched run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryRunRecord {
    /// The block that it belongs to.
    pub block: u32,
    /// Its figures by the names of metrics.
    pub figures: BTreeMap<String, f64>,
    /// Its processes, the largest first, with their own peaks.
    pub processes: Vec<ProcessRecord>,
    /// How many there were.
    pub process_count: usize,
    /// The largest sum of resident memory that was seen, or the largest process's own peak where that is larger: pages
    /// that processes share count once for each.
    pub peak_rss_bytes: u64,
    /// That sum cannot have been larger at any time: the own peaks of processes that lived at the same time, added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_at_most_bytes: Option<u64>,
    /// The time between two samples, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_every_seconds: Option<f64>,
    /// The sum over the tree, over time.
    pub series: Vec<MemoryPointRecord>,
}

/// A process of a watched run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProcessRecord {
    /// The kernel's name for it.
    pub name: String,
    /// Peak resident memory since its last exec.
    pub peak_rss_bytes: u64,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct MemoryPointRecord {
    /// Since the start of the run.
    pub at_seconds: f64,
    /// Resident.
    pub rss_bytes: u64,
    /// Proportional.
    pub pss_bytes: u64,
    /// Private and written to.
    pub private_dirty_bytes: u64,
}

/// A variant beside another, in one figure.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchComparison {
    /// The variant.
    pub variant: String,
    /// What it is compared with.
    pub reference: String,
    /// The figure.
    pub metric: String,
    /// The variant's figure over the reference's.
    pub ratio: IntervalRecord,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// The same, corrected for the number of variants (Holm).
    pub p_corrected: f64,
    /// The test.
    pub test: TestRecord,
    /// Blocks, or figures of the smaller sample.
    pub count: usize,
    /// The level at which it claims: a machine that was busy before the start has to show more.
    pub level: f64,
    /// What it says.
    pub verdict: VerdictRecord,
}

impl IntervalRecord {
    /// Whether it reaches the confidence aimed at; otherwise there were too few runs for an interval.
    #[must_use]
    pub fn is_confident(&self) -> bool {
        self.confidence >= CONFIDENCE - 1e-9
    }
}

impl BenchComparison {
    /// On which side the difference lies by its interval, where that leaves out no change and the test proves nothing.
    #[must_use]
    pub fn likely(&self) -> Option<VerdictRecord> {
        let ratio = &self.ratio;
        match self.verdict {
            VerdictRecord::Undecided if ratio.is_confident() && ratio.low > 1.0 => Some(VerdictRecord::More),
            VerdictRecord::Undecided if ratio.is_confident() && ratio.high < 1.0 => Some(VerdictRecord::Less),
            _ => None,
        }
    }
}

/// A rank test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestRecord {
    /// Wilcoxon's signed ranks over blocks, counted.
    SignedRankExact,
    /// The same, approximated.
    SignedRank,
    /// Mann and Whitney's U of two samples, counted.
    MannWhitneyExact,
    /// The same, approximated.
    MannWhitney,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictRecord {
    /// The variant has less.
    Less,
    /// The variant has more.
    More,
    /// Whatever the difference is, it is below 1 %.
    Same,
    /// These runs do not tell.
    Undecided,
}

/// The Pareto front: a variant leaves it where another one is no worse in either figure (its median is not the worse
/// one, or the two are the same within 1 %) and claimed better in at least one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ParetoRecord {
    /// The figures: one of time, one of memory.
    pub metrics: [String; 2],
    /// The variants on it.
    pub front: Vec<String>,
    /// The others.
    pub beaten: Vec<BeatenRecord>,
}

/// A variant that another one beats.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BeatenRecord {
    /// The variant.
    pub variant: String,
    /// One that beats it.
    pub by: String,
    /// In which figures that one is claimed better; in the others it is no worse.
    pub claims: Vec<String>,
}

/// The reference beside itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NoiseRecord {
    /// A ratio that is 1 in truth.
    pub ratio: IntervalRecord,
    /// The smallest difference that such runs tell from noise, as a share.
    pub floor: f64,
}

/// An earlier run beside this one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BaselineRecord {
    /// Its name.
    pub name: String,
    /// When it was measured.
    pub started_unix_seconds: u64,
    /// Each variant beside the variant of the same name then.
    pub comparisons: Vec<BenchComparison>,
    /// What differs between the two, a clause each.
    pub differences: Vec<String>,
}

/// The limits and what came of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GateRecord {
    /// What came of all of them.
    pub outcome: GateOutcomeRecord,
    /// Whether every limit was seen to be kept: the outcome is `passed`.
    pub passed: bool,
    /// Each limit for each variant.
    pub limits: Vec<LimitRecord>,
}

/// What came of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcomeRecord {
    /// Every limit was kept: exit code 0.
    Passed,
    /// A limit was not kept: exit code 1.
    Failed,
    /// None failed, and not all were seen to be kept: exit code 125.
    NotDecided,
}

/// One limit for one variant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LimitRecord {
    /// The variant.
    pub variant: String,
    /// The limit as given.
    pub limit: String,
    /// What was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<IntervalRecord>,
    /// What came of it.
    pub result: LimitResult,
    /// Runs of each variant that would decide it, where these did not and a number can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<usize>,
}

/// What came of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitResult {
    /// The whole interval keeps to it.
    Kept,
    /// The interval reaches over it: not decided by these runs.
    Unsure,
    /// Fewer runs than could tell anything: not decided.
    TooFew,
    /// The whole interval is past it.
    Failed,
    /// There was nothing to compare: not decided, since the limit was not checked.
    NotMeasured,
}

/// A figure that could not be had.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MissingRecord {
    /// Which.
    pub metric: String,
    /// Why.
    pub reason: String,
}

/// A reason for doubt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoubtRecord {
    /// The variant that it is about; absent where it is about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The reason, a sentence.
    pub message: String,
    /// The same in a clause, for the short screen.
    #[serde(skip)]
    pub brief: String,
}

impl BenchDocument {
    /// A variant's figure.
    #[must_use]
    pub fn metric(&self, variant: &BenchVariant, metric: &str) -> Option<MetricRecord> {
        variant.metrics.iter().find(|one| one.metric == metric).cloned()
    }

    /// What is known of a figure as such, from the first variant that has it.
    #[must_use]
    pub fn about(&self, metric: &str) -> Option<&MetricRecord> {
        self.variants.iter().flat_map(|variant| &variant.metrics).find(|one| one.metric == metric)
    }

    /// The names of all figures that some variant has, in the order of a report.
    #[must_use]
    pub fn metric_names(&self) -> Vec<&'static str> {
        Metric::all().map(Metric::name).filter(|name| self.about(name).is_some()).collect()
    }

    /// A variant beside the reference.
    #[must_use]
    pub fn comparison(&self, variant: &str, metric: &str) -> Option<&BenchComparison> {
        self.comparisons.iter().find(|one| one.variant == variant && one.metric == metric)
    }

    /// What came of the gate, if there is one.
    #[must_use]
    pub fn gate_outcome(&self) -> Option<GateOutcomeRecord> {
        self.gate.as_ref().map(|gate| gate.outcome)
    }
}
