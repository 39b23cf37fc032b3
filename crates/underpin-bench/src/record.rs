//! The raw figures of one experiment, as they are stored: nothing in here is computed from another part.

use crate::load::{LoadRecord, LoadSample};
use crate::machine::Machine;
use crate::memory_point::MemoryPoint;
use crate::metric::Metric;
use crate::outcome::RunOutcome;
use crate::reported::Reported;
use crate::rules::Rules;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use underpin_sys::Usage;

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// What was to be measured, where and how.
    pub header: Header,
    /// Timed runs in the order in which they ran.
    pub samples: Vec<Sample>,
    /// Watched runs in the order in which they ran.
    pub memory: Vec<MemoryRun>,
    /// How it ended; `None` if it was interrupted.
    pub end: Option<End>,
}

/// What was to be measured, where and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Seconds since 1970, when it began.
    pub started: u64,
    /// The version of underpin.
    pub underpin: String,
    /// The machine.
    pub machine: Machine,
    /// What was compared, in the order given.
    pub variants: Vec<VariantRecord>,
    /// The index of the one that the others are compared with.
    pub reference: usize,
    /// The rules of the experiment.
    pub rules: Rules,
    /// The load, if the work is that of servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
    /// The row, if the work is that of a suite's program, which reports its figures itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<RowName>,
}

/// A row of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowName {
    /// The suite: `libc`.
    pub suite: String,
    /// The row: `strlen`.
    pub row: String,
}

/// One variant, as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name in the report.
    pub name: String,
    /// The words of the command, including the shell and the wrapper.
    pub command: Vec<String>,
    /// What it changes in the environment; `None` removes a variable.
    pub environment: BTreeMap<String, Option<String>>,
    /// It is the reference once more, to show the noise.
    #[serde(default)]
    pub is_copy: bool,
}

impl BenchRecord {
    /// The figure that an experiment is about, by which its length, its noise and its drift are judged.
    #[must_use]
    pub fn primary(&self) -> Metric {
        match &self.header.load {
            None if self.header.row.is_some() => Metric::Operation,
            None => Metric::Wall,
            // At a fixed rate the number of answers is the rate.
            Some(load) if load.rate.is_some() => Metric::P99,
            Some(_) => Metric::Rps,
        }
    }

    /// The figure of memory that goes with it. What a server holds after the load is known of every timed run.
    #[must_use]
    pub fn primary_memory(&self) -> Metric {
        match (&self.header.load, &self.header.row) {
            (Some(_), _) => Metric::RssEnd,
            (None, Some(_)) => Metric::PrivateDirty,
            (None, None) => Metric::Rss,
        }
    }
}

/// One timed run, before it has a place in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedRun {
    /// Wall time.
    pub wall: Duration,
    /// What the kernel accounted to it.
    pub usage: Usage,
    /// Counters of the processor, by perf's name.
    pub counters: BTreeMap<String, u64>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// The results of the load on it.
    pub load: Option<LoadSample>,
    /// What its program reported, if that is asked for.
    pub reported: Option<Reported>,
}

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the variant.
    pub variant: usize,
    /// The block that it belongs to: the unit that is resampled.
    pub block: u32,
    /// When it started, since the beginning.
    pub at_ns: Nanos,
    /// Wall time.
    pub wall_ns: Nanos,
    /// User time.
    pub user_ns: Nanos,
    /// System time.
    pub system_ns: Nanos,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Counters of the processor that counted all the time, by perf's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What came of the load, if the run was that of a server; its wall time is then that of the load, and
    /// what the kernel accounted is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSample>,
    /// What its program reported, if the run was that of a suite's row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
}

impl Sample {
    /// A run with its place in the record: its variant, its block, its start.
    pub(crate) fn new(variant: usize, block: u32, at_ns: Nanos, run: TimedRun) -> Sample {
        let TimedRun { wall, usage, counters, outcome, load, reported } = run;
        Sample {
            variant,
            block,
            at_ns,
            wall_ns: wall.into(),
            user_ns: usage.user.into(),
            system_ns: usage.system.into(),
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            counters,
            outcome,
            load,
            reported,
        }
    }

    /// A run of which only what its program reported is known.
    #[must_use]
    pub fn of_report(variant: usize, block: u32, at_ns: Nanos, outcome: RunOutcome, reported: Reported) -> Sample {
        let (zero, counters) = (Nanos::from(Duration::ZERO), BTreeMap::new());
        Sample {
            variant,
            block,
            at_ns,
            wall_ns: zero,
            user_ns: zero,
            system_ns: zero,
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            counters,
            outcome,
            load: None,
            reported: Some(reported),
        }
    }

