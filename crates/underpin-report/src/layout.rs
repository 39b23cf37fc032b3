//! Fitting text into columns: truncation in the middle, wrapping, aligned tables.
//!
//! Nothing here ever makes a line wider than asked for, as long as one character fits; where something is left out a
//! `…` stands for it.

#![warn(clippy::arithmetic_side_effects)]

use crate::styled::{Line, Role, Span, Text, characters, shown, width};
use std::collections::BTreeMap;

/// How a screen is to be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal. What does not fit is shortened or wrapped.
    pub width: usize,
    /// 0 for the short form, 1 for `-v`, 2 for `-vv`.
    pub verbosity: u8,
}

impl View {
    /// A view of so many columns in the short form.
    #[must_use]
    pub const fn columns(width: usize) -> View {
        View { width, verbosity: 0 }
    }

    /// The same view, more (or less) detailed.
    #[must_use]
    pub const fn verbose(self, verbosity: u8) -> View {
        View { verbosity, ..self }
    }

    /// The width, kept within what the layouts can work with.
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

/// The text in at most `columns` columns, as a span shows it: the middle gives way to `…`, so the end of a path, its
/// file name, is kept.
#[must_use]
pub fn shorten(text: &str, columns: usize) -> String {
    let text = shown(text.into());
    if width(&text) <= columns {
        return text.into_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let tail = text.len().saturating_sub(taken(characters(&text).rev(), name_room(&text, room)));
    let tail = &text[tail..];
    let head = &text[..taken(characters(&text), room.saturating_sub(width(tail)))];
    format!("{head}…{tail}")
}

/// The text in exactly so many columns: shortened, or with blanks behind it.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    let mut text = shorten(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', blanks));
    text
}

/// Names in at most so many columns each, no two alike where the names differ, as long as there are eight columns: names
/// that are too long lose the words that all of them begin or end with, then their middle, and a number tells those
/// apart that still look alike.
#[must_use]
pub fn labels(names: &[&str], columns: usize) -> Vec<String> {
    let all: Vec<String> = names.iter().map(|name| shown((*name).into()).into_owned()).collect();
    let fits = |labels: &[String]| labels.iter().all(|label| width(label) <= columns);
    let mut short = all.clone();
    if !fits(&short) {
        let members: Vec<usize> = (0..all.len()).collect();
        without_common_words(&all, &members, &mut short);
        short.iter_mut().for_each(|label| *label = shorten(label, columns));
    }
    // Of those that look alike, what only they have in common goes too.
    for group in look_alikes(names, &short) {
        without_common_words(&all, &group, &mut short);
        for at in group {
            short[at] = shorten(&short[at], columns);
        }
    }
    for group in look_alikes(names, &short) {
        number(names, &group, &mut short, columns);
    }
    short
}

/// Groups of names that differ and whose labels do not.
fn look_alikes(names: &[&str], labels: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        groups.entry(label).or_default().push(at);
    }
    let differ =
        |group: &Vec<usize>| group.iter().any(|&at| names.get(at) != group.first().and_then(|&at| names.get(at)));
    groups.into_values().filter(differ).collect()
}

/// Gives some of the names labels without the words that all of these begin and end with; each keeps one word at least.
fn without_common_words(names: &[String], members: &[usize], labels: &mut [String]) {
    let words: Vec<Vec<&str>> =
        members.iter().filter_map(|&at| names.get(at)).map(|name| name.split(' ').collect()).collect();
    let Some(first) = words.first() else { return };
    let spare = words.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1);
    let alike = |of: &dyn Fn(&Vec<&str>, usize) -> Option<String>, most: usize| {
        (0..most).take_while(|&at| words.iter().all(|one| of(one, at) == of(first, at))).count()
    };
    let before = alike(&|one, at| one.get(at).map(ToString::to_string), spare);
    let behind = alike(&|one, at| one.iter().rev().nth(at).map(ToString::to_string), spare.saturating_sub(before));
    for (&at, one) in members.iter().zip(&words) {
        let kept: Vec<&str> =
            one[before..].iter().take(one.len().saturating_sub(before).saturating_sub(behind)).copied().collect();
        if let Some(label) = labels.get_mut(at) {
            *label = kept.join(" ");
        }
    }
}

