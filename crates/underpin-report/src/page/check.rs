//! The check document as a page: what the file is, floors with their causes, systems, advice.

use super::{Block, Cell, DataTable, Item, Page, Section, Tile, advice_section, joined, paragraph};
use crate::bytes::Raw;
use crate::document::check::{
    Answer, CheckDocument, FileRecord, FloorRecord, HardeningState, StepRecord, SystemRecord,
};
use crate::styled::{Role, Span};
use crate::units::{count, size};
use crate::words::{answer_role, reason_in_short, symbol_name};

/// Symbols that a cell shows before folding the rest.
const SHOWN_SYMBOLS: usize = 6;

/// The page of `underpin check`.
pub(crate) fn check_page(document: &CheckDocument) -> Page {
    let mut sections = Vec::new();
    sections.extend(advice_section(&document.advice));
    sections.extend(check_sections(document));
    Page {
        title: Span::new(Role::Path, document.program.bytes()),
        subtitle: vec![Span::fixed(Role::Dim, "what it is, what it asks for, and where it runs")],
        answer: Vec::new(),
        tiles: check_tiles(document),
        sections,
    }
}

/// The figures of a check.
pub(crate) fn check_tiles(document: &CheckDocument) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(floor) = document.floors.first() {
        let forced: usize = floor.steps.first().map_or(0, |step| step.demands.iter().map(|d| d.symbols.len()).sum());
        let words = if forced == 1 { "forced by 1 symbol".to_owned() } else { format!("forced by {forced} symbols") };
        let value = Span::new(Role::Number, format!("{} {}", floor.library, floor.version));
        tiles.push(Tile::new("oldest accepted", value, vec![Span::new(Role::Dim, words)]));
    }
    if !document.systems.is_empty() {
        let can = document.counts.can_run();
        let role = if can == document.systems.len() { Role::Good } else { Role::Warn };
        let open = document.counts.unknown;
        let open = if open > 0 { format!(", {open} not known") } else { String::new() };
        let note = format!("of {}{open}", count(document.systems.len(), "system", "systems"));
        tiles.push(Tile::new("runs on", Span::new(role, can.to_string()), vec![Span::new(Role::Dim, note)]));
    }
    tiles
}

/// The sections about a file and where it runs.
pub(crate) fn check_sections(document: &CheckDocument) -> Vec<Section> {
    let mut sections = vec![Section::new("What it is", vec![Block::Table(file_table(&document.file))])];
    if let Some(limit) = &document.limit {
        let title = format!("Limit: {}_{}", limit.family, limit.allowed);
        let blocks = if limit.kept {
            vec![paragraph(Role::Good, "Kept.")]
        } else {
            let mut blocks = vec![paragraph(Role::Bad, "Exceeded by:"), Block::Table(steps_table(&limit.above))];
            blocks.extend(limit.hidden.iter().map(|hidden| paragraph(Role::Warn, &hidden.message)));
            blocks
        };
        sections.push(Section::new(title, blocks));
    }
    if !document.systems.is_empty() {
        sections.push(systems_section(document));
    }
    sections.push(floors_section(document));
    sections
}

