//! Running commands on this machine: for time with nothing around it, for memory while it is watched.

use crate::candidate::{Candidate, CommandLine};
use crate::error::BenchError;
use crate::executor::{Executor, Iteration};
use crate::launch::{Environment, LONGEST, STOP, limits, locate, outcome};
use crate::memory::{EVERY, MemoryWatch};
use crate::metric::Metric;
use crate::outcome::RunOutcome;
use crate::outside;
use crate::record::{MemoryRun, MissingMetric, Sampled, TimedRun};
use crate::reported;
use crate::serve::Service;
use crate::stats::Random;
use crate::streams::StreamsPlan;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::time::{Duration, Instant};
use underpin_sys::{
    CountedEvent, Counter, HardwareCounter, LaunchError, Limits, Run, Spawn, SysError, end_requests, find_program,
};

/// Runs commands on this machine.
#[derive(Debug)]
pub struct RealExecutor {
    begun: Instant,
    streams: StreamsPlan,
    prepared: HashMap<String, Spawn>,
    counters: Vec<Counter>,
    absent: Vec<MissingMetric>,
    /// Why no process can be traced here, once that is known.
    denied: Option<String>,
    random: Random,
    /// `HYPERFINE_ITERATION` of the next run, as hyperfine sets it.
    iteration: Option<CString>,
}

/// The variable whose length shifts the stack from run to run: the alignment of the stack alone can make a difference
/// of several per cent (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", 2009).
const PADDING: &str = "UNDERPIN_PADDING=";
/// The longest padding: a page less the name.
const PADDING_BYTES: usize = 4000;
/// The variable that tells a command which run it is.
const ITERATION: &str = "HYPERFINE_ITERATION";

impl RealExecutor {
    /// An executor that counts those of these events that the machine has. Use it from the thread that makes it.
    #[must_use]
    pub fn new(streams: StreamsPlan, counters: &[HardwareCounter], seed: u64) -> RealExecutor {
        let (mut open, mut absent) = (Vec::new(), Vec::new());
        for &counter in counters {
            match Counter::open(CountedEvent::Hardware(counter)) {
                Ok(counter) => open.push(counter),
                Err(error) => {
                    absent.push(MissingMetric { metric: Metric::Counter(counter), reason: counter_reason(&error) });
                }
            }
        }
        RealExecutor {
            begun: Instant::now(),
            streams,
            prepared: HashMap::new(),
            counters: open,
            absent,
            denied: None,
            // Independent of the numbers that the order of the runs is drawn from.
            random: Random::new(!seed),
            iteration: None,
        }
    }

    fn padding(&mut self) -> Option<CString> {
        let length = self.random.below(PADDING_BYTES);
        CString::new(format!("{PADDING}{}", "x".repeat(length))).ok()
    }

    fn memory_watch<'a>(
        &self,
        candidate: &'a Candidate,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<MemoryWatch<'a>, BenchError> {
        let launch = |source| BenchError::Launch { name: candidate.name.clone(), source };
        let (program, mut environment) = locate(candidate).map_err(launch)?;
        if let Some((name, value)) = self.iteration.as_ref().and_then(|text| text.to_str().ok()?.split_once('=')) {
            environment.retain(|(other, _)| other != name);
            environment.push((name.into(), value.into()));
        }
        let streams = self.streams.with_output(candidate.command.output()).open()?;
        Ok(MemoryWatch { program, words: candidate.words(), environment, streams, timeout, settle, candidate })
    }

    fn prepared(&mut self, candidate: &Candidate) -> Result<&Spawn, BenchError> {
        if !self.prepared.contains_key(&candidate.name) {
            let launch = |source| BenchError::Launch { name: candidate.name.clone(), source };
            let (program, mut environment) = locate(candidate).map_err(launch)?;
            environment.retain(|(name, _)| name != ITERATION);
            let streams = self.streams.with_output(candidate.command.output()).open()?;
            let spawn = Spawn::new(program, &candidate.words(), &environment, streams)
                .and_then(|spawn| spawn.in_directory(candidate.command.directory()))
                .map_err(launch)?;
            self.prepared.insert(candidate.name.clone(), spawn);
        }
        Ok(&self.prepared[&candidate.name])
    }
}

/// Why a counter is absent, as a clause.
fn counter_reason(error: &SysError) -> String {
    const ENOENT: i32 = 2;
    const EACCES: i32 = 13;
    const EPERM: i32 = 1;
    const ENODEV: i32 = 19;
    const EOPNOTSUPP: i32 = 95;
    match error.errno {
        ENOENT | ENODEV | EOPNOTSUPP => "this processor, or the virtual machine, has no such counter".to_owned(),
        EACCES | EPERM => match underpin_sys::perf_event_paranoid() {
            Some(level) if level > 2 => {
                format!("kernel.perf_event_paranoid is {level}: `sudo sysctl kernel.perf_event_paranoid=2` allows it")
            }
            _ => "it is not allowed here, as in many containers".to_owned(),
        },
        _ => error.to_string(),
    }
}

