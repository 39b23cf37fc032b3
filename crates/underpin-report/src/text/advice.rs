//! Advice: each line with the figures behind it and the command to run.

use crate::document::check::AdviceRecord;
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};

/// Advice, the most important first; empty if there is none.
#[must_use]
pub fn advice(advice: &[AdviceRecord], view: &View) -> Text {
    let mut text = Text::new();
    if advice.is_empty() {
        return text;
    }
    text.push(Line::new());
    text.push(Line::new().with(Role::Heading, "What to do about it"));
    for item in advice {
        text.append(wrap(
            Line::new().with(Role::Name, "  • "),
            &[Span::new(Role::Plain, &item.message)],
            view.usable(),
        ));
        if let Some(command) = &item.command {
            // A command is never wrapped, so that it can be copied.
            text.push(Line::new().plain("    ").with(Role::Dim, "$ ").with(Role::Command, command));
        }
    }
    text
}
