//! The screen of `underpin bench`: one table for each figure, one row for each variant, and how far to trust it.

use super::{bench_short, load};
use crate::document::bench::BenchDocument;
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text, width};
use crate::units::count;
use crate::words::{
    answer, baseline_words, capital, change_decimals, change_interval, change_words, common_command, comparison_word,
    confidence_title, figure_words, gate_words, interval_words, limit_words, load_words, method_words, missing,
    noise_words, pareto_words, runs_words, verdict_role,
};
use underpin_bench::{Analysis, Comparison, Direction, GateReport, Metric, VariantSummary};

/// The comparison of variants.
///
/// Verbosity 0 shows what matters in a dozen lines, 1 every figure and the method, 2 also the ranges and the p-values.
#[must_use]
pub fn bench(document: &BenchDocument, view: &View) -> Text {
    let document = &document.analysis;
    let mut text = Text::new();
    header(&mut text, document, view);
    if view.verbosity == 0 {
        bench_short::figures(&mut text, document, view);
        load::answer_times(&mut text, document, view);
        bench_short::said(&mut text, document, view);
        bench_short::warnings(&mut text, document, view);
    } else {
        figures(&mut text, document, view);
        load::answer_times(&mut text, document, view);
        in_short(&mut text, document, view);
    }
    baseline(&mut text, document, view);
    gate(&mut text, document, view);
    if view.verbosity > 0 {
        trust(&mut text, document, view);
    }
    text
}

fn header(text: &mut Text, document: &Analysis, view: &View) {
    let names = document.variants.iter().filter(|variant| !variant.is_copy).count();
    let title = match document.variants.as_slice() {
        [only] => only.command.join(" "),
        _ => {
            let reference = document.variants.iter().find(|variant| variant.is_reference);
            let reference = reference.map_or("", |one| &one.name);
            let words = format!("{}, against {reference}", count(names, "variant", "variants"));
            // The command, if it is the same for all and there is room for it.
            let room = view.usable().saturating_sub(width(&words) + 2);
            match common_command(document).filter(|_| room >= 20) {
                Some(command) => format!("{}: {words}", shorten(&command, room)),
                None => words,
            }
        }
    };
    let words = runs_words(document);
    // On one line, if there is room.
    if view.verbosity == 0 && width(&title) + width(&words) + 2 <= view.usable() {
        text.push(Line::new().with(Role::Heading, title).with(Role::Dim, format!("; {words}")));
        return load_line(text, document, view);
    }
    text.push(Line::new().with(Role::Heading, shorten(&title, view.usable())));
    text.append(wrap(Line::new(), &[Span::new(Role::Dim, words)], view.usable()));
    load_line(text, document, view);
}

/// The load on a server.
fn load_line(text: &mut Text, document: &Analysis, view: &View) {
    if let Some(load) = &document.load {
        text.append(wrap(Line::new(), &[Span::new(Role::Dim, load_words(load))], view.usable()));
    }
}

/// The columns shown in a table of a figure.
#[derive(Clone, Copy)]
struct Columns {
    /// The median with its interval.
    medians: bool,
    /// The least and the greatest.
    ranges: bool,
    /// The change.
    changes: bool,
    /// The p-value.
    p_values: bool,
}

/// A table for each figure, aligned with the others; two tables in the longest form on a narrow terminal.
fn figures(text: &mut Text, document: &Analysis, view: &View) {
    let (several, most) = (document.variants.len() > 1, view.verbosity >= 2);
    let all = Columns { medians: true, ranges: most || !several, changes: several, p_values: several && most };
    let forms = if all.ranges && all.changes && view.usable() < WIDE {
        vec![Columns { changes: false, p_values: false, ..all }, Columns { medians: false, ranges: false, ..all }]
    } else {
        vec![all]
    };
    let metrics: Vec<Metric> = Metric::all().collect();
    let mut tables: Vec<Vec<Table>> =
        forms.iter().map(|form| metrics.iter().map(|metric| figure(document, *metric, *form)).collect()).collect();
    tables.iter_mut().for_each(|tables| Table::align(tables, view.usable()));
    for (index, metric) in metrics.iter().enumerate().filter(|(index, _)| !tables[0][*index].is_empty()) {
        text.heading(capital(metric.label()));
        for form in &tables {
            text.append(form[index].lines(view.usable()));
        }
    }
}

/// Columns that the longest form takes.
const WIDE: usize = 104;

