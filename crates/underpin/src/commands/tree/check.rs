//! `tree --check`: the predicted calls beside those of a real start, up to `main`.

use crate::plan::TreePlan;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use underpin_report::document::tree::CallsRecord;
use underpin_report::{CallComparison, CallCountRecord};
use underpin_trace::{CallSet, Options, Session, Then, Trace, Until};

/// Starts the program under the tracer, kills it before `main` runs, and sets the counts side by side.
///
/// # Errors
/// Where it cannot be started or traced.
pub fn compare(
    program: &Path,
    arguments: &[OsString],
    predicted: &CallsRecord,
    plan: &TreePlan,
) -> anyhow::Result<CallComparison> {
    let program = program.canonicalize()?;
    let command = std::iter::once(program.into_os_string()).chain(arguments.iter().cloned());
    let options = Options {
        env: variables(plan),
        until: Until::Main,
        then: Then::Kill,
        calls: CallSet::Default,
        output: underpin_trace::Output::Null,
        ..Options::new(command)
    };
    let trace = Session::run(options)?;
    Ok(CallComparison::new(predicted, measured(&trace)))
}

/// The loader's calls by name, its own heap growth left out: that depends on the length of strings, not on files.
fn measured(trace: &Trace) -> Vec<CallCountRecord> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for event in trace.loader_events().filter(|event| !event.heap_growth()) {
        let count = counts.entry(event.name()).or_default();
        count.0 += 1;
        count.1 += u64::from(event.failed());
    }
    let record = |(name, (calls, errors)): (&str, (u64, u64))| CallCountRecord { name: name.to_owned(), calls, errors };
    counts.into_iter().map(record).collect()
}

/// The variables that the prediction was made for, so that both sides mean the same start.
fn variables(plan: &TreePlan) -> Vec<(OsString, Option<OsString>)> {
    let environment = &plan.surroundings.environment;
    [
        ("LD_LIBRARY_PATH", &environment.library_path),
        ("LD_PRELOAD", &environment.preload),
        ("GLIBC_TUNABLES", &environment.tunables),
    ]
    .map(|(name, value)| (name.into(), value.as_ref().map(|value| OsString::from_vec(value.to_vec()))))
    .to_vec()
}
