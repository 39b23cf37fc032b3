//! What is measured: each figure with its name, its unit and the pass that it comes from.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use underpin_sys::HardwareCounter;

/// One figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Wall time, from before the start to after the end.
    Wall,
    /// Processor time in user space, children included.
    User,
    /// Processor time in the kernel, children included.
    System,
    /// Processor time in all.
    Cpu,
    /// Page faults without input.
    MinorFaults,
    /// Page faults that read from a disk.
    MajorFaults,
    /// Voluntary context switches: the processor was given up.
    VoluntarySwitches,
    /// Involuntary context switches: the processor was taken away.
    InvoluntarySwitches,
    /// A counter of the processor, in user space.
    Counter(HardwareCounter),
    /// Answers of a server in a second.
    Rps,
    /// The time that half of its answers do not exceed.
    P50,
    /// The time that 90 of 100 answers do not exceed.
    P90,
    /// The time that 99 of 100 answers do not exceed.
    P99,
    /// The time that 999 of 1000 answers do not exceed.
    P999,
    /// The longest answer.
    LatencyMax,
    /// Requests that failed or were never sent.
    Errors,
    /// Processor time of a server for each answer.
    CpuPerRequest,
    /// Peak resident memory; of several processes, which share pages, each page once (their proportional memory).
    Rss,
    /// Peak proportional memory of the process tree.
    Pss,
    /// Peak memory that only one process maps and that it has written to.
    Dirty,
    /// Resident memory of the process tree late in the run, each page once; of a server after the load.
    RssEnd,
    /// Proportional memory of the process tree at that time.
    PssEnd,
    /// Private dirty memory of the process tree at that time.
    DirtyEnd,
    /// Resident memory of the process tree late in the run less that after start-up, each page once; of a server, over
    /// the load.
    RssGrowth,
    /// The time of one operation, as the program of a suite's row reports it.
    Operation,
    /// Virtual memory that a row's work left, as its program reports it: mappings of the heap, without stacks.
    Virtual,
    /// Resident memory that it left.
    Resident,
    /// Private dirty memory that it left.
    PrivateDirty,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Events.
    Count,
    /// Events per second.
    PerSecond,
}

/// Whether a smaller or a larger figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less is better: times, memory, events.
    LowerIsBetter,
    /// More is better: work done in a time.
    HigherIsBetter,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// Runs that are timed and otherwise left alone.
    Timed,
    /// Runs that are watched and never timed.
    Memory,
}

impl Unit {
    /// Its name in JSON and CSV.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::PerSecond => "per_second",
        }
    }
}

impl Metric {
    /// The metrics that every machine has, in the order of a report.
    pub const BASIC: [Metric; 27] = [
        Metric::Wall,
        Metric::User,
        Metric::System,
        Metric::Cpu,
        Metric::Rps,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::LatencyMax,
        Metric::Errors,
        Metric::CpuPerRequest,
        Metric::Operation,
        Metric::Rss,
        Metric::Pss,
        Metric::Dirty,
        Metric::RssEnd,
        Metric::PssEnd,
        Metric::DirtyEnd,
        Metric::RssGrowth,
        Metric::Virtual,
        Metric::Resident,
        Metric::PrivateDirty,
        Metric::MinorFaults,
        Metric::MajorFaults,
        Metric::VoluntarySwitches,
        Metric::InvoluntarySwitches,
    ];

    /// All metrics, in the order of a report.
    pub fn all() -> impl Iterator<Item = Metric> {
        Metric::BASIC.into_iter().chain(HardwareCounter::ALL.map(Metric::Counter))
    }

