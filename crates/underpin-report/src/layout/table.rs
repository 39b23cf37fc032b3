//! Tables of aligned columns.

use super::{LEAST_ROOM, labels, shorten, sum};
use crate::styled::{Line, Role, Span, Text, width};

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// The gap between two columns.
const GAP: &str = "  ";

/// A table of aligned columns. One column may be flexible: it shrinks if the terminal is narrow.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    flexible: Option<usize>,
    /// Its flexible column contains names, which stay distinct at any width.
    labelled: bool,
    /// The name of its first column is its title.
    titled: bool,
    rows: Vec<Vec<Span>>,
    indent: usize,
    /// Least widths of the columns.
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

    /// The column that is shortened if the table is too wide.
    #[must_use]
    pub fn flexible(mut self, column: usize) -> Table {
        self.flexible = Some(column);
        self
    }

    /// The column of names, which shrinks if the table is too wide: different names never look alike.
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

    /// Gives tables with the same columns the same widths, so that their columns line up; leaves them unchanged if too
    /// little of the flexible column would remain.
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

    /// The lines, at most `columns` wide; the head in dim, and left out if no column has a name.
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
                if let Some(cell) = row.get_mut(column) {
                    *cell = Span::new(cell.role(), label);
                }
            }
        }
        rows.iter().for_each(|row| text.push(self.line(row, &widths)));
        text
    }

    /// The widths that the cells need.
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

    /// The final widths: the flexible column shrinks as long as it remains readable, then repeatedly the widest of all,
    /// down to one column each.
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
