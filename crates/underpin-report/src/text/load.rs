//! What a screen of servers has in addition to that of commands: the load, and a table of answer times.

use crate::layout::{Align, Table, View};
use crate::styled::{Role, Span, Text};
use crate::words::figure_words;
use underpin_bench::{Analysis, Metric, Unit, VariantSummary};

/// Figures of the short form.
pub(super) const SHORT: [Metric; 6] =
    [Metric::Rps, Metric::P50, Metric::P99, Metric::CpuPerRequest, Metric::RssEnd, Metric::RssGrowth];

const TIMES: [(&str, Metric); 5] = [
    ("p50", Metric::P50),
    ("p90", Metric::P90),
    ("p99", Metric::P99),
    ("p99.9", Metric::P999),
    ("longest", Metric::LatencyMax),
];

/// Percentiles of every variant side by side, each the median of its runs, and the requests that failed.
pub(super) fn answer_times(text: &mut Text, document: &Analysis, view: &View) {
    let figure = |variant: &VariantSummary, metric: Metric| {
        let record = variant.metric(metric);
        record.map_or_else(|| "-".to_owned(), |record| figure_words(record.median.estimate, record.unit))
    };
    let mut columns = vec![("variant", Align::Left)];
    columns.extend(TIMES.iter().map(|(name, _)| (*name, Align::Right)));
    columns.push(("failed", Align::Right));
    let mut table = Table::new(&columns).labelled(0);
    for variant in document.variants.iter().filter(|variant| variant.runs.iter().any(|run| run.load.is_some())) {
        let mut row = vec![Span::new(Role::Name, &variant.name)];
        row.extend(TIMES.iter().map(|(_, metric)| Span::new(Role::Number, figure(variant, *metric))));
        let (failed, all) = failures(variant);
        let share = failed as f64 / all.max(1) as f64;
        row.push(match failed {
            0 => Span::new(Role::Dim, "none"),
            _ if share >= 0.001 => Span::new(Role::Bad, format!("{:.1} %", share * 100.0)),
            failed => Span::new(Role::Warn, figure_words(failed as f64, Unit::Count)),
        });
        table.row(row);
    }
    if !table.is_empty() {
        text.heading("Answer times");
        text.append(table.lines(view.usable()));
    }
}

/// Requests of all runs that failed or were never sent, and all that were due.
fn failures(variant: &VariantSummary) -> (u64, u64) {
    let runs = variant.runs.iter().filter_map(|run| run.load.as_ref());
    runs.fold((0, 0), |(failed, all), load| {
        let errors = &load.errors;
        let more = errors.connect + errors.status + errors.broken + errors.timed_out + load.unsent;
        (failed + more, all + more + load.requests)
    })
}