/// Gives each different name of a group a number that no other label ends with.
fn number(names: &[&str], group: &[usize], labels: &mut [String], columns: usize) {
    let mut given: BTreeMap<&str, String> = BTreeMap::new();
    for &at in group {
        let (Some(name), Some(label)) = (names.get(at), labels.get(at)) else { continue };
        let mark = (1usize..)
            .map(|number| format!("#{number}"))
            .map(|mark| format!("{}{mark}", shorten(label, columns.saturating_sub(mark.len()))));
        let free = |one: &String| !labels.contains(one) && !given.values().any(|other| other == one);
        let Some(label) = given.get(name).cloned().or_else(|| mark.take(MOST_NUMBERS).find(free)) else { continue };
        given.insert(name, label.clone());
        labels[at] = label;
    }
}

/// Numbers that are tried before two labels stay alike.
const MOST_NUMBERS: usize = 10_000;

/// Columns that the end of a text is given: the file name where it fits and leaves a little for the head.
fn name_room(text: &str, room: usize) -> usize {
    let name = text.rfind('/').map_or(0, |slash| width(&text[slash..]));
    name.max(room / 2).min(room.saturating_sub(room / 5))
}

/// Bytes of the characters that fit into so many columns.
fn taken<'a>(characters: impl Iterator<Item = (&'a str, usize)>, columns: usize) -> usize {
    let mut room = columns;
    let fitting = characters.map_while(|(character, columns)| {
        room = room.checked_sub(columns)?;
        Some(character.len())
    });
    fitting.fold(0, usize::saturating_add)
}

/// Wraps words into lines of at most `columns`; the first line starts with `first`, the others with as many blanks.
/// A word that is too long for a line is shortened in its middle.
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

/// Columns that wrapped text is given in any case.
const LEAST_ROOM: usize = 8;

fn sum(columns: impl Iterator<Item = usize>) -> usize {
    columns.fold(0, usize::saturating_add)
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

/// Spans in at most so many columns: the longest gives way, then the next longest.
fn fitted(mut word: Vec<Span>, room: usize) -> Vec<Span> {
    let mut over = sum(word.iter().map(Span::width)).saturating_sub(room);
    while over > 0 {
        let Some(longest) = word.iter_mut().max_by_key(|part| part.width()) else { break };
        let had = longest.width();
        *longest = Span::new(longest.role(), shorten(longest.text(), had.saturating_sub(over).max(1)));
        let given = had.saturating_sub(longest.width());
        if given == 0 {
            // Every part is down to one column: the last ones go.
            word.truncate(room);
            break;
        }
        over = over.saturating_sub(given);
    }
    word
}

/// The screen with no line wider than so many columns: in one that is, the longest parts give way. A command stands
/// whole on its line, so that it can be copied.
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

/// Which side a column's cells keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// What stands between two columns.
const GAP: &str = "  ";

/// A table of aligned columns. One column may be flexible: it gives way where the terminal is narrow.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    flexible: Option<usize>,
    /// Its flexible column holds names, which are told apart in any width.
    labelled: bool,
    /// The name of its first column is its title.
    titled: bool,
    rows: Vec<Vec<Span>>,
    indent: usize,
    /// Columns are at least so wide.
    least: Vec<usize>,
}

impl Table {
    /// A table with these columns.
    #[must_use]
    pub fn new(columns: &[(&str, Align)]) -> Table {
        Table {
            columns: columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect(),
            flexible: None,
            labelled: false,
            titled: false,
            rows: Vec::new(),
            indent: 2,
            least: Vec::new(),
        }
    }

    /// The column that is shortened where the table is too wide.
    #[must_use]
    pub fn flexible(mut self, column: usize) -> Table {
        self.flexible = Some(column);
        self
    }

    /// The column of names, which gives way where the table is too wide: names that differ never look alike.
    #[must_use]
    pub fn labelled(self, column: usize) -> Table {
        Table { labelled: true, ..self.flexible(column) }
    }

