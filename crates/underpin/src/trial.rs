//! The allocator trial of `survey`: the command unchanged and on built-in allocators, in turn, for a short time.
//!
//! It runs only if the user asked for a run, that run ended by itself and successfully, and the trial fits into its
//! time; otherwise the survey gives the reason.

use crate::plan::now;
use crate::variants::on_allocator;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use underpin_bench::{
    Candidate, CommandLine, Experiment, Machine, Observer, RealExecutor, Rules, StreamsPlan, Variant, analyse,
    least_blocks, least_memory_runs, measure,
};
use underpin_report::document::trace::{EndRecord, TraceDocument, UntilRecord};
use underpin_report::document::trial::AllocatorTrial;

/// The allocators tried: the two that are most widely used.
const TRIED: [&str; 2] = ["jemalloc", "mimalloc"];
/// Timed runs of each variant go on for this long, if they are short.
const TIME: Duration = Duration::from_secs(1);

/// Tries the allocators with a command.
///
/// # Errors
/// Why they were not tried, as a clause.
pub fn allocators(
    program: &Path,
    arguments: &[OsString],
    trace: &TraceDocument,
    limit: Duration,
    observer: &mut dyn Observer,
) -> Result<AllocatorTrial, String> {
    fits(trace, limit)?;
    let words = [program.as_os_str().to_owned()].into_iter().chain(arguments.iter().cloned()).collect();
    let command = CommandLine::of_words(words).map_err(|error| error.to_string())?;
    let plain = Candidate::new("as it is", command.clone());
    let mut candidates = vec![plain.clone()];
    for name in TRIED {
        let allocator = name.parse().map_err(|error: underpin_malloc::MallocError| error.to_string())?;
        let variant = on_allocator(&allocator, &command, &Variant::default()).map_err(|error| error.to_string())?;
        candidates.push(Candidate { name: name.to_owned(), variant, ..plain.clone() });
    }
    let seconds = now();
    let rules = Rules {
        time_ns: TIME.into(),
        memory_runs: least_memory_runs(TRIED.len()),
        timeout_ns: Some(limit.into()),
        ..Rules::default()
    };
    let experiment = Experiment {
        candidates,
        reference: 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: seconds,
        machine: Machine::here(),
        row: None,
        rules,
    };
    let mut executor = RealExecutor::new(StreamsPlan::default(), &[], experiment.rules.seed);
    let record = measure(&experiment, &mut executor, observer).map_err(|error| error.to_string())?;
    AllocatorTrial::of(&analyse(&record)).ok_or_else(|| "it has no times".to_owned())
}

/// Whether the command ends by itself, successfully, and soon enough.
fn fits(trace: &TraceDocument, limit: Duration) -> Result<(), String> {
    if limit.is_zero() {
        return Err("--trial 0 asked for none".to_owned());
    }
    if trace.until != UntilRecord::Exit {
        return Err("the command was not watched to its end".to_owned());
    }
    match trace.end {
        EndRecord::Exited { status: 0 } => {}
        EndRecord::Exited { status } => return Err(format!("the command failed (status {status})")),
        EndRecord::Signalled { signal } => return Err(format!("the command was ended by signal {signal}")),
        EndRecord::Stopped => return Err("the command was not watched to its end".to_owned()),
    }
    let variants = u32::try_from(TRIED.len() + 1).unwrap_or(u32::MAX);
    let timed = u32::try_from(2 * least_blocks(TRIED.len())).unwrap_or(u32::MAX);
    let runs = variants * (timed + least_memory_runs(TRIED.len()));
    let one = Duration::try_from_secs_f64(trace.instants.end_seconds).unwrap_or_default();
    if one * runs > limit {
        return Err(format!(
            "{runs} runs of {:.1} s take longer than the {} s of --trial; `underpin bench --malloc system,{} -- ...` takes \
             the time that it needs",
            one.as_secs_f64(),
            limit.as_secs(),
            TRIED.join(",")
        ));
    }
    Ok(())
}
