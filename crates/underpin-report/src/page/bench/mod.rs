//! The bench document as a page: the answer, how far to trust it, pictures, then every figure and how it was measured.

mod method;
mod summary;

use super::{Block, Cell, DataTable, Item, Page, Pictures, Section};
use crate::picture::{
    distribution_picture, forest_picture, latency_picture, memory_picture, order_picture, pareto_picture, strip_picture,
};
use crate::styled::{Role, Span};
use crate::units::date;
use crate::words::{
    answer, baseline_words, capital, change_decimals, change_interval, change_words, common_command, comparison_word,
    confidence_title, figure_words, gate_words, limit_words, main_metrics, missing, noise_words, pareto_words,
    runs_words, verdict_role,
};
use underpin_bench::{Analysis, LimitReport, Metric, MetricSummary, Pass, VariantSummary};

/// The page of `underpin bench`.
pub(crate) fn bench_page(document: &Analysis, pictures: Pictures) -> Page {
    let mut sections = vec![summary::section(document)];
    sections.extend(gate(document));
    sections.extend(baseline(document));
    sections.push(trust(document));
    if pictures == Pictures::Drawn {
        sections.extend(drawn(document));
    }
    sections.push(every_figure(document));
    sections.extend(method::what_ran(document));
    sections.push(method::section(document, pictures));
    let mut said = answer(document);
    said.extend(pareto_words(document));
    Page {
        title: Span::new(Role::Heading, title(document)),
        subtitle: vec![Span::new(Role::Dim, subtitle(document))],
        answer: said,
        tiles: Vec::new(),
        sections,
    }
}

/// The command, if all variants run the same.
fn title(document: &Analysis) -> String {
    let variants = document.variants.iter().filter(|variant| !variant.is_copy).count();
    common_command(document).unwrap_or_else(|| format!("Comparison of {variants} variants"))
}

fn subtitle(document: &Analysis) -> String {
    let several = document.variants.len() > 1;
    let reference = document.variants.iter().find(|variant| variant.is_reference).filter(|_| several);
    let against = reference.map_or_else(String::new, |one| format!("against {}; ", one.name));
    format!("{}: {against}{}", date(document.started_unix_seconds), runs_words(document))
}

fn drawn(document: &Analysis) -> Vec<Section> {
    let main = main_metrics(document);
    let mut sections = Vec::new();
    let mut gallery = |title: &str, pictures: Vec<crate::picture::Picture>| {
        if !pictures.is_empty() {
            sections.push(Section::new(title, vec![Block::Gallery(pictures)]));
        }
    };
    let change = forest_picture(document, &main);
    gallery("Change and trade-off", pareto_picture(document).into_iter().chain(change).collect());
    gallery("Every run", main.iter().filter_map(|metric| strip_picture(document, *metric)).collect());
    let timed = main.iter().copied().find(|metric| metric.pass() == Pass::Timed);
    let shapes = timed.map(|metric| [distribution_picture(document, metric), order_picture(document, metric)]);
    let shapes = [latency_picture(document)].into_iter().chain(shapes.into_iter().flatten());
    let shapes = shapes.chain([memory_picture(document)]);
    gallery("Distribution, order, memory", shapes.flatten().collect());
    sections
}

/// A table for each figure.
fn every_figure(document: &Analysis) -> Section {
    let tables = document.metrics().map(|metric| Block::Table(figure(document, metric)));
    Section::new("Every figure", tables.collect()).detail()
}

fn figure(document: &Analysis, metric: Metric) -> DataTable {
    let several = document.variants.len() > 1;
    let names: &[&'static str] = if several {
        &["variant", "median#", "low#", "high#", "least#", "most#", "change#", INTERVAL, ""]
    } else {
        &["variant", "median#", "low#", "high#", "least#", "most#"]
    };
    let mut table = DataTable::new(names).ordered().caption(capital(metric.label()));
    let changes = document.comparisons.iter().filter(|one| one.metric == metric);
    title_of_interval(&mut table, confidence_title(changes.map(|one| &one.ratio)));
    for (variant, record) in document.rows(metric) {
        let mut row = vec![Cell::new(Role::Name, &variant.name)];
        row.extend(figures(record));
        if several {
            row.extend(change(document, variant, record));
        }
        table.row(row);
    }
    table
}

