//! The screens of `underpin bind` and `underpin unbind`: what happens to the files, what it costs, what is left alone
//! and why. The short form groups names by what happens to them; `-v` shows every name of every file.

use crate::bytes::Raw;
use crate::document::bind::{BindDocument, BindFile, BindOutcome, BindProgram, BindTotals, CostRecord};
use crate::document::bind::{PlaceName, Shape, UnbindDocument};
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size, thousands};
use std::collections::BTreeMap;
use underpin_rewrite::plan::Reserve;

/// Programs, reasons and files that the short form names.
const NAMED: usize = 10;

/// What binding does, or would do.
#[must_use]
pub fn bind(document: &BindDocument, view: &View) -> Text {
    let mut text = bind_headline(document, view);
    text.append(bind_details(document, view));
    text
}

/// What was done, in one line of figures only: it can be shown before anything else is worked out.
#[must_use]
pub fn bind_headline(document: &BindDocument, _: &View) -> Text {
    let mut text = Text::new();
    text.push(headline(document));
    text
}

/// What follows the headline.
#[must_use]
pub fn bind_details(document: &BindDocument, view: &View) -> Text {
    let mut text = Text::new();
    let totals = &document.totals;
    row(&mut text, "files", file_spans(totals), view);
    row(&mut text, "names", name_spans(document), view);
    if totals.changed > 0 {
        row(&mut text, "places", vec![Span::new(Role::Plain, places(&document.files))], view);
        row(&mut text, "cost", cost_spans(&totals.cost), view);
    }
    programs(&mut text, &document.programs, view);
    late_names(&mut text, &document.programs, view);
    left_alone(&mut text, document, view);
    troubles(&mut text, &document.files, view);
    if view.verbosity > 0 {
        document.files.iter().for_each(|file| one_file(&mut text, file, view));
    }
    text
}

/// What unbinding does, or would do.
#[must_use]
pub fn unbind(document: &UnbindDocument, view: &View) -> Text {
    let mut text = Text::new();
    let changed = count(document.totals.changed, "file", "files");
    let line = Line::new();
    text.push(match (document.totals.changed, document.dry_run) {
        (0, _) => line.with(Role::Heading, "Nothing to unbind"),
        (_, true) => line.with(Role::Heading, format!("Would put back {changed} (nothing was changed)")),
        (_, false) => line.with(Role::Good, format!("Put back {changed}, byte for byte")),
    });
    row(&mut text, "files", file_spans(&document.totals), view);
    if document.totals.changed > 0 && !document.keeps_times {
        let words = "modified now; the time before the binding is not recorded (--keep-times with bind and unbind)";
        row(&mut text, "times", vec![Span::new(Role::Plain, words)], view);
    }
    troubles(&mut text, &document.files, view);
    if view.verbosity > 0 {
        let put_back = |file: &&BindFile| file.outcome == BindOutcome::Unbound;
        text.gap();
        for file in document.files.iter().filter(put_back) {
            text.push(Line::new().plain("  ").with(Role::Path, shorten(&file.path.to_string(), view.usable() - 2)));
        }
    }
    text
}

/// What to pass to the linker so that a later bind has room.
#[must_use]
pub fn reserve(reserves: &[Reserve], view: &View) -> Text {
    let mut text = Text::new();
    if reserves.is_empty() {
        text.push(Line::new().plain("Nothing to reserve: no name would be bound."));
    }
    for reserve in reserves {
        text.push(Line::new().with(Role::Heading, shorten(&Raw::from(&reserve.path).to_string(), view.usable())));
        let mut needs = size(reserve.bytes);
        if reserve.dynamic_tags > 0 {
            let tags = usize::try_from(reserve.dynamic_tags).unwrap_or(usize::MAX);
            needs += &format!(" and {}", count(tags, "dynamic tag", "dynamic tags"));
        }
        row(&mut text, "needs", vec![Span::new(Role::Number, needs)], view);
        // A command is never wrapped, so that it can be copied.
        for flag in &reserve.flags {
            text.push(Line::new().plain("  ").with(Role::Command, flag));
        }
    }
    text
}

fn headline(document: &BindDocument) -> Line {
    let files = count(document.totals.changed, "file", "files");
    let how = match document.shape {
        Shape::PerObject => "",
        Shape::Flatten => ", the whole closure in the program",
        Shape::Farm => ", by a folder of links",
        Shape::Relative => ", so that the tree may be moved",
    };
    let line = Line::new();
    match (document.totals.changed, document.dry_run) {
        (0, _) => line.with(Role::Heading, "Nothing to bind"),
        (_, true) => line.with(Role::Heading, format!("Plan: bind {files}{how} (nothing was changed)")),
        (_, false) => line.with(Role::Good, format!("Bound {files}{how}")),
    }
}