impl Executor for RealExecutor {
    fn announce(&mut self, iteration: Iteration) {
        self.iteration = CString::new(format!("{ITERATION}={iteration}")).ok();
    }

    fn run(&mut self, candidate: &Candidate, timeout: Option<Duration>) -> Result<TimedRun, BenchError> {
        let padding = self.padding();
        if let Some(load) = &candidate.load {
            let streams = &self.streams.with_output(candidate.command.output());
            return Service { candidate, load, streams, padding }.timed();
        }
        let more: Vec<CString> = padding.into_iter().chain(self.iteration.take()).collect();
        self.prepared(candidate)?;
        let launch = |source| BenchError::Launch { name: candidate.name.clone(), source };
        let limits = limits(timeout);
        if let Some(file) = &candidate.reports {
            reported::make_ready(&candidate.name, file)?;
        }
        let before = self.counters.iter().map(Counter::read).collect::<Result<Vec<_>, _>>()?;
        let run: Run = self.prepared[&candidate.name].run(&more, limits).map_err(launch)?;
        let outcome = outcome(run.end)?;
        let mut counters = BTreeMap::new();
        for (counter, before) in self.counters.iter().zip(before) {
            let reading = counter.read()?.since(before);
            // A count for part of the time would be an estimate, and is left out.
            if let (CountedEvent::Hardware(which), true) = (counter.event, reading.is_whole()) {
                counters.insert(which.name().to_owned(), reading.count);
            }
        }
        let reported = match &candidate.reports {
            Some(file) if outcome == RunOutcome::Exited(0) => Some(reported::read(&candidate.name, file)?),
            _ => None,
        };
        Ok(TimedRun { wall: run.wall, usage: run.usage, counters, outcome, load: None, reported })
    }

    fn watch(
        &mut self,
        candidate: &Candidate,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError> {
        if let Some(load) = &candidate.load {
            let streams = &self.streams.with_output(candidate.command.output());
            return Service { candidate, load, streams, padding: None }.watched();
        }
        if self.denied.is_none() {
            match self.memory_watch(candidate, timeout, settle)?.run() {
                Err(BenchError::Launch { source: LaunchError::Denied(denied), .. }) => {
                    self.denied = Some(denied.to_string());
                }
                other => return other.map(Ok),
            }
        }
        outside::watch(self.memory_watch(candidate, timeout, settle)?)
    }

    fn prove(&mut self, candidate: &Candidate, timeout: Option<Duration>) -> Result<(), BenchError> {
        match &candidate.load {
            Some(load) => {
                let streams = &self.streams.with_output(candidate.command.output());
                Service { candidate, load, streams, padding: None }.proven()
            }
            None => self.watch(candidate, timeout, Duration::ZERO).map(drop),
        }
    }

    fn hook(&mut self, hook: &'static str, command: &CommandLine) -> Result<(), BenchError> {
        let launch = |source| BenchError::Launch { name: format!("the {hook} command"), source };
        let path = std::env::var_os("PATH");
        let program = command.words().first().ok_or(BenchError::Nothing)?;
        let program = find_program(&command.from_here(program), path.as_deref()).map_err(launch)?;
        let environment: Environment = std::env::vars_os().collect();
        let spawn =
            Spawn::new(program, command.words(), &environment, self.streams.with_output(command.output()).open()?)
                .and_then(|spawn| spawn.in_directory(command.directory()))
                .map_err(launch)?;
        // A clean-up command is stopped only by a further request.
        let requests = if hook == "cleanup" { STOP.max(end_requests()) + 1 } else { STOP };
        let limits = Limits { timeout: Some(LONGEST), requests };
        // It stays in our process group: it may ask for a password on the terminal.
        let run = spawn.start(&[], false).and_then(|started| started.within(limits)).map_err(launch)?;
        match outcome(run.end)? {
            RunOutcome::Exited(0) => Ok(()),
            outcome => Err(BenchError::Hook { hook, command: command.to_string(), outcome }),
        }
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn missing(&self) -> Vec<MissingMetric> {
        self.absent.clone()
    }

    fn sampled(&self) -> Option<Sampled> {
        self.denied.clone().map(|reason| Sampled { every_ns: EVERY.into(), reason })
    }

    fn end_requests(&self) -> u32 {
        end_requests()
    }
}
