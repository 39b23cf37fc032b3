//! The screen of `underpin trace`: phases on a timeline, calls, libraries, directories, and the tracing cost.

use super::advice;
use crate::document::trace::{
    EndRecord, EventRecord, FailedLookup, LibraryRecord, PhaseRecord, TraceDocument, UntilRecord, by_cost,
};
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text, width};
use crate::units::{count, fails, percent, thousands, time};
use crate::words::{command_words, doubt_words};

/// Rows of each table in the short form.
const SHORT_ROWS: usize = 10;
/// Columns of the timeline's bars.
const BAR: usize = 16;

/// What a start-up really did.
///
/// Verbosity 0 shows the first ten rows of each table, 1 all of them, 2 also each failing lookup and, if the document
/// has them, every call.
#[must_use]
pub fn trace(document: &TraceDocument, view: &View) -> Text {
    let mut text = Text::new();
    header(&mut text, document, view);
    lookup_counts(&mut text, document, view);
    phases(&mut text, document, view);
    calls(&mut text, document, view);
    libraries(&mut text, document, view);
    missing(&mut text, document, view);
    directories(&mut text, document, view);
    events(&mut text, document, view);
    doubt(&mut text, document, view);
    text.append(advice(&document.advice, view));
    text
}

fn header(text: &mut Text, document: &TraceDocument, view: &View) {
    text.push(Line::new().with(Role::Heading, shorten(&command_words(document), view.usable())));
    let (calls, errors) = document.total();
    let ended = !matches!(document.end, EndRecord::Stopped);
    let to = match document.until {
        UntilRecord::Entry | UntilRecord::Main if ended && document.instants.entry_seconds.is_none() => {
            "to its end, before the entry point"
        }
        UntilRecord::Entry => "to its entry point",
        UntilRecord::Main => "to main",
        UntilRecord::Exit => "to its end",
    };
    let mut spans = vec![
        Span::new(Role::Number, time(document.instants.end_seconds)),
        Span::new(Role::Plain, format!(" {to}, {} {}", thousands(calls), if calls == 1 { "call" } else { "calls" })),
    ];
    if errors > 0 {
        spans.push(Span::new(Role::Warn, format!(", {}", fails(errors))));
    }
    if document.tasks.len() > 1 {
        spans.push(Span::new(Role::Plain, format!(", {}", count(document.tasks.len(), "task", "tasks"))));
    }
    spans.push(Span::fixed(Role::Plain, "; "));
    spans.push(match document.end {
        EndRecord::Exited { status: 0 } => Span::fixed(Role::Good, "exit status 0"),
        EndRecord::Exited { status } => Span::new(Role::Warn, format!("exit status {status}")),
        EndRecord::Signalled { signal } => Span::new(Role::Bad, format!("ended by signal {signal}")),
        EndRecord::Stopped => Span::fixed(Role::Dim, "stopped there"),
    });
    text.append(wrap(Line::new(), &spans, view.usable()));
}

/// How often libraries were looked up, at the start and later.
fn lookup_counts(text: &mut Text, document: &TraceDocument, view: &View) {
    if document.interpreter.is_none() {
        return;
    }
    let words = format!("lookups for libraries: {}", document.lookups.words());
    text.append(wrap(Line::new(), &[Span::new(Role::Plain, words)], view.usable()));
}

pub(super) fn phases(text: &mut Text, document: &TraceDocument, view: &View) {
    text.heading("Phases");
    // On a narrow terminal, first the bars are left out, then what tracing added.
    let (bars, tracing) = (view.usable() >= 78, view.usable() >= 60);
    let mut columns = vec![("phase", Align::Left), ("from", Align::Right), ("takes", Align::Right)];
    columns.extend(tracing.then_some(("by tracing", Align::Right)));
    columns.extend([("calls", Align::Right), ("fail", Align::Right)]);
    columns.extend(bars.then_some(("", Align::Left)));
    let mut table = Table::new(&columns);
    for phase in &document.phases {
        let mut row = vec![
            Span::fixed(Role::Name, phase.name.words()),
            Span::new(Role::Dim, time(phase.start_seconds)),
            Span::new(Role::Number, time(phase.seconds)),
        ];
        row.extend(tracing.then(|| Span::new(Role::Dim, time(phase.tracing_seconds))));
        row.extend([Span::new(Role::Number, thousands(phase.calls)), errors_span(phase.errors)]);
        row.extend(bars.then(|| Span::new(Role::Name, bar(phase, document.instants.end_seconds))));
        table.row(row);
    }
    text.append(table.lines(view.usable()));
}

