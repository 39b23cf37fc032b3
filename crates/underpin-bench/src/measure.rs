//! Carrying out an experiment: set-up, warm-up, timed blocks until a rule says stop, watched runs, clean-up.
//!
//! Every run is passed to the observer as soon as it is done, so that nothing is lost when a later one fails.

use crate::candidate::{Candidate, CommandLine};
use crate::compare::{least_blocks_at, level, paired_ratio};
use crate::error::BenchError;
use crate::executor::{Executor, Iteration};
use crate::launch::LONGEST;
use crate::load::Load;
use crate::machine::{Machine, load_hundredths};
use crate::metric::{Metric, Pass};
use crate::observer::Observer;
use crate::outcome::RunOutcome;
use crate::record::{
    BenchRecord, End, Header, MemoryRun, MissingMetric, RowName, Sample, Stopped, TimedRun, VariantRecord,
};
use crate::rules::{Rules, StoppingRule};
use crate::schedule::Schedule;
use crate::stats::{Bootstrap, median_interval};
use crate::units::Nanos;
use std::time::Duration;

/// What is to be measured, and how.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The columns of the comparison; names are unique.
    pub candidates: Vec<Candidate>,
    /// The index of the one that the others are compared with.
    pub reference: usize,
    /// How.
    pub rules: Rules,
    /// The version of underpin.
    pub version: String,
    /// Seconds since 1970.
    pub started: u64,
    /// Where.
    pub machine: Machine,
    /// The row of a suite that it is.
    pub row: Option<RowName>,
}

/// The share of a budget that timed runs may take if memory is watched too.
const TIMED_SHARE: f64 = 0.8;

/// Measures.
///
/// # Errors
/// The first failure; what was measured before it went to the observer, and clean-up commands have run.
pub fn measure(
    experiment: &Experiment,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<BenchRecord, BenchError> {
    if experiment.candidates.is_empty() {
        return Err(BenchError::Nothing);
    }
    let header = experiment.header();
    observer.begin(&header)?;
    let record = BenchRecord { header, samples: Vec::new(), memory: Vec::new(), end: None };
    let timed = vec![0; experiment.candidates.len()];
    let mut session = Session { experiment, executor, observer, record, missing: Vec::new(), timed };
    let result = session.carry_out();
    let cleaned = session.each_once("cleanup", |candidate| candidate.hooks.cleanup.as_ref());
    let stopped = match result {
        // What was measured so far is shown; without any sample the interruption is an error.
        Err(BenchError::Interrupted) if !session.record.samples.is_empty() => Stopped::Interrupted,
        // A command that is ended by the same Ctrl-C as this process has not failed.
        Err(BenchError::Failed { .. } | BenchError::Hook { .. } | BenchError::ServerEnded { .. })
            if session.is_asked_to_end() && !session.record.samples.is_empty() =>
        {
            Stopped::Interrupted
        }
        other => other?,
    };
    cleaned?;
    session.finish(stopped)
}

impl Experiment {
    fn header(&self) -> Header {
        let words =
            |candidate: &Candidate| candidate.words().iter().map(|word| word.to_string_lossy().into()).collect();
        let environment = |candidate: &Candidate| {
            let text = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
            let changes = &candidate.variant.changes;
            changes.iter().map(|(name, value)| (text(name), value.as_ref().map(text))).collect()
        };
        let variant = |candidate: &Candidate| VariantRecord {
            name: candidate.name.clone(),
            command: words(candidate),
            environment: environment(candidate),
            is_copy: candidate.is_copy,
        };
        Header {
            started: self.started,
            underpin: self.version.clone(),
            machine: self.machine.clone(),
            variants: self.candidates.iter().map(variant).collect(),
            reference: self.reference,
            rules: self.rules.clone(),
            load: self.load().map(Load::record),
            row: self.row.clone(),
        }
    }

    /// The load, if the candidates are servers; it is the same for all.
    fn load(&self) -> Option<&Load> {
        self.candidates.iter().find_map(|candidate| candidate.load.as_deref())
    }
}

struct Session<'a> {
    experiment: &'a Experiment,
    executor: &'a mut dyn Executor,
    observer: &'a mut dyn Observer,
    record: BenchRecord,
    missing: Vec<MissingMetric>,
    /// Timed runs of each candidate so far.
    timed: Vec<u32>,
}

