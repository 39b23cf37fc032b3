//! What binding would save one program: predicted from a plan that is never carried out, and, where the user asked for
//! it, measured with a bound copy.

use crate::foundation::{Binding, bound_copy};
use crate::screen;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use underpin_bench::stats::{median, paired_shift};
use underpin_report::document::bind::CallsTotal;
use underpin_report::document::gain::{BindingGain, MeasuredGain, Ratio};
use underpin_resolve::Environment;
use underpin_rewrite::plan::BindPlan;

/// Pairs of runs, unless they take too long.
const PAIRS: usize = 20;
/// No further pair is begun after this, once there are six: fewer have no interval of 95 %.
const BUDGET: Duration = Duration::from_secs(20);
const FEWEST: usize = 6;

/// A program and what binding would do to it.
#[derive(Debug)]
pub struct Gain {
    plan: BindPlan,
    predicted: BindingGain,
}

impl Gain {
    /// What a plan says; `None` where it would bind nothing, or the loader's calls are not modelled.
    pub fn predict(program: &Path, environment: &Environment) -> Option<Gain> {
        let plan = Binding::of(program, environment).plan;
        let program = plan.programs.first()?;
        let (before, after) = (program.before, program.after?);
        let holds = program.differences.is_empty() && before.modelled && after.modelled;
        let total = |calls, failed| CallsTotal { calls, errors: failed };
        let predicted = BindingGain {
            before: total(before.calls, before.failed),
            after: total(after.calls, after.failed),
            measured: None,
        };
        (holds && plan.changes().next().is_some()).then_some(Gain { plan, predicted })
    }

    /// Measured where there are arguments to run it with; where that fails it is told, and the prediction stays.
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

    /// The prediction, with the times of whole runs of the program and of a bound copy, in turn.
    ///
    /// # Errors
    /// Where the copy cannot be written or one of them cannot be run.
    fn measured(&self, program: &Path, arguments: &[OsString]) -> anyhow::Result<BindingGain> {
        let copy = bound_copy(&self.plan, program)?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        // One of each untimed: the first to run fills the caches for both.
        run(program, program, arguments)?;
        run(&copy, program, arguments)?;
        let start = Instant::now();
        for pair in 0..PAIRS {
            if pair >= FEWEST && start.elapsed() > BUDGET {
                break;
            }
            let mut sides = [(program, &mut before), (&*copy, &mut after)];
            if pair % 2 == 1 {
                sides.reverse();
            }
            for (path, times) in sides {
                times.push(run(path, program, arguments)?.as_secs_f64());
            }
        }
        let logarithms: Vec<f64> = before.iter().zip(&after).map(|(before, after)| (after / before).ln()).collect();
        let ratio = paired_shift(&logarithms).map(|shift| shift.map(f64::exp));
        let measured = ratio.map(|ratio| MeasuredGain {
            runs: before.len(),
            before_seconds: median(&before).unwrap_or_default(),
            after_seconds: median(&after).unwrap_or_default(),
            ratio: Ratio { estimate: ratio.estimate, low: ratio.low, high: ratio.high },
        });
        Ok(BindingGain { measured, ..self.predicted })
    }
}

/// One whole run, called by the program's own name.
fn run(path: &Path, name: &Path, arguments: &[OsString]) -> anyhow::Result<Duration> {
    let mut command = Command::new(path);
    command.arg0(name).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    command.status()?;
    Ok(start.elapsed())
}
