//! Servers as work: the load that is put on a server, and its results.
//!
//! [`Load`] is part of a candidate, [`LoadRecord`] of the header of a record, [`LoadSample`] of each timed run.

use crate::memory_point::MemoryPoint;
use crate::metric::Metric;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use underpin_load::{LoadPlan, LoadResult, Pace, Request, RequestError};

/// Placeholder for a free port in the words of a server, in the variables that its variant sets and in the request; a
/// different one for each start.
pub const PORT: &str = "{PORT}";

/// Whether underpin starts the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// It is the candidate's command, started for each run and stopped after it.
    Started,
    /// It is already running, keeps running, and nothing is known of its memory.
    Running,
}

/// The load on a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Whether underpin starts it.
    pub server: Server,
    /// `METHOD URL`; may hold [`PORT`].
    pub line: String,
    /// `NAME: VALUE` each.
    pub headers: Vec<String>,
    /// The body of each request.
    pub body: Vec<u8>,
    /// When requests are sent.
    pub pace: Pace,
    /// Threads of the load generator.
    pub threads: usize,
    /// Duration of the load before that.
    pub warmup: Duration,
    /// Duration of the load that is measured.
    pub window: Duration,
    /// A request without an answer after this time has failed.
    pub timeout: Duration,
    /// A server that does not answer after this time since its start is given up.
    pub ready: Duration,
    /// After the load, how long the server takes to settle before its memory is read.
    pub settle: Duration,
}

impl Load {
    /// The request, with a port in place of [`PORT`].
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn request(&self, port: u16) -> Result<Request, RequestError> {
        Request::new(&self.line.replace(PORT, &port.to_string()), &self.headers, &self.body)
    }

    /// The load generator's plan for a window of this length.
    pub(crate) fn plan(&self, request: Request, window: Duration) -> LoadPlan {
        let Load { pace, threads, timeout, .. } = *self;
        LoadPlan { request, pace, threads, warmup: Duration::ZERO, window, timeout }
    }

    /// How long one run takes at least.
    pub(crate) fn least_time(&self) -> Duration {
        self.warmup + self.window + self.settle
    }

    pub(crate) fn record(&self) -> LoadRecord {
        LoadRecord {
            request: self.line.clone(),
            rate: match self.pace {
                Pace::Closed { .. } => None,
                Pace::Open { rate, .. } => Some(rate),
            },
            connections: self.pace.connections(),
            threads: self.threads,
            warmup_ns: self.warmup.into(),
            window_ns: self.window.into(),
            is_ours: self.server == Server::Started,
        }
    }
}

/// The load of an experiment, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// `METHOD URL`.
    pub request: String,
    /// Requests in a second, if they are sent at a fixed rate; else each connection sends the next request when the
    /// answer to the last is in.
    pub rate: Option<f64>,
    /// Connections at most.
    pub connections: usize,
    /// Threads of the load generator.
    pub threads: usize,
    /// Duration of the load before that.
    pub warmup_ns: Nanos,
    /// Duration of the load that is measured.
    pub window_ns: Nanos,
    /// The server was started for each run.
    pub is_ours: bool,
}

/// Requests that failed, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadErrors {
    /// No connection could be made.
    pub connect: u64,
    /// Answered with a status of 400 or above.
    pub status: u64,
    /// The connection broke, or the answer was not HTTP.
    pub broken: u64,
    /// No answer in time.
    pub timed_out: u64,
}

impl LoadErrors {
    /// All of them.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.connect + self.status + self.broken + self.timed_out
    }
}

/// Latencies of one run, each from the moment at which the request was due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50_ns: Nanos,
    /// 90 of 100 are not longer.
    pub p90_ns: Nanos,
    /// 99 of 100 are not longer.
    pub p99_ns: Nanos,
    /// 999 of 1000 are not longer.
    pub p999_ns: Nanos,
    /// The longest.
    pub max_ns: Nanos,
    /// The whole distribution: at each share of [`Latency::SHARES`], the latency that this share does not exceed.
    pub curve_ns: Vec<Nanos>,
}

impl Latency {
    /// The shares of the curve.
    pub const SHARES: [f64; 16] =
        [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0];
}