fn errors_span(errors: u64) -> Span {
    Span::new(if errors > 0 { Role::Warn } else { Role::Dim }, thousands(errors))
}

/// A phase's position on the timeline, at least one block wide.
fn bar(phase: &PhaseRecord, end: f64) -> String {
    if end <= 0.0 {
        return String::new();
    }
    let at = |seconds: f64| ((seconds / end).clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let from = at(phase.start_seconds).min(BAR - 1);
    let to = at(phase.start_seconds + phase.seconds).clamp(from + 1, BAR);
    format!("{}{}", "·".repeat(from), "█".repeat(to - from))
}

/// How many rows of a table to show.
fn rows(view: &View, all: usize) -> usize {
    if view.verbosity == 0 { all.min(SHORT_ROWS) } else { all }
}

/// Shows how many rows were left out.
fn rest(text: &mut Text, shown: usize, all: usize) {
    if all > shown {
        text.push(Line::new().with(Role::Dim, format!("  … {} more (-v)", all - shown)));
    }
}

fn calls(text: &mut Text, document: &TraceDocument, view: &View) {
    text.heading("Calls");
    let columns = [
        ("% time", Align::Right),
        ("time", Align::Right),
        ("calls", Align::Right),
        ("fail", Align::Right),
        ("call", Align::Left),
    ];
    let mut table = Table::new(&columns);
    let whole: f64 = document.syscalls.iter().map(|call| call.seconds).sum();
    let shown = rows(view, document.syscalls.len());
    for call in document.syscalls.iter().take(shown) {
        table.row(vec![
            Span::new(Role::Dim, percent(call.seconds, whole)),
            Span::new(Role::Number, time(call.seconds)),
            Span::new(Role::Number, thousands(call.calls)),
            errors_span(call.errors),
            Span::new(Role::Name, &call.name),
        ]);
    }
    text.append(table.lines(view.usable()));
    rest(text, shown, document.syscalls.len());
}

fn libraries(text: &mut Text, document: &TraceDocument, view: &View) {
    if document.libraries.is_empty() {
        return;
    }
    let found = count(document.libraries.len(), "library", "libraries");
    let tries: usize = document.libraries.iter().map(|library| library.failed.len()).sum();
    text.heading(format!("{found} by cost"));
    let columns = [
        ("tries", Align::Right),
        ("search", Align::Right),
        ("map", Align::Right),
        ("relocate", Align::Right),
        ("library", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(4);
    let sorted = by_cost(&document.libraries);
    let shown = rows(view, sorted.len());
    sorted.iter().take(shown).for_each(|library| table.row(library_row(library)));
    text.append(table.lines(view.usable()));
    rest(text, shown, sorted.len());
    if tries > 0 {
        let words = format!("{} before they were found", count(tries, "failing lookup", "failing lookups"));
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Warn, words)], view.usable()));
    }
    most_tries(text, &sorted[shown..], view);
    if view.verbosity >= 2 {
        for library in document.libraries.iter().filter(|library| !library.failed.is_empty()) {
            text.push(Line::new().plain("  ").with(Role::Name, shorten(&library.name.to_string(), view.usable() - 2)));
            lookups(text, &library.failed, view);
        }
    }
}

fn library_row(library: &LibraryRecord) -> Vec<Span> {
    let tries = library.failed.len();
    vec![
        Span::new(if tries > 0 { Role::Warn } else { Role::Dim }, (tries + 1).to_string()),
        Span::new(Role::Number, time(library.search_seconds)),
        Span::new(Role::Number, time(library.map_seconds)),
        library.relocate_seconds.map_or(Span::fixed(Role::Dim, "-"), |seconds| Span::new(Role::Number, time(seconds))),
        Span::new(Role::Path, library.path.bytes()),
    ]
}