    /// The name of the first column is the title of the table, and looks like one.
    #[must_use]
    pub fn titled(self) -> Table {
        Table { titled: true, ..self }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, mut cells: Vec<Span>) {
        cells.resize(self.columns.len(), Span::fixed(Role::Plain, ""));
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Gives tables of the same columns the same widths, so that their columns stand below each other; leaves them as
    /// they are where too little of the flexible column would be left.
    pub fn align(tables: &mut [Table], columns: usize) {
        let mut widths: Vec<usize> = Vec::new();
        for table in tables.iter() {
            let natural = table.natural();
            widths.resize(widths.len().max(natural.len()), 0);
            widths.iter_mut().zip(natural).for_each(|(have, width)| *have = (*have).max(width));
        }
        const READABLE: usize = 16;
        let fits = |table: &Table| {
            let spare = table.flexible.and_then(|at| widths.get(at)).map_or(0, |width| width.saturating_sub(READABLE));
            table.total(&widths) <= columns.saturating_add(spare)
        };
        if tables.iter().all(fits) {
            tables.iter_mut().for_each(|table| table.least.clone_from(&widths));
        }
    }

    /// The lines, at most `columns` wide; the head in dim, and left out where no column has a name.
    #[must_use]
    pub fn lines(&self, columns: usize) -> Text {
        let widths = self.widths(columns);
        let mut text = Text::new();
        if self.columns.iter().any(|(name, _)| !name.is_empty()) {
            let role = |index: usize| if index == 0 && self.titled { Role::Heading } else { Role::Dim };
            let head = self.columns.iter().enumerate();
            let head: Vec<Span> = head.map(|(index, (name, _))| Span::new(role(index), name)).collect();
            text.push(self.line(&head, &widths));
        }
        let names = self.flexible.filter(|_| self.labelled);
        let mut rows = self.rows.clone();
        if let Some((column, room)) = names.and_then(|column| Some((column, *widths.get(column)?))) {
            let names: Vec<&str> = self.rows.iter().filter_map(|row| row.get(column)).map(Span::text).collect();
            for (row, label) in rows.iter_mut().zip(labels(&names, room)) {
                row[column] = Span::new(row[column].role(), label);
            }
        }
        rows.iter().for_each(|row| text.push(self.line(row, &widths)));
        text
    }

    /// The widths that the cells ask for.
    fn natural(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| width(name)).collect();
        for row in &self.rows {
            for (have, cell) in widths.iter_mut().zip(row) {
                *have = (*have).max(cell.width());
            }
        }
        widths.iter_mut().zip(&self.least).for_each(|(have, least)| *have = (*have).max(*least));
        widths
    }

    /// Columns of a whole line.
    fn total(&self, widths: &[usize]) -> usize {
        let gaps = GAP.len().saturating_mul(widths.len().saturating_sub(1));
        sum(widths.iter().copied()).saturating_add(self.indent).saturating_add(gaps)
    }