impl Session<'_> {
    fn rules(&self) -> &Rules {
        &self.experiment.rules
    }

    fn carry_out(&mut self) -> Result<Stopped, BenchError> {
        self.each_once("setup", |candidate| candidate.hooks.setup.as_ref())?;
        self.prove()?;
        for number in 0..self.rules().warmup {
            for index in 0..self.experiment.candidates.len() {
                self.go_on()?;
                self.one(index, Iteration::Warmup(number))?;
            }
        }
        self.go_on()?;
        let stopped = self.timed()?;
        self.watched()?;
        Ok(if self.is_asked_to_end() { Stopped::Interrupted } else { stopped })
    }

    fn is_asked_to_end(&self) -> bool {
        self.executor.end_requests() > 0
    }

    /// Before the first timed block there is nothing to finish.
    fn go_on(&self) -> Result<(), BenchError> {
        if self.is_asked_to_end() { Err(BenchError::Interrupted) } else { Ok(()) }
    }

    /// Runs a command of each candidate, equal ones once.
    fn each_once(
        &mut self,
        hook: &'static str,
        of: impl Fn(&Candidate) -> Option<&CommandLine>,
    ) -> Result<(), BenchError> {
        let mut done: Vec<&CommandLine> = Vec::new();
        for command in self.experiment.candidates.iter().filter_map(of) {
            if !done.contains(&command) {
                done.push(command);
                self.executor.hook(hook, command)?;
            }
        }
        Ok(())
    }

    /// Variants that have a proof are checked before anything is timed.
    fn prove(&mut self) -> Result<(), BenchError> {
        for candidate in self.experiment.candidates.iter().filter(|candidate| candidate.variant.proof.is_some()) {
            let timeout = self.timeout();
            self.go_on()?;
            self.around(candidate, |executor| executor.prove(candidate, timeout))?;
        }
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        self.rules().timeout_ns.map(Duration::from)
    }

    /// Runs `prepare`, something, and `conclude`.
    fn around<T>(
        &mut self,
        candidate: &Candidate,
        work: impl FnOnce(&mut dyn Executor) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        if let Some(prepare) = &candidate.hooks.prepare {
            self.executor.hook("prepare", prepare)?;
        }
        let result = work(self.executor)?;
        if let Some(conclude) = &candidate.hooks.conclude {
            self.executor.hook("conclude", conclude)?;
        }
        Ok(result)
    }

    /// One timed run with the commands around it, and the time at which it started.
    fn one(&mut self, index: usize, iteration: Iteration) -> Result<(Nanos, TimedRun), BenchError> {
        let candidate = &self.experiment.candidates[index];
        let timeout = self.timeout();
        let (at, run) = self.around(candidate, |executor| {
            executor.announce(iteration);
            let at = Nanos::from(executor.elapsed());
            Ok((at, executor.run(candidate, timeout)?))
        })?;
        self.accept(candidate, run.outcome)?;
        match &run.load {
            Some(load) if load.requests == 0 && !self.rules().ignore_failure => {
                let requests = load.errors.total() + load.unsent;
                let reason = load.first_failure.clone().unwrap_or_else(|| "the load was too short".to_owned());
                Err(BenchError::NoAnswers { name: candidate.name.clone(), requests, reason })
            }
            _ => Ok((at, run)),
        }
    }

    /// Whether a run counts.
    fn accept(&self, candidate: &Candidate, outcome: RunOutcome) -> Result<(), BenchError> {
        let name = candidate.name.clone();
        match outcome {
            RunOutcome::TimedOut => {
                let seconds = self.timeout().unwrap_or(LONGEST).as_secs_f64();
                Err(BenchError::TimedOut { name, seconds })
            }
            outcome if self.rules().counts(outcome) => Ok(()),
            outcome => Err(BenchError::Failed { name, outcome }),
        }
    }

    fn timed(&mut self) -> Result<Stopped, BenchError> {
        let begun = self.executor.elapsed();
        let mut schedule = Schedule::new(self.experiment.candidates.len(), self.rules().seed);
        let (mut block, mut runs, mut check_at, mut longest) = (0u32, 0u32, 6u32, Duration::ZERO);
        loop {
            let before = self.executor.elapsed();
            let one_way = self.most_runs().saturating_sub(runs) == 1 || self.experiment.load().is_some();
            let order = if one_way { schedule.one_way() } else { schedule.block() };
            for &index in &order {
                self.timed_run(index, block)?;
            }
            runs += if one_way { 1 } else { 2 };
            block += 1;
            let now = self.executor.elapsed();
            longest = longest.max(now - before);
            let narrow = self.rules().until.is_some_and(|until| {
                let due = block >= check_at;
                check_at = if due { block + (block / 10).max(1) } else { check_at };
                due && self.narrow(until)
            });
            if let Some(stopped) = self.stop(runs, narrow, now - begun, longest) {
                return Ok(stopped);
            }
        }
    }

    fn timed_run(&mut self, index: usize, block: u32) -> Result<(), BenchError> {
        let number = self.timed[index];
        self.timed[index] += 1;
        let (at_ns, run) = self.one(index, Iteration::Timed(number))?;
        let sample = Sample::new(index, block, at_ns, run);
        self.observer.sample(&sample)?;
        self.record.samples.push(sample);
        Ok(())
    }

    fn most_runs(&self) -> u32 {
        self.rules().runs.or(self.rules().max_runs).unwrap_or(u32::MAX)
    }

    /// Runs below which no difference could be shown.
    fn least_runs(&self) -> u32 {
        if self.experiment.candidates.len() < 2 {
            return 0;
        }
        let compared = self.experiment.candidates.iter().filter(|one| !one.is_copy).count().saturating_sub(1);
        // A run of a server is long: what the machine does within it evens out, so a block is one run of each.
        let runs = if self.experiment.load().is_some() { 1 } else { 2 };
        let level = level(&self.experiment.machine, Metric::Wall);
        u32::try_from(runs * least_blocks_at(compared, level)).unwrap_or(u32::MAX)
    }

    /// Whether there is a reason to stop after a block, `took` after the first timed run began.
    fn stop(&self, runs: u32, narrow: bool, took: Duration, longest: Duration) -> Option<Stopped> {
        let rules = self.rules();
        if self.is_asked_to_end() {
            return Some(Stopped::Interrupted);
        }
        if runs >= self.most_runs() {
            return Some(Stopped::Runs);
        }
        if let Some(budget) = rules.budget_ns {
            let share = if rules.memory_runs > 0 { TIMED_SHARE } else { 1.0 };
            if took + longest > Duration::from(budget).mul_f64(share) {
                return Some(Stopped::Budget);
            }
        }
        if rules.runs.is_some() || runs < rules.min_runs.max(self.least_runs()) {
            return None;
        }
        if rules.until.is_some() {
            return narrow.then_some(Stopped::Narrow);
        }
        let enough = Duration::from(rules.time_ns) * u32::try_from(self.experiment.candidates.len()).unwrap_or(1);
        (rules.budget_ns.is_none() && took >= enough).then_some(Stopped::Time)
    }

    /// Whether every interval that the rule is about is narrow enough.
    fn narrow(&self, until: StoppingRule) -> bool {
        let reference = self.experiment.reference;
        let others = (0..self.experiment.candidates.len()).filter(|&index| !until.ratio || index != reference);
        let metric = if self.experiment.load().is_some() { self.record.primary() } else { until.metric };
        others.into_iter().all(|index| {
            let interval = if until.ratio {
                paired_ratio(&self.record, metric, reference, index).ok().map(|found| found.ratio)
            } else {
                median_interval(&self.record.blocks(metric, index), Bootstrap::default())
            };
            interval.is_some_and(|interval| interval.is_confident() && interval.relative_half_width() <= until.within)
        })
    }

    /// The memory pass; stops early if the machine does not allow it or the budget is spent.
    fn watched(&mut self) -> Result<(), BenchError> {
        let mut schedule = Schedule::new(self.experiment.candidates.len(), self.rules().seed ^ 1);
        let each = self.experiment.load().map_or(Duration::ZERO, Load::least_time);
        let mut longest = each * u32::try_from(self.experiment.candidates.len()).unwrap_or(1);
        for block in 0..self.rules().memory_runs {
            if self.is_asked_to_end() {
                if block == 0 {
                    self.no_memory("measuring was interrupted before the watched runs");
                }
                return Ok(());
            }
            let before = self.executor.elapsed();
            let budget = self.rules().budget_ns.map(Duration::from);
            if budget.is_some_and(|budget| before + longest > budget) {
                if block == 0 {
                    self.no_memory("the budget was spent before the watched runs");
                }
                return Ok(());
            }
            for index in schedule.one_way() {
                if let Err(reason) = self.watched_run(index, block)? {
                    self.no_memory(&reason);
                    return Ok(());
                }
            }
            longest = longest.max(self.executor.elapsed() - before);
        }
        Ok(())
    }

    fn watched_run(&mut self, index: usize, block: u32) -> Result<Result<(), String>, BenchError> {
        let candidate = &self.experiment.candidates[index];
        let (timeout, settle) = (self.timeout(), Duration::from(self.rules().settle_ns));
        let run = match self.around(candidate, |executor| {
            executor.announce(Iteration::Watched(block));
            executor.watch(candidate, timeout, settle)
        })? {
            Ok(run) => MemoryRun { variant: index, block, ..run },
            Err(reason) => return Ok(Err(reason)),
        };
        self.accept(candidate, run.outcome)?;
        self.observer.memory(&run)?;
        self.record.memory.push(run);
        Ok(Ok(()))
    }

    fn no_memory(&mut self, reason: &str) {
        let timed = |metric: Metric| self.record.samples.iter().any(|sample| sample.figure(metric).is_some());
        let missing = Metric::all().filter(|&metric| metric.pass() == Pass::Memory && !timed(metric));
        self.missing.extend(missing.map(|metric| MissingMetric { metric, reason: reason.to_owned() }));
    }

    fn finish(mut self, stopped: Stopped) -> Result<BenchRecord, BenchError> {
        let mut missing = std::mem::take(&mut self.missing);
        missing.extend(self.executor.missing());
        if self.experiment.candidates.iter().any(|candidate| !candidate.is_started()) {
            let reason = "underpin did not start the server: start it with --serve".to_owned();
            missing.push(MissingMetric { metric: Metric::CpuPerRequest, reason });
        }
        let grown = |run: &MemoryRun| run.figure(Metric::RssGrowth).is_some();
        if !self.record.memory.is_empty() && !self.record.memory.iter().any(grown) && self.experiment.load().is_none() {
            let settle = self.rules().settle_ns.seconds();
            let reason = format!("the command ended before it had settled ({settle} s, --settle)");
            missing.push(MissingMetric { metric: Metric::RssGrowth, reason });
        }
        let (took_ns, sampled) = (self.executor.elapsed().into(), self.executor.sampled());
        let end = End { stopped, took_ns, missing, load_hundredths: load_hundredths(), sampled };
        self.observer.end(&end)?;
        self.record.end = Some(end);
        Ok(self.record)
    }
}
