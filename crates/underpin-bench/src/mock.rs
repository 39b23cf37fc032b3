//! A model of a machine with a clock of its own: `sleep 0.5` advances it by half a second and takes no real time.
//!
//! For snapshots of screens and tests of the schedule. Noise comes from a seed. Commands: `sleep SECONDS`, then any of
//! `memory=MEBIBYTES`, `noise=SHARE`, `status=N`. A server is `serve REQUESTS-PER-SECOND` with the same options, and
//! `errors=N`; one that underpin did not start answers 1,000 in a second.

use crate::candidate::{Candidate, CommandLine};
use crate::error::BenchError;
use crate::executor::Executor;
use crate::load::{Latency, Load, LoadErrors, LoadSample, Server};
use crate::memory_point::MemoryPoint;
use crate::metric::Metric;
use crate::outcome::RunOutcome;
use crate::record::{MemoryRun, MissingMetric, ProcessPeak, TimedRun};
use crate::stats::Random;
use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::time::Duration;
use underpin_load::Pace;
use underpin_sys::{HardwareCounter, LaunchError, Usage};

/// Runs nothing.
#[derive(Clone, Debug)]
pub struct MockExecutor {
    clock: Duration,
    random: Random,
    /// The names of the candidates and hooks, in the order in which they ran.
    pub log: Vec<String>,
    /// Everything takes longer by this share for each second that has passed: a machine that grows warm.
    pub drift: f64,
}

impl MockExecutor {
    /// A machine whose noise comes from a seed.
    #[must_use]
    pub fn new(seed: u64) -> MockExecutor {
        MockExecutor { clock: Duration::ZERO, random: Random::new(seed), log: Vec::new(), drift: 0.0 }
    }
}

/// What a command of the model does.
struct Model {
    seconds: f64,
    bytes: f64,
    noise: f64,
    status: i32,
}

fn model(candidate: &Candidate) -> Result<Model, BenchError> {
    let mut model = Model { seconds: f64::NAN, bytes: 8e6, noise: 0.02, status: 0 };
    let words: Vec<_> = candidate.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    for word in &words {
        match word.split_once('=') {
            Some(("memory", text)) => model.bytes = text.parse::<f64>().unwrap_or(8.0) * 1024.0 * 1024.0,
            Some(("noise", text)) => model.noise = text.parse().unwrap_or(0.0),
            Some(("status" | "errors", text)) => model.status = text.parse().unwrap_or(1),
            _ => model.seconds = word.parse().unwrap_or(model.seconds),
        }
    }
    let known = words.first().is_some_and(|word| word == "sleep") && model.seconds.is_finite();
    let unknown = || LaunchError::NotFound { program: candidate.command.to_string().into() };
    if known { Ok(model) } else { Err(BenchError::Launch { name: candidate.name.clone(), source: unknown() }) }
}

/// What a server of the model does; its `seconds` are the requests that it answers in a second.
fn served(candidate: &Candidate) -> Result<Model, BenchError> {
    let load = candidate.load.as_ref();
    if load.is_some_and(|load| load.server == Server::Running) {
        return Ok(Model { seconds: 1000.0, bytes: 0.0, noise: 0.02, status: 0 });
    }
    let mut words = candidate.words();
    let known = words.first().is_some_and(|word| word == "serve");
    if known {
        words[0] = "sleep".into();
    }
    let variant = crate::Variant { wrapper: words, ..crate::Variant::default() };
    model(&Candidate { variant, ..candidate.clone() })
}

impl MockExecutor {
    /// A run of a server: answer times that follow from the number of connections (Little's law), with a tail.
    fn serve(&mut self, candidate: &Candidate, load: &Load) -> Result<TimedRun, BenchError> {
        let model = served(candidate)?;
        self.log.push(candidate.name.clone());
        let noise = 1.0 - model.noise * self.random.unit();
        let rate = match load.pace {
            Pace::Closed { .. } => model.seconds * noise,
            Pace::Open { rate, .. } => rate.min(model.seconds * noise),
        };
        let window = load.window.as_secs_f64();
        let mean = load.pace.connections() as f64 / (model.seconds * noise);
        let at = |factor: f64| Nanos((mean * factor * 1e9) as u64);
        let answered = (rate * window) as u64;
        let is_ours = load.server == Server::Started;
        let memory = |share: f64| {
            let bytes = |of: f64| Bytes((model.bytes * share * of) as u64);
            let (rss, pss, private_dirty) = (bytes(1.0), bytes(0.9), bytes(0.8));
            let point = MemoryPoint { at_ns: Nanos(0), rss, pss, private_dirty, processes: 1 };
            is_ours.then_some(point)
        };
        let curve = Latency::SHARES.map(|share| at(0.7 + share.powi(8) * 4.0));
        let sample = LoadSample {
            window_ns: load.window.into(),
            requests: answered,
            answered,
            bytes: Bytes(answered * 850),
            errors: LoadErrors { timed_out: u64::try_from(model.status).unwrap_or(0), ..LoadErrors::default() },
            first_failure: (model.status > 0).then(|| "it accepts connections and does not answer in time".to_owned()),
            latency: Some(Latency {
                p50_ns: at(0.9),
                p90_ns: at(1.6),
                p99_ns: at(2.5),
                p999_ns: at(4.0),
                max_ns: at(6.0),
                curve_ns: curve.to_vec(),
            }),
            cpu_ns: is_ours.then_some(Nanos((window * 0.9e9) as u64)),
            memory_before: memory(0.4),
            memory_after: memory(1.0),
            busy_thousandths: 300,
            ..LoadSample::default()
        };
        self.clock += load.least_time();
        let (usage, counters) = (Usage::default(), BTreeMap::new());
        Ok(TimedRun {
            wall: load.window,
            usage,
            counters,
            outcome: RunOutcome::Exited(0),
            load: Some(sample),
            reported: None,
        })
    }
}

