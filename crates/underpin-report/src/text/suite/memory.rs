//! The memory that the rows of a suite leave: a table for each kind.

use crate::layout::{Align, Table, View};
use crate::styled::{Role, Span, Text};
use crate::words::figure_words;
use crate::words::suite::{MEMORY, MemoryKind, build_names, factor_words};
use underpin_bench::Unit;
use underpin_suite::{Cell, SuiteSummary, Summary};

/// Columns of a build's figure and name.
const FIGURE: usize = 12;
/// Columns that a table keeps for its rows' names.
const ROW: usize = 28;
/// Columns of the gap between two columns.
const GAP: usize = 2;

/// The tables, of as many builds each as fit beside each other.
pub(super) fn memory(text: &mut Text, summary: &Summary, suite: &SuiteSummary, view: &View) {
    let builds: Vec<usize> = (0..summary.builds.len()).collect();
    let fitting = view.usable().saturating_sub(ROW) / (FIGURE + GAP);
    for kind in &MEMORY {
        for builds in builds.chunks(fitting.max(1)) {
            text.gap();
            text.append(table(summary, suite, kind, builds).lines(view.usable()));
        }
    }
}

fn table(summary: &Summary, suite: &SuiteSummary, (title, bytes): &MemoryKind, builds: &[usize]) -> Table {
    let names = build_names(summary, FIGURE);
    let mut columns = vec![(*title, Align::Left)];
    columns.extend(builds.iter().map(|build| (names[*build].as_str(), Align::Right)));
    // As the tables of libc-bench's figures have it.
    let ratio = match names.as_slice() {
        [reference, other] => Some(format!("{reference}/{other}")),
        _ => None,
    };
    columns.extend(ratio.iter().map(|title| (title.as_str(), Align::Right)));
    let mut table = Table::new(&columns).labelled(0).titled();
    for row in &suite.rows {
        let of = |build: &usize| row.cells.get(*build).and_then(Cell::memory).map(bytes);
        let figures: Vec<Option<f64>> = builds.iter().map(of).collect();
        let mut cells = vec![Span::new(Role::Name, &row.row)];
        cells.extend(figures.iter().map(|figure| match figure {
            Some(bytes) => Span::new(Role::Number, figure_words(*bytes, Unit::Bytes)),
            None => Span::fixed(Role::Dim, "-"),
        }));
        if let (true, [Some(reference), Some(other)]) = (ratio.is_some(), figures.as_slice()) {
            let words = if *other > 0.0 { factor_words(reference / other) } else { "-".to_owned() };
            cells.push(Span::new(Role::Dim, words));
        }
        table.row(cells);
    }
    table
}