fn change(document: &Analysis, variant: &VariantSummary, record: &MetricSummary) -> [Cell; 3] {
    match document.comparison(&variant.name, record.metric) {
        Some(one) => {
            let words = change_words(one.ratio.estimate, change_decimals(&one.ratio));
            [
                Cell::number(one.ratio.estimate, words),
                Cell::new(Role::Plain, change_interval(&one.ratio)),
                Cell::new(verdict_role(one.verdict, Some(record.direction)), comparison_word(one)),
            ]
        }
        None => [
            Cell::new(Role::Dim, if variant.is_reference { "reference" } else { "-" }),
            Cell::default(),
            Cell::default(),
        ],
    }
}

fn figures(record: &MetricSummary) -> [Cell; 5] {
    let cell = |figure: f64| Cell::number(figure, figure_words(figure, record.unit));
    let bound = |figure: f64| if record.median.is_confident() { cell(figure) } else { Cell::new(Role::Dim, "-") };
    let (low, high) = (bound(record.median.low), bound(record.median.high));
    [cell(record.median.estimate), low, high, cell(record.min), cell(record.max)]
}

/// Puts the confidence of the intervals into the title of their column.
fn title_of_interval(table: &mut DataTable, title: String) {
    let at = table.columns.iter().position(|column| column.name.text() == INTERVAL);
    if let Some(column) = at.and_then(|at| table.columns.get_mut(at)) {
        column.name = Span::new(Role::Dim, title);
    }
}

/// Placeholder for the title of intervals until the confidence is known.
const INTERVAL: &str = "95 %";

fn gate(document: &Analysis) -> Option<Section> {
    let gate = document.gate.as_ref()?;
    let item = |limit: &LimitReport| {
        let (mark, role, words) = limit_words(limit);
        let spans = vec![Span::fixed(role, mark), Span::new(Role::Plain, format!(" {words}"))];
        Item { spans, command: None }
    };
    let (_, title) = gate_words(gate.outcome);
    Some(Section::new(title, vec![Block::List(gate.limits.iter().map(item).collect())]))
}

fn baseline(document: &Analysis) -> Option<Section> {
    let baseline = document.baseline.as_ref()?;
    let mut table = DataTable::new(&["variant", "figure", "change#", INTERVAL, ""]).ordered();
    title_of_interval(&mut table, confidence_title(baseline.comparisons.iter().map(|one| &one.ratio)));
    for one in &baseline.comparisons {
        let role = verdict_role(one.verdict, Some(one.metric.direction()));
        table.row(vec![
            Cell::new(Role::Name, &one.variant),
            Cell::new(Role::Plain, one.metric.label()),
            Cell::number(one.ratio.estimate, change_words(one.ratio.estimate, change_decimals(&one.ratio))),
            Cell::new(Role::Plain, change_interval(&one.ratio)),
            Cell::new(role, comparison_word(one)),
        ]);
    }
    let mut blocks: Vec<Block> =
        baseline_words(document).into_iter().map(|words| super::paragraph(Role::Plain, words)).collect();
    if table.rows.is_empty() {
        blocks.push(super::paragraph(Role::Warn, "No variant of that run has the name of one of these."));
    } else {
        blocks.push(Block::Table(table));
    }
    Some(Section::new(format!("Against the saved run {}", baseline.name), blocks))
}

fn trust(document: &Analysis) -> Section {
    let mut items: Vec<Vec<Span>> = Vec::new();
    items.extend(document.noise_floor.as_ref().map(|noise| vec![Span::new(Role::Plain, noise_words(noise))]));
    items.extend(document.warnings.iter().map(|warning| match &warning.variant {
        Some(name) => {
            vec![Span::new(Role::Name, name), Span::new(Role::Plain, format!(": {}", warning.kind))]
        }
        None => vec![Span::new(Role::Plain, capital(&warning.kind.to_string()))],
    }));
    items.extend(
        missing(document)
            .into_iter()
            .map(|(reason, names)| vec![Span::new(Role::Dim, format!("Not measured: {}: {reason}", names.join(", ")))]),
    );
    if items.is_empty() {
        items.push(vec![Span::fixed(Role::Plain, "Nothing in these runs calls for caution.")]);
    }
    let items = items.into_iter().map(|spans| Item { spans, command: None }).collect();
    Section::new("How far to trust this", vec![Block::List(items)])
}
