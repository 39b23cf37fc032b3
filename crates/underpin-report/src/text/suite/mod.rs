//! The screen of `underpin bench --suite`: the verdict in sentences, then the rows that differ, group by group.

mod broker;
mod failures;
mod memory;
mod rows;

use crate::document::suite::SuiteDocument;
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};
use crate::words::gate_words;
use crate::words::suite::{
    ORIGINAL, build_names, extent_words, index_table, is_comparison, per_megahertz, row_limits, shows_memory,
    sign_words, suite_method, suite_title, suite_verdict,
};
use underpin_suite::{SuiteSummary, Summary};

/// The comparison of builds.
///
/// Verbosity 0 shows the verdict and the rows that differ with certainty or failed, 1 every row, the figures of the
/// originals, the memory, the index row by row, the builds and the method.
#[must_use]
pub fn suite(document: &SuiteDocument, view: &View) -> Text {
    let summary = &document.summary;
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, shorten(&suite_title(summary), view.usable())));
    say(&mut text, "", Role::Dim, &extent_words(summary), view);
    text.gap();
    for sentence in suite_verdict(summary) {
        text.append(wrap(Line::new().plain("  "), &sentence, view.usable()));
    }
    for suite in &summary.suites {
        rows::rows(&mut text, summary, suite, view);
        for words in per_megahertz(summary, suite) {
            say(&mut text, "  ", Role::Plain, &words, view);
        }
        if view.verbosity > 0 {
            indices(&mut text, summary, suite, view);
            if shows_memory(suite) {
                memory::memory(&mut text, summary, suite, view);
            }
        }
    }
    gate(&mut text, summary, view);
    text.gap();
    reading(&mut text, summary, view);
    if view.verbosity > 0 {
        about(&mut text, summary, view);
    }
    text
}

fn say(text: &mut Text, indent: &str, role: Role, words: &str, view: &View) {
    text.append(wrap(Line::new().plain(indent), &[Span::new(role, words)], view.usable()));
}

/// How the tables are to be read.
fn reading(text: &mut Text, summary: &Summary, view: &View) {
    if is_comparison(summary) {
        say(text, "  ", Role::Dim, &sign_words(summary), view);
    }
    let mut words: Vec<String> = Vec::new();
    if summary.builds.len() > 2 {
        words.push("`~`: not certain to differ.".to_owned());
    }
    let original = summary.suites.iter().flat_map(|suite| &suite.rows).any(|row| row.original_ratio.is_some());
    if view.verbosity == 0 {
        words.push("-v: every row, the memory, the builds, the method.".to_owned());
    } else if original {
        let of = "musl against glibc in the figures of the suite that the row was made after";
        words.push(format!("`original`: {of} ({ORIGINAL})."));
    }
    if !words.is_empty() {
        say(text, "  ", Role::Dim, &words.join(" "), view);
    }
}

/// The limits of rows; those that are kept are counted.
fn gate(text: &mut Text, summary: &Summary, view: &View) {
    let Some(gate) = &summary.gate else { return };
    text.gap();
    let (role, title) = gate_words(gate.outcome);
    text.push(Line::new().with(role, title));
    let (limits, kept) = row_limits(summary, gate, view.verbosity > 0);
    for (mark, role, words) in limits {
        let head = Line::new().plain("  ").with(role, mark).plain(" ");
        text.append(wrap(head, &[Span::new(Role::Plain, words)], view.usable()));
    }
    if kept > 0 {
        say(text, "  ", Role::Dim, &format!("{} kept; -v shows them", count(kept, "limit is", "limits are")), view);
    }
}

/// The index of each build, row by row, in the form of UnixBench's report.
fn indices(text: &mut Text, summary: &Summary, suite: &SuiteSummary, view: &View) {
    let names = build_names(summary, 24);
    for indexed in &suite.indices {
        let Some(name) = names.get(indexed.build) else { continue };
        let title = format!("Index values of {name}");
        let columns = [
            (title.as_str(), Align::Left),
            ("baseline", Align::Right),
            ("result", Align::Right),
            ("index", Align::Right),
        ];
        let mut table = Table::new(&columns).labelled(0).titled();
        let values = index_table(suite, indexed);
        for [row, baseline, score, index] in &values.rows {
            let figure = |words: &String| Span::new(Role::Dim, words);
            let row = Span::new(Role::Name, row);
            table.row(vec![row, figure(baseline), figure(score), Span::new(Role::Number, index)]);
        }
        let empty = || Span::fixed(Role::Plain, "");
        table.row(vec![Span::fixed(Role::Plain, "index"), empty(), empty(), Span::new(Role::Number, &values.index)]);
        text.gap();
        text.append(table.lines(view.usable()));
    }
}

/// The builds, the machine, the method.
fn about(text: &mut Text, summary: &Summary, view: &View) {
    text.heading("Builds");
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).flexible(1);
    for (build, name) in summary.builds.iter().zip(build_names(summary, 32)) {
        table.row(vec![Span::new(Role::Name, name), Span::new(Role::Plain, &build.description)]);
    }
    text.append(table.lines(view.usable()));
    text.heading("Machine and method");
    let machine = &summary.machine;
    let memory = machine.memory_bytes.map_or_else(String::new, |bytes| format!(", {}", size(bytes)));
    let words = format!(
        "{} ({} processors){memory}; {}, kernel {}; underpin {}",
        machine.processor, machine.processors, machine.system, machine.kernel, summary.underpin
    );
    say(text, "  ", Role::Plain, &words, view);
    for paragraph in suite_method(summary) {
        say(text, "  ", Role::Dim, &paragraph, view);
    }
}

#[cfg(test)]
mod tests;
