//! The trace document as a page: the timeline, phases, calls, libraries, directories, the tracing cost.

use super::{Block, Cell, DataTable, Item, Page, Section, Tile, paragraph};
use crate::document::trace::by_cost;
use crate::document::trace::{EndRecord, TraceDocument};
use crate::picture::{loader_picture, timeline_picture};
use crate::styled::{Role, Span};
use crate::units::{fails, percent, thousands, time};
use crate::words::{command_words, doubt_words};

/// The page of `underpin trace`.
pub(crate) fn trace_page(document: &TraceDocument) -> Page {
    Page {
        title: Span::new(Role::Path, command_words(document)),
        subtitle: vec![Span::fixed(Role::Dim, "what start-up really did")],
        answer: Vec::new(),
        tiles: trace_tiles(document),
        sections: trace_sections(document),
    }
}

/// The figures of a trace.
pub(crate) fn trace_tiles(document: &TraceDocument) -> Vec<Tile> {
    let end = document.instants.end_seconds;
    let (name, seconds) = match document.instants.main_seconds {
        Some(main) => ("start to main", main),
        None => ("time watched", end),
    };
    let share = percent(document.added_seconds(), end);
    let note = vec![Span::new(Role::Dim, format!("about {share} of it added by the watching"))];
    let (calls, errors) = document.total();
    let errors = if errors > 0 { vec![Span::new(Role::Warn, fails(errors))] } else { Vec::new() };
    vec![
        Tile::new(name, Span::new(Role::Number, time(seconds)), note),
        Tile::new("calls measured", Span::new(Role::Number, thousands(calls)), errors),
    ]
}

/// The sections about a start-up.
pub(crate) fn trace_sections(document: &TraceDocument) -> Vec<Section> {
    let mut blocks = vec![Block::Paragraph(end_words(document)), Block::Picture(timeline_picture(document))];
    if document.interpreter.is_some() {
        blocks.push(paragraph(Role::Plain, format!("Lookups for libraries: {}", document.lookups.words())));
    }
    blocks.push(Block::Table(phases(document)));
    blocks.push(paragraph(Role::Dim, doubt_words(document)));
    if !document.notes.is_empty() {
        let note = |note: &String| Item { spans: vec![Span::new(Role::Warn, note)], command: None };
        blocks.push(Block::List(document.notes.iter().map(note).collect()));
    }
    let mut sections = vec![Section::new("Start-up", blocks)];
    if !document.libraries.is_empty() {
        let blocks = vec![Block::Picture(loader_picture(document)), Block::Table(libraries(document))];
        sections.push(Section::new("Libraries: search, map, relocate", blocks));
    }
    sections.extend(missing(document));
    if !document.directories.is_empty() {
        let blocks = vec![Block::Table(directories(document))];
        sections.push(Section::new("Directories with failing lookups", blocks).detail());
    }
    sections.push(Section::new("Calls, measured", vec![Block::Table(calls(document))]).detail());
    sections
}

fn end_words(document: &TraceDocument) -> Vec<Span> {
    let end = match document.end {
        EndRecord::Exited { status } => format!("exit status {status}"),
        EndRecord::Signalled { signal } => format!("ended by signal {signal}"),
        EndRecord::Stopped => "stopped there".to_owned(),
    };
    vec![
        Span::new(Role::Name, command_words(document)),
        Span::new(Role::Plain, format!(": watched for {}, {end}.", time(document.instants.end_seconds))),
    ]
}

fn phases(document: &TraceDocument) -> DataTable {
    let mut table =
        DataTable::new(&["phase", "from#", "takes#", "added by tracing#", "in calls#", "calls#", "fail#"]).ordered();
    for phase in &document.phases {
        table.row(vec![
            Cell::new(Role::Name, phase.name.words()),
            Cell::seconds(phase.start_seconds),
            Cell::seconds(phase.seconds),
            Cell::seconds(phase.tracing_seconds),
            Cell::seconds(phase.in_calls_seconds),
            Cell::count(phase.calls),
            Cell::count(phase.errors),
        ]);
    }
    table
}

fn calls(document: &TraceDocument) -> DataTable {
    let mut table = DataTable::new(&["call", "calls#", "fail#", "time#"]);
    for call in &document.syscalls {
        table.row(vec![
            Cell::new(Role::Name, &call.name),
            Cell::count(call.calls),
            Cell::count(call.errors),
            Cell::seconds(call.seconds),
        ]);
    }
    table
}

fn libraries(document: &TraceDocument) -> DataTable {
    let mut table = DataTable::new(&["library", "tries#", "search#", "map#", "relocate#", "together#"]);
    for library in by_cost(&document.libraries) {
        let relocate = library.relocate_seconds.map_or_else(|| Cell::number(-1.0, "-".to_owned()), Cell::seconds);
        table.row(vec![
            Cell::new(Role::Path, library.path.bytes()),
            Cell::count(library.failed.len() as u64 + 1),
            Cell::seconds(library.search_seconds),
            Cell::seconds(library.map_seconds),
            relocate,
            Cell::seconds(library.total_seconds()),
        ]);
    }
    table
}

fn missing(document: &TraceDocument) -> Option<Section> {
    let mut table = DataTable::new(&["library", "phase", "path tried", "error"]);
    for library in &document.missing {
        for lookup in &library.failed {
            table.row(vec![
                Cell::new(Role::Bad, library.name.bytes()),
                Cell::new(Role::Dim, library.phase.words()),
                Cell::new(Role::Path, lookup.path.bytes()),
                Cell::new(Role::Plain, &lookup.error),
            ]);
        }
    }
    (!table.rows.is_empty()).then(|| Section::new("Looked for and never found", vec![Block::Table(table)]))
}

fn directories(document: &TraceDocument) -> DataTable {
    let mut table = DataTable::new(&["directory", "fail#", "time#"]);
    for directory in &document.directories {
        table.row(vec![
            Cell::new(Role::Path, directory.directory.bytes()),
            Cell::count(directory.failed),
            Cell::seconds(directory.seconds),
        ]);
    }
    table
}
