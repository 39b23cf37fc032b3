//! The screen of `underpin check`: what the file is, the floors and their causes, where it runs, what to do.

use super::advice::advice;
use crate::bytes::Raw;
use crate::document::check::{
    Answer, BoundRecord, CheckDocument, DemandRecord, ExpectationOutcome, FileRecord, FloorRecord, HardeningState,
    StepRecord, SystemRecord,
};
use crate::layout::{View, padded, shorten, wrap};
use crate::styled::{Line, Role, Span, Text, width};
use crate::units::{count, size};
use crate::words::{answer_role, reason_in_short, symbol_name};

/// Symbols of a step that the short form names.
const SHORT_SYMBOLS: usize = 3;
/// The level that every x86-64 processor has.
pub(super) const BASELINE: &str = "x86-64";
/// Steps of a floor that the short form shows.
const SHORT_STEPS: usize = 4;

/// Where a program runs.
///
/// Verbosity 0 names a few symbols for each version that forces a floor and one line per system, 1 all of them, with
/// every object.
#[must_use]
pub fn check(document: &CheckDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, shorten(&document.program.to_string(), view.usable())));
    text.append(file_lines(&document.file, view));
    floors(&mut text, document, view);
    limit(&mut text, document, view);
    expectations(&mut text, document, view);
    systems(&mut text, document, view);
    text.append(advice(&document.advice, view));
    text
}

/// What a file is, in a few lines.
pub(super) fn file_lines(file: &FileRecord, view: &View) -> Text {
    let mut text = Text::new();
    let mut row = |name: &str, spans: &[Span]| {
        text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<11}")), spans, view.usable()));
    };
    let mut what = vec![
        Span::new(Role::Plain, format!("{} {}, ", file.machine, file.linkage)),
        Span::new(Role::Number, size(file.bytes)),
    ];
    let languages: Vec<String> = file.languages.iter().map(|part| named(&part.name, part.version.as_ref())).collect();
    if !languages.is_empty() {
        what.push(Span::new(Role::Plain, format!(", {}", languages.join(", "))));
    }
    if file.stripped {
        what.push(Span::fixed(Role::Dim, ", stripped"));
    }
    row("file", &what);
    match &file.interpreter {
        Some(path) => row("loader", &[Span::new(Role::Path, path.bytes())]),
        None => row("loader", &[Span::fixed(Role::Plain, "none")]),
    }
    row("C library", &libc_spans(file));
    if let Some(words) = file.allocator_words() {
        row("allocator", &[Span::new(Role::Plain, words)]);
    }
    if let Some(words) = claim_words(file, view) {
        row("claims", &[Span::new(Role::Plain, words)]);
    }
    let hardening = hardening_spans(file, view);
    if !hardening.is_empty() {
        row("hardening", &hardening);
    }
    text
}

/// The claims in the note of `underpin build`; in the short form those that the file itself does not show.
fn claim_words(file: &FileRecord, view: &View) -> Option<String> {
    const SHORT: [&str; 4] = ["allocator", "overlay", "libc", "toolchain"];
    let shown = |key: &str| view.verbosity > 0 || SHORT.contains(&key);
    let words: Vec<String> = file
        .claims
        .iter()
        .filter(|claim| shown(&claim.key.to_string()))
        .map(|claim| format!("{} {}", claim.key, claim.value))
        .collect();
    (!words.is_empty()).then(|| format!("{} (its note says so)", words.join("; ")))
}

