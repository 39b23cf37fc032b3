//! The screen of `underpin doctor`: a checklist, and the command that enables what is missing.

use crate::document::doctor::{DoctorDocument, DoctorItem, State};
use crate::layout::{View, padded, wrap};
use crate::styled::{Line, Role, Span, Text, width};
use crate::units::count;

/// What this machine permits.
#[must_use]
pub fn doctor(document: &DoctorDocument, view: &View) -> Text {
    let mut text = Text::new();
    let names = document.items.iter().map(|item| width(&item.name)).max().unwrap_or(0).min(view.usable() / 3);
    let mut topic = None;
    for item in &document.items {
        if topic != Some(item.topic) {
            text.heading(item.topic.title());
            topic = Some(item.topic);
        }
        entry(&mut text, item, names, view);
    }
    text.gap();
    text.push(verdict(document));
    text
}

/// The mark before a fact.
pub(crate) const fn mark(state: State) -> (&'static str, Role) {
    match state {
        State::Good => ("✓", Role::Good),
        State::Limited => ("!", Role::Warn),
        State::Broken => ("✗", Role::Bad),
    }
}

fn entry(text: &mut Text, item: &DoctorItem, names: usize, view: &View) {
    let (mark, role) = mark(item.state);
    let head =
        Line::new().plain("  ").with(role, mark).plain(" ").with(Role::Name, padded(&item.name, names)).plain("  ");
    let indent = head.width();
    text.append(wrap(head, &[Span::new(Role::Plain, &item.value)], view.usable()));
    let below = || Line::new().plain(" ".repeat(indent));
    if let Some(effect) = &item.effect {
        text.append(wrap(below(), &[Span::new(Role::Dim, effect)], view.usable()));
    }
    if let Some(fix) = &item.fix {
        // A command has a line to itself, so that it can be copied.
        text.push(Line::new().plain(" ".repeat(indent)).with(Role::Dim, "$ ").with(Role::Command, fix));
    }
}

fn verdict(document: &DoctorDocument) -> Line {
    let (limited, broken) = (document.count(State::Limited), document.count(State::Broken));
    match (limited, broken) {
        (0, 0) => Line::new().with(Role::Good, "everything is as it should be"),
        (_, 0) => {
            Line::new().with(Role::Warn, format!("every verb works; {}", count(limited, "limitation", "limitations")))
        }
        _ => {
            let words = format!("{} a verb from working", count(broken, "problem keeps", "problems keep"));
            Line::new().with(Role::Bad, words)
        }
    }
}
