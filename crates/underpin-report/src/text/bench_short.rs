//! The usual screen of `underpin bench`: the figures that matter, what they show, and how far to trust them, in a dozen
//! lines. `-v` shows the rest, which never changes the answer.

use super::load;
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::words::{
    answer, capital, change_decimals, change_interval, change_words, comparison_word, confidence_title, figure_words,
    interval_words, level_words, noise_words, pareto_words, verdict_role,
};
use underpin_bench::{Analysis, Metric, MetricSummary, VariantSummary};

/// Figures of a command; for a server those of [`load::SHORT`].
const COMMAND: [Metric; 4] = [Metric::Wall, Metric::Cpu, Metric::Rss, Metric::RssGrowth];

/// The figures shown: processor time only if its result differs from that of time.
pub(super) fn metrics(document: &Analysis) -> Vec<Metric> {
    let all: &[Metric] = if document.load.is_some() { &load::SHORT } else { &COMMAND };
    let several = document.variants.len() > 1;
    let shown = |metric: &Metric| *metric != Metric::Cpu || !several || cpu_differs(document);
    all.iter().copied().filter(shown).collect()
}

/// Whether the verdict on some variant's processor time differs from that on its time.
fn cpu_differs(document: &Analysis) -> bool {
    let verdict = |name: &str, metric: Metric| document.comparison(name, metric).map(|one| one.verdict);
    let mut names = document.variants.iter().map(|variant| variant.name.as_str());
    names.any(|name| verdict(name, Metric::Wall) != verdict(name, Metric::Cpu))
}

/// A title that leaves room for the figures beside it.
fn title(metric: Metric) -> String {
    match metric {
        Metric::Wall => "Time",
        Metric::Cpu => "Processor time",
        Metric::Rss => "Peak memory",
        Metric::RssGrowth => "Memory growth",
        Metric::RssEnd => "Memory at end",
        Metric::Rps => "Requests/s",
        Metric::P50 => "Answer (p50)",
        Metric::P99 => "Answer (p99)",
        Metric::CpuPerRequest => "CPU/request",
        other => return capital(other.label()),
    }
    .to_owned()
}

/// The figures: for several variants a table for each figure, for a single one a row for each.
pub(super) fn figures(text: &mut Text, document: &Analysis, view: &View) {
    let metrics = metrics(document);
    if let [only] = document.variants.as_slice() {
        text.gap();
        text.append(alone(only, &metrics).lines(view.usable()));
        return;
    }
    let mut tables: Vec<Table> = metrics.iter().map(|metric| compared(document, *metric)).collect();
    tables.retain(|table| !table.is_empty());
    Table::align(&mut tables, view.usable());
    // With only two rows below each title, no empty line is needed between them.
    let airy = document.variants.len() > 2;
    for table in &tables {
        if airy {
            text.gap();
        }
        text.append(table.lines(view.usable()));
    }
}

fn alone(variant: &VariantSummary, metrics: &[Metric]) -> Table {
    let records: Vec<(Metric, &MetricSummary)> =
        metrics.iter().filter_map(|metric| Some((*metric, variant.metric(*metric)?))).collect();
    let confidence = confidence_title(records.iter().map(|(_, record)| &record.median));
    let columns = [
        ("", Align::Left),
        ("median", Align::Right),
        (confidence.as_str(), Align::Left),
        ("least", Align::Right),
        ("most", Align::Right),
    ];
    let mut table = Table::new(&columns).flexible(0);
    for (metric, record) in &records {
        let words = |figure: f64| Span::new(Role::Dim, figure_words(figure, record.unit));
        table.row(vec![
            Span::new(Role::Plain, title(*metric)),
            Span::new(Role::Number, figure_words(record.median.estimate, record.unit)),
            Span::new(Role::Dim, interval_words(&record.median, record.unit)),
            words(record.min),
            words(record.max),
        ]);
    }
    table
}