    /// A figure of it, in base units.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        if let Some(load) = &self.load {
            return load.figure(metric);
        }
        if let Some(figure) = self.reported.as_ref().and_then(|reported| reported.figure(metric)) {
            return Some(figure);
        }
        Some(match metric {
            Metric::Wall => self.wall_ns.seconds(),
            Metric::User => self.user_ns.seconds(),
            Metric::System => self.system_ns.seconds(),
            Metric::Cpu => self.user_ns.seconds() + self.system_ns.seconds(),
            Metric::MinorFaults => self.minor_faults as f64,
            Metric::MajorFaults => self.major_faults as f64,
            Metric::VoluntarySwitches => self.voluntary_switches as f64,
            Metric::InvoluntarySwitches => self.involuntary_switches as f64,
            Metric::Counter(counter) => *self.counters.get(counter.name())? as f64,
            _ => return None,
        })
    }
}

/// The peak of one process of a watched run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessPeak {
    /// The name that the kernel has for it (15 bytes of its file name).
    pub name: String,
    /// Peak resident memory since its last exec.
    pub peak_rss: Bytes,
}

/// One watched run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRun {
    /// Index of the variant.
    pub variant: usize,
    /// The block that it belongs to.
    pub block: u32,
    /// Peak resident memory of the tree: the larger of the largest process's own peak and the largest sum seen. Pages
    /// that processes share count once for each.
    pub peak_rss: Bytes,
    /// An upper bound on any sum of resident memory: the most that the peaks of processes that lived at the same time
    /// add up to. `None` if the lives of processes were not tracked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bound: Option<Bytes>,
    /// The time between two samples, on average; a sum that lasted for less may have been missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ns: Option<Nanos>,
    /// Peak proportional memory of the tree: the larger of the largest sum seen and the largest process's own peak less
    /// what it shared at its end.
    pub peak_pss: Bytes,
    /// The largest sum of private dirty memory seen.
    pub peak_private_dirty: Bytes,
    /// The tree once the first process had settled; `None` if it ended before.
    pub at_start: Option<MemoryPoint>,
    /// The tree late in the run: what it held, or more, for a quarter of the last fifth, so that a program that frees
    /// everything before it ends is still seen with it. For a server: after the load.
    pub at_end: Option<MemoryPoint>,
    /// The first process right before its end; `None` if it was killed, or not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_exit: Option<MemoryPoint>,
    /// The sum over the tree, over time.
    pub series: Vec<MemoryPoint>,
    /// Processes of the tree, the largest first, at most [`MemoryRun::PROCESSES`].
    pub processes: Vec<ProcessPeak>,
    /// How many processes there were.
    pub process_count: usize,
    /// Processes that outlived the first one and were ended.
    pub left_behind: usize,
    /// How it ended.
    pub outcome: RunOutcome,
}

impl MemoryRun {
    /// The most processes that a record lists.
    pub const PROCESSES: usize = 16;

    /// The peak of what the tree held: resident memory of one process, which is exact; proportional memory of several.
    #[must_use]
    pub fn peak_held(&self) -> Bytes {
        if self.process_count > 1 { self.peak_pss } else { self.peak_rss }
    }

    /// A figure of it, in base units.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        let bytes = match metric {
            Metric::Rss => self.peak_held(),
            Metric::Pss => self.peak_pss,
            Metric::Dirty => self.peak_private_dirty,
            Metric::RssEnd => self.at_end?.held(),
            Metric::PssEnd => self.at_end?.pss,
            Metric::DirtyEnd => self.at_end?.private_dirty,
            Metric::RssGrowth => return Some(self.at_start?.growth_to(&self.at_end?)),
            _ => return None,
        };
        Some(bytes.0 as f64)
    }
}

/// A figure that could not be measured here, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingMetric {
    /// Its name.
    pub metric: Metric,
    /// The reason, a clause.
    pub reason: String,
}

/// Why measuring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// The number of runs asked for.
    Runs,
    /// The default time.
    Time,
    /// The budget.
    Budget,
    /// The interval is as narrow as asked for.
    Narrow,
    /// Somebody asked for the end.
    Interrupted,
}

/// How an experiment ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why no more was measured.
    pub stopped: Stopped,
    /// How long it took in all.
    pub took_ns: Nanos,
    /// What could not be measured.
    pub missing: Vec<MissingMetric>,
    /// The load average of the last minute at the end, in hundredths.
    pub load_hundredths: Option<u64>,
    /// Memory was sampled from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
}

/// Notes that memory was sampled from outside, and why no process could be watched to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// The shortest time between two samples.
    pub every_ns: Nanos,
    /// Why, a clause.
    pub reason: String,
}