/// The library with the most tries, if the short table does not show it.
fn most_tries(text: &mut Text, hidden: &[&LibraryRecord], view: &View) {
    let Some(worst) = hidden.iter().max_by_key(|library| library.failed.len()) else { return };
    if worst.failed.is_empty() {
        return;
    }
    let spans = [
        Span::new(Role::Warn, format!("{} tries", worst.failed.len() + 1)),
        Span::fixed(Role::Plain, " were the most among the others, for "),
        Span::new(Role::Name, worst.name.bytes()),
    ];
    text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
}

fn lookups(text: &mut Text, failed: &[FailedLookup], view: &View) {
    for lookup in failed {
        let end = format!(" {} {} {}", lookup.call, lookup.error, time(lookup.seconds));
        let room = view.usable().saturating_sub(4 + width(&end));
        let path = shorten(&lookup.path.to_string(), room);
        text.push(Line::new().plain("    ").with(Role::Path, path).with(Role::Dim, end));
    }
}

fn missing(text: &mut Text, document: &TraceDocument, view: &View) {
    if document.missing.is_empty() {
        return;
    }
    text.heading("Looked for and never found");
    for library in &document.missing {
        let tries = count(library.failed.len(), "try", "tries");
        let spans = [
            Span::new(Role::Bad, library.name.bytes()),
            Span::new(Role::Dim, format!(" ({tries}, phase {})", library.phase.words())),
        ];
        text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
        if view.verbosity > 0 {
            lookups(text, &library.failed, view);
        }
    }
}

fn directories(text: &mut Text, document: &TraceDocument, view: &View) {
    if document.directories.is_empty() {
        return;
    }
    text.heading("Directories with failing lookups");
    let columns = [("fail", Align::Right), ("time", Align::Right), ("directory", Align::Left)];
    let mut table = Table::new(&columns).flexible(2);
    let shown = rows(view, document.directories.len());
    for directory in document.directories.iter().take(shown) {
        table.row(vec![
            Span::new(Role::Warn, thousands(directory.failed)),
            Span::new(Role::Number, time(directory.seconds)),
            Span::new(Role::Path, directory.directory.bytes()),
        ]);
    }
    text.append(table.lines(view.usable()));
    rest(text, shown, document.directories.len());
}

fn events(text: &mut Text, document: &TraceDocument, view: &View) {
    let Some(events) = document.events.as_ref().filter(|_| view.verbosity >= 2) else { return };
    text.heading(if document.until == UntilRecord::Exit { "Every call up to main" } else { "Every call" });
    for event in events {
        text.push(event_line(event, view.usable()));
    }
    if document.events_dropped > 0 {
        let words = format!("… {} more were not kept; they are in the totals", thousands(document.events_dropped));
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, words)], view.usable()));
    }
}

fn event_line(event: &EventRecord, columns: usize) -> Line {
    let result = match (&event.error, event.returned) {
        (Some(error), _) => Span::new(Role::Warn, error),
        (None, Some(value)) if value > 0xffff => Span::new(Role::Dim, format!("{value:#x}")),
        (None, Some(value)) => Span::new(Role::Dim, value.to_string()),
        (None, None) => Span::fixed(Role::Dim, "?"),
    };
    let head = format!("{:>9}  {:>8}  ", time(event.start_seconds), time(event.seconds));
    let call = shorten(&event.call, 24);
    let room = columns.saturating_sub(width(&head) + width(&call) + result.width() + 4);
    let mut line = Line::new().with(Role::Dim, head).with(Role::Name, call);
    if let Some(path) = &event.path {
        line = line.plain(" ").with(Role::Path, shorten(&path.to_string(), room));
    }
    line.push(Span::fixed(Role::Dim, " = "));
    line.push(result);
    line
}

/// How far the figures can be trusted: the cost of the tracer, and its notes.
fn doubt(text: &mut Text, document: &TraceDocument, view: &View) {
    text.heading("How far to trust this");
    text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, doubt_words(document))], view.usable()));
    for note in &document.notes {
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Warn, note)], view.usable()));
    }
}
