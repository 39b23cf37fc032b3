//! The server's own metrics.

use super::timers::Cut;
use foolsgold_core::metrics::{Counter, Histogram, MetricError, Registry, SECONDS};
use foolsgold_core::work::{BodyError, Mode, RequestOutcome, Timings};
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;

/// The modes in the order of their counters; `None` is for requests that needed no interpreter.
const MODES: [Option<Mode>; 4] = [Some(Mode::SharedNothing), Some(Mode::Prefork), Some(Mode::Fresh), None];

/// Classes of status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// What is counted for each request and connection.
#[derive(Debug)]
pub(super) struct Measures {
    requests: Vec<Vec<Arc<Counter>>>,
    duration: Arc<Histogram>,
    queued: Arc<Histogram>,
    ruby: Arc<Histogram>,
    broken: Arc<Counter>,
    ends: [(RequestOutcome, Arc<Counter>); 4],
    cuts: [(Cut, Arc<Counter>); 4],
    slow_bodies: Arc<Counter>,
    large_bodies: Arc<Counter>,
    /// Connections accepted.
    pub(super) accepted: Arc<Counter>,
    /// Requests refused because they are malformed; they reach neither the application nor the access log.
    pub(super) malformed: Arc<Counter>,
    /// Requests refused because the queue was full.
    pub(super) full: Arc<Counter>,
    /// Reloads that failed.
    pub(super) failed_reloads: Arc<Counter>,
}

impl Measures {
    pub(super) fn new(registry: &Registry) -> Result<Measures, MetricError> {
        let requests = |mode: &Option<Mode>| {
            let mode = mode.map_or("none", Mode::name);
            let class = |class: &&str| {
                let labels = [("mode", mode), ("status", *class)];
                registry.counter("foolsgold_requests_total", "Requests by mode and class of status.", &labels)
            };
            CLASSES.iter().map(class).collect::<Result<Vec<_>, _>>()
        };
        let histogram = |name, help| registry.histogram(name, help, &[], &SECONDS);
        let ended = |end, how| {
            let help = "Requests that ended in the interpreter other than by an answer.";
            registry.counter("foolsgold_failed_requests_total", help, &[("how", how)]).map(|counter| (end, counter))
        };
        let timeout = |what| registry.counter("foolsgold_timeouts_total", "Clients cut off.", &[("what", what)]);
        let cut = |why: Cut| timeout(why.label()).map(|counter| (why, counter));
        Ok(Measures {
            requests: MODES.iter().map(requests).collect::<Result<_, _>>()?,
            duration: histogram("foolsgold_request_seconds", "From the head of a request to the end of its answer.")?,
            queued: histogram("foolsgold_queue_seconds", "Time of requests in the queue.")?,
            ruby: histogram("foolsgold_ruby_seconds", "Time of requests in Ruby.")?,
            broken: registry.counter(
                "foolsgold_broken_answers_total",
                "Answers that were not sent to their end.",
                &[],
            )?,
            ends: [
                ended(RequestOutcome::Raised, "raised")?,
                ended(RequestOutcome::OutOfTime, "out-of-time")?,
                ended(RequestOutcome::OutOfMemory, "out-of-memory")?,
                ended(RequestOutcome::Expired, "expired")?,
            ],
            cuts: [cut(Cut::SlowHead)?, cut(Cut::SlowReader)?, cut(Cut::SlowRequest)?, cut(Cut::Shutdown)?],
            slow_bodies: timeout("body")?,
            large_bodies: registry.counter("foolsgold_large_bodies_total", "Bodies refused for their size.", &[])?,
            accepted: registry.counter("foolsgold_connections_total", "Connections accepted.", &[])?,
            malformed: registry.counter("foolsgold_malformed_total", "Requests that were malformed.", &[])?,
            full: registry.counter("foolsgold_full_total", "Requests refused because the queue was full.", &[])?,
            failed_reloads: registry.counter("foolsgold_failed_reloads_total", "Reloads that failed.", &[])?,
        })
    }

    /// Counts a request that has ended.
    pub(super) fn ended(&self, status: StatusCode, duration: Duration, timings: &Timings, broken: bool) {
        let mode = MODES.iter().position(|mode| *mode == timings.mode).unwrap_or(MODES.len() - 1);
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        self.requests[mode][class].inc();
        self.duration.observe(duration.as_secs_f64());
        if timings.mode.is_some() {
            self.queued.observe(timings.queued.as_secs_f64());
            self.ruby.observe(timings.ruby.as_secs_f64());
        }
        if let Some((_, counter)) = self.ends.iter().find(|(end, _)| *end == timings.outcome) {
            counter.inc();
        }
        if broken {
            self.broken.inc();
        }
    }

    /// Counts a connection that was cut, if it was.
    pub(super) fn cut(&self, why: Option<Cut>) {
        if let Some((_, counter)) = self.cuts.iter().find(|(cut, _)| Some(*cut) == why) {
            counter.inc();
        }
    }

    /// Counts a refused body.
    pub(super) fn body(&self, error: BodyError) {
        match error {
            BodyError::Broken => {}
            BodyError::TooLarge => self.large_bodies.inc(),
            BodyError::TooSlow => self.slow_bodies.inc(),
        }
    }
}