/// The results of the load of one timed run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSample {
    /// How long the load counted.
    pub window_ns: Nanos,
    /// Requests that were due in that time and got a good answer.
    pub requests: u64,
    /// Good answers within that time.
    pub answered: u64,
    /// Good answers that needed a second try: the connection was closed before a byte of the answer. The time of both
    /// tries is in the answer time.
    #[serde(default)]
    pub sent_again: u64,
    /// Good answers with a status of 300 or above: the server sends the client elsewhere, and did not do the work here.
    #[serde(default)]
    pub redirected: u64,
    /// Requests that failed.
    pub errors: LoadErrors,
    /// Why the first of them failed, a clause about the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// At a fixed rate: requests whose turn never came; their waiting is in the latencies, as is that of time-outs.
    pub unsent: u64,
    /// Bytes of answers.
    pub bytes: Bytes,
    /// How long answers took; `None` without any.
    pub latency: Option<Latency>,
    /// Processor time of the server and its children; `None` if the server is not ours.
    pub cpu_ns: Option<Nanos>,
    /// Memory of the server and its children after the warm-up.
    pub memory_before: Option<MemoryPoint>,
    /// The same after the load.
    pub memory_after: Option<MemoryPoint>,
    /// The share of the time that the load generator's busiest thread kept a processor, in thousandths.
    pub busy_thousandths: u32,
    /// At a fixed rate: how much later than due the generator's own timer woke it, on average.
    pub lag_ns: Nanos,
}

impl LoadSample {
    pub(crate) fn new(result: &LoadResult) -> LoadSample {
        let latencies = &result.latencies;
        let at = |share: f64| latencies.quantile(share).map(Nanos::from);
        let latency = || {
            Some(Latency {
                p50_ns: at(0.5)?,
                p90_ns: at(0.9)?,
                p99_ns: at(0.99)?,
                p999_ns: at(0.999)?,
                max_ns: latencies.longest()?.into(),
                curve_ns: Latency::SHARES.into_iter().filter_map(at).collect(),
            })
        };
        let errors = result.errors;
        LoadSample {
            window_ns: result.window.into(),
            requests: result.requests,
            answered: result.answered,
            errors: LoadErrors {
                connect: errors.connect,
                status: errors.status,
                broken: errors.broken,
                timed_out: errors.timed_out,
            },
            sent_again: result.sent_again,
            redirected: result.redirected,
            first_failure: result.first_failure.clone(),
            unsent: result.unsent,
            bytes: Bytes(result.bytes),
            latency: latency(),
            busy_thousandths: (result.busy * 1000.0).round() as u32,
            lag_ns: result.lag.into(),
            ..LoadSample::default()
        }
    }

    /// Good answers in a second.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        let seconds = self.window_ns.seconds();
        if seconds > 0.0 { self.answered as f64 / seconds } else { 0.0 }
    }

    /// A figure of it, in base units.
    pub(crate) fn figure(&self, metric: Metric) -> Option<f64> {
        let latency = |of: fn(&Latency) -> Nanos| self.latency.as_ref().map(|latency| of(latency).seconds());
        let after = |of: fn(&MemoryPoint) -> Bytes| self.memory_after.as_ref().map(|point| of(point).0 as f64);
        match metric {
            Metric::Rps => Some(self.requests_per_second()),
            Metric::P50 => latency(|latency| latency.p50_ns),
            Metric::P90 => latency(|latency| latency.p90_ns),
            Metric::P99 => latency(|latency| latency.p99_ns),
            Metric::P999 => latency(|latency| latency.p999_ns),
            Metric::LatencyMax => latency(|latency| latency.max_ns),
            Metric::Errors => Some((self.errors.total() + self.unsent) as f64),
            Metric::CpuPerRequest if self.answered > 0 => Some(self.cpu_ns?.seconds() / self.answered as f64),
            Metric::RssEnd => after(MemoryPoint::held),
            Metric::PssEnd => after(|point| point.pss),
            Metric::DirtyEnd => after(|point| point.private_dirty),
            Metric::RssGrowth => Some(self.memory_before?.growth_to(&self.memory_after?)),
            _ => None,
        }
    }
}
