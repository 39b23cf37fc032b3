//! Where and how a record was measured.

use crate::load::LoadRecord;
use crate::machine::Machine;
use crate::record::{BenchRecord, Stopped};
use crate::stats::CONFIDENCE;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// The machine that ran the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineSummary {
    /// The processor's model.
    pub processor: String,
    /// Number of processors that could be used.
    pub processors: usize,
    /// Memory of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
    /// The distribution.
    pub system: String,
    /// The frequency governor, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether addresses are randomised.
    pub aslr: bool,
    /// Load average of the last minute before the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_before: Option<f64>,
    /// Load average of the last minute at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_after: Option<f64>,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Method {
    /// Runs of each variant before the first timed one.
    pub warmup: u32,
    /// Blocks of timed runs; in each every variant runs there and back.
    pub blocks: usize,
    /// The seed of the random orders.
    pub seed: u64,
    /// The confidence that intervals aim at.
    pub confidence: f64,
    /// Why measuring ended.
    pub stopped: Stopped,
    /// The stopping rule, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_seconds: Option<f64>,
    /// Time given to a process to settle before its memory counts as that after start-up.
    pub settle_seconds: f64,
    /// How long measuring took in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_seconds: Option<f64>,
}

/// The load on every server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadMethod {
    /// `METHOD URL`.
    pub request: String,
    /// Requests in a second, if they are sent at a fixed rate; else each connection sends the next request when the
    /// answer to the last is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The largest number of connections.
    pub connections: usize,
    /// Threads of the load generator.
    pub threads: usize,
    /// Duration of the load before the measured window.
    pub warmup_seconds: f64,
    /// Duration of the load that is measured.
    pub window_seconds: f64,
    /// Whether the server was started for each run; otherwise it was already running.
    pub starts_server: bool,
}

fn load(hundredths: u64) -> f64 {
    hundredths as f64 / 100.0
}

/// What is known before anything is measured: not the load after it.
impl From<&Machine> for MachineSummary {
    fn from(machine: &Machine) -> MachineSummary {
        let machine = machine.clone();
        MachineSummary {
            processor: machine.processor,
            processors: machine.processors,
            memory_bytes: machine.memory_bytes,
            kernel: machine.kernel,
            system: machine.system,
            governor: machine.governor,
            aslr: machine.aslr,
            load_before: machine.load_hundredths.map(load),
            load_after: None,
        }
    }
}

impl MachineSummary {
    pub(super) fn of(record: &BenchRecord) -> MachineSummary {
        let load_after = record.end.as_ref().and_then(|end| end.load_hundredths).map(load);
        MachineSummary { load_after, ..MachineSummary::from(&record.header.machine) }
    }
}

impl Method {
    pub(super) fn of(record: &BenchRecord) -> Method {
        let (rules, end) = (&record.header.rules, record.end.as_ref());
        Method {
            warmup: rules.warmup,
            blocks: record.samples.iter().map(|sample| sample.block as usize + 1).max().unwrap_or(0),
            seed: rules.seed,
            confidence: CONFIDENCE,
            stopped: end.map_or(Stopped::Interrupted, |end| end.stopped),
            until: rules.until.map(|until| until.to_string()),
            budget_seconds: rules.budget_ns.map(Nanos::seconds),
            settle_seconds: rules.settle_ns.seconds(),
            took_seconds: end.map(|end| end.took_ns.seconds()),
        }
    }
}

impl LoadMethod {
    pub(super) fn of(load: &LoadRecord) -> LoadMethod {
        LoadMethod {
            request: load.request.clone(),
            rate: load.rate,
            connections: load.connections,
            threads: load.threads,
            warmup_seconds: load.warmup_ns.seconds(),
            window_seconds: load.window_ns.seconds(),
            starts_server: load.is_ours,
        }
    }
}
