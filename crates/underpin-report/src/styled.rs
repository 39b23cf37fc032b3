//! Text with roles instead of colours: the binary maps a role to ANSI, or drops it.
//!
//! A [`Span`] never contains a control character or a line break: its constructors pass everything through
//! [`visible`](crate::bytes::visible), so a hostile file name cannot control the terminal.
//!
//! Columns are counted in one way everywhere: by [`width`], for text as a span shows it. Text is cut only between
//! grapheme clusters ([`characters`]), so the width of a whole is the sum of the widths of its parts.

use crate::bytes::visible;
use bstr::{BStr, ByteSlice};
use std::borrow::Cow;
use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text is. The binary decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Ordinary text.
    Plain,
    /// A title.
    Heading,
    /// A name: soname, symbol, system call, system.
    Name,
    /// A path.
    Path,
    /// A figure.
    Number,
    /// Something in order.
    Good,
    /// Something that may go wrong.
    Warn,
    /// Something that is wrong.
    Bad,
    /// Detail that the eye may skip.
    Dim,
    /// A command that the reader can run.
    Command,
}

/// A piece of text with one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    role: Role,
    text: Cow<'static, str>,
}

impl Span {
    /// Text from this program or from outside; control characters are made visible.
    #[must_use]
    pub fn new(role: Role, text: impl AsRef<[u8]>) -> Span {
        Span { role, text: Cow::Owned(shown(text.as_ref().as_bstr()).into_owned()) }
    }

    /// Text from this program's source.
    #[must_use]
    pub const fn fixed(role: Role, text: &'static str) -> Span {
        Span { role, text: Cow::Borrowed(text) }
    }

    /// What it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The text, without control characters.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Columns that it takes on a terminal.
    #[must_use]
    pub fn width(&self) -> usize {
        width(&self.text)
    }
}

/// A text as a span shows it: visible, and nothing in it changes the character before it. A combining mark or the
/// selector of an emoji at the very beginning would do so, and is written as `\u{NNNN}`.
pub(crate) fn shown(bytes: &BStr) -> Cow<'_, str> {
    let text = visible(bytes);
    match text.chars().next() {
        Some(first) if !is_simple(first) && first.width() == Some(0) => {
            Cow::Owned(format!("\\u{{{:x}}}{}", u32::from(first), &text[first.len_utf8()..]))
        }
        _ => text,
    }
}

/// The characters that a reader sees (grapheme clusters), each with its columns, in order; for text that is [`shown`].
pub(crate) fn characters(text: &str) -> impl DoubleEndedIterator<Item = (&str, usize)> {
    text.as_bytes().graphemes().map(|cluster| (cluster, cluster_width(cluster)))
}

/// Columns of one cluster. Terminals differ: some add up its parts, some know emoji that consist of several. The wider
/// one counts, so that a line never gets wider than requested.
fn cluster_width(cluster: &str) -> usize {
    let parts = cluster.chars().filter_map(UnicodeWidthChar::width).fold(0usize, usize::saturating_add);
    cluster.width().max(parts)
}

/// A character that is a cluster by itself, in one column: ASCII, and the characters that draw trees and mark cuts.
/// Most text has no others, and then the tables of Unicode are neither searched nor read from the disk.
fn is_simple(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{2500}'..='\u{257f}' | '…')
}

/// Columns that a text takes on a terminal once it is in a span.
#[must_use]
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    if text.chars().all(is_simple) {
        return text.chars().count();
    }
    characters(&shown(text.into())).map(|(_, columns)| columns).fold(0, usize::saturating_add)
}

/// One line of spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Line {
        Line::default()
    }

    /// The line with one more span; see [`Span::new`].
    #[must_use]
    pub fn with(mut self, role: Role, text: impl AsRef<[u8]>) -> Line {
        self.push(Span::new(role, text));
        self
    }

    /// The line with one more span of plain text.
    #[must_use]
    pub fn plain(self, text: impl AsRef<[u8]>) -> Line {
        self.with(Role::Plain, text)
    }

    /// Adds a span.
    pub fn push(&mut self, span: Span) {
        if !span.text.is_empty() {
            self.spans.push(span);
        }
    }

    /// The spans, in order.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Columns that it takes on a terminal.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| f.write_str(&span.text))
    }
}

/// A screen: lines in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    lines: Vec<Line>,
}

impl Text {
    /// An empty screen.
    #[must_use]
    pub fn new() -> Text {
        Text::default()
    }

    /// Adds a line.
    pub fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds an empty line, unless the screen is empty or already ends with one.
    pub fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.spans.is_empty()) {
            self.lines.push(Line::new());
        }
    }

    /// Adds a title after a gap.
    pub fn heading(&mut self, title: impl AsRef<[u8]>) {
        self.gap();
        self.push(Line::new().with(Role::Heading, title));
    }

    /// Adds all lines of another screen.
    pub fn append(&mut self, other: Text) {
        self.lines.extend(other.lines);
    }

    /// The lines, in order.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Columns of the widest line.
    #[must_use]
    pub fn width(&self) -> usize {
        self.lines.iter().map(Line::width).max().unwrap_or(0)
    }
}

impl fmt::Display for Text {
    /// Without roles, each line ended by a line feed and free of trailing blanks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{}", line.to_string().trim_end()))
    }
}

impl Text {
    /// Adds a path or name as a line of its own.
    pub fn push_path(&mut self, path: &BStr) {
        self.push(Line::new().with(Role::Path, path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_never_holds_a_control_character() {
        let span = Span::new(Role::Path, b"/tmp/\x1b]0;title\x07\r\n");
        assert!(!span.text().chars().any(char::is_control), "{:?}", span.text());
    }

    #[test]
    fn width_counts_columns_not_bytes() {
        assert_eq!(Line::new().plain("é日").width(), 3);
    }

    #[test]
    fn simple_characters_are_those_of_one_column_by_the_tables() {
        for character in (0..0x3000).filter_map(char::from_u32).filter(|character| is_simple(*character)) {
            let text = format!("a{character}b");
            let columns: Vec<(&str, usize)> = characters(&text).collect();
            assert_eq!(columns.len(), 3, "{character:?}");
            assert_eq!(width(&text), columns.iter().map(|(_, columns)| columns).sum::<usize>(), "{character:?}");
        }
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let mut text = Text::new();
        text.gap();
        text.push(Line::new().plain("a"));
        text.gap();
        text.heading("b");
        assert_eq!(text.to_string(), "a\n\nb\n");
    }
}