fn named(name: &str, version: Option<&Raw>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

fn libc_spans(file: &FileRecord) -> Vec<Span> {
    match &file.libc {
        Some(libc) => {
            let name = named(&libc.name, libc.version.as_ref());
            vec![Span::new(Role::Name, name), Span::fixed(Role::Plain, libc.place_words())]
        }
        None => vec![Span::fixed(Role::Dim, "not recognised")],
    }
}

/// What was expected, a line each.
fn expectations(text: &mut Text, document: &CheckDocument, view: &View) {
    if document.expectations.is_empty() {
        return;
    }
    text.heading("Expected");
    for expectation in &document.expectations {
        let (role, word) = match expectation.outcome {
            ExpectationOutcome::Met => (Role::Good, "yes"),
            ExpectationOutcome::Unmet => (Role::Bad, "no"),
            ExpectationOutcome::NotKnown => (Role::Warn, "?"),
        };
        let line =
            Line::new().plain("  ").with(role, format!("{word:<5}")).with(Role::Name, &expectation.text).plain("  ");
        let why = match expectation.outcome {
            ExpectationOutcome::Met => Vec::new(),
            ExpectationOutcome::Unmet => vec![Span::new(Role::Plain, expectation.found.as_str())],
            ExpectationOutcome::NotKnown => vec![Span::new(Role::Plain, format!("not known: {}", expectation.found))],
        };
        text.append(wrap(line, &why, view.usable()));
    }
}

fn hardening_spans(file: &FileRecord, view: &View) -> Vec<Span> {
    let mut spans = Vec::new();
    let shown = file.hardening.iter().filter(|fact| fact.state != HardeningState::Unknown || view.verbosity > 0);
    for fact in shown {
        let role = match fact.state {
            HardeningState::Good => Role::Good,
            HardeningState::Weak => Role::Warn,
            HardeningState::Bad => Role::Bad,
            HardeningState::Unknown => Role::Dim,
        };
        if !spans.is_empty() {
            spans.push(Span::fixed(Role::Plain, ", "));
        }
        spans.push(Span::new(role, &fact.text));
    }
    spans
}

fn floors(text: &mut Text, document: &CheckDocument, view: &View) {
    text.heading("Floors");
    if document.floors.is_empty() && document.hidden.is_empty() {
        let words = "no versions of any library are asked for";
        text.append(wrap(Line::new().plain("  "), &[Span::fixed(Role::Good, words)], view.usable()));
    }
    let whole = |floor: &&FloorRecord| view.verbosity > 0 || floor.is_core();
    document.floors.iter().filter(whole).for_each(|floor| floor_lines(text, floor, document, view));
    let others: Vec<String> = document
        .floors
        .iter()
        .filter(|floor| !whole(floor))
        .map(|floor| format!("{} {}", floor.library, floor.version))
        .collect();
    if !others.is_empty() {
        let spans = [Span::new(Role::Plain, others.join(", ")), Span::fixed(Role::Dim, " (-v shows what asks)")];
        text.append(wrap(Line::new().plain("  ").with(Role::Dim, "others "), &spans, view.usable()));
    }
    for hidden in &document.hidden {
        let mut spans = vec![Span::new(Role::Warn, &hidden.message)];
        if !document.companions.is_empty() {
            spans.push(Span::new(Role::Dim, format!(" ({})", names(&hidden.objects, view))));
        }
        text.append(wrap(Line::new().plain("  ").with(Role::Warn, "hidden "), &spans, view.usable()));
    }
    bound(text, "kernel", document.kernel.as_ref(), document, view);
    let cpu = document.cpu.as_ref().filter(|cpu| view.verbosity > 0 || cpu.floor != BASELINE);
    bound(text, "processor", cpu, document, view);
}

fn bound(text: &mut Text, name: &str, bound: Option<&BoundRecord>, document: &CheckDocument, view: &View) {
    let Some(bound) = bound else { return };
    let mut spans = vec![Span::new(Role::Number, &bound.floor)];
    if !document.companions.is_empty() {
        spans.push(Span::new(Role::Dim, format!(" ({})", names(&bound.objects, view))));
    }
    text.append(wrap(Line::new().plain("  ").with(Role::Name, name).plain(" "), &spans, view.usable()));
}

/// The file names of some objects.
fn names(objects: &[Raw], view: &View) -> String {
    let shown = if view.verbosity == 0 { SHORT_SYMBOLS } else { objects.len() };
    let mut words: Vec<String> =
        objects.iter().take(shown).map(|object| Raw::from(object.file_name()).to_string()).collect();
    if objects.len() > shown {
        words.push(format!("{} more", objects.len() - shown));
    }
    words.join(", ")
}

fn floor_lines(text: &mut Text, floor: &FloorRecord, document: &CheckDocument, view: &View) {
    let mut spans = vec![Span::new(Role::Number, format!("{} {}", floor.library, floor.version))];
    match &floor.strong_version {
        Some(strong) if *strong != floor.version => {
            let words = format!(" ({strong} if its weak symbols asked for nothing)");
            spans.push(Span::new(Role::Dim, words));
        }
        None => spans.push(Span::fixed(Role::Dim, " (only weak symbols ask)")),
        Some(_) => {}
    }
    text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
    let shown = if view.verbosity == 0 { SHORT_STEPS } else { floor.steps.len() };
    let versions = version_columns(&floor.steps[..shown.min(floor.steps.len())], view);
    for step in floor.steps.iter().take(shown) {
        step_lines(text, step, versions, !document.companions.is_empty(), view);
    }
    if floor.steps.len() > shown {
        let older = count(floor.steps.len() - shown, "older version", "older versions");
        text.push(Line::new().with(Role::Dim, format!("    … {older} (-v)")));
    }
}

/// Columns for the versions of some steps.
fn version_columns(steps: &[StepRecord], view: &View) -> usize {
    steps.iter().map(|step| Span::new(Role::Name, &step.version).width()).max().unwrap_or(0).min(view.usable() / 3)
}

/// A version and the symbols that force it, after an object's name if there are several objects.
fn step_lines(text: &mut Text, step: &StepRecord, versions: usize, many: bool, view: &View) {
    let mut first = true;
    for demand in &step.demands {
        let version = if first { Span::new(Role::Name, &step.version) } else { Span::fixed(Role::Name, "") };
        let head = Line::new().plain("    ").with(Role::Name, padded(version.text(), versions)).plain("  ");
        text.append(wrap(head, &demand_spans(demand, many, view), view.usable()));
        first = false;
        if view.verbosity == 0 && step.demands.len() > 2 {
            let rest = format!("and in {}", count(step.demands.len() - 1, "other object", "other objects"));
            let head = Line::new().plain(" ".repeat(versions + 6));
            text.append(wrap(head, &[Span::new(Role::Dim, rest)], view.usable()));
            break;
        }
    }
}

fn demand_spans(demand: &DemandRecord, many: bool, view: &View) -> Vec<Span> {
    let mut spans = Vec::new();
    if many {
        spans.push(Span::new(Role::Path, demand.object.file_name()));
        spans.push(Span::fixed(Role::Dim, ": "));
    }
    if demand.symbols.is_empty() {
        spans.push(Span::fixed(Role::Dim, "no symbol: the version itself is demanded"));
        return spans;
    }
    let shown = if view.verbosity == 0 { SHORT_SYMBOLS } else { demand.symbols.len() };
    for (index, symbol) in demand.symbols.iter().take(shown).enumerate() {
        if index > 0 {
            spans.push(Span::fixed(Role::Dim, ", "));
        }
        spans.push(Span::new(Role::Plain, symbol_name(symbol)));
        if symbol.weak {
            spans.push(Span::fixed(Role::Dim, " (weak)"));
        }
    }
    if demand.symbols.len() > shown {
        spans.push(Span::new(Role::Dim, format!(" and {} more", demand.symbols.len() - shown)));
    }
    spans
}

fn limit(text: &mut Text, document: &CheckDocument, view: &View) {
    let Some(limit) = &document.limit else { return };
    text.heading(format!("Limit: {}_{}", limit.family, limit.allowed));
    if limit.kept {
        text.push(Line::new().plain("  ").with(Role::Good, "kept"));
        return;
    }
    text.push(Line::new().plain("  ").with(Role::Bad, "exceeded by"));
    let versions = version_columns(&limit.above, view);
    limit.above.iter().for_each(|step| step_lines(text, step, versions, !document.companions.is_empty(), view));
    for hidden in &limit.hidden {
        text.append(wrap(Line::new().plain("    "), &[Span::new(Role::Warn, &hidden.message)], view.usable()));
    }
}

fn systems(text: &mut Text, document: &CheckDocument, view: &View) {
    if document.systems.is_empty() {
        return;
    }
    text.heading(format!("Where it runs: {}", document.counts.words(document.systems.len())));
    let names = document.systems.iter().map(|system| width(&system.id)).max().unwrap_or(0).min(view.usable() / 3);
    for system in &document.systems {
        system_line(text, system, names, view);
        if document.systems_chosen || view.verbosity > 0 {
            details(text, system, !document.companions.is_empty(), view);
        }
    }
    let star = if document.counts.runs_if_installed > 0 { "* after installing what is named; " } else { "" };
    let open = document.counts.unknown > 0 && !document.systems_chosen;
    let mark = if open { "? a fact is missing, which `--on SYSTEM` names; " } else { "" };
    let words = format!("{star}{mark}facts about systems as of {}", document.systems_date);
    text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, words)], view.usable()));
}

