//! The screen of `underpin survey`: what the program is, what it requires, where it runs, what it loads, how it starts,
//! and what to do about it, on one page. Each part has a screen of its own with the rest.

use super::advice::advice;
use super::check::{BASELINE, file_lines};
use super::findings;
use super::trace::phases;
use crate::bytes::Raw;
use crate::document::check::{Answer, CheckDocument, ReasonKind, SystemRecord};
use crate::document::survey::SurveyDocument;
use crate::document::trace::TraceDocument;
use crate::document::trace::by_cost;
use crate::document::tree::{EdgeResult, LoaderFamily, TreeDocument};
use crate::document::trial::TrialRatio;
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, fails, size, thousands, time};
use crate::words::{
    change_decimals, change_interval, change_words, doubt_words, figure_words, reason_in_short, symbol_name,
    verdict_role, verdict_word,
};
use underpin_bench::Unit;

/// The most libraries and systems that a line names.
const NAMED: usize = 3;

/// One program in full.
#[must_use]
pub fn survey(document: &SurveyDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, shorten(&document.program.to_string(), view.usable())));
    text.append(file_lines(&document.check.file, view));
    runs(&mut text, &document.check, view);
    loads(&mut text, &document.tree, view);
    match &document.trace {
        Some(trace) => starts(&mut text, trace, view),
        None => {
            text.heading("How it starts");
            let reason = document.trace_absent.as_deref().unwrap_or("not run");
            let spans = [Span::new(Role::Dim, format!("not measured: {reason}"))];
            text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
        }
    }
    allocators(&mut text, document, view);
    text.append(advice(&document.advice, view));
    text
}

/// What other allocators change, a line each.
fn allocators(text: &mut Text, document: &SurveyDocument, view: &View) {
    if document.allocators.is_none() && document.allocators_absent.is_none() {
        return;
    }
    text.heading("On other allocators");
    if let Some(reason) = &document.allocators_absent {
        let spans = [Span::new(Role::Dim, format!("not tried: {reason}"))];
        text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
    }
    let Some(trial) = &document.allocators else { return };
    let memory = trial.rss_bytes.map(|bytes| format!(", {} at its peak", figure_words(bytes.estimate, Unit::Bytes)));
    let runs = count(trial.runs, "run", "runs");
    let words = format!(" on the wall{}; {runs} of each", memory.unwrap_or_default());
    row(
        text,
        "as it is",
        &[Span::new(Role::Number, time(trial.wall_seconds.estimate)), Span::new(Role::Plain, words)],
        view,
    );
    for tried in &trial.allocators {
        let mut spans = change_spans("time", &tried.wall);
        if let Some(rss) = &tried.rss {
            spans.push(Span::fixed(Role::Plain, ", "));
            spans.extend(change_spans("memory", rss));
        }
        row(text, &tried.name, &spans, view);
    }
}

fn change_spans(name: &'static str, figure: &TrialRatio) -> Vec<Span> {
    let (word, role) = (verdict_word(figure.verdict), verdict_role(figure.verdict, None));
    let change = change_words(figure.ratio.estimate, change_decimals(&figure.ratio));
    vec![
        Span::new(Role::Plain, format!("{name} ")),
        Span::new(role, change),
        Span::new(Role::Dim, format!(" {} ", change_interval(&figure.ratio))),
        Span::fixed(role, word),
    ]
}

fn row(text: &mut Text, name: &str, spans: &[Span], view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<13}")), spans, view.usable()));
}

fn runs(text: &mut Text, check: &CheckDocument, view: &View) {
    text.heading("Where it runs");
    row(text, "floors", &floor_spans(check), view);
    for hidden in &check.hidden {
        row(text, "hidden", &[Span::new(Role::Warn, &hidden.message)], view);
    }
    if let Some(cpu) = check.cpu.as_ref().filter(|cpu| cpu.floor != BASELINE) {
        row(text, "processor", &[Span::new(Role::Warn, &cpu.floor)], view);
    }
    systems(text, check, view);
}

/// The floors of the C and C++ libraries with the symbols behind the first, and how many other libraries have one.
fn floor_spans(check: &CheckDocument) -> Vec<Span> {
    let mut floors = Vec::new();
    for floor in check.floors.iter().filter(|floor| floor.is_core()) {
        if !floors.is_empty() {
            floors.push(Span::fixed(Role::Plain, ", "));
        }
        floors.push(Span::new(Role::Number, format!("{} {}", floor.library, floor.version)));
    }
    let core = check.floors.first().filter(|floor| floor.is_core());
    if let Some(step) = core.and_then(|floor| floor.steps.first()) {
        let symbols: Vec<String> = step.demands.iter().flat_map(|d| &d.symbols).map(symbol_name).collect();
        let more = symbols.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = symbols.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        if !names.is_empty() {
            floors.push(Span::new(Role::Dim, format!(" ({} for {names}{rest})", step.version)));
        }
    }
    let others = check.floors.iter().filter(|floor| !floor.is_core()).count();
    if others > 0 {
        let rest = count(others, "further library", "further libraries");
        floors.push(Span::new(Role::Dim, format!("{}versions of {rest}", if floors.is_empty() { "" } else { ", " })));
    }
    if floors.is_empty() {
        floors.push(Span::fixed(Role::Good, "asks for no version of any library"));
    }
    floors
}