fn row(text: &mut Text, name: &str, spans: Vec<Span>, view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<8}")), &spans, view.usable()));
}

fn file_spans(totals: &BindTotals) -> Vec<Span> {
    let mut spans = vec![Span::new(Role::Number, format!("{} changed", thousands(totals.changed as u64)))];
    for (figure, word, role) in [
        (totals.unchanged, "as they were", Role::Plain),
        (totals.refused, "refused", Role::Warn),
        (totals.failed, "failed", Role::Bad),
    ] {
        if figure > 0 {
            spans.push(Span::fixed(Role::Plain, ", "));
            spans.push(Span::new(role, format!("{} {word}", thousands(figure as u64))));
        }
    }
    spans
}

fn name_spans(document: &BindDocument) -> Vec<Span> {
    let totals = &document.totals;
    let bound = if document.dry_run { "to bind" } else { "bound" };
    let mut spans = vec![Span::new(Role::Number, format!("{} {bound}", thousands(totals.names_bound as u64)))];
    if totals.names_left > 0 {
        spans.push(Span::new(Role::Plain, format!(", {} left alone", thousands(totals.names_left as u64))));
    }
    spans
}

/// How many files use each kind of place.
fn places(files: &[BindFile]) -> String {
    let mut places: BTreeMap<PlaceName, usize> = BTreeMap::new();
    for file in files {
        let mut kinds: Vec<PlaceName> = file.placed.iter().map(|placed| placed.place).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.into_iter().for_each(|kind| *places.entry(kind).or_default() += 1);
    }
    let words = places.iter().map(|(kind, files)| format!("{} in {}", kind.words(), count(*files, "file", "files")));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "strings that were there already".to_owned() } else { words.join(", ") }
}

fn cost_spans(cost: &CostRecord) -> Vec<Span> {
    let role = |more: bool| if more { Role::Warn } else { Role::Good };
    vec![
        Span::new(role(cost.segments > 0), format!("{} more", count(cost.segments as usize, "segment", "segments"))),
        Span::new(role(cost.mmap_calls > 0), format!(", {:+} mmap", cost.mmap_calls)),
        Span::new(role(cost.read_calls > 0), format!(", {:+} pread64", cost.read_calls)),
        Span::new(
            Role::Plain,
            format!("; {} more mapped, {} more on disk", size(cost.mapped_bytes), size(cost.file_bytes)),
        ),
    ]
}

fn programs(text: &mut Text, programs: &[BindProgram], view: &View) {
    if programs.is_empty() {
        return;
    }
    text.gap();
    let columns =
        [("Loader calls", Align::Right), ("after", Align::Right), ("failing", Align::Right), ("after", Align::Right)];
    let columns: Vec<(&str, Align)> = columns.into_iter().chain([("program", Align::Left)]).collect();
    let mut table = Table::new(&columns).flexible(4);
    let mut sorted: Vec<&BindProgram> = programs.iter().collect();
    sorted.sort_by_key(|program| std::cmp::Reverse(program.before.calls));
    let shown = if view.verbosity > 0 { sorted.len() } else { NAMED };
    for program in sorted.iter().take(shown) {
        let after = |figure: Option<u64>| figure.map_or_else(|| "?".to_owned(), thousands);
        table.row(vec![
            Span::new(Role::Number, thousands(program.before.calls)),
            Span::new(Role::Number, after(program.after.map(|after| after.calls))),
            Span::new(Role::Number, thousands(program.before.errors)),
            Span::new(Role::Good, after(program.after.map(|after| after.errors))),
            Span::new(Role::Path, program.path.to_string()),
        ]);
    }
    text.append(table.lines(view.usable()));
    if sorted.len() > shown {
        let rest = count(sorted.len() - shown, "program", "programs");
        text.push(Line::new().with(Role::Dim, format!("  … and {rest} more (-v)")));
    }
}

/// What is still searched for when a program opens a library while it runs: for the program for which that costs most.
fn late_names(text: &mut Text, programs: &[BindProgram], view: &View) {
    let worst = programs.iter().max_by_key(|program| (program.late.directories_after, program.late.directories_before));
    let Some(program) = worst.filter(|program| program.late.directories_before > 0) else { return };
    let late = &program.late;
    let who = match late.opened_by.as_slice() {
        [] => "no file imports dlopen, but the C library opens modules (NSS, gconv)".to_owned(),
        [one] => format!("{one} imports dlopen"),
        [one, rest @ ..] => {
            format!("{one} imports dlopen, and so do {}", count(rest.len(), "other file", "other files"))
        }
    };
    let folders = count(late.directories_after, "directory", "directories");
    let before = match late.directories_before {
        same if same == late.directories_after => "as before".to_owned(),
        more => format!("{} before", thousands(more as u64)),
    };
    let words = format!("{}: each is searched in at most {folders} ({before}); {who}", program.path);
    text.heading("Names opened later");
    text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Plain, words)], view.usable()));
}

