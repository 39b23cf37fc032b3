//! The rules: when advice is given, and the figures in it.

use super::Advice;
use crate::bytes::Raw;
use crate::document::check::{AdviceRecord, CheckDocument};
use crate::document::gain::BindingGain;
use crate::document::trace::by_cost;
use crate::document::trace::{PhaseName, TraceDocument};
use crate::document::tree::{
    EdgeResult, FindingSlug, FoundBy, LoaderFamily, ObjectRecord, TreeDocument, TryOutcome, Why,
};
use crate::document::trial::AllocatorTrial;
use crate::words::fuse;
use bstr::ByteSlice;
use std::collections::BTreeMap;
use underpin_rewrite::plan::{FARMS, FUSED};

/// Fewer failing lookups than this are not mentioned; more are, if there are this many for each library, or if they
/// take this share of the loader's time.
const STORM_LOOKUPS: u64 = 20;
const STORM_PER_LIBRARY: u64 = 2;
const STORM_SHARE: f64 = 0.05;
/// A library is named if it takes at least this share of the loader's time, and at least a millisecond.
const HEAVY_SHARE: f64 = 0.2;
const HEAVY_SECONDS: f64 = 1e-3;
/// Objects with dead directories that are named.
const DEAD_OBJECTS: usize = 2;
/// From this share on, tracing is more than half of the time measured.
const DOUBT_SHARE: f64 = 0.5;

/// The advice of a survey: from the closure, from the start-up, then from the check.
#[must_use]
pub fn survey_advice(check: &CheckDocument, tree: &TreeDocument, trace: Option<&TraceDocument>) -> Vec<AdviceRecord> {
    let mut advice: Vec<Advice> = missing(tree).collect();
    advice.extend(match trace {
        Some(trace) => storm(tree, trace),
        None => predicted_storm(tree),
    });
    advice.extend(many_libraries(tree));
    advice.extend(dead_directories(tree));
    if let Some(trace) = trace {
        advice.extend(heavy(tree, trace));
        advice.extend(never_found(trace));
    }
    advice.extend(accidental(tree));
    advice.extend(stale_cache(tree));
    advice.extend(trace.and_then(large_doubt));
    advice.iter().map(AdviceRecord::from).chain(check.advice.iter().cloned()).collect()
}

/// Advice to bind, if that is worth it.
#[must_use]
pub fn binding_advice(program: &Raw, gain: &BindingGain) -> Vec<AdviceRecord> {
    let advice = gain.is_worth_it().then(|| Advice::Bind { program: program.clone(), gain: *gain });
    advice.iter().map(AdviceRecord::from).collect()
}

/// Whether every failing lookup of libraries that are found in the end is in a directory of LD_LIBRARY_PATH.
#[must_use]
pub fn is_of_environment_alone(tree: &TreeDocument) -> bool {
    let loaded = tree.edges.iter().filter(|edge| edge.result == EdgeResult::Loaded);
    let failing = loaded
        .flat_map(|edge| &edge.tries)
        .filter(|tried| matches!(tried.result, TryOutcome::NotFound | TryOutcome::DirectoryMissing));
    let mut failing = failing.peekable();
    failing.peek().is_some() && failing.all(|tried| tried.source.by == FoundBy::LibraryPath)
}

/// The allocator with the best bargain, if there is one.
#[must_use]
pub fn allocator_advice(command: &[Raw], trial: &AllocatorTrial) -> Vec<AdviceRecord> {
    let advice = trial.best().map(|tried| Advice::Allocator {
        command: command.to_vec(),
        tried: tried.clone(),
        runs: trial.runs,
    });
    advice.iter().map(AdviceRecord::from).collect()
}

fn missing(tree: &TreeDocument) -> impl Iterator<Item = Advice> {
    tree.edges.iter().filter(|edge| edge.result == EdgeResult::Missing).map(|edge| Advice::MissingLibrary {
        program: tree.program.clone(),
        name: edge.name.clone(),
        tries: edge.tries.len(),
    })
}

fn loader_seconds(trace: &TraceDocument) -> Option<f64> {
    trace.phases.iter().find(|phase| phase.name == PhaseName::Loader).map(|phase| phase.seconds)
}

/// Whether that many failing lookups are worth mentioning.
fn is_storm(failed: u64, libraries: usize, share: f64) -> bool {
    failed >= STORM_LOOKUPS && (failed >= STORM_PER_LIBRARY * libraries as u64 || share >= STORM_SHARE)
}

/// The entry with the most lookups.
fn worst(directories: BTreeMap<Raw, u64>) -> Option<(Raw, u64)> {
    directories.into_iter().max_by_key(|(_, lookups)| *lookups)
}

/// The rule that led a search into a directory.
fn rule_of(tree: &TreeDocument, directory: &Raw) -> Option<Why> {
    let mut tries = tree.edges.iter().flat_map(|edge| &edge.tries);
    tries.find(|tried| tried.path.directory() == directory.bytes()).map(|tried| tried.source.clone())
}