    /// The widths that are given: the flexible column gives way as long as it can be read, then the widest of all, in
    /// turn, down to one column each.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let mut widths = self.natural();
        let mut over = self.total(&widths).saturating_sub(columns);
        if let Some(flexible) = self.flexible.and_then(|at| widths.get_mut(at)) {
            let given = flexible.saturating_sub(LEAST_ROOM).min(over);
            *flexible = flexible.saturating_sub(given);
            over = over.saturating_sub(given);
        }
        while over > 0
            && let Some(widest) = widths.iter_mut().max().filter(|width| **width > 1)
        {
            *widest = widest.saturating_sub(1);
            over = over.saturating_sub(1);
        }
        widths
    }

    fn line(&self, cells: &[Span], widths: &[usize]) -> Line {
        let mut line = Line::new().plain(" ".repeat(self.indent));
        let last = cells.len().saturating_sub(1);
        for (index, ((cell, &columns), (_, align))) in cells.iter().zip(widths).zip(&self.columns).enumerate() {
            if index > 0 {
                line.push(Span::fixed(Role::Plain, GAP));
            }
            let text = shorten(cell.text(), columns);
            let blanks = " ".repeat(columns.saturating_sub(width(&text)));
            match align {
                Align::Right => {
                    line.push(Span::new(Role::Plain, blanks));
                    line.push(Span::new(cell.role(), text));
                }
                Align::Left => {
                    line.push(Span::new(cell.role(), text));
                    if index != last {
                        line.push(Span::new(Role::Plain, blanks));
                    }
                }
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_long_path_keeps_its_file_name() {
        let short = shorten("/opt/spack/very/long/prefix/lib/libexample.so.1", 24);
        assert_eq!(width(&short), 24);
        assert!(short.starts_with("/opt") && short.ends_with("/libexample.so.1"), "{short}");
    }

    #[test]
    fn a_file_name_longer_than_the_room_is_shortened_too() {
        let short = shorten(&format!("/lib/{}", "x".repeat(200)), 20);
        assert_eq!(width(&short), 20);
        assert!(short.starts_with("/l") && short.ends_with('x'), "{short}");
    }

    #[test]
    fn wide_characters_never_overflow() {
        for columns in 0..12 {
            assert!(width(&shorten("日本語の道/ファイル", columns)) <= columns);
        }
    }

    #[test]
    fn an_emoji_with_its_selector_is_never_taken_apart() {
        let path = "/srv/Musik ❤\u{fe0f} und noch viel mehr davon/❤\u{fe0f}❤\u{fe0f}";
        for columns in 0..40 {
            let short = shorten(path, columns);
            assert!(short.width() <= columns, "{short}");
            assert!(!short.contains("…\u{fe0f}"), "{short}");
            assert_eq!(width(&padded(path, columns)), columns);
        }
    }

    #[test]
    fn a_mark_at_the_beginning_of_a_span_stands_for_itself() {
        let line = Line::new().plain("❤").plain("\u{fe0f}/x");
        assert_eq!(line.to_string(), "❤\\u{fe0f}/x");
        assert_eq!(line.width(), line.to_string().width());
    }

    #[test]
    fn names_lose_what_they_have_in_common_and_keep_what_differs() {
        let path = "/usr/bin/emacs-gtk";
        let names = [
            format!("libtree {path}"),
            format!("target/underpin tree {path}"),
            format!("target/underpin tree --list {path}"),
        ];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(labels(&names, 60), names);
        assert_eq!(labels(&names, 30), ["libtree", "target/underpin tree", "target/underpin tree --list"]);
        let short = labels(&names, 16);
        assert!(short[1].ends_with("tree") && short[2].ends_with("--list"), "{short:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_two_labels_of_a_table_are_equal_unless_the_names_are(
            names in proptest::collection::vec("(a|b|❤\u{fe0f}|日|/usr/bin/|--list|tree|x{30}| |#1|…){0,9}", 1..8),
            columns in 8usize..60,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let labels = labels(&names, columns);
            for (at, label) in labels.iter().enumerate() {
                proptest::prop_assert!(width(label) <= columns);
                for other in 0..at {
                    proptest::prop_assert_eq!(names[at] == names[other], *label == labels[other], "{:?} {:?}", names, labels);
                }
            }
        }
    }

    #[test]
    fn a_table_without_a_flexible_column_gives_way_in_its_widest() {
        let mut table = Table::new(&[("name", Align::Left), ("figure", Align::Right)]);
        table.row(vec![Span::new(Role::Name, "x".repeat(50)), Span::new(Role::Number, "12")]);
        assert_eq!(table.lines(30).width(), 30);
        assert!(table.lines(30).to_string().contains("12"));
    }

    #[test]
    fn wrapped_lines_fit_and_keep_every_word() {
        let words = "one two three four five six seven eight nine ten";
        let text = wrap(Line::new().plain("  - "), &[Span::new(Role::Plain, words)], 20);
        assert!(text.width() <= 20);
        let all = text.to_string().replace('-', "");
        assert_eq!(all.split_whitespace().collect::<Vec<_>>().join(" "), words);
    }

    #[test]
    fn spans_that_touch_stay_together_when_wrapped() {
        let spans = [Span::new(Role::Plain, "see "), Span::new(Role::Name, "libz"), Span::new(Role::Plain, ", then")];
        assert_eq!(wrap(Line::new(), &spans, 40).to_string(), "see libz, then\n");
    }

    #[test]
    fn tables_are_aligned_where_that_costs_nothing() {
        let table = |name: &str, figure: &str| {
            let mut table = Table::new(&[("name", Align::Left), ("figure", Align::Right)]).flexible(0);
            table.row(vec![Span::new(Role::Name, name), Span::new(Role::Number, figure)]);
            table
        };
        let mut tables = [table("a", "1234567890"), table("abcdefghij", "1")];
        Table::align(&mut tables, 30);
        assert_eq!(tables[0].lines(30).lines()[1].to_string(), "  a           1234567890");
        assert_eq!(tables[1].lines(30).lines()[1].to_string(), "  abcdefghij           1");
        let mut narrow = [table("a", "1234567890"), table("abcdefghijklmnopqrstuvwxyz", "1")];
        Table::align(&mut narrow, 24);
        assert_eq!(narrow[0].lines(24).width(), 18, "left as it is");
    }

    #[test]
    fn a_table_gives_way_in_its_flexible_column() {
        let mut table = Table::new(&[("calls", Align::Right), ("path", Align::Left)]).flexible(1);
        table.row(vec![Span::new(Role::Number, "12"), Span::new(Role::Path, "/a/".repeat(60))]);
        table.row(vec![Span::new(Role::Number, "1")]);
        let text = table.lines(40);
        assert_eq!(text.width(), 40);
        assert_eq!(text.lines()[2].to_string(), "      1  ");
    }
}