/// Paths that a start still tries in vain, by name: the highest number of any program.
fn searched(document: &BindDocument) -> BTreeMap<String, u64> {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for searched in document.programs.iter().flat_map(|program| &program.searched) {
        let most = names.entry(searched.name.to_string()).or_default();
        *most = searched.lookups.max(*most);
    }
    names
}

/// Names that are left alone, by reason: the most costly reasons first, then the most frequent.
fn left_alone(text: &mut Text, document: &BindDocument, view: &View) {
    let searched = searched(document);
    let mut reasons: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for name in document.files.iter().flat_map(|file| &file.names) {
        if let Some(reason) = &name.left_alone {
            *reasons.entry(reason).or_default().entry(name.name.to_string()).or_default() += 1;
        }
    }
    if reasons.is_empty() {
        return;
    }
    text.heading("Left alone");
    let mut reasons: Vec<(&str, BTreeMap<String, usize>)> = reasons.into_iter().collect();
    let price = |names: &BTreeMap<String, usize>| -> u64 { names.keys().filter_map(|name| searched.get(name)).sum() };
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse((price(names), names.values().sum::<usize>())));
    let shown = if view.verbosity > 0 { reasons.len() } else { NAMED };
    for (reason, names) in reasons.iter().take(shown) {
        let listed: Vec<&str> = names.keys().take(4).map(String::as_str).collect();
        let rest = names.len().saturating_sub(listed.len());
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let spans = [
            Span::new(Role::Name, format!("{}{more}", listed.join(", "))),
            Span::new(Role::Plain, format!(": {reason}")),
            Span::new(Role::Warn, stays(price(names))),
        ];
        let figure = format!("  {:>5}  ", thousands(names.values().sum::<usize>() as u64));
        text.append(wrap(Line::new().with(Role::Number, figure), &spans, view.usable()));
    }
    if reasons.len() > shown {
        let rest = count(reasons.len() - shown, "reason", "reasons");
        text.push(Line::new().with(Role::Dim, format!("  … and {rest} more (-v)")));
    }
}

/// What a reason costs each start.
fn stays(lookups: u64) -> String {
    match lookups {
        0 => String::new(),
        1 => " (1 lookup stays)".to_owned(),
        _ => format!(" ({} lookups stay)", thousands(lookups)),
    }
}

fn troubles(text: &mut Text, files: &[BindFile], view: &View) {
    for (outcome, title, role) in
        [(BindOutcome::Refused, "Refused", Role::Warn), (BindOutcome::Failed, "Failed", Role::Bad)]
    {
        let files: Vec<&BindFile> = files.iter().filter(|file| file.outcome == outcome).collect();
        if files.is_empty() {
            continue;
        }
        text.heading(title);
        let shown = if view.verbosity > 0 { files.len() } else { NAMED };
        for file in files.iter().take(shown) {
            let reason = file.reason.as_deref().unwrap_or_default();
            let spans = [Span::new(Role::Path, file.path.to_string()), Span::new(role, format!(": {reason}"))];
            text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
        }
        if files.len() > shown {
            text.push(Line::new().with(Role::Dim, format!("  … and {} more (-v)", files.len() - shown)));
        }
    }
}

fn one_file(text: &mut Text, file: &BindFile, view: &View) {
    if file.names.is_empty() && file.search_path.is_none() {
        return;
    }
    text.heading(shorten(&file.path.to_string(), view.usable()));
    for name in &file.names {
        let line = Line::new().plain("  ").with(Role::Name, name.name.bytes());
        let spans = match (&name.becomes, &name.left_alone) {
            (Some(path), _) => {
                let place = file.placed.iter().find(|placed| placed.text == *path);
                let place = place.map_or_else(String::new, |it| format!(" ({}, {:#x})", it.place.words(), it.offset));
                vec![Span::new(Role::Path, path.to_string()), Span::new(Role::Dim, place)]
            }
            (None, reason) => {
                vec![Span::new(Role::Dim, format!("left alone: {}", reason.as_deref().unwrap_or_default()))]
            }
        };
        text.push(line);
        text.append(wrap(Line::new().with(Role::Dim, "      "), &spans, view.usable()));
        if let Some(note) = &name.note {
            text.append(wrap(Line::new().plain("      "), &[Span::new(Role::Warn, note)], view.usable()));
        }
    }
    if let Some(path) = &file.search_path {
        let spans = [Span::new(Role::Path, path.to_string())];
        text.append(wrap(Line::new().with(Role::Dim, "  search path  "), &spans, view.usable()));
    }
}
