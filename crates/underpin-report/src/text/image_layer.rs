//! The screen of `underpin image layer`.

use crate::document::image_layer::{ImageChange, ImageLayerDocument};
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;

/// The layers, a recipe with who gave each line, or how the appends stand to the sources.
#[must_use]
pub fn image_layer(document: &ImageLayerDocument, view: &View) -> Text {
    let mut text = Text::new();
    match (&document.changes, &document.recipe) {
        (Some(changes), _) => checked(&mut text, document, changes, view),
        (None, Some(recipe)) => {
            text.push(Line::new().with(Role::Heading, format!("{recipe} for {}", document.target)));
            lines(&mut text, document, view);
        }
        (None, None) => {
            text.push(Line::new().with(Role::Heading, format!("Layers for {}", document.target)));
            layers(&mut text, document, view);
        }
    }
    text
}

fn layers(text: &mut Text, document: &ImageLayerDocument, view: &View) {
    for layer in &document.layers {
        let mut parts = Vec::new();
        if !layer.recipes.is_empty() {
            parts.push(layer.recipes.join(", "));
        }
        if !layer.images.is_empty() {
            parts.push(format!("images: {}", layer.images.join(", ")));
        }
        if layer.appends > 0 {
            parts.push(count(layer.appends, "append", "appends"));
        }
        if !layer.selected {
            parts.push("not for this target".to_owned());
        }
        let start = Line::new().with(Role::Dim, format!("  {:<12} {:>4}  ", layer.name, layer.order));
        text.append(wrap(start, &[Span::new(Role::Plain, parts.join("; "))], view.usable()));
    }
}

/// Nothing is cut: the values are what a person looks for.
fn lines(text: &mut Text, document: &ImageLayerDocument, view: &View) {
    for line in &document.lines {
        let start = Line::new().with(Role::Dim, format!("  {:<22} ", line.key));
        let words = [Span::new(Role::Plain, &line.value), Span::new(Role::Dim, format!("  ({})", line.at))];
        text.append(wrap(start, &words, view.usable()));
    }
}

fn checked(text: &mut Text, document: &ImageLayerDocument, changes: &[ImageChange], view: &View) {
    let head = format!("{} for {}", count(changes.len(), "change", "changes"), document.target);
    text.push(Line::new().with(Role::Heading, head));
    for change in changes {
        text.gap();
        text.push(Line::new().with(Role::Path, change.at.as_str()).with(Role::Plain, format!("  {}", change.recipe)));
        let why = format!("{}: {}", change.cause, change.why);
        text.append(wrap(Line::new().with(Role::Dim, "  why      "), &[Span::new(Role::Plain, why)], view.usable()));
        let mut row = |name: &str, role: Role, words: &str| {
            let start = Line::new().with(Role::Dim, format!("  {name:<9}"));
            text.append(wrap(start, &[Span::new(role, words)], view.usable()));
        };
        match change.applies.as_deref() {
            None => row("applies", Role::Dim, "it has no patch"),
            Some("yes") => row("applies", Role::Good, "yes"),
            Some(other) => row("applies", Role::Bad, other),
        }
        match change.cause_holds {
            None => row("cause", Role::Dim, "not known: it names no evidence in the sources"),
            Some(true) => row("cause", Role::Good, "still true"),
            Some(false) => row("cause", Role::Warn, "no longer seen in the sources"),
        }
        match change.needed {
            None => row("needed", Role::Dim, "not known: --rebuild builds the package without it"),
            Some(true) => row("needed", Role::Good, "yes: the package does not build without it"),
            Some(false) => row("needed", Role::Warn, "the package builds without it"),
        }
    }
}
