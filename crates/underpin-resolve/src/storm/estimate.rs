//! From operations to the time in which a whole job has started, with its uncertainty.

use super::client::{Operations, Retention};
use super::filesystem::{FileSystem, Serves};
use super::queue::{Class, Station, lower_bound, response, work};
use serde::Serialize;
use std::time::Duration;

/// How far the model itself is off if its parameters are known: the goal of the comparison with the FUSE file system
/// (`docs/bench/storm-model.md`).
pub const MODEL_DOUBT: f64 = 0.2;

/// Seconds of processor time are taken to be uncertain by this factor unless they were measured.
pub(super) const PROCESSOR_DOUBT: f64 = 2.0;

/// A job of equal processes that start at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormJob {
    /// Nodes.
    pub nodes: u32,
    /// Processes per node.
    pub per_node: u32,
    /// Processors per node that may run them.
    pub cores: u32,
    /// Processor time of one start without the file system: mapping, relocation, initialisers.
    pub processor: Duration,
    /// Whether `processor` was measured or given, not guessed.
    pub processor_known: bool,
}

/// What the first and every other process of a node requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeDemand {
    /// The first, with empty caches.
    pub first: Operations,
    /// Each of the others.
    pub next: Operations,
    /// Directories that a node asks about again when their time to live is over.
    pub directories: u64,
}

impl NodeDemand {
    /// The same job started once more, while the nodes still remember what the first start fetched.
    #[must_use]
    pub fn following(&self) -> NodeDemand {
        NodeDemand { first: self.next, ..*self }
    }
}

/// What the time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// One operation after another, each with a round trip to the server.
    Latency,
    /// The server's operations per second.
    Rate,
    /// The server's bytes per second.
    Bandwidth,
    /// The processors of the nodes.
    Processor,
}

/// When a job has started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Seconds until the last process has started.
    pub seconds: f64,
    /// The same with every uncertain parameter at its better end.
    pub low: f64,
    /// And at its worse end.
    pub high: f64,
    /// What most of it is spent on.
    pub limit: Limit,
    /// Operations at the server, all nodes together.
    pub operations: u64,
    /// Bytes that the server sends.
    pub bytes: u64,
    /// Operations of all nodes that are repeated because a time to live is over.
    pub renewed: u64,
}

/// When a job has started on a file system.
#[must_use]
pub fn estimate(demand: &NodeDemand, job: &StormJob, fs: &FileSystem) -> Estimate {
    let middle = Case::new(demand, job, fs, 0.0);
    let seconds = middle.seconds();
    let (better, worse) = (Case::new(demand, job, fs, -1.0), Case::new(demand, job, fs, 1.0));
    let (nodes, others) = (u64::from(job.nodes), u64::from(job.per_node.saturating_sub(1)));
    let renewed = middle.renewals(seconds) * demand.directories * nodes;
    Estimate {
        seconds,
        low: better.seconds() * (1.0 - MODEL_DOUBT),
        high: worse.seconds() * (1.0 + MODEL_DOUBT),
        limit: middle.limit(seconds),
        operations: nodes * (demand.first.total() + others * demand.next.total()) + renewed,
        bytes: nodes * (demand.first.bytes + others * demand.next.bytes),
        renewed,
    }
}

/// The network of queues for one choice of the uncertain parameters.
struct Case<'a> {
    job: &'a StormJob,
    fs: &'a FileSystem,
    demand: &'a NodeDemand,
    /// -1, 0 or 1: better, likely, worse.
    side: f64,
}

const RATE: usize = 0;
const BANDWIDTH: usize = 1;
const PROCESSOR: usize = 2;

impl<'a> Case<'a> {
    fn new(demand: &'a NodeDemand, job: &'a StormJob, fs: &'a FileSystem, side: f64) -> Case<'a> {
        Case { job, fs, demand, side }
    }

    /// A parameter with its uncertainty, larger being worse.
    fn cost(&self, value: f64, doubt: f64) -> f64 {
        value * doubt.max(1.0).powf(self.side)
    }

    fn stations(&self) -> [Station; 3] {
        let shared = self.fs.server.serves == Serves::Job;
        [
            Station { shared, variation: self.fs.server.variation },
            Station { shared: true, variation: 0.0 },
            Station { shared: false, variation: 1.0 },
        ]
    }

    fn class(&self, operations: &Operations, per_node: u32, again: u64) -> Class {
        let server = &self.fs.server;
        let (metadata, reads) = ((operations.metadata() + again) as f64, operations.reads as f64);
        let latency = self.cost(server.latency.as_secs_f64(), server.latency_doubt);
        let service = server.rate.map_or(0.0, |rate| self.cost(1.0 / rate, server.rate_doubt));
        let byte = server.bandwidth.map_or(0.0, |rate| self.cost(1.0 / rate, server.bandwidth_doubt));
        let doubt = if self.job.processor_known { 1.0 } else { PROCESSOR_DOUBT };
        let processor = self.cost(self.job.processor.as_secs_f64(), doubt)
            + (metadata + reads) * server.client_processor.as_secs_f64();
        let cores = f64::from(self.job.cores.max(1));
        // A machine of several processors is a faster one behind a delay (Seidmann et al. 1987); with no more
        // processes than processors none waits.
        let crowded = f64::from(self.job.per_node) > cores;
        let share = if crowded { 1.0 / cores } else { 0.0 };
        Class {
            per_node: f64::from(per_node),
            delay: (metadata + reads) * latency
                + metadata * server.client_wait.as_secs_f64()
                + reads * server.client_wait.as_secs_f64()
                + processor * (1.0 - share),
            demands: vec![(metadata + reads) * service, operations.bytes as f64 * byte, processor * share],
        }
    }

    fn classes(&self, again: u64) -> [Class; 2] {
        [
            self.class(&self.demand.first, self.job.per_node.min(1), again),
            self.class(&self.demand.next, self.job.per_node.saturating_sub(1), again),
        ]
    }

    fn seconds(&self) -> f64 {
        let nodes = f64::from(self.job.nodes);
        let once = response(nodes, &self.stations(), &self.classes(0));
        let again = self.renewals(once) * self.demand.directories;
        if again == 0 { once } else { response(nodes, &self.stations(), &self.classes(again)) }
    }

    /// How often a time to live expires within so many seconds.
    fn renewals(&self, seconds: f64) -> u64 {
        match self.fs.client.found {
            Retention::For(time) if !time.is_zero() => (seconds / time.as_secs_f64()) as u64,
            _ => 0,
        }
    }

    fn limit(&self, seconds: f64) -> Limit {
        let (nodes, stations, classes) = (f64::from(self.job.nodes), self.stations(), self.classes(0));
        debug_assert!(lower_bound(nodes, &stations, &classes) <= seconds * 1.001);
        let busy = |at| work(nodes, &stations, &classes, at);
        let full = [(RATE, Limit::Rate), (BANDWIDTH, Limit::Bandwidth), (PROCESSOR, Limit::Processor)];
        let fullest = full.into_iter().max_by(|(one, _), (two, _)| busy(*one).total_cmp(&busy(*two)));
        let alone = self.job.processor.as_secs_f64();
        match fullest {
            Some((at, limit)) if busy(at) > seconds / 2.0 => limit,
            _ if alone > seconds / 2.0 => Limit::Processor,
            _ => Limit::Latency,
        }
    }
}
