//! Phrases for suites: the figure of a row, a difference with the sign of a gain, the verdict in sentences, the method.

mod figure;
mod gate;
mod index;
mod method;
mod verdict;

pub(crate) use figure::{
    difference_interval, difference_role, difference_word, difference_words, factor_words, figure, gain,
    gain_of_original, mean_words, per_megahertz,
};
pub(crate) use gate::row_limits;
pub(crate) use index::index_table;
pub(crate) use method::{ORIGINAL, original_words, sign_words, suite_method};
pub(crate) use verdict::{some_of, suite_verdict};

use crate::layout::labels;
use crate::units::{count, date, time};
use underpin_suite::{Build, Cell, Memory, RowSummary, Suite, SuiteSummary, Summary};

/// Columns of a build's name in a sentence.
const NAME: usize = 32;

/// Names of builds in at most so many columns: distinct, if the builds' own are.
pub(crate) fn build_names(summary: &Summary, columns: usize) -> Vec<String> {
    let names: Vec<&str> = summary.builds.iter().map(|build| build.name.as_str()).collect();
    labels(&names, columns)
}

/// What ran: `libc, os: musl, musl+mimalloc against glibc`.
pub(crate) fn suite_title(summary: &Summary) -> String {
    let suites: Vec<&str> = summary.suites.iter().map(|one| one.suite.name()).collect();
    let names = build_names(summary, NAME);
    let builds = match names.split_first() {
        None => "no builds".to_owned(),
        Some((only, [])) => only.clone(),
        Some((reference, others)) => format!("{} against {reference}", others.join(", ")),
    };
    if suites.is_empty() { builds } else { format!("{}: {builds}", suites.join(", ")) }
}

/// How much was measured and when: `29 rows in 312 s; 2026-11-23 07:00 UTC`.
pub(crate) fn extent_words(summary: &Summary) -> String {
    let rows = summary.suites.iter().map(|suite| suite.rows.len()).sum();
    let quick = if summary.is_quick { ", the quick form" } else { "" };
    let interrupted = if summary.is_interrupted { ", interrupted" } else { "" };
    let took = time(summary.seconds);
    let by = match summary.originals.as_slice() {
        [] => String::new(),
        originals => format!(", by {}'s own programs", originals.join("'s and ")),
    };
    let guest = match &summary.guest {
        Some(guest) if guest.counts_instructions => format!(" in a guest ({}), counted instructions,", guest.machine),
        Some(guest) => format!(" in a guest ({}),", guest.machine),
        None => String::new(),
    };
    format!("{}{by}{guest} in {took}{quick}{interrupted}; {}", count(rows, "row", "rows"), date(summary.started))
}

/// The rows of a suite in their groups, in order.
pub(crate) fn groups(suite: &SuiteSummary) -> Vec<(&str, Vec<&RowSummary>)> {
    let mut groups: Vec<(&str, Vec<&RowSummary>)> = Vec::new();
    for row in &suite.rows {
        match groups.iter_mut().find(|(name, _)| *name == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((&row.group, vec![row])),
        }
    }
    groups
}

/// The group of `alloc` that is printed as the benchmark that it was made after prints it.
pub(crate) const BROKER: &str = "Allocation benchmark";

/// Whether the memory that a suite's rows leave means something: that is what an allocator and a C library keep.
pub(crate) fn shows_memory(suite: &SuiteSummary) -> bool {
    let measured =
        |row: &RowSummary| row.cells.iter().filter_map(Cell::memory).any(|memory| memory.virtual_bytes > 0.0);
    matches!(suite.suite, Suite::Alloc | Suite::Libc) && suite.rows.iter().any(measured)
}

/// A kind of memory and how it is read.
pub(crate) type MemoryKind = (&'static str, fn(&Memory) -> f64);

/// The kinds of memory, in the order of their tables.
pub(crate) const MEMORY: [MemoryKind; 3] = [
    ("Virtual memory", |memory| memory.virtual_bytes),
    ("Resident memory", |memory| memory.resident_bytes),
    ("Dirty memory", |memory| memory.dirty_bytes),
];

/// Whether any build could be compared with the reference.
pub(crate) fn is_comparison(summary: &Summary) -> bool {
    let native = |build: &Build| build.emulator.is_none();
    summary.builds.first().is_some_and(native) && summary.builds.iter().skip(1).any(native)
}

/// What stands in place of a difference.
pub(crate) fn undifferenced(summary: &Summary, build: usize) -> &'static str {
    let emulated = |build: usize| summary.builds.get(build).is_some_and(|one| one.emulator.is_some());
    match build {
        _ if emulated(build) => "emulated",
        0 => "reference",
        _ if emulated(0) => "reference emulated",
        _ => "no reference",
    }
}

#[cfg(test)]
mod tests;