fn compared(document: &Analysis, metric: Metric) -> Table {
    let rows: Vec<_> = document.rows(metric).collect();
    let medians = confidence_title(rows.iter().map(|(_, record)| &record.median));
    let changes = document.comparisons.iter().filter(|one| one.metric == metric);
    let changes = confidence_title(changes.map(|one| &one.ratio));
    let title = title(metric);
    let columns = [
        (title.as_str(), Align::Left),
        ("median", Align::Right),
        (medians.as_str(), Align::Left),
        ("change", Align::Right),
        (changes.as_str(), Align::Left),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns).labelled(0).titled();
    for (variant, record) in rows {
        let mut row = vec![
            Span::new(Role::Name, &variant.name),
            Span::new(Role::Number, figure_words(record.median.estimate, record.unit)),
            Span::new(Role::Dim, interval_words(&record.median, record.unit)),
        ];
        match document.comparison(&variant.name, metric) {
            Some(one) => {
                let role = verdict_role(one.verdict, Some(record.direction));
                let change = change_words(one.ratio.estimate, change_decimals(&one.ratio));
                row.extend([
                    Span::new(role, change),
                    Span::new(Role::Dim, change_interval(&one.ratio)),
                    Span::fixed(role, comparison_word(one)),
                ]);
            }
            None => row.push(Span::fixed(Role::Dim, if variant.is_reference { "reference" } else { "-" })),
        }
        table.row(row);
    }
    table
}

/// What the figures show for each variant; the Pareto front if it separates anything.
pub(super) fn said(text: &mut Text, document: &Analysis, view: &View) {
    text.gap();
    if document.variants.len() < 2 {
        return;
    }
    let claimed = document.comparisons.iter().any(|one| one.verdict.is_claimed());
    let front = document.pareto.as_ref().is_some_and(|pareto| claimed || !pareto.beaten.is_empty());
    for sentence in answer(document).into_iter().chain(pareto_words(document).filter(|_| front)) {
        text.append(wrap(Line::new().plain("  "), &sentence, view.usable()));
    }
}

/// The warnings as one paragraph, and where to find the rest.
pub(super) fn warnings(text: &mut Text, document: &Analysis, view: &View) {
    if let Some(noise) = &document.noise_floor {
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Plain, noise_words(noise))], view.usable()));
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut say = |role: Role, words: String| {
        if !spans.is_empty() {
            spans.push(Span::fixed(Role::Plain, " "));
        }
        spans.push(Span::new(role, words));
    };
    for (names, brief) in grouped(document) {
        let about =
            if names.is_empty() || document.variants.len() < 2 { String::new() } else { names.join(", ") + ": " };
        let words = if about.is_empty() { capital(&brief) } else { format!("{about}{brief}") };
        say(Role::Warn, format!("{}.", words.trim_end_matches('.')));
    }
    if let Some(words) = levels(document) {
        say(Role::Dim, words);
    }
    let missing = if document.missing.is_empty() { "" } else { ", what is missing" };
    say(Role::Dim, format!("-v: every figure, the method{missing}."));
    text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
}

/// The warnings in short, each with the variants that share it.
fn grouped(document: &Analysis) -> Vec<(Vec<&str>, String)> {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for warning in &document.warnings {
        let (name, said) = (warning.variant.as_deref(), warning.kind.brief());
        match groups.iter_mut().find(|(_, brief)| *brief == said) {
            Some((names, _)) => names.extend(name),
            None => groups.push((name.into_iter().collect(), said)),
        }
    }
    groups
}

/// The meaning of the words in the table, if they occur in it.
fn levels(document: &Analysis) -> Option<String> {
    let shown = || document.comparisons.iter().filter(|one| metrics(document).contains(&one.metric));
    let level = || shown().filter(|one| one.verdict.is_claimed()).map(|one| one.level);
    let (strict, level) = (level().min_by(f64::total_cmp), level().max_by(f64::total_cmp));
    // Times on a busy machine.
    let strict = strict.filter(|strict| Some(*strict) < level);
    let strict = strict.map_or_else(String::new, |strict| format!(", times at {}", level_words(strict)));
    let likely = shown().any(|one| one.likely().is_some());
    match (level, likely) {
        (Some(level), true) => {
            Some(format!("`more`, `less`: proven at {}{strict}; with `?`: only likely.", level_words(level)))
        }
        (Some(level), false) => Some(format!("`more`, `less`: proven at {}{strict}.", level_words(level))),
        (None, true) => Some("`more?`, `less?`: likely, not proven.".to_owned()),
        (None, false) => None,
    }
}
