//! The tree document as a page: summary, picture, misses, findings, objects, calls.

use super::{Block, Cell, DataTable, Item, Page, Section, Tile, joined, paragraph};
use crate::bytes::Raw;
use crate::document::tree::{
    CallComparison, EdgeRecord, EdgeResult, Level, LoaderFamily, LoaderRecord, TreeDocument, TryOutcome,
};
use crate::picture::dependency_picture;
use crate::styled::{Role, Span};
use crate::units::{count, fails, size, thousands};

/// The page of `underpin tree`.
pub(crate) fn tree_page(document: &TreeDocument) -> Page {
    Page {
        title: Span::new(Role::Path, document.program.bytes()),
        subtitle: vec![Span::fixed(Role::Dim, "what the loader loads, from where and why")],
        answer: Vec::new(),
        tiles: tree_tiles(document),
        sections: tree_sections(document),
    }
}

/// The figures of a closure.
pub(crate) fn tree_tiles(document: &TreeDocument) -> Vec<Tile> {
    let objects = document.objects.len().saturating_sub(1);
    let bytes: u64 = document.objects.iter().map(|object| object.bytes).sum();
    let mut tiles = vec![Tile::new(
        "objects loaded",
        Span::new(Role::Number, thousands(objects as u64)),
        vec![Span::new(Role::Dim, format!("{}, {}", count(document.edges.len(), "request", "requests"), size(bytes)))],
    )];
    if document.calls.modelled && document.loader.kind != LoaderFamily::None {
        let (calls, errors) = document.calls.total();
        let note = if errors > 0 { vec![Span::new(Role::Warn, fails(errors))] } else { Vec::new() };
        tiles.push(Tile::new("loader calls, predicted", Span::new(Role::Number, thousands(calls)), note));
    }
    let lost = document.edges.iter().filter(|edge| failed(edge)).count();
    if lost > 0 {
        let note = vec![Span::fixed(Role::Bad, "the program does not start")];
        tiles.push(Tile::new("not found", Span::new(Role::Bad, lost.to_string()), note));
    }
    tiles
}

fn failed(edge: &EdgeRecord) -> bool {
    matches!(edge.result, EdgeResult::Missing | EdgeResult::Fatal)
}

/// The sections about a closure.
pub(crate) fn tree_sections(document: &TreeDocument) -> Vec<Section> {
    let mut blocks = vec![Block::Paragraph(loader_words(&document.loader))];
    if document.objects.len() > 1 || !document.edges.is_empty() {
        blocks.push(Block::Picture(dependency_picture(document)));
    }
    let mut sections = vec![Section::new("What it loads", blocks)];
    sections.extend(misses(document));
    sections.extend(findings(document));
    if document.objects.len() > 1 {
        sections.push(Section::new("Objects in load order", vec![Block::Table(objects(document))]).detail());
    }
    sections.extend(calls(document));
    sections
}

fn loader_words(loader: &LoaderRecord) -> Vec<Span> {
    let family = match loader.kind {
        LoaderFamily::Glibc => "glibc",
        LoaderFamily::Musl => "musl",
        LoaderFamily::None => {
            return vec![Span::fixed(Role::Plain, "The file is static: no loader, nothing else is loaded.")];
        }
    };
    let version = loader.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let mut spans = vec![
        Span::new(Role::Plain, format!("Resolved as {family}{version} does, by ")),
        Span::new(Role::Path, loader.path.bytes()),
    ];
    if loader.assumed {
        spans.push(Span::fixed(Role::Warn, " (assumed: the file names no interpreter)"));
    }
    spans.push(Span::fixed(Role::Plain, ". Nothing was run."));
    spans
}

/// Every request that failed, with the paths tried.
fn misses(document: &TreeDocument) -> Option<Section> {
    let mut blocks = Vec::new();
    for edge in document.edges.iter().filter(|edge| failed(edge)) {
        let asker = document.objects.get(edge.from).map(|object| Raw::from(object.label()).to_string());
        let reason = edge.reason.as_deref().unwrap_or("not found");
        blocks.push(Block::Paragraph(vec![
            Span::new(Role::Name, edge.name.bytes()),
            Span::new(Role::Plain, format!(", needed by {}: ", asker.unwrap_or_default())),
            Span::new(Role::Bad, reason),
        ]));
        if !edge.tries.is_empty() {
            blocks.push(Block::Table(tries(edge)));
        }
    }
    (!blocks.is_empty()).then(|| Section::new("Not found", blocks))
}

