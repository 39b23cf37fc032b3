//! The bench document as a page: a table for each figure.

use super::{Block, Cell, Item, Page, Section, Table, paragraph};
use crate::document::bench::{BenchDocument, MetricRecord};
use crate::styled::{Role, Span};
use crate::text::{change_decimals, change_interval, change_words, figure_words, method_words, missing, verdict_word};
use underpin_bench::Metric;

/// The page of `underpin bench`.
pub(crate) fn bench_page(document: &BenchDocument) -> Page {
    let mut sections: Vec<Section> = Metric::all().filter_map(|metric| figure(document, metric)).collect();
    sections.extend(commands(document));
    sections.push(trust(document));
    let machine = &document.machine;
    let subtitle =
        format!("{}, {} processors, {}, {}", machine.processor, machine.processors, machine.system, machine.kernel);
    Page {
        title: Span::fixed(Role::Heading, "Comparison"),
        subtitle: vec![Span::new(Role::Dim, subtitle)],
        tiles: Vec::new(),
        sections,
    }
}

fn figure(document: &BenchDocument, metric: Metric) -> Option<Section> {
    let mut table =
        Table::new(&["variant", "median#", "low#", "high#", "least#", "most#", "change#", "95 %", ""]).ordered();
    for variant in &document.variants {
        let Some(record) = document.metric(variant, metric.name()) else { continue };
        let mut row = vec![Cell::new(Role::Name, &variant.name)];
        row.extend(figures(&record));
        match document.comparison(&variant.name, metric.name()) {
            Some(one) => {
                let (word, role) = verdict_word(one.verdict);
                let change = change_words(one.ratio.estimate, change_decimals(&one.ratio));
                row.push(Cell::number(one.ratio.estimate, change));
                row.push(Cell::new(Role::Plain, change_interval(&one.ratio)));
                row.push(Cell::new(role, word));
            }
            None => row.extend([
                Cell::new(Role::Dim, if variant.is_reference { "reference" } else { "-" }),
                Cell::default(),
                Cell::default(),
            ]),
        }
        table.row(row);
    }
    (!table.rows.is_empty()).then(|| {
        let section = Section::new(metric.label(), vec![Block::Table(table)]);
        if matches!(metric, Metric::Wall | Metric::Cpu | Metric::Rss) { section } else { section.detail() }
    })
}

fn figures(record: &MetricRecord) -> [Cell; 5] {
    let cell = |figure: f64| Cell::number(figure, figure_words(figure, record.unit));
    [record.median.estimate, record.median.low, record.median.high, record.min, record.max].map(cell)
}

fn commands(document: &BenchDocument) -> Option<Section> {
    let mut table = Table::new(&["variant", "command", "environment", "runs#", "watched#"]).ordered();
    for variant in &document.variants {
        let changes = variant.environment.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => format!("without {name}"),
        });
        table.row(vec![
            Cell::new(Role::Name, &variant.name),
            Cell::new(Role::Command, variant.command.join(" ")),
            super::joined(Role::Plain, changes).into(),
            Cell::count(variant.runs.len() as u64),
            Cell::count(variant.memory_runs.len() as u64),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::new("What ran", vec![Block::Table(table)]))
}

fn trust(document: &BenchDocument) -> Section {
    let mut items: Vec<String> = document
        .doubts
        .iter()
        .map(|doubt| match &doubt.variant {
            Some(name) => format!("{name}: {}", doubt.message),
            None => doubt.message.clone(),
        })
        .collect();
    items.extend(
        missing(document).into_iter().map(|(reason, names)| format!("Not measured: {}: {reason}", names.join(", "))),
    );
    let mut blocks = vec![paragraph(Role::Plain, method_words(document))];
    if !items.is_empty() {
        let items = items.into_iter().map(|words| Item { spans: vec![Span::new(Role::Plain, words)], command: None });
        blocks.push(Block::List(items.collect()));
    }
    Section::new("How far to trust this", blocks)
}
