//! A variant's figures: each over all its runs, and those of each run.

use crate::load::{Latency, LoadErrors, LoadSample};
use crate::memory_point::MemoryPoint;
use crate::metric::{Direction, Metric, Pass, Unit};
use crate::outcome::RunOutcome;
use crate::record::{BenchRecord, MemoryRun, ProcessPeak, Sample};
use crate::stats::{Bootstrap, Interval, Order, mean, median_interval};
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One variant and its figures, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VariantSummary {
    /// Its name.
    pub name: String,
    /// The command.
    pub command: Vec<String>,
    /// What it changes in the environment; null removes a variable.
    pub environment: BTreeMap<String, Option<String>>,
    /// Whether it is the reference, with which the others are compared.
    pub is_reference: bool,
    /// Whether it is a second copy of the reference, for the noise floor.
    pub is_copy: bool,
    /// Number of failed runs; their figures are included.
    pub failures: usize,
    /// Each figure over all runs.
    pub metrics: Vec<MetricSummary>,
    /// Each timed run, in the order in which they ran.
    pub runs: Vec<RunFigures>,
    /// Each watched run.
    pub memory_runs: Vec<MemoryRunFigures>,
}

/// One figure of a variant over its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricSummary {
    /// Its name: `wall`, `user`, `sys`, `cpu`, `rss`, ..., of a server `rps`, `p50`, `p99`, ...
    pub metric: Metric,
    /// What it is, in a few words.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which figures are the better ones.
    pub direction: Direction,
    /// Where it comes from.
    pub pass: Pass,
    /// Number of runs that have it.
    pub count: usize,
    /// The median.
    pub median: Interval,
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// A quarter of the runs is below it.
    pub first_quartile: f64,
    /// A quarter of the runs is above it.
    pub third_quartile: f64,
    /// The largest.
    pub max: f64,
    /// Standard deviation, estimated from the median absolute deviation.
    pub spread: f64,
}

/// Figures by the names of their metrics.
pub type Figures = BTreeMap<&'static str, f64>;

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunFigures {
    /// The block that it belongs to.
    pub block: u32,
    /// When it started, since the beginning.
    pub at_seconds: f64,
    /// Its figures by the names of metrics.
    pub figures: Figures,
    /// Its exit status; null if a signal ended it.
    pub exit_status: Option<i32>,
    /// The results of the load, if it is the run of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadFigures>,
}

/// The results of the load in one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadFigures {
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
    pub errors: LoadErrors,
    /// At a fixed rate: requests whose turn never came. Their waiting, and that of time-outs, is in the answer times.
    pub unsent: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// The distribution of the answer times: a share of the requests, and the time that they do not exceed.
    pub answer_times: Vec<AnswerTime>,
    /// The share of the time that the load generator's busiest thread kept a processor.
    pub generator_busy: f64,
    /// At a fixed rate: how much later than due the generator's own timer woke it, on average.
    pub generator_lag_seconds: f64,
}

/// A point in the distribution of answer times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AnswerTime {
    /// A share of the requests, from 0 to 1.
    pub share: f64,
    /// That share of the requests took at most this long.
    pub seconds: f64,
}

/// One watched run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryRunFigures {
    /// The block to which it belongs.
    pub block: u32,
    /// Its figures by the names of metrics.
    pub figures: Figures,
    /// Its processes, the largest first, with their own peaks.
    pub processes: Vec<ProcessFigures>,
    /// How many processes there were.
    pub process_count: usize,
    /// The largest sum of resident memory that was seen, or the largest process's own peak if that is larger: pages that
    /// processes share count once for each.
    pub peak_rss_bytes: u64,
    /// That sum cannot have been larger at any time: the own peaks of processes that lived at the same time, added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_at_most_bytes: Option<u64>,
    /// The time between two samples, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_every_seconds: Option<f64>,
    /// The sum over all processes, over time.
    pub series: Vec<MemoryAt>,
}

/// A process of a watched run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProcessFigures {
    /// The kernel's name for it.
    pub name: String,
    /// Peak resident memory since its last exec.
    pub peak_rss_bytes: u64,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryAt {
    /// Time since the start of the run.
    pub at_seconds: f64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Proportional set size: shared pages are divided among the processes that map them.
    pub pss_bytes: u64,
    /// Private dirty memory.
    pub private_dirty_bytes: u64,
}

