//! What binding would save one program: predicted from a plan that is never carried out, and, on request, measured with
//! a bound copy.

use crate::screen;
use crate::variants::{Binding, bound_copy};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use underpin_bench::{
    Candidate, CommandLine, Executor, Experiment, Machine, Metric, NullObserver, RealExecutor, Rules, StreamsPlan,
    Variant, analyse, measure, paired_ratio,
};
use underpin_report::document::bind::CallsTotal;
use underpin_report::document::gain::{BindingGain, MeasuredGain, Ratio};
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::plan::{BindPlan, CallSum, ProgramPlan};

/// Runs of each, if they are short.
const RUNS: u32 = 20;
/// If [`RUNS`] would take longer than this, there are only [`FEWEST`]: six blocks, the least for an interval of 95 %.
const BUDGET: Duration = Duration::from_secs(20);
const FEWEST: u32 = 12;
/// A run that takes longer is killed: it may be a server, or wait for input.
const LONGEST: Duration = Duration::from_secs(60);

/// A program and what binding would do to it.
#[derive(Debug)]
pub struct Gain {
    plan: BindPlan,
    predicted: BindingGain,
}

impl Gain {
    /// The prediction of a plan; `None` if it would bind nothing, or the loader's calls are not modelled.
    pub fn predict(program: &Path, environment: &Environment) -> Option<Gain> {
        let plan = Binding::of(program, environment).plan;
        let program = plan.programs.first()?;
        // A bound program is compared in its bound state, not as its original was.
        let bound = plan.objects.iter().any(|object| object.bound_before);
        let before = if bound { calls(program, environment)? } else { program.before };
        let after = program.after?;
        let holds = program.differences.is_empty() && before.modelled && after.modelled;
        let total = |calls, failed| CallsTotal { calls, errors: failed };
        let predicted = BindingGain {
            before: total(before.calls, before.failed),
            after: total(after.calls, after.failed),
            measured: None,
        };
        (holds && plan.changes().next().is_some()).then_some(Gain { plan, predicted })
    }

    /// Measured if there are arguments to run it with; if that fails, the failure is reported and the prediction stays.
    pub fn measured_or_told(&self, program: &Path, arguments: Option<&[OsString]>) -> BindingGain {
        let measured = arguments.map(|arguments| self.measured(program, arguments));
        measured
            .transpose()
            .unwrap_or_else(|error| {
                screen::note(&format!("the gain of binding was not measured: {error:#}"));
                None
            })
            .unwrap_or(self.predicted)
    }

    /// The prediction, with the times of whole runs of the program and of a bound copy, interleaved.
    ///
    /// # Errors
    /// If the copy cannot be written, or one of them cannot be run, fails or does not end.
    fn measured(&self, program: &Path, arguments: &[OsString]) -> anyhow::Result<BindingGain> {
        let copy = bound_copy(&self.plan, program)?;
        let words = [program.as_os_str().to_owned()].into_iter().chain(arguments.iter().cloned()).collect();
        let plain = Candidate::new("as it is", CommandLine::of_words(words)?);
        let variant = Variant { program: Some(copy.to_path_buf()), ..Variant::default() };
        let bound = Candidate { name: "bound".to_owned(), variant, ..plain.clone() };
        let mut executor = RealExecutor::new(StreamsPlan::default(), &[], Rules::default().seed);
        let first = executor.run(&plain, Some(LONGEST))?;
        let is_short = 2 * first.wall * RUNS <= BUDGET;
        let rules = Rules {
            // One untimed run of each: the first one fills the caches for both.
            warmup: 1,
            runs: Some(if is_short { RUNS } else { FEWEST }),
            memory_runs: 0,
            timeout_ns: Some(LONGEST.into()),
            ..Rules::default()
        };
        let experiment = Experiment {
            candidates: vec![plain, bound],
            reference: 0,
            rules,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: 0,
            machine: Machine::here(),
            row: None,
        };
        let record = measure(&experiment, &mut executor, &mut NullObserver)?;
        let analysis = analyse(&record);
        let seconds = |index: usize| Some(analysis.variants.get(index)?.metric(Metric::Wall)?.median.estimate);
        let ratio = paired_ratio(&record, Metric::Wall, 0, 1).ok().map(|found| found.ratio);
        let measured = ratio.map(|ratio| MeasuredGain {
            runs: record.samples.len() / experiment.candidates.len(),
            before_seconds: seconds(0).unwrap_or_default(),
            after_seconds: seconds(1).unwrap_or_default(),
            ratio: Ratio { estimate: ratio.estimate, low: ratio.low, high: ratio.high },
        });
        Ok(BindingGain { measured, ..self.predicted })
    }
}

/// The loader's calls of a program in its present state.
fn calls(program: &ProgramPlan, environment: &Environment) -> Option<CallSum> {
    let root = HostRoot::new();
    let closure = Resolver::new(&root, environment.clone()).resolve(program.path.as_ref(), Depth::Load).ok()?;
    Some(CallSum::of(&closure))
}