fn figure(document: &Analysis, metric: Metric, form: Columns) -> Table {
    let rows: Vec<_> = document.rows(metric).collect();
    let medians = confidence_title(rows.iter().map(|(_, record)| &record.median));
    let changes = document.comparisons.iter().filter(|one| one.metric == metric);
    let changes = confidence_title(changes.map(|one| &one.ratio));
    let mut columns = vec![("variant", Align::Left)];
    if form.medians {
        columns.extend([("median", Align::Right), (medians.as_str(), Align::Left)]);
    }
    if form.ranges {
        columns.extend([("least", Align::Right), ("most", Align::Right)]);
    }
    if form.changes {
        columns.extend([("change", Align::Right), (changes.as_str(), Align::Left), ("", Align::Left)]);
    }
    if form.p_values {
        columns.push(("p", Align::Right));
    }
    let mut table = Table::new(&columns).labelled(0);
    for (variant, record) in rows {
        let words = |figure: f64| Span::new(Role::Dim, figure_words(figure, record.unit));
        let mut row = vec![Span::new(Role::Name, &variant.name)];
        if form.medians {
            row.push(Span::new(Role::Number, figure_words(record.median.estimate, record.unit)));
            row.push(Span::new(Role::Dim, interval_words(&record.median, record.unit)));
        }
        if form.ranges {
            row.extend([words(record.min), words(record.max)]);
        }
        if form.changes {
            let comparison = document.comparison(&variant.name, metric);
            row.extend(change_cells(variant, comparison, Some(record.direction), form.p_values));
        }
        table.row(row);
    }
    table
}

fn change_cells(
    variant: &VariantSummary,
    comparison: Option<&Comparison>,
    direction: Option<Direction>,
    p_value: bool,
) -> Vec<Span> {
    let Some(comparison) = comparison else {
        let word = if variant.is_reference { "reference" } else { "-" };
        return vec![Span::fixed(Role::Dim, word)];
    };
    let (word, role) = (comparison_word(comparison), verdict_role(comparison.verdict, direction));
    let mut cells = vec![
        Span::new(role, change_words(comparison.ratio.estimate, change_decimals(&comparison.ratio))),
        Span::new(Role::Dim, change_interval(&comparison.ratio)),
        Span::fixed(role, word),
    ];
    if p_value {
        cells.push(Span::new(Role::Dim, format!("{:.1e}", comparison.p_corrected)));
    }
    cells
}

/// The answer in sentences, and the variants on the Pareto front.
fn in_short(text: &mut Text, document: &Analysis, view: &View) {
    if document.variants.len() < 2 {
        return;
    }
    let sentences: Vec<Vec<Span>> = answer(document).into_iter().chain(pareto_words(document)).collect();
    if sentences.is_empty() {
        return;
    }
    text.heading("In short");
    for sentence in sentences {
        text.append(wrap(Line::new().plain("  "), &sentence, view.usable()));
    }
}

fn baseline(text: &mut Text, document: &Analysis, view: &View) {
    let Some(baseline) = &document.baseline else { return };
    text.heading(format!("Against the saved run {}", baseline.name));
    let few = bench_short::metrics(document);
    let short = |metric: Metric| few.contains(&metric);
    let shown = || baseline.comparisons.iter().filter(|one| view.verbosity > 0 || short(one.metric));
    let confidence = confidence_title(shown().map(|one| &one.ratio));
    let columns = [
        ("variant", Align::Left),
        ("figure", Align::Left),
        ("change", Align::Right),
        (confidence.as_str(), Align::Left),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns).labelled(0);
    for comparison in shown() {
        let direction = Some(comparison.metric.direction());
        let (word, role) = (comparison_word(comparison), verdict_role(comparison.verdict, direction));
        table.row(vec![
            Span::new(Role::Name, &comparison.variant),
            Span::new(Role::Plain, comparison.metric.name()),
            Span::new(role, change_words(comparison.ratio.estimate, change_decimals(&comparison.ratio))),
            Span::new(Role::Dim, change_interval(&comparison.ratio)),
            Span::fixed(role, word),
        ]);
    }
    if table.is_empty() {
        text.push(Line::new().with(Role::Warn, "  no variant of that run has the name of one of these"));
    }
    text.append(table.lines(view.usable()));
    for words in baseline_words(document) {
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Warn, words)], view.usable()));
    }
}

fn gate(text: &mut Text, document: &Analysis, view: &View) {
    let Some(GateReport { outcome, limits, .. }) = &document.gate else { return };
    text.gap();
    let (role, title) = gate_words(*outcome);
    text.push(Line::new().with(role, title));
    for limit in limits {
        let (mark, role, words) = limit_words(limit);
        let head = Line::new().plain("  ").with(role, mark).plain(" ");
        text.append(wrap(head, &[Span::new(Role::Plain, words)], view.usable()));
    }
}

fn trust(text: &mut Text, document: &Analysis, view: &View) {
    text.heading("How far to trust this");
    let mut line = |role: Role, words: &str| {
        text.append(wrap(Line::new().plain("  "), &[Span::new(role, words)], view.usable()));
    };
    if let Some(noise) = &document.noise_floor {
        line(Role::Plain, &noise_words(noise));
    }
    if document.variants.len() > 1 {
        line(Role::Dim, &method_words(document));
    }
    for warning in &document.warnings {
        let words = match &warning.variant {
            Some(name) if document.variants.len() > 1 => format!("{name}: {}", warning.kind),
            _ => capital(&warning.kind.to_string()),
        };
        line(Role::Warn, &words);
    }
    for (reason, names) in missing(document) {
        line(Role::Dim, &format!("Not measured: {}: {reason}", names.join(", ")));
    }
}