impl VariantSummary {
    /// One of its figures.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> Option<&MetricSummary> {
        self.metrics.iter().find(|summary| summary.metric == metric)
    }

    /// The variant of a record.
    pub(super) fn of(record: &BenchRecord, index: usize) -> VariantSummary {
        let header = &record.header.variants[index];
        let samples = || record.samples.iter().filter(|sample| sample.variant == index);
        let watched = record.memory.iter().filter(|run| run.variant == index);
        VariantSummary {
            name: header.name.clone(),
            command: header.command.clone(),
            environment: header.environment.clone(),
            is_reference: index == record.header.reference,
            is_copy: header.is_copy,
            failures: samples().filter(|sample| !sample.outcome.succeeded()).count(),
            metrics: Metric::all().filter_map(|metric| MetricSummary::of(record, metric, index)).collect(),
            runs: samples().map(RunFigures::of).collect(),
            memory_runs: watched.map(MemoryRunFigures::of).collect(),
        }
    }
}

impl MetricSummary {
    fn of(record: &BenchRecord, metric: Metric, variant: usize) -> Option<MetricSummary> {
        let blocks = record.blocks(metric, variant);
        let figures = blocks.concat();
        let order = Order::new(&figures);
        Some(MetricSummary {
            metric,
            label: metric.label(),
            unit: metric.unit(),
            direction: metric.direction(),
            pass: metric.pass(),
            count: figures.len(),
            median: median_interval(&blocks, Bootstrap { seed: record.header.rules.seed, ..Bootstrap::default() })?,
            mean: mean(&figures)?,
            min: order.least()?,
            first_quartile: order.quantile(0.25)?,
            third_quartile: order.quantile(0.75)?,
            max: order.greatest()?,
            spread: order.spread()?,
        })
    }
}

fn figures(of: impl Fn(Metric) -> Option<f64>) -> Figures {
    Metric::all().filter_map(|metric| Some((metric.name(), of(metric)?))).collect()
}

impl RunFigures {
    fn of(sample: &Sample) -> RunFigures {
        RunFigures {
            block: sample.block,
            at_seconds: sample.at_ns.seconds(),
            figures: figures(|metric| sample.figure(metric)),
            exit_status: match sample.outcome {
                RunOutcome::Exited(status) => Some(status),
                RunOutcome::Signalled(_) | RunOutcome::TimedOut => None,
            },
            load: sample.load.as_ref().map(LoadFigures::of),
        }
    }
}

impl LoadFigures {
    fn of(load: &LoadSample) -> LoadFigures {
        let curve = load.latency.iter().flat_map(|latency| Latency::SHARES.into_iter().zip(&latency.curve_ns));
        LoadFigures {
            requests: load.requests,
            answered: load.answered,
            window_seconds: load.window_ns.seconds(),
            sent_again: load.sent_again,
            redirected: load.redirected,
            errors: load.errors,
            unsent: load.unsent,
            bytes: load.bytes.0,
            answer_times: curve.map(|(share, time)| AnswerTime { share, seconds: time.seconds() }).collect(),
            generator_busy: f64::from(load.busy_thousandths) / 1000.0,
            generator_lag_seconds: load.lag_ns.seconds(),
        }
    }
}

impl MemoryRunFigures {
    fn of(run: &MemoryRun) -> MemoryRunFigures {
        MemoryRunFigures {
            block: run.block,
            figures: figures(|metric| run.figure(metric)),
            processes: run.processes.iter().map(ProcessFigures::of).collect(),
            process_count: run.process_count,
            peak_rss_bytes: run.peak_rss.0,
            peak_rss_at_most_bytes: run.peak_bound.map(|bound| bound.0),
            sampled_every_seconds: run.step_ns.map(Nanos::seconds),
            series: run.series.iter().map(MemoryAt::of).collect(),
        }
    }
}

impl ProcessFigures {
    fn of(peak: &ProcessPeak) -> ProcessFigures {
        ProcessFigures { name: peak.name.clone(), peak_rss_bytes: peak.peak_rss.0 }
    }
}

impl MemoryAt {
    fn of(point: &MemoryPoint) -> MemoryAt {
        MemoryAt {
            at_seconds: point.at_ns.seconds(),
            rss_bytes: point.rss.0,
            pss_bytes: point.pss.0,
            private_dirty_bytes: point.private_dirty.0,
        }
    }
}
