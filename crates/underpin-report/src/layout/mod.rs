//! Fitting text into columns: truncation in the middle, wrapping, aligned tables.
//!
//! Nothing here ever makes a line wider than requested, as long as one character fits; `…` marks what is left out.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod labels;
mod table;
mod wrap;

pub use labels::labels;
pub use table::{Align, Table};
pub(crate) use wrap::fit;
pub use wrap::wrap;

use crate::styled::{characters, shown, width};

/// How a screen is to be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal. What does not fit is shortened or wrapped.
    pub width: usize,
    /// 0 for the short form, 1 for `-v`, 2 for `-vv`.
    pub verbosity: u8,
}

impl View {
    /// A view of that many columns in the short form.
    #[must_use]
    pub const fn columns(width: usize) -> View {
        View { width, verbosity: 0 }
    }

    /// The same view, more (or less) detailed.
    #[must_use]
    pub const fn verbose(self, verbosity: u8) -> View {
        View { verbosity, ..self }
    }

    /// The width, limited to what the layouts can handle.
    #[must_use]
    pub(crate) fn usable(self) -> usize {
        self.width.max(40)
    }
}

impl Default for View {
    fn default() -> View {
        View::columns(80)
    }
}

/// The text in at most `columns` columns, as a span shows it: the middle is replaced by `…`, so that the end of a path,
/// its file name, is kept.
#[must_use]
pub fn shorten(text: &str, columns: usize) -> String {
    let text = shown(text.into());
    if width(&text) <= columns {
        return text.into_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let tail = text.len().saturating_sub(taken(characters(&text).rev(), name_room(&text, room)));
    let tail = text.get(tail..).unwrap_or_default();
    let head = text.get(..taken(characters(&text), room.saturating_sub(width(tail)))).unwrap_or_default();
    format!("{head}…{tail}")
}

/// The text in exactly that many columns: shortened, or padded with blanks.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    let mut text = shorten(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', blanks));
    text
}

/// Columns for the end of a text: the file name if it fits and leaves some room for the beginning.
fn name_room(text: &str, room: usize) -> usize {
    let name = text.rfind('/').and_then(|slash| text.get(slash..)).map_or(0, width);
    name.max(room / 2).min(room.saturating_sub(room / 5))
}

/// Bytes of the characters that fit into that many columns.
fn taken<'a>(characters: impl Iterator<Item = (&'a str, usize)>, columns: usize) -> usize {
    let mut room = columns;
    let fitting = characters.map_while(|(character, columns)| {
        room = room.checked_sub(columns)?;
        Some(character.len())
    });
    fitting.fold(0, usize::saturating_add)
}

/// Wrapped text gets at least this many columns.
const LEAST_ROOM: usize = 8;

fn sum(columns: impl Iterator<Item = usize>) -> usize {
    columns.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests;