/// The systems by answer, and one reason as an example.
fn systems(text: &mut Text, check: &CheckDocument, view: &View) {
    for (answer, name, role) in [
        (Answer::Runs, "yes", Role::Good),
        (Answer::RunsIfInstalled, "yes*", Role::Good),
        (Answer::Refuses, "no", Role::Bad),
        (Answer::Unknown, "?", Role::Warn),
    ] {
        let systems: Vec<&str> =
            check.systems.iter().filter(|system| system.answer == answer).map(|system| system.id.as_str()).collect();
        if !systems.is_empty() {
            let mut spans = vec![Span::new(role, systems.len().to_string()), Span::fixed(Role::Plain, ": ")];
            let all = systems.len() == check.systems.len() && !check.systems_chosen;
            let names = if all { "every system of the table".to_owned() } else { systems.join(", ") };
            spans.push(Span::new(Role::Plain, names));
            if answer == Answer::RunsIfInstalled {
                spans.push(Span::fixed(Role::Dim, " (once further libraries are installed)"));
            }
            if answer == Answer::Unknown {
                spans.push(Span::fixed(Role::Dim, " (not known; `underpin check --on SYSTEM` names the missing fact)"));
            }
            row(text, name, &spans, view);
        }
    }
    let refuses = |system: &&SystemRecord| system.answer == Answer::Refuses;
    let versions = |system: &&SystemRecord| system.reasons.iter().any(|it| it.kind == ReasonKind::VersionMissing);
    let mut refused = check.systems.iter().filter(refuses);
    let example = refused.clone().rfind(versions).or_else(|| refused.next());
    if let Some(system) = example {
        let words = format!("{}: {}", system.id, reason_in_short(system));
        row(text, "for example", &[Span::new(Role::Dim, words)], view);
    }
}

fn loads(text: &mut Text, tree: &TreeDocument, view: &View) {
    text.heading("What it loads");
    if tree.loader.kind == LoaderFamily::None {
        text.push(Line::new().plain("  nothing: the file is static"));
        return;
    }
    let bytes: u64 = tree.objects.iter().map(|object| object.bytes).sum();
    let objects = tree.objects.len().saturating_sub(1);
    let spans = [
        Span::new(Role::Number, count(objects, "object", "objects")),
        Span::new(Role::Plain, format!(" for {}, {}", count(tree.edges.len(), "request", "requests"), size(bytes))),
    ];
    row(text, "closure", &spans, view);
    let lost: Vec<String> = tree
        .edges
        .iter()
        .filter(|edge| matches!(edge.result, EdgeResult::Missing | EdgeResult::Fatal))
        .map(|edge| edge.name.to_string())
        .collect();
    if !lost.is_empty() {
        row(text, "not found", &[Span::new(Role::Bad, lost.join(", "))], view);
    }
    if tree.calls.modelled {
        let (calls, errors) = tree.calls.total();
        let mut spans = vec![Span::new(Role::Number, thousands(calls)), Span::fixed(Role::Plain, " predicted")];
        if errors > 0 {
            spans.push(Span::new(Role::Warn, format!(", {}", fails(errors))));
        }
        row(text, "loader calls", &spans, view);
    }
    text.append(findings(tree, view));
}

fn starts(text: &mut Text, trace: &TraceDocument, view: &View) {
    phases(text, trace, view);
    let mut dearest = Vec::new();
    for library in by_cost(&trace.libraries).into_iter().take(NAMED) {
        if !dearest.is_empty() {
            dearest.push(Span::fixed(Role::Plain, ", "));
        }
        dearest.push(Span::new(Role::Name, Raw::from(library.path.file_name()).to_string()));
        dearest.push(Span::new(Role::Dim, format!(" {}", time(library.total_seconds()))));
    }
    if !dearest.is_empty() {
        row(text, "slowest", &dearest, view);
    }
    if trace.interpreter.is_some() {
        row(text, "lookups", &[Span::new(Role::Plain, trace.lookups.words())], view);
    }
    row(text, "doubt", &[Span::new(Role::Dim, doubt_words(trace))], view);
}