/// Counts only lookups for libraries by the loader itself: a program may probe for files as it likes.
fn storm(tree: &TreeDocument, trace: &TraceDocument) -> Option<Advice> {
    let (mut failed, mut seconds, mut libraries) = (0, 0.0, 0);
    let mut directories: BTreeMap<Raw, u64> = BTreeMap::new();
    for library in trace.libraries.iter().filter(|library| library.phase == PhaseName::Loader) {
        libraries += 1;
        for lookup in &library.failed {
            failed += 1;
            seconds += lookup.seconds;
            *directories.entry(Raw::from(lookup.path.directory())).or_default() += 1;
        }
    }
    let (directory, in_directory) = worst(directories)?;
    let loader_seconds = loader_seconds(trace)?;
    is_storm(failed, libraries, seconds / loader_seconds.max(f64::MIN_POSITIVE)).then_some(Advice::LookupStorm {
        program: tree.program.clone(),
        failed,
        seconds,
        loader_seconds,
        rule: rule_of(tree, &directory),
        directory,
        in_directory,
    })
}

fn predicted_storm(tree: &TreeDocument) -> Option<Advice> {
    let mut directories: BTreeMap<Raw, u64> = BTreeMap::new();
    for edge in tree.edges.iter().filter(|edge| edge.result == EdgeResult::Loaded) {
        for tried in edge.tries.iter().filter(|tried| tried.result == TryOutcome::NotFound) {
            *directories.entry(Raw::from(tried.path.directory())).or_default() += 1;
        }
    }
    let failed = directories.values().sum();
    let (directory, in_directory) = worst(directories)?;
    let libraries = tree.objects.len().saturating_sub(1);
    is_storm(failed, libraries, 0.0).then(|| Advice::PredictedStorm {
        program: tree.program.clone(),
        failed,
        libraries,
        rule: rule_of(tree, &directory),
        directory,
        in_directory,
    })
}

/// For what `bind --fuse` takes, unless it was done.
fn many_libraries(tree: &TreeDocument) -> Option<Advice> {
    let program = tree.objects.first()?;
    let is_taken = tree.loader.kind == LoaderFamily::Glibc
        && !tree.loader.assumed
        && (program.machine.as_str(), program.class_bits) == ("x86-64", 64);
    let is_done = tree.objects.iter().any(|object| is_merged(&object.path));
    let libraries = tree.objects.len() - 1;
    let advice = Advice::Fuse { program: tree.program.clone(), libraries };
    (is_taken && !is_done && libraries >= fuse::MANY_LIBRARIES).then_some(advice)
}

/// Whether a file is one that `bind --fuse` wrote: its members' search paths are in it behind the folder of its links, which
/// no tool must take out.
fn is_merged(path: &Raw) -> bool {
    path.bytes().contains_str(format!("/{FARMS}/{FUSED}"))
}

/// Only the worst objects: in a tree of prefixes every object has some, and advice on all would bury the rest.
fn dead_directories(tree: &TreeDocument) -> Vec<Advice> {
    let mut dead: BTreeMap<usize, usize> = BTreeMap::new();
    for finding in tree.findings.iter().filter(|finding| finding.kind == FindingSlug::DeadDirectory) {
        *dead.entry(finding.object.unwrap_or(0)).or_default() += 1;
    }
    let mut dead: Vec<(usize, usize)> = dead.into_iter().collect();
    dead.sort_by_key(|(_, directories)| std::cmp::Reverse(*directories));
    let searches =
        |object: &&ObjectRecord| (object.rpath.is_some() || object.runpath.is_some()) && !is_merged(&object.path);
    let object = |index: usize| tree.objects.get(index).filter(searches);
    let advice = dead.into_iter().filter_map(|(index, directories)| {
        Some(Advice::DeadDirectories { object: object(index)?.path.clone(), directories })
    });
    advice.take(DEAD_OBJECTS).collect()
}

fn heavy(tree: &TreeDocument, trace: &TraceDocument) -> Option<Advice> {
    let loader_seconds = loader_seconds(trace)?;
    let library = by_cost(&trace.libraries).into_iter().find(|library| library.phase == PhaseName::Loader)?;
    let seconds = library.total_seconds();
    (seconds >= HEAVY_SECONDS && seconds >= HEAVY_SHARE * loader_seconds).then(|| Advice::HeavyLibrary {
        program: tree.program.clone(),
        name: library.name.clone(),
        seconds,
        loader_seconds,
    })
}

fn never_found(trace: &TraceDocument) -> Option<Advice> {
    let late = |phase: PhaseName| !matches!(phase, PhaseName::Exec | PhaseName::Loader);
    let mut missing = trace.missing.iter().filter(|library| late(library.phase));
    let first = missing.next()?;
    Some(Advice::NeverFound {
        command: trace.command.clone(),
        name: first.name.clone(),
        lookups: first.failed.len(),
        others: missing.count(),
    })
}

fn accidental(tree: &TreeDocument) -> Option<Advice> {
    let mut findings = tree.findings.iter().filter(|finding| finding.kind == FindingSlug::Accidental);
    let name = findings.next()?.name.clone()?;
    Some(Advice::Accidental { program: tree.program.clone(), name, requests: 1 + findings.count() })
}

fn stale_cache(tree: &TreeDocument) -> Option<Advice> {
    let entries = tree.findings.iter().filter(|finding| finding.kind == FindingSlug::StaleCache).count();
    (entries > 0).then_some(Advice::StaleCache { entries })
}

fn large_doubt(trace: &TraceDocument) -> Option<Advice> {
    let (seconds, whole_seconds) = (trace.added_seconds(), trace.instants.end_seconds);
    (whole_seconds > 0.0 && seconds > DOUBT_SHARE * whole_seconds).then(|| Advice::LargeDoubt {
        command: trace.command.clone(),
        seconds,
        whole_seconds,
    })
}

#[cfg(test)]
mod tests;
