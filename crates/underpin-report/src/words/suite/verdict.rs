//! The verdict of a run of suites in sentences: times, memory, index, failures, and what was not compared.

use super::super::comparison::{change_words, figure_words};
use super::{NAME, build_names, factor_words, mean_words, shows_memory};
use crate::styled::{Role, Span};
use crate::units::count;
use underpin_bench::Unit;
use underpin_suite::{Cell, Indexed, Means, MemoryMeans, RowSummary, SuiteSummary, Summary, Worst};

/// Rows that a sentence names.
const MOST_NAMES: usize = 6;

/// The verdict. For each suite and build its times and its memory beside the reference's, then the index; what failed.
pub(crate) fn suite_verdict(summary: &Summary) -> Vec<Vec<Span>> {
    let names = build_names(summary, NAME);
    let mut sentences = Vec::new();
    for suite in &summary.suites {
        for means in &suite.means {
            sentences.extend(times(&names, suite, means));
            let memory = means.memory.as_ref().filter(|_| shows_memory(suite));
            sentences.extend(memory.and_then(|memory| kept(&names, suite, means, memory)));
        }
        sentences.extend(indices(summary, &names, suite));
    }
    sentences.extend(failures(summary, &names));
    sentences.extend(not_compared(summary, &names));
    sentences
}

/// A sentence that is put together.
struct Sentence(Vec<Span>);

impl Sentence {
    fn of(role: Role, words: &str) -> Sentence {
        Sentence(Vec::new()).with(role, words)
    }

    fn with(mut self, role: Role, words: impl AsRef<[u8]>) -> Sentence {
        self.0.push(Span::new(role, words));
        self
    }

    fn plain(self, words: impl AsRef<[u8]>) -> Sentence {
        self.with(Role::Plain, words)
    }
}

fn times(names: &[String], suite: &SuiteSummary, means: &Means) -> Option<Vec<Span>> {
    let (name, reference) = (names.get(means.build)?, names.first()?);
    let (faster, slower, rows) = (means.faster, means.slower, means.rows);
    let of = format!(" of {}", count(rows, "row", "rows"));
    let begun = Sentence::of(Role::Name, name);
    let said = match (slower, faster) {
        (0, 0) => begun
            .plain(" does not differ from ")
            .with(Role::Name, reference)
            .plain(format!(" with certainty in any{of}")),
        (0, _) => begun
            .plain(" is faster than ")
            .with(Role::Name, reference)
            .plain(" in ")
            .with(Role::Good, faster.to_string())
            .plain(format!("{of} and slower in none")),
        (_, _) => {
            let begun = begun.plain(" is slower than ").with(Role::Name, reference).plain(" in ");
            let begun = begun.with(Role::Bad, slower.to_string()).plain(format!("{of} and faster in "));
            if faster == 0 { begun.plain("none") } else { begun.with(Role::Good, faster.to_string()) }
        }
    };
    let said = said.plain(format!(" ({}); geometric mean of the times ", suite.suite));
    Some(said.with(Role::Number, mean_words(&means.time)).plain(".").0)
}

/// What is kept after the work.
fn kept(names: &[String], suite: &SuiteSummary, means: &Means, memory: &MemoryMeans) -> Option<Vec<Span>> {
    let (name, reference) = (names.get(means.build)?, names.first()?);
    let role = |worse: bool| if worse { Role::Bad } else { Role::Good };
    let above = |worst: &Worst| format!("at most by {} ({})", figure_words(worst.bytes, Unit::Bytes), worst.row);
    let said = Sentence::of(Role::Plain, "Dirty memory of ").with(Role::Name, name);
    let said = said.plain(format!(" ({}): median ", suite.suite));
    let said = said.with(role(memory.median_dirty > 1.0), factor_words(memory.median_dirty)).plain(" and sum ");
    let said = said.with(role(memory.sum_dirty > 1.0), factor_words(memory.sum_dirty));
    let said = said.plain(" times that of ").with(Role::Name, reference);
    let said = if memory.more == 0 {
        said.plain("; more in no row")
    } else {
        let said = said.plain("; more in ").with(Role::Bad, memory.more.to_string());
        said.plain(format!(" of {}, {}", count(means.rows, "row", "rows"), above(&memory.worst_dirty)))
    };
    let said = if memory.worst_virtual.bytes > 0.0 {
        said.plain(format!("; more virtual memory {}.", above(&memory.worst_virtual)))
    } else {
        said.plain("; more virtual memory in none.")
    };
    Some(said.0)
}

