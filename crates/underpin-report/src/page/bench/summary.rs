//! The table to read first: a row for each variant, the figures that matter, each with its change.

use crate::page::{Block, Cell, Column, DataTable, Section};
use crate::styled::{Role, Span};
use crate::words::{
    capital, change_decimals, change_interval, change_words, comparison_word, figure_words, interval_words,
    main_metrics, place_words, verdict_role,
};
use underpin_bench::{Analysis, Metric, VariantSummary};

/// The summary.
pub(super) fn section(document: &Analysis) -> Section {
    // Processor time nearly always follows time; it has its own picture and table.
    let metrics: Vec<Metric> = main_metrics(document).into_iter().filter(|metric| *metric != Metric::Cpu).collect();
    let compared = |metric: Metric| document.comparisons.iter().any(|one| one.metric == metric);
    let mut table =
        DataTable { columns: columns(document, &metrics, &compared), stacked: true, ..DataTable::default() };
    for variant in &document.variants {
        let mut row = vec![Cell::new(Role::Name, &variant.name)];
        for &metric in &metrics {
            row.push(figure(variant, metric));
            if compared(metric) {
                row.push(change(document, variant, metric));
            }
        }
        if let Some(pareto) = &document.pareto {
            let place = place_words(pareto, &variant.name);
            row.push(place.map_or_else(Cell::default, |(role, words)| Cell::new(role, words)));
        }
        table.row(row);
    }
    Section::new("Summary", vec![Block::Table(table)])
}

fn columns(document: &Analysis, metrics: &[Metric], compared: &dyn Fn(Metric) -> bool) -> Vec<Column> {
    let mut columns = vec![Column::new("variant", false)];
    for &metric in metrics {
        columns.push(Column::new(capital(metric.label()), true));
        columns.extend(compared(metric).then(|| Column::new("change", true)));
    }
    columns.extend(document.pareto.as_ref().map(|_| Column::new("Pareto front", false)));
    columns
}

fn figure(variant: &VariantSummary, metric: Metric) -> Cell {
    let Some(record) = variant.metric(metric) else {
        return Cell { spans: vec![Span::fixed(Role::Dim, "-")], sort: Some(f64::MAX), ..Cell::default() };
    };
    let median = record.median.estimate;
    let mut cell = Cell::number(median, figure_words(median, record.unit));
    if record.median.is_confident() {
        cell.spans.push(Span::fixed(Role::Plain, " "));
        cell.spans.push(Span::new(Role::Dim, format!("[{}]", interval_words(&record.median, record.unit))));
    }
    cell
}

fn change(document: &Analysis, variant: &VariantSummary, metric: Metric) -> Cell {
    let Some(one) = document.comparison(&variant.name, metric) else {
        let words = if variant.is_reference { "reference" } else { "-" };
        return Cell { spans: vec![Span::fixed(Role::Dim, words)], sort: Some(1.0), ..Cell::default() };
    };
    let role = verdict_role(one.verdict, Some(metric.direction()));
    let words = change_words(one.ratio.estimate, change_decimals(&one.ratio).min(1));
    Cell {
        spans: vec![
            Span::new(role, format!("{words} {}", comparison_word(one))),
            Span::fixed(Role::Plain, " "),
            Span::new(Role::Dim, if one.ratio.is_confident() { change_interval(&one.ratio) } else { String::new() }),
        ],
        sort: Some(one.ratio.estimate),
        ..Cell::default()
    }
}