impl Executor for MockExecutor {
    fn run(&mut self, candidate: &Candidate, timeout: Option<Duration>) -> Result<TimedRun, BenchError> {
        if let Some(load) = &candidate.load {
            return self.serve(candidate, load);
        }
        let model = model(candidate)?;
        self.log.push(candidate.name.clone());
        let slower = 1.0 + self.drift * self.clock.as_secs_f64();
        let noise = 1.0 + model.noise * -self.random.unit().ln();
        let wall = Duration::from_secs_f64(model.seconds * noise * slower);
        let (wall, outcome) = match timeout {
            Some(timeout) if wall > timeout => (timeout, RunOutcome::TimedOut),
            _ => (wall, RunOutcome::Exited(model.status)),
        };
        self.clock += wall;
        let usage = Usage {
            user: wall.mul_f64(0.7),
            system: wall.mul_f64(0.1),
            minor_faults: (model.bytes / 4096.0) as u64,
            major_faults: 0,
            voluntary_switches: 2,
            involuntary_switches: 1,
        };
        Ok(TimedRun { wall, usage, counters: BTreeMap::new(), outcome, load: None, reported: None })
    }

    fn watch(
        &mut self,
        candidate: &Candidate,
        _: Option<Duration>,
        settle: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError> {
        if candidate.load.as_ref().is_some_and(|load| load.server == Server::Running) {
            return Ok(Err("underpin did not start the server".to_owned()));
        }
        let seconds = candidate.load.as_ref().map(|load| load.window.as_secs_f64());
        let model = match seconds {
            None => model(candidate)?,
            Some(seconds) => Model { seconds, status: 0, ..served(candidate)? },
        };
        self.log.push(format!("watch {}", candidate.name));
        self.clock += Duration::from_secs_f64(model.seconds);
        let peak = (model.bytes * (1.0 + 0.01 * self.random.unit())).round();
        let point = |at: f64, share: f64| {
            let bytes = |of: f64| Bytes((peak * share * of) as u64);
            let at_ns = Nanos((at * 1e9) as u64);
            MemoryPoint { at_ns, rss: bytes(1.0), pss: bytes(0.8), private_dirty: bytes(0.6), processes: 1 }
        };
        let settled = settle.as_secs_f64() < model.seconds;
        let series = (0..=10).map(|step| f64::from(step) / 10.0).map(|at| point(at * model.seconds, 0.2 + 0.8 * at));
        Ok(Ok(MemoryRun {
            variant: 0,
            block: 0,
            peak_rss: Bytes(peak as u64),
            peak_bound: None,
            step_ns: None,
            peak_pss: Bytes((peak * 0.8) as u64),
            peak_private_dirty: Bytes((peak * 0.6) as u64),
            at_start: settled.then(|| point(settle.as_secs_f64(), 0.3)),
            at_end: Some(point(model.seconds, 1.0)),
            at_exit: None,
            series: series.collect(),
            processes: vec![ProcessPeak { name: "sleep".to_owned(), peak_rss: Bytes(peak as u64) }],
            process_count: 1,
            left_behind: 0,
            outcome: RunOutcome::Exited(model.status),
        }))
    }

    fn hook(&mut self, hook: &'static str, command: &CommandLine) -> Result<(), BenchError> {
        self.log.push(format!("{hook} {command}"));
        if command.to_string() == "false" {
            return Err(BenchError::Hook { hook, command: command.to_string(), outcome: RunOutcome::Exited(1) });
        }
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }

    fn missing(&self) -> Vec<MissingMetric> {
        let reason = "the machine is a model".to_owned();
        vec![MissingMetric { metric: Metric::Counter(HardwareCounter::Cycles), reason }]
    }
}
