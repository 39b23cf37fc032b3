//! The predicted calls of a loader: the short line under a tree, and the table beside a measurement.

use crate::document::tree::{CallComparison, CallComparisonRow, LoaderFamily, TreeDocument};
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{fails, thousands};

/// The predicted start-up calls in a line or two; a note instead if the loader's version is not modelled.
#[must_use]
pub fn calls_line(document: &TreeDocument, view: &View) -> Text {
    let mut text = Text::new();
    if document.loader.kind == LoaderFamily::None {
        return text;
    }
    text.push(Line::new());
    text.push(Line::new().with(Role::Heading, "Start-up calls of the loader (predicted)"));
    if !document.calls.modelled {
        let words = "not predicted: this version of the loader has no call model; see underpin trace";
        text.append(wrap(Line::new().plain("  "), &[Span::fixed(Role::Warn, words)], view.usable()));
        return text;
    }
    let (calls, errors) = document.calls.total();
    let mut spans = vec![Span::new(Role::Number, thousands(calls)), Span::fixed(Role::Plain, " in all")];
    if errors > 0 {
        spans.push(Span::new(Role::Warn, format!(", {}", fails(errors))));
    }
    let mut counts: Vec<_> = document.calls.counts.iter().collect();
    counts.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.name.cmp(&b.name)));
    for (index, count) in counts.iter().enumerate() {
        spans.push(Span::fixed(Role::Plain, if index == 0 { ": " } else { ", " }));
        spans.push(Span::new(Role::Name, &count.name));
        spans.push(Span::new(Role::Plain, format!(" {}", thousands(count.calls))));
        if count.errors > 0 {
            spans.push(Span::new(Role::Warn, format!(" ({})", fails(count.errors))));
        }
    }
    text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
    if document.is_broken() {
        let words = "as if it went on after each miss; a real start ends at the first one";
        text.append(wrap(Line::new().plain("  "), &[Span::fixed(Role::Dim, words)], view.usable()));
    }
    text
}

/// Prediction beside measurement (`tree --check`), one row per call.
#[must_use]
pub fn calls_comparison(comparison: &CallComparison, view: &View) -> Text {
    let mut text = Text::new();
    text.heading("Predicted and measured calls");
    let columns = [
        ("call", Align::Left),
        ("predicted", Align::Right),
        ("fail", Align::Right),
        ("measured", Align::Right),
        ("fail", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(0);
    for row in &comparison.rows {
        table.row(vec![
            Span::new(Role::Name, &row.name),
            Span::new(Role::Number, thousands(row.predicted_calls)),
            Span::new(Role::Dim, thousands(row.predicted_errors)),
            Span::new(Role::Number, thousands(row.measured_calls)),
            Span::new(Role::Dim, thousands(row.measured_errors)),
            verdict(row),
        ]);
    }
    text.append(table.lines(view.usable()));
    let differing = comparison.rows.iter().filter(|row| !row.equal).count();
    text.push(if differing == 0 {
        Line::new().plain("  ").with(Role::Good, "prediction and measurement are equal")
    } else {
        let words = format!("{differing} of {} calls differ", comparison.rows.len());
        Line::new().plain("  ").with(Role::Bad, words)
    });
    text
}

fn verdict(row: &CallComparisonRow) -> Span {
    if row.equal {
        return Span::fixed(Role::Good, "equal");
    }
    let calls = i128::from(row.measured_calls) - i128::from(row.predicted_calls);
    if calls == 0 {
        let errors = i128::from(row.measured_errors) - i128::from(row.predicted_errors);
        return Span::new(Role::Bad, format!("{errors:+} failures"));
    }
    Span::new(Role::Bad, format!("{calls:+}"))
}
