//! A document as a page of sections: the common basis of Markdown and HTML.
//!
//! A page contains only [`Span`]s, so neither writer ever gets raw control characters.

mod bench;
mod check;
mod doctor;
mod image_compare;
mod storm;
mod suite;
mod survey;
mod trace;
mod tree;

pub(crate) use bench::bench_page;
pub(crate) use check::check_page;
pub(crate) use doctor::doctor_page;
pub(crate) use image_compare::image_compare_page;
pub(crate) use storm::storm_page;
pub(crate) use suite::suite_page;
pub(crate) use survey::survey_page;
pub(crate) use trace::trace_page;
pub(crate) use tree::{comparison_blocks, tree_page};

use crate::document::check::AdviceRecord;
use crate::picture::Picture;
use crate::styled::{Role, Span};
use crate::units::size;
use underpin_bench::MachineSummary;

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub title: Span,
    pub subtitle: Vec<Span>,
    /// The answer of the page, in sentences.
    pub answer: Vec<Vec<Span>>,
    /// The figures that a reader looks for first.
    pub tiles: Vec<Tile>,
    pub sections: Vec<Section>,
}

/// Whether a page's format can show pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pictures {
    Drawn,
    LeftOut,
}

/// One figure with its name.
#[derive(Debug)]
pub(crate) struct Tile {
    pub name: Span,
    pub value: Span,
    pub note: Vec<Span>,
}

impl Tile {
    pub fn new(name: &'static str, value: Span, note: Vec<Span>) -> Tile {
        Tile { name: Span::fixed(Role::Dim, name), value, note }
    }
}

/// A part of a page with a title.
#[derive(Debug)]
pub(crate) struct Section {
    pub title: Span,
    pub blocks: Vec<Block>,
    /// A long table that a page of several documents places after the main sections.
    pub detail: bool,
}

impl Section {
    pub fn new(title: impl AsRef<[u8]>, blocks: Vec<Block>) -> Section {
        Section { title: Span::new(Role::Heading, title), blocks, detail: false }
    }

    pub fn detail(self) -> Section {
        Section { detail: true, ..self }
    }
}

/// What a section is made of.
#[derive(Debug)]
pub(crate) enum Block {
    Paragraph(Vec<Span>),
    /// A list, each item with a command if there is one.
    List(Vec<Item>),
    Table(DataTable),
    /// Only for a format that can show it.
    Picture(Picture),
    /// Pictures of one width, side by side if there is room.
    Gallery(Vec<Picture>),
    /// Rows to unfold, for a format that can fold.
    Folds(Vec<Fold>),
}

/// A line with details to unfold.
#[derive(Debug)]
pub(crate) struct Fold {
    /// A name, a phrase, and what else the line says; each has a place of its own.
    pub head: Vec<Span>,
    pub notes: Vec<Vec<Span>>,
    pub table: DataTable,
}

/// An item of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub spans: Vec<Span>,
    pub command: Option<Span>,
}

/// A table.
#[derive(Debug, Default)]
pub(crate) struct DataTable {
    pub caption: Option<Span>,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// The order of the rows is meaningful.
    pub ordered: bool,
    /// Dim text in a cell gets a line of its own, if the format has lines.
    pub stacked: bool,
}

/// A column of a table.
#[derive(Debug)]
pub(crate) struct Column {
    pub name: Span,
    pub numeric: bool,
}

impl Column {
    pub fn new(name: impl AsRef<[u8]>, numeric: bool) -> Column {
        Column { name: Span::new(Role::Dim, name), numeric }
    }
}

/// A cell of a table.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub spans: Vec<Span>,
    /// What follows the spans and may be folded away.
    pub more: Vec<Span>,
    /// The figure by which a column is sorted.
    pub sort: Option<f64>,
}

impl Cell {
    pub fn new(role: Role, text: impl AsRef<[u8]>) -> Cell {
        Cell { spans: vec![Span::new(role, text)], ..Cell::default() }
    }

    pub fn number(figure: f64, text: String) -> Cell {
        Cell { spans: vec![Span::new(Role::Number, text)], sort: Some(figure), ..Cell::default() }
    }

    pub fn count(figure: u64) -> Cell {
        Cell::number(figure as f64, crate::units::thousands(figure))
    }

    pub fn seconds(seconds: f64) -> Cell {
        Cell::number(seconds, crate::units::time(seconds))
    }
}

impl From<Vec<Span>> for Cell {
    fn from(spans: Vec<Span>) -> Cell {
        Cell { spans, ..Cell::default() }
    }
}

impl DataTable {
    /// A table with these columns; a name that ends in `#` is a column of figures.
    pub fn new(columns: &[&'static str]) -> DataTable {
        let columns = columns
            .iter()
            .map(|name| match name.strip_suffix('#') {
                Some(name) => Column { name: Span::fixed(Role::Dim, name), numeric: true },
                None => Column { name: Span::fixed(Role::Dim, name), numeric: false },
            })
            .collect();
        DataTable { columns, ..DataTable::default() }
    }

    /// A table of facts: a name and a text each, without those that have no text.
    pub fn facts(title: &'static str, facts: Vec<(&'static str, String)>) -> DataTable {
        let mut table = DataTable::new(&[title, ""]).ordered();
        for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            table.row(vec![Cell::new(Role::Dim, name), Cell::new(Role::Plain, value)]);
        }
        table
    }

    pub fn caption(mut self, caption: impl AsRef<[u8]>) -> DataTable {
        self.caption = Some(Span::new(Role::Heading, caption));
        self
    }

    pub fn ordered(mut self) -> DataTable {
        self.ordered = true;
        self
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }
}

/// A paragraph of one span.
pub(crate) fn paragraph(role: Role, text: impl AsRef<[u8]>) -> Block {
    Block::Paragraph(vec![Span::new(role, text)])
}

/// Texts of one role with commas between them.
pub(crate) fn joined(role: Role, texts: impl IntoIterator<Item = String>) -> Vec<Span> {
    let mut spans = Vec::new();
    for text in texts {
        if !spans.is_empty() {
            spans.push(Span::fixed(Role::Plain, ", "));
        }
        spans.push(Span::new(role, text));
    }
    spans
}

/// What is known of a machine.
pub(crate) fn machine_table(machine: &MachineSummary) -> DataTable {
    let load = |load: Option<f64>| load.map_or_else(|| "?".to_owned(), |load| format!("{load:.2}"));
    let loads = match (machine.load_before, machine.load_after) {
        (None, None) => String::new(),
        (before, after) => format!("{} before, {} after", load(before), load(after)),
    };
    let facts = vec![
        ("processor", machine.processor.clone()),
        ("processors", machine.processors.to_string()),
        ("memory", machine.memory_bytes.map(size).unwrap_or_default()),
        ("kernel", machine.kernel.clone()),
        ("system", machine.system.clone()),
        ("governor", machine.governor.clone().unwrap_or_default()),
        ("addresses", if machine.aslr { "randomised" } else { "not randomised" }.to_owned()),
        ("load average", loads),
    ];
    DataTable::facts("machine", facts)
}

/// Advice as a section; `None` if there is no advice.
pub(crate) fn advice_section(advice: &[AdviceRecord]) -> Option<Section> {
    let items: Vec<Item> = advice
        .iter()
        .map(|item| Item {
            spans: vec![Span::new(Role::Plain, &item.message)],
            command: item.command.as_ref().map(|command| Span::new(Role::Command, command)),
        })
        .collect();
    (!items.is_empty()).then(|| Section::new("What to do about it", vec![Block::List(items)]))
}