fn named(name: &str, version: Option<&Raw>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

fn file_table(file: &FileRecord) -> DataTable {
    let mut table = DataTable::new(&["fact", "value"]).ordered();
    let mut row = |name: &'static str, spans: Vec<Span>| table.row(vec![Cell::new(Role::Dim, name), spans.into()]);
    row("file", vec![Span::new(Role::Plain, format!("{} {}", file.machine, file.linkage))]);
    row("size", vec![Span::new(Role::Number, size(file.bytes))]);
    match &file.interpreter {
        Some(path) => row("loader", vec![Span::new(Role::Path, path.bytes())]),
        None => row("loader", vec![Span::fixed(Role::Plain, "none")]),
    }
    match &file.libc {
        Some(libc) => {
            let name = named(&libc.name, libc.version.as_ref());
            row("C library", vec![Span::new(Role::Name, name), Span::fixed(Role::Plain, libc.place_words())]);
        }
        None => row("C library", vec![Span::fixed(Role::Dim, "not recognised")]),
    }
    if let Some(words) = file.allocator_words() {
        row("allocator", vec![Span::new(Role::Plain, words)]);
    }
    for (name, parts) in [("allocators inside", &file.allocators), ("languages", &file.languages)] {
        if !parts.is_empty() {
            row(name, joined(Role::Name, parts.iter().map(|part| named(&part.name, part.version.as_ref()))));
        }
    }
    let mut hardening = Vec::new();
    for fact in &file.hardening {
        if !hardening.is_empty() {
            hardening.push(Span::fixed(Role::Plain, ", "));
        }
        let role = match fact.state {
            HardeningState::Good => Role::Good,
            HardeningState::Weak => Role::Warn,
            HardeningState::Bad => Role::Bad,
            HardeningState::Unknown => Role::Dim,
        };
        hardening.push(Span::new(role, &fact.text));
    }
    if !hardening.is_empty() {
        row("hardening", hardening);
    }
    if let Some(build_id) = &file.build_id {
        row("build id", vec![Span::new(Role::Path, build_id)]);
    }
    table
}

fn floors_section(document: &CheckDocument) -> Section {
    let mut blocks = Vec::new();
    if document.floors.is_empty() && document.hidden.is_empty() {
        blocks.push(paragraph(Role::Good, "No versions of any library are asked for."));
    }
    let (core, others): (Vec<_>, Vec<_>) = document.floors.iter().partition(|floor| floor.is_core());
    blocks.extend(core.into_iter().map(|floor| Block::Table(floor_table(floor))));
    let others: Vec<StepRecord> = others.into_iter().flat_map(|floor| floor.steps.iter().cloned()).collect();
    if !others.is_empty() {
        blocks.push(Block::Table(steps_table(&others).caption("Other libraries")));
    }
    let mut items: Vec<Item> = document
        .hidden
        .iter()
        .map(|hidden| {
            let mut spans = vec![Span::new(Role::Warn, &hidden.message), Span::fixed(Role::Plain, ": ")];
            spans.extend(joined(Role::Path, hidden.objects.iter().map(Raw::to_string)));
            Item { spans, command: None }
        })
        .collect();
    for (name, bound) in [("kernel", &document.kernel), ("processor", &document.cpu)] {
        if let Some(bound) = bound {
            let mut spans = vec![Span::new(Role::Plain, format!("{name} {}: ", bound.floor))];
            spans.extend(joined(Role::Path, bound.objects.iter().map(Raw::to_string)));
            items.push(Item { spans, command: None });
        }
    }
    if !items.is_empty() {
        blocks.push(Block::List(items));
    }
    Section::new("Floors, and what forces them", blocks).detail()
}

fn floor_table(floor: &FloorRecord) -> DataTable {
    steps_table(&floor.steps).caption(format!("{} {}", floor.library, floor.version))
}

fn steps_table(steps: &[StepRecord]) -> DataTable {
    let mut table = DataTable::new(&["version", "file", "object", "symbols#", "names"]);
    for step in steps {
        for demand in &step.demands {
            let mut names = Cell::default();
            let mut all = demand.symbols.iter().map(|symbol| {
                let weak = if symbol.weak { " (weak)" } else { "" };
                format!("{}{weak}", symbol_name(symbol))
            });
            names.spans = joined(Role::Name, all.by_ref().take(SHOWN_SYMBOLS));
            names.more = joined(Role::Name, all);
            table.row(vec![
                Cell::new(Role::Number, &step.version),
                Cell::new(Role::Path, step.file.bytes()),
                Cell::new(Role::Path, demand.object.file_name()),
                Cell::count(demand.symbols.len() as u64),
                names,
            ]);
        }
    }
    table
}

fn systems_section(document: &CheckDocument) -> Section {
    let mut table = DataTable::new(&["system", "name for --on", "runs", "why", "support ends"]);
    for system in &document.systems {
        table.row(vec![
            Cell::new(Role::Plain, &system.name),
            Cell::new(Role::Name, &system.id),
            Cell::new(answer_role(system.answer), system.answer.word()),
            why_cell(system),
            Cell::new(Role::Dim, system.end_of_life.as_deref().unwrap_or("")),
        ]);
    }
    let mut words = format!("Facts about systems as of {}.", document.systems_date);
    if document.counts.runs_if_installed > 0 {
        words.push_str(" “yes*”: after installing what is named.");
    }
    if document.counts.unknown > 0 {
        words.push_str(" “?”: the fact that is named is missing; no gate passes on it.");
    }
    Section::new("Where it runs", vec![Block::Table(table), paragraph(Role::Dim, words)])
}

/// The reason as a clause; all other details are folded behind it.
fn why_cell(system: &SystemRecord) -> Cell {
    let mut cell = Cell::new(Role::Plain, reason_in_short(system));
    let notes = system.doubts.iter().chain(&system.notes).skip(usize::from(system.answer == Answer::Runs));
    let sentences: Vec<&String> = match system.answer {
        Answer::Unknown => system.lacks.iter().skip(1).chain(notes).collect(),
        _ => notes.collect(),
    };
    for sentence in sentences {
        if !cell.more.is_empty() {
            cell.more.push(Span::fixed(Role::Plain, "; "));
        }
        cell.more.push(Span::new(Role::Dim, sentence));
    }
    cell
}
