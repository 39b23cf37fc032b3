//! One row: an experiment over the builds under which its program works.

use super::keep::KeptRow;
use super::name;
use super::programs::Programs;
use crate::plan::SuitePlan;
use crate::progress::Progress;
use std::fs;
use std::path::Path;
use std::time::Duration;
use underpin_bench::{
    BenchError, Candidate, CommandLine, End, Executor, Experiment, Header, MemoryRun, Observer, ObserverError,
    RealExecutor, RowName, RunFile, RunOutcome, Sample, Stopped, Store, StreamsPlan, Variant, measure,
};
use underpin_suite::{Failure, Row, why_failed};

/// What is needed to measure a row.
pub struct Measuring<'a> {
    /// How.
    pub plan: &'a SuitePlan,
    /// The programs.
    pub programs: &'a Programs,
    /// Where its record goes.
    pub store: Store,
    /// When the run of suites began.
    pub started: u64,
    /// Shows which row it is.
    pub progress: &'a Progress,
    /// Which row it is, in words.
    pub place: String,
}

/// How long a program works to show that it works.
const SHORT_MS: u32 = 1;

impl Measuring<'_> {
    /// Tries the row's program in every build, then measures those that work; `None` if the user asked for the end.
    ///
    /// # Errors
    /// If underpin itself fails, not the row.
    pub fn measure(&self, row: &'static Row) -> anyhow::Result<Option<KeptRow>> {
        self.progress.say(self.place.clone());
        let mut failures = Vec::new();
        let mut working = Vec::new();
        for build in 0..self.programs.builds.len() {
            match self.tried(row, build)? {
                Tried::Works => working.push(build),
                Tried::Fails(reason) => failures.push(Failure { build, reason }),
                Tried::Interrupted => return Ok(None),
            }
        }
        while !working.is_empty() {
            match self.experiment(row, &working)? {
                Experimented::Done => return Ok(Some(KeptRow::new(row, failures, true))),
                Experimented::Interrupted => return Ok(None),
                Experimented::Failed { build, reason } => {
                    working.retain(|&one| one != build);
                    failures.push(Failure { build, reason });
                }
            }
        }
        Ok(Some(KeptRow::new(row, failures, false)))
    }

    fn candidate(&self, row: &Row, build: usize, program: &Path, milliseconds: u32) -> Result<Candidate, BenchError> {
        let before = self.programs.emulator(build).iter().map(Into::into);
        let words = before.chain([program.as_os_str().to_owned()]);
        let command =
            CommandLine::of_words(words.chain(row.words(milliseconds).into_iter().map(Into::into)).collect())?;
        let variant = Variant { changes: self.programs.variables(row.suite, build), ..Variant::default() };
        let candidate = Candidate { variant, ..Candidate::new(self.programs.builds[build].name.clone(), command) };
        Ok(candidate.reporting(self.programs.report_of(build)))
    }

    fn timeout(&self) -> Option<Duration> {
        self.plan.rules.timeout_ns.map(Duration::from)
    }

    /// Runs the program for a moment.
    fn tried(&self, row: &Row, build: usize) -> anyhow::Result<Tried> {
        let program = match self.programs.program(row.suite, build) {
            Ok(program) => program,
            Err(reason) => return Ok(Tried::Fails(reason.to_owned())),
        };
        let candidate = self.candidate(row, build, program, SHORT_MS)?;
        let mut executor = RealExecutor::new(StreamsPlan::default(), &[], self.plan.rules.seed);
        let tried = executor.run(&candidate, self.timeout());
        if executor.end_requests() > 0 {
            return Ok(Tried::Interrupted);
        }
        match tried {
            Ok(run) if run.outcome.succeeded() => Ok(Tried::Works),
            Ok(run) => Ok(Tried::Fails(self.reason(build, run.outcome))),
            Err(BenchError::NotReported { reason, .. }) => Ok(Tried::Fails(reason)),
            Err(BenchError::Interrupted) => Ok(Tried::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    /// How a program ended, and the last line that it wrote.
    fn reason(&self, build: usize, outcome: RunOutcome) -> String {
        let text = fs::read(self.programs.report_of(build)).unwrap_or_default();
        why_failed(&String::from_utf8_lossy(&text), outcome)
    }

    /// Measures the row under the builds that work.
    fn experiment(&self, row: &'static Row, working: &[usize]) -> anyhow::Result<Experimented> {
        let mut candidates = Vec::new();
        for &build in working {
            if let Ok(program) = self.programs.program(row.suite, build) {
                candidates.push(self.candidate(row, build, program, self.plan.milliseconds)?);
            }
        }
        let experiment = Experiment {
            candidates,
            reference: 0,
            rules: self.plan.rules.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            machine: self.plan.machine.clone(),
            row: Some(RowName { suite: row.suite.to_string(), row: row.name.to_owned() }),
        };
        let file = self.store.begin(self.started, Some(&name(row)))?;
        let mut keeper = Keeper { file, progress: self.progress, place: &self.place };
        let mut executor = RealExecutor::new(StreamsPlan::default(), &[], self.plan.rules.seed);
        let measured = measure(&experiment, &mut executor, &mut keeper);
        let done = matches!(&measured, Ok(record) if record.end.as_ref().is_some_and(|end| end.stopped != Stopped::Interrupted));
        if done {
            return match keeper.file.failure() {
                Some(failure) => Err(failure.into()),
                None => Ok(Experimented::Done),
            };
        }
        keeper.file.discard();
        let of = |name: &str| self.programs.builds.iter().position(|build| build.name == name).unwrap_or_default();
        match measured {
            Ok(_) | Err(BenchError::Interrupted) => Ok(Experimented::Interrupted),
            Err(_) if executor.end_requests() > 0 => Ok(Experimented::Interrupted),
            Err(BenchError::Failed { name, outcome }) => {
                let build = of(&name);
                Ok(Experimented::Failed { build, reason: self.reason(build, outcome) })
            }
            Err(BenchError::TimedOut { name, seconds }) => Ok(Experimented::Failed {
                build: of(&name),
                reason: format!("not finished after {seconds} s and killed"),
            }),
            Err(BenchError::NotReported { name, reason }) => Ok(Experimented::Failed { build: of(&name), reason }),
            Err(error) => Err(error.into()),
        }
    }
}

enum Tried {
    Works,
    Fails(String),
    Interrupted,
}

enum Experimented {
    Done,
    Failed { build: usize, reason: String },
    Interrupted,
}

/// Keeps the runs of a row, and shows how many there are.
struct Keeper<'a> {
    file: RunFile,
    progress: &'a Progress,
    place: &'a str,
}

impl Observer for Keeper<'_> {
    fn begin(&mut self, header: &Header) -> Result<(), ObserverError> {
        self.file.begin(header)
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), ObserverError> {
        self.file.sample(sample)?;
        self.progress.say(format!("{}, block {}", self.place, sample.block + 1));
        Ok(())
    }

    fn memory(&mut self, run: &MemoryRun) -> Result<(), ObserverError> {
        self.file.memory(run)
    }

    fn end(&mut self, end: &End) -> Result<(), ObserverError> {
        self.file.end(end)
    }
}