    /// The name, as in a gate and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Wall => "wall",
            Metric::User => "user",
            Metric::System => "sys",
            Metric::Cpu => "cpu",
            Metric::Rps => "rps",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::LatencyMax => "latency-max",
            Metric::Errors => "errors",
            Metric::CpuPerRequest => "cpu-per-request",
            Metric::Rss => "rss",
            Metric::Pss => "pss",
            Metric::Dirty => "dirty",
            Metric::RssEnd => "rss-end",
            Metric::PssEnd => "pss-end",
            Metric::DirtyEnd => "dirty-end",
            Metric::RssGrowth => "rss-growth",
            Metric::Operation => "operation",
            Metric::Virtual => "virtual",
            Metric::Resident => "resident",
            Metric::PrivateDirty => "private-dirty",
            Metric::MinorFaults => "minor-faults",
            Metric::MajorFaults => "major-faults",
            Metric::VoluntarySwitches => "voluntary-switches",
            Metric::InvoluntarySwitches => "involuntary-switches",
            Metric::Counter(counter) => counter.name(),
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Metric::Wall => "wall time",
            Metric::User => "user time",
            Metric::System => "system time",
            Metric::Cpu => "processor time",
            Metric::Rps => "requests per second",
            Metric::P50 => "answer time, median (p50)",
            Metric::P90 => "answer time, p90",
            Metric::P99 => "answer time, p99",
            Metric::P999 => "answer time, p99.9",
            Metric::LatencyMax => "longest answer time",
            Metric::Errors => "failed requests",
            Metric::CpuPerRequest => "processor time per request",
            Metric::Rss => "peak resident memory",
            Metric::Pss => "peak proportional memory",
            Metric::Dirty => "peak private dirty memory",
            Metric::RssEnd => "resident memory at the end",
            Metric::PssEnd => "proportional memory at the end",
            Metric::DirtyEnd => "private dirty memory at the end",
            Metric::RssGrowth => "growth of resident memory",
            Metric::Operation => "time of one operation",
            Metric::Virtual => "virtual memory after the work",
            Metric::Resident => "resident memory after the work",
            Metric::PrivateDirty => "private dirty memory after the work",
            Metric::MinorFaults => "page faults",
            Metric::MajorFaults => "page faults from disk",
            Metric::VoluntarySwitches => "voluntary context switches",
            Metric::InvoluntarySwitches => "involuntary context switches",
            Metric::Counter(counter) => counter.name(),
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Metric::Wall
            | Metric::User
            | Metric::System
            | Metric::Cpu
            | Metric::P50
            | Metric::P90
            | Metric::P99
            | Metric::P999
            | Metric::LatencyMax
            | Metric::CpuPerRequest
            | Metric::Operation => Unit::Seconds,
            Metric::Rps => Unit::PerSecond,
            Metric::Rss
            | Metric::Pss
            | Metric::Dirty
            | Metric::RssEnd
            | Metric::PssEnd
            | Metric::DirtyEnd
            | Metric::RssGrowth
            | Metric::Virtual
            | Metric::Resident
            | Metric::PrivateDirty => Unit::Bytes,
            _ => Unit::Count,
        }
    }

    /// Which of its figures are the better ones.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Metric::Rps => Direction::HigherIsBetter,
            _ => Direction::LowerIsBetter,
        }
    }

    /// Where it comes from, for a command that ends. A server's memory after a load is read in the timed runs, and what
    /// the program of a row reports is of the run itself.
    #[must_use]
    pub const fn pass(self) -> Pass {
        match (self, self.unit()) {
            (Metric::Virtual | Metric::Resident | Metric::PrivateDirty, _) => Pass::Timed,
            (_, Unit::Bytes) => Pass::Memory,
            (_, Unit::Seconds | Unit::Count | Unit::PerSecond) => Pass::Timed,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no metric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{0}`: expected one of {names}", names = Metric::all().map(Metric::name).collect::<Vec<_>>().join(", "))]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Metric, UnknownMetric> {
        Metric::all().find(|metric| metric.name() == name).ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Metric {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    /// A string: a later version has metrics that this one does not know, and its documents are still valid.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_name() {
        for metric in Metric::all() {
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        let error = "walls".parse::<Metric>().unwrap_err().to_string();
        assert!(error.contains("walls") && error.contains("rss-growth"), "{error}");
    }
}
