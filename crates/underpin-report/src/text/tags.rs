//! The screen of `underpin check` on a folder or a wheel: the tag it meets, and what rules out the next older one.

use crate::document::tags::{ObstacleKind, ObstacleRecord, TagClaim, TagsDocument};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;

/// Obstacles that the short form shows.
const SHORT_OBSTACLES: usize = 8;
/// Symbols of a version that the short form names.
const SHORT_SYMBOLS: usize = 3;

/// Which platform tag a set meets.
///
/// Verbosity 0 shows the first obstacles of each kind, 1 all of them with every symbol.
#[must_use]
pub fn tags(document: &TagsDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, shorten(&document.set.to_string(), view.usable())));
    let mut row = |name: &str, spans: &[Span]| {
        text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<8}")), spans, view.usable()));
    };
    let libc = document.libc.as_deref().unwrap_or("no C library");
    let objects = count(document.objects, "object", "objects");
    row("holds", &[Span::new(Role::Plain, format!("{objects} for {}, {libc}", document.platform))]);
    let mut meets = vec![Span::new(Role::Name, &document.tag)];
    if let Some(alias) = &document.alias {
        meets.push(Span::new(Role::Dim, format!(" ({alias})")));
    }
    row("meets", &meets);
    for claim in &document.claims {
        row("claims", &claim_spans(claim));
    }
    for note in &document.notes {
        row("note", &[Span::new(Role::Warn, note)]);
    }
    if let Some(older) = &document.ruled_out {
        text.heading(format!("Not {older}, because of"));
        obstacles(&mut text, document, view);
    }
    let source = format!("promises of the tags as of {} ({})", document.tags_date, document.tags_source);
    text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, source)], view.usable()));
    text
}

fn claim_spans(claim: &TagClaim) -> [Span; 2] {
    let (role, words) = match claim.earned {
        Some(true) => (Role::Good, ": holds"),
        Some(false) => (Role::Bad, ": does not hold"),
        None => (Role::Warn, ": not known, underpin has no data on this tag"),
    };
    [Span::new(Role::Name, &claim.tag), Span::fixed(role, words)]
}

fn obstacles(text: &mut Text, document: &TagsDocument, view: &View) {
    let shown = if view.verbosity == 0 { SHORT_OBSTACLES } else { document.obstacles.len() };
    for obstacle in document.obstacles.iter().take(shown) {
        let head = Line::new().plain("  ").with(Role::Bad, obstacle.what.to_string()).plain("  ");
        text.append(wrap(head, &spans(obstacle, view), view.usable()));
    }
    if document.obstacles.len() > shown {
        let more = count(document.obstacles.len() - shown, "other", "others");
        text.push(Line::new().with(Role::Dim, format!("  … {more} (-v)")));
    }
}

fn spans(obstacle: &ObstacleRecord, view: &View) -> Vec<Span> {
    let mut spans = vec![Span::new(Role::Path, obstacle.object.bytes())];
    let of = |words: &str| match &obstacle.library {
        Some(library) => format!("{words} {library}"),
        None => words.to_owned(),
    };
    let why = match obstacle.kind {
        ObstacleKind::Library => "a library that is neither promised nor included".to_owned(),
        ObstacleKind::Version => symbols(obstacle, view),
        ObstacleKind::Forbidden => of("an internal function of"),
        ObstacleKind::Processor => "instructions that older processors do not have".to_owned(),
        ObstacleKind::Python => "only some builds of Python have it".to_owned(),
    };
    spans.push(Span::new(Role::Dim, format!(": {why}")));
    spans
}

fn symbols(obstacle: &ObstacleRecord, view: &View) -> String {
    if obstacle.symbols.is_empty() {
        return "the version itself is asked for".to_owned();
    }
    let shown = if view.verbosity == 0 { SHORT_SYMBOLS } else { obstacle.symbols.len() };
    let mut words: Vec<String> = obstacle.symbols.iter().take(shown).map(ToString::to_string).collect();
    if obstacle.symbols.len() > shown {
        words.push(format!("{} more", obstacle.symbols.len() - shown));
    }
    words.join(", ")
}
