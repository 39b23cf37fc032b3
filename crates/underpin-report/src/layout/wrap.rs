//! Spans over several lines, and lines that are shortened.

use super::{LEAST_ROOM, shorten, sum};
use crate::styled::{Line, Role, Span, Text};

/// Wraps words into lines of at most `columns`; the first line starts with `first`, the others with as many blanks. A
/// word that is too long for a line is shortened in its middle.
#[must_use]
pub fn wrap(first: Line, spans: &[Span], columns: usize) -> Text {
    let indent = first.width();
    let room = columns.saturating_sub(indent).max(LEAST_ROOM);
    let mut text = Text::new();
    let (mut line, mut left) = (first, room);
    for word in words(spans) {
        let word = fitted(word, room);
        let length = sum(word.iter().map(Span::width));
        if left == room {
            left = left.saturating_sub(length);
        } else if let Some(rest) = left.checked_sub(length.saturating_add(1)) {
            line.push(Span::fixed(Role::Plain, " "));
            left = rest;
        } else {
            text.push(std::mem::replace(&mut line, Line::new().plain(" ".repeat(indent))));
            left = room.saturating_sub(length);
        }
        word.into_iter().for_each(|part| line.push(part));
    }
    text.push(line);
    text
}

/// The words of some spans; a word that crosses spans keeps the role of each part.
fn words(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut words: Vec<Vec<Span>> = vec![Vec::new()];
    for span in spans {
        for (index, piece) in span.text().split(' ').enumerate() {
            if index > 0 {
                words.push(Vec::new());
            }
            if !piece.is_empty()
                && let Some(word) = words.last_mut()
            {
                word.push(Span::new(span.role(), piece));
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Spans in at most that many columns: the longest is shortened, then the next longest.
fn fitted(mut word: Vec<Span>, room: usize) -> Vec<Span> {
    let mut over = sum(word.iter().map(Span::width)).saturating_sub(room);
    while over > 0 {
        let Some(longest) = word.iter_mut().max_by_key(|part| part.width()) else { break };
        let had = longest.width();
        *longest = Span::new(longest.role(), shorten(longest.text(), had.saturating_sub(over).max(1)));
        let given = had.saturating_sub(longest.width());
        if given == 0 {
            // Every part is down to one column: the last ones are dropped.
            word.truncate(room);
            break;
        }
        over = over.saturating_sub(given);
    }
    word
}

/// The screen with no line wider than that many columns: in a longer line the longest parts are shortened. A command is
/// kept whole on its line, so that it can be copied.
pub(crate) fn fit(text: &Text, columns: usize) -> Text {
    let mut fitting = Text::new();
    for line in text.lines() {
        let is_command = line.spans().iter().any(|span| span.role() == Role::Command);
        if is_command || line.width() <= columns {
            fitting.push(line.clone());
        } else {
            let mut short = Line::new();
            fitted(line.spans().to_vec(), columns).into_iter().for_each(|span| short.push(span));
            fitting.push(short);
        }
    }
    fitting
}