fn system_line(text: &mut Text, system: &SystemRecord, names: usize, view: &View) {
    let head = Line::new()
        .plain("  ")
        .with(answer_role(system.answer), format!("{:<4}", system.answer.word()))
        .plain(" ")
        .with(Role::Name, padded(&system.id, names))
        .plain("  ");
    let reason = reason_in_short(system);
    let room = view.usable().saturating_sub(head.width());
    let text_role = if system.answer == Answer::Runs { Role::Dim } else { Role::Plain };
    if view.verbosity > 0 {
        text.append(wrap(head, &[Span::new(text_role, reason)], view.usable()));
    } else {
        let mut line = head;
        line.push(Span::new(text_role, clip(&reason, room)));
        text.push(line);
    }
}

/// The text, cut after that many columns.
fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    for word in text.split(' ') {
        let blank = usize::from(!out.is_empty());
        if width(&out) + blank + width(word) + 2 > columns {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if out.is_empty() { shorten(text, columns) } else { format!("{out} …") }
}

/// Everything that the data has on one system.
fn details(text: &mut Text, system: &SystemRecord, many: bool, view: &View) {
    let end = system.end_of_life.as_ref().map_or_else(String::new, |end| format!(", supported until {end}"));
    let head = Line::new().plain("       ");
    text.append(wrap(head, &[Span::new(Role::Dim, format!("{}{end}", system.name))], view.usable()));
    for reason in &system.reasons {
        let head = Line::new().plain("       ").with(Role::Bad, "· ");
        text.append(wrap(head, &[Span::new(Role::Plain, &reason.message)], view.usable()));
        for demand in reason.demands.iter().filter(|demand| !demand.symbols.is_empty()) {
            text.append(wrap(Line::new().plain("         "), &demand_spans(demand, many, view), view.usable()));
        }
    }
    for item in &system.install {
        let package = item.package.as_ref().map_or("package not known", String::as_str);
        let spans = [Span::new(Role::Name, item.soname.bytes()), Span::new(Role::Plain, format!(": {package}"))];
        text.append(wrap(Line::new().plain("       ").with(Role::Warn, "+ "), &spans, view.usable()));
    }
    let groups =
        [(Role::Warn, "? ", &system.lacks), (Role::Dim, "? ", &system.doubts), (Role::Dim, "  ", &system.notes)];
    for (role, sign, sentences) in groups {
        for sentence in sentences {
            let head = Line::new().plain("       ").with(role, sign);
            text.append(wrap(head, &[Span::new(role, sentence)], view.usable()));
        }
    }
}
