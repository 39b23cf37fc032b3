//! The screen of `underpin storm`: the job, its operations and its time before and after, with the uncertainty of each,
//! and where the figures come from.

use super::advice::advice;
use crate::document::storm::{FileSystemRecord, OperationsRecord, StormCase, StormDocument};
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size, thousands, time};
use crate::words::opened_later;

/// Columns of figures that leave room for the names of the rows on 80 columns.
const CASES: usize = 4;

/// What the start of a job costs.
#[must_use]
pub fn storm(document: &StormDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, shorten(&document.program.to_string(), view.usable())));
    job(&mut text, document, view);
    times(&mut text, document, view);
    operations(&mut text, document, view);
    for sentence in &document.absent {
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, sentence)], view.usable()));
    }
    sources(&mut text, &document.file_system, view);
    text.append(advice(&document.advice, view));
    text
}

fn row(text: &mut Text, name: &str, words: &str, view: &View) {
    let spans = [Span::new(Role::Plain, words)];
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<13}")), &spans, view.usable()));
}

fn job(text: &mut Text, document: &StormDocument, view: &View) {
    let job = &document.job;
    let each = count(job.per_node as usize, "process", "processes");
    let cores = count(job.cores as usize, "processor", "processors");
    let processes = thousands(u64::from(job.nodes) * u64::from(job.per_node));
    row(
        text,
        "job",
        &format!("{} of {each} on {cores} each, {processes} in all", count(job.nodes as usize, "node", "nodes")),
        view,
    );
    let at: Vec<String> = document.file_system.mounted_at.iter().map(ToString::to_string).collect();
    row(text, "file system", &format!("{}, at {}", document.file_system.title, at.join(", ")), view);
    let guess = if job.processor_known { "" } else { " (a guess; --cpu-time gives it)" };
    row(text, "opened later", &opened_later(document), view);
    row(text, "computing", &format!("{} in each process{guess}", time(job.processor_seconds)), view);
}

fn times(text: &mut Text, document: &StormDocument, view: &View) {
    text.heading("Until the last process has started");
    let columns = [
        ("", Align::Left),
        ("first start", Align::Right),
        ("", Align::Left),
        ("following", Align::Right),
        ("limited by", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(4);
    let first = document.cases.first().map_or(0.0, |case| case.seconds);
    for case in &document.cases {
        let better = case.seconds < 0.95 * first;
        table.row(vec![
            Span::new(Role::Name, &case.name),
            Span::new(if better { Role::Good } else { Role::Number }, time(case.seconds)),
            Span::new(Role::Dim, format!("({} to {})", time(case.low_seconds), time(case.high_seconds))),
            Span::new(Role::Number, time(case.following.seconds)),
            Span::new(Role::Plain, case.limit.words()),
        ]);
    }
    text.append(table.lines(view.usable()));
}

/// The figure of a start that a row shows.
type Figure = fn(&OperationsRecord) -> u64;

const ROWS: [(&str, Figure); 8] = [
    ("lookups", |it| it.lookups),
    ("  not there", |it| it.absent),
    ("opens", |it| it.opens),
    ("attributes", |it| it.attributes),
    ("links", |it| it.links),
    ("rights", |it| it.access),
    ("reads", |it| it.reads),
    ("closes", |it| it.closes),
];

fn operations(text: &mut Text, document: &StormDocument, view: &View) {
    text.heading("Operations at the server");
    let cases: Vec<&StormCase> = document.cases.iter().take(CASES).collect();
    let names = cases.iter().map(|case| (case.name.as_str(), Align::Right));
    let columns: Vec<(&str, Align)> = std::iter::once(("", Align::Left)).chain(names).collect();
    let mut table = Table::new(&columns).flexible(0);
    let figures = |name: &'static str, role: Role, of: &dyn Fn(&StormCase) -> String| {
        let cells = cases.iter().map(|case| Span::new(Role::Number, of(case)));
        std::iter::once(Span::fixed(role, name)).chain(cells).collect::<Vec<Span>>()
    };
    let both = [
        ("first of a node", (|case| &case.first) as fn(&StormCase) -> &OperationsRecord),
        ("each of the others", |case| &case.next),
    ];
    for (name, part) in both.into_iter().take(if document.job.per_node > 1 { 2 } else { 1 }) {
        table.row(figures(name, Role::Plain, &|case| thousands(part(case).total)));
        for (name, figure) in ROWS {
            if cases.iter().any(|case| figure(part(case)) > 0) {
                let name: &'static str = name;
                let mut cells = figures(name, Role::Dim, &|case| thousands(figure(part(case))));
                cells[0] = Span::new(Role::Dim, format!("  {name}"));
                table.row(cells);
            }
        }
    }
    table.row(figures("all of the job", Role::Plain, &|case| thousands(case.operations)));
    if cases.iter().any(|case| case.bytes > 0) {
        table.row(figures("contents read", Role::Plain, &|case| size(case.bytes)));
    }
    text.append(table.lines(view.usable()));
    if document.cases.len() > cases.len() {
        let rest = count(document.cases.len() - cases.len(), "comparison", "comparisons");
        text.push(Line::new().with(Role::Dim, format!("  … and {rest} more (--json)")));
    }
}

fn sources(text: &mut Text, fs: &FileSystemRecord, view: &View) {
    text.heading("Where the figures come from");
    if view.verbosity > 0 {
        for source in &fs.sources {
            let doubt = if source.verified { "" } else { " (not re-checked)" };
            row(text, &source.covers, &format!("{}{doubt}", source.text), view);
        }
    }
    let server = &fs.server;
    let factor = |doubt: f64| if doubt > 1.0 { format!(" (×/÷ {doubt})") } else { String::new() };
    row(text, "an operation", &format!("{}{}", time(server.latency_seconds), factor(server.latency_doubt)), view);
    let rate = server.operations_per_second.map_or_else(
        || "no limit".to_owned(),
        |rate| format!("{} a second{}", thousands(rate as u64), factor(server.rate_doubt)),
    );
    row(text, "all together", &rate, view);
    let client = &fs.client;
    row(text, "remembered", &format!("names found: {}, not found: {}", client.found, client.absent), view);
    let unverified: Vec<&str> =
        fs.sources.iter().filter(|source| !source.verified).map(|source| source.covers.as_str()).collect();
    if !unverified.is_empty() {
        let words = format!(
            "{} of this file system {} general knowledge: measure your own and give it (--latency, --rate, ...)",
            unverified.join(" and "),
            if unverified.len() == 1 { "is" } else { "are" },
        );
        let line = Line::new().plain("  ");
        text.append(wrap(line, &[Span::new(Role::Warn, words)], view.usable()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_storm;

    #[test]
    fn a_storm_shows_times_operations_and_doubt() {
        insta::assert_snapshot!(storm(&sample_storm(), &View::columns(80)));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_control_character_passes() {
        for (columns, verbosity) in [(80, 0), (80, 1), (100, 1)] {
            let text = storm(&sample_storm(), &View::columns(columns).verbose(verbosity));
            assert!(text.width() <= columns, "{} of {columns}: {text}", text.width());
            assert!(!text.to_string().chars().any(|letter| letter != '\n' && letter.is_control()));
        }
    }
}