fn indices(summary: &Summary, names: &[String], suite: &SuiteSummary) -> Option<Vec<Span>> {
    let reference = suite.indices.iter().find(|one| one.build == 0);
    let mut said = Sentence::of(Role::Plain, "");
    for (place, one) in suite.indices.iter().enumerate() {
        let before = if place == 0 { format!("Index ({}): ", suite.suite) } else { ", ".to_owned() };
        said = said.plain(before).with(Role::Name, names.get(one.build)?).plain(" ");
        said = said.with(Role::Number, format!("{:.1}", one.index)).plain(beside(summary, reference, one));
    }
    (!suite.indices.is_empty()).then(|| said.plain(".").0)
}

/// An index beside the reference's, and the rows that it lacks.
fn beside(summary: &Summary, reference: Option<&Indexed>, one: &Indexed) -> String {
    let emulated = |build: usize| summary.builds.get(build).is_some_and(|build| build.emulator.is_some());
    let mut parts: Vec<String> = Vec::new();
    match reference {
        _ if emulated(one.build) => parts.push("emulated".to_owned()),
        Some(reference) if one.build != 0 && !emulated(0) && reference.missing == one.missing => {
            parts.push(change_words(one.index / reference.index, 1));
        }
        _ => {}
    }
    if !one.missing.is_empty() {
        parts.push(format!("without {}", some_of(&one.missing)));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// Some names and how many more there are.
pub(crate) fn some_of(names: &[String]) -> String {
    let mut words: Vec<String> = names.iter().take(MOST_NAMES).cloned().collect();
    if names.len() > MOST_NAMES {
        words.push(format!("{} more", names.len() - MOST_NAMES));
    }
    words.join(", ")
}

/// All rows with their suites.
fn rows(summary: &Summary) -> impl Iterator<Item = (&SuiteSummary, &RowSummary)> {
    summary.suites.iter().flat_map(|suite| suite.rows.iter().map(move |row| (suite, row)))
}

fn failures(summary: &Summary, names: &[String]) -> Vec<Vec<Span>> {
    let of = |(build, name): (usize, &String)| {
        let failed = rows(summary).filter(|(_, row)| matches!(row.cells.get(build), Some(Cell::Failed { .. })));
        let failed: Vec<String> = failed.map(|(suite, row)| format!("{} {}", suite.suite, row.row)).collect();
        let said = Sentence::of(Role::Name, name).plain(" failed in ");
        let said = said.with(Role::Bad, count(failed.len(), "row", "rows")).plain(format!(": {}.", some_of(&failed)));
        (!failed.is_empty()).then_some(said.0)
    };
    names.iter().enumerate().filter_map(of).collect()
}

/// Rows that were not reached, and builds that are not compared.
fn not_compared(summary: &Summary, names: &[String]) -> Vec<Vec<Span>> {
    let mut sentences = Vec::new();
    let missing = rows(summary).filter(|(_, row)| row.cells.iter().any(|cell| matches!(cell, Cell::Missing))).count();
    if missing > 0 || summary.is_interrupted {
        let why = if summary.is_interrupted { "The run was interrupted" } else { "The run is not complete" };
        let words = if missing > 0 { format!("{why}: {} not measured.", were(missing)) } else { format!("{why}.") };
        sentences.push(vec![Span::new(Role::Warn, words)]);
    }
    for (build, name) in summary.builds.iter().zip(names) {
        if let Some(emulator) = &build.emulator {
            let said = Sentence::of(Role::Name, name).plain(" ran under ").with(Role::Name, emulator);
            sentences.push(said.with(Role::Warn, ": its figures are emulated, and not compared.").0);
        }
    }
    sentences
}

fn were(rows: usize) -> String {
    format!("{} {}", count(rows, "row", "rows"), if rows == 1 { "was" } else { "were" })
}
