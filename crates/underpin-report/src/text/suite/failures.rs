//! Rows that have no figure under a build, and why.

use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::words::suite::{build_names, some_of};
use underpin_suite::{Cell, RowSummary, Summary};

/// The most columns of a build's name in a sentence.
const NAME: usize = 24;

/// Why rows failed. What several rows share, such as a program that was not built, is told once.
pub(super) fn failures(text: &mut Text, summary: &Summary, rows: &[&RowSummary], view: &View) {
    let names = build_names(summary, NAME);
    for (build, reason, of) in by_reason(rows) {
        let name = names.get(build).map_or("", String::as_str);
        let mut lines = reason.lines();
        let spans = [
            Span::new(Role::Name, some_of(&of)),
            Span::fixed(Role::Plain, " with "),
            Span::new(Role::Name, name),
            Span::fixed(Role::Bad, " failed: "),
            Span::new(Role::Plain, lines.next().unwrap_or_default()),
        ];
        text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
        for line in lines.filter(|line| !line.trim().is_empty()) {
            text.append(wrap(Line::new().plain("    "), &[Span::new(Role::Dim, line.trim())], view.usable()));
        }
    }
}

/// Builds and reasons in the order of their first rows, with the names of the rows.
fn by_reason<'a>(rows: &[&'a RowSummary]) -> Vec<(usize, &'a str, Vec<String>)> {
    let mut failed: Vec<(usize, &str, Vec<String>)> = Vec::new();
    for row in rows {
        for (build, cell) in row.cells.iter().enumerate() {
            let Cell::Failed { reason } = cell else { continue };
            match failed.iter_mut().find(|(of, why, _)| *of == build && why == reason) {
                Some((.., names)) => names.push(row.row.clone()),
                None => failed.push((build, reason, vec![row.row.clone()])),
            }
        }
    }
    failed
}
