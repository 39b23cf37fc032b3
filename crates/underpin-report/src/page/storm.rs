//! The storm document as a page.

use super::{Cell, DataTable, Page, Section, Tile, advice_section, paragraph};
use crate::document::storm::{OperationsRecord, StormCase, StormDocument};
use crate::styled::{Role, Span};
use crate::units::{count, size, thousands, time};

/// The page of `underpin storm`.
pub(crate) fn storm_page(document: &StormDocument) -> Page {
    let job = &document.job;
    let mut sections = vec![times(document), operations(document)];
    if !document.absent.is_empty() {
        let blocks = document.absent.iter().map(|sentence| paragraph(Role::Plain, sentence)).collect();
        sections.push(Section::new("Left out", blocks));
    }
    sections.push(sources(document));
    sections.extend(advice_section(&document.advice));
    let tiles = document.cases.iter().map(tile).collect();
    Page {
        title: Span::new(Role::Path, document.program.bytes()),
        subtitle: vec![Span::new(
            Role::Dim,
            format!(
                "{} of {} on {}",
                count(job.nodes as usize, "node", "nodes"),
                count(job.per_node as usize, "process", "processes"),
                document.file_system.title
            ),
        )],
        answer: Vec::new(),
        tiles,
        sections,
    }
}

fn tile(case: &StormCase) -> Tile {
    let (low, high) = (time(case.low_seconds), time(case.high_seconds));
    let note = format!("{}, {low} to {high}; following starts {}", case.name, time(case.following.seconds));
    Tile::new("started after", Span::new(Role::Number, time(case.seconds)), vec![Span::new(Role::Dim, note)])
}

fn times(document: &StormDocument) -> Section {
    let mut table = DataTable::new(&[
        "case",
        "program",
        "first start#",
        "from#",
        "to#",
        "following#",
        "operations#",
        "bytes#",
        "limited by",
    ])
    .ordered();
    for case in &document.cases {
        table.row(vec![
            Cell::new(Role::Plain, &case.name),
            Cell::new(Role::Path, case.program.bytes()),
            Cell::seconds(case.seconds),
            Cell::seconds(case.low_seconds),
            Cell::seconds(case.high_seconds),
            Cell::seconds(case.following.seconds),
            Cell::count(case.operations),
            Cell::number(case.bytes as f64, size(case.bytes)),
            Cell::new(Role::Plain, case.limit.words()),
        ]);
    }
    let later = format!("Opened later: {}", crate::words::opened_later(document));
    let blocks = vec![super::Block::Table(table), paragraph(Role::Plain, later)];
    Section::new("Until the last process has started", blocks)
}

fn operations(document: &StormDocument) -> Section {
    let columns =
        ["case", "process", "all#", "lookups#", "not there#", "opens#", "attributes#", "links#", "rights#", "reads#"];
    let mut table = DataTable::new(&columns).ordered();
    for case in &document.cases {
        for (process, record) in [("first of a node", &case.first), ("each of the others", &case.next)] {
            let OperationsRecord { total, lookups, absent, opens, attributes, links, access, reads, .. } = *record;
            let names = [Cell::new(Role::Plain, &case.name), Cell::new(Role::Plain, process)];
            let figures = [total, lookups, absent, opens, attributes, links, access, reads].map(Cell::count);
            table.row(names.into_iter().chain(figures).collect());
        }
    }
    Section::new("Operations of one process", vec![super::Block::Table(table)])
}

fn sources(document: &StormDocument) -> Section {
    let mut table = DataTable::new(&["parameter", "value", "source"]).ordered();
    let (client, server) = (&document.file_system.client, &document.file_system.server);
    let doubt = |text: String, doubt: f64| if doubt > 1.0 { format!("{text} (×/÷ {doubt})") } else { text };
    let rate = server.operations_per_second.map_or_else(|| "no limit".to_owned(), |rate| thousands(rate as u64));
    let bytes = server.bytes_per_second.map_or_else(|| "no limit".to_owned(), |rate| size(rate as u64));
    let rows = [
        ("one operation", doubt(time(server.latency_seconds), server.latency_doubt), "latency"),
        ("operations a second", doubt(rate, server.rate_doubt), "rate"),
        ("bytes a second", doubt(bytes, server.bandwidth_doubt), "contents"),
        ("names found are remembered", client.found.clone(), "caching"),
        ("names not found", client.absent.clone(), "caching"),
        ("attributes", client.attributes.clone(), "caching"),
    ];
    for (name, value, covers) in rows {
        let source = document.file_system.sources.iter().find(|source| source.covers == covers);
        let text = source.map_or("", |source| source.text.as_str());
        table.row(vec![Cell::new(Role::Plain, name), Cell::new(Role::Number, value), Cell::new(Role::Dim, text)]);
    }
    Section::new("Where the figures come from", vec![super::Block::Table(table)]).detail()
}