fn tries(edge: &EdgeRecord) -> DataTable {
    let mut table = DataTable::new(&["#", "path tried", "rule", "result"]).ordered();
    table.columns[0].name = Span::fixed(Role::Dim, "#");
    table.columns[0].numeric = true;
    for (index, tried) in edge.tries.iter().enumerate() {
        let role = if tried.result == TryOutcome::Fatal { Role::Bad } else { Role::Plain };
        table.row(vec![
            Cell::count(index as u64 + 1),
            Cell::new(Role::Path, tried.path.bytes()),
            Cell::new(Role::Dim, &tried.source.text),
            Cell::new(role, &tried.text),
        ]);
    }
    table
}

fn findings(document: &TreeDocument) -> Option<Section> {
    let items: Vec<Item> = document
        .findings
        .iter()
        .map(|finding| {
            let role = match finding.severity {
                Level::Error => Role::Bad,
                Level::Warning => Role::Warn,
                Level::Note => Role::Dim,
            };
            let spans = vec![
                Span::fixed(role, finding.severity.word()),
                Span::fixed(Role::Plain, ": "),
                Span::new(Role::Plain, &finding.message),
            ];
            Item { spans, command: None }
        })
        .collect();
    (!items.is_empty()).then(|| Section::new("Findings", vec![Block::List(items)]))
}

fn objects(document: &TreeDocument) -> DataTable {
    let mut table = DataTable::new(&["#", "object", "found by", "asked for first by", "requests#", "tries#", "size#"]);
    table.columns[0].name = Span::fixed(Role::Dim, "#");
    table.columns[0].numeric = true;
    let mut requests = vec![0u64; document.objects.len()];
    let mut tries = vec![0u64; document.objects.len()];
    for edge in &document.edges {
        if let Some(object) = edge.object.filter(|&object| object < requests.len()) {
            requests[object] += 1;
            tries[object] = tries[object].max(edge.tries.len() as u64);
        }
    }
    for (index, object) in document.objects.iter().enumerate().skip(1) {
        let asker = object.requested_by.and_then(|by| document.objects.get(by));
        let asker = asker.map_or_else(Cell::default, |by| Cell::new(Role::Name, by.label()));
        table.row(vec![
            Cell::count(index as u64),
            Cell::from(vec![Span::new(Role::Path, object.path.bytes())]),
            Cell::new(Role::Plain, &object.found.text),
            asker,
            Cell::count(requests[index]),
            Cell::count(tries[index]),
            Cell::number(object.bytes as f64, size(object.bytes)),
        ]);
    }
    table
}

fn calls(document: &TreeDocument) -> Option<Section> {
    if document.loader.kind == LoaderFamily::None {
        return None;
    }
    let title = "Start-up calls of the loader";
    if let Some(comparison) = &document.comparison {
        return Some(Section::new(title, comparison_blocks(comparison)));
    }
    if !document.calls.modelled {
        let words = "Not predicted: this version of the loader has no call model.";
        return Some(Section::new(title, vec![paragraph(Role::Warn, words)]));
    }
    let mut table = DataTable::new(&["call", "predicted#", "fail#"]);
    for call in &document.calls.counts {
        table.row(vec![Cell::new(Role::Name, &call.name), Cell::count(call.calls), Cell::count(call.errors)]);
    }
    Some(Section::new(title, vec![Block::Table(table)]).detail())
}

/// Prediction beside measurement.
pub(crate) fn comparison_blocks(comparison: &CallComparison) -> Vec<Block> {
    let mut table = DataTable::new(&["call", "predicted#", "fail#", "measured#", "fail#", "verdict"]);
    for row in &comparison.rows {
        let verdict = if row.equal { Cell::new(Role::Good, "equal") } else { Cell::new(Role::Bad, "differs") };
        table.row(vec![
            Cell::new(Role::Name, &row.name),
            Cell::count(row.predicted_calls),
            Cell::count(row.predicted_errors),
            Cell::count(row.measured_calls),
            Cell::count(row.measured_errors),
            verdict,
        ]);
    }
    let differing: Vec<String> = comparison.rows.iter().filter(|row| !row.equal).map(|row| row.name.clone()).collect();
    let words = if differing.is_empty() {
        vec![Span::fixed(Role::Good, "Prediction and measurement are equal.")]
    } else {
        let mut spans = vec![Span::fixed(Role::Bad, "Prediction and measurement differ: ")];
        spans.extend(joined(Role::Name, differing));
        spans
    };
    vec![Block::Paragraph(words), Block::Table(table)]
}
