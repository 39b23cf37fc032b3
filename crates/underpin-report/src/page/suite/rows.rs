//! The rows of a suite: each to unfold with all that is known of it, or as plain tables.

use crate::page::{Block, Cell, Column, DataTable, Fold, paragraph};
use crate::styled::{Role, Span};
use crate::words::suite::{
    MEMORY, build_names, difference_interval, difference_role, difference_word, difference_words, figure, gain,
    gain_of_original, groups, original_words, undifferenced,
};
use crate::words::{change_words, confidence_title, figure_words};
use underpin_bench::{Comparison, Interval, Unit};
use underpin_suite::{Cell as Figure, RowSummary, SuiteSummary, Summary};

/// Each row as a line to unfold, group by group.
pub(super) fn folds(document: &Summary, suite: &SuiteSummary) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (group, rows) in groups(suite) {
        blocks.push(paragraph(Role::Heading, group));
        blocks.push(Block::Folds(rows.into_iter().map(|row| fold(document, suite, row)).collect()));
    }
    blocks
}

fn fold(document: &Summary, suite: &SuiteSummary, row: &RowSummary) -> Fold {
    let names = build_names(document, 24);
    let mut head = vec![Span::new(Role::Name, &row.row), Span::new(Role::Dim, &row.label)];
    let several = names.len() > 2;
    for (build, (name, cell)) in names.iter().zip(&row.cells).enumerate() {
        let name = if several { format!("{name} ") } else { String::new() };
        head.extend(said(row, build, cell).map(|(role, words)| Span::new(role, format!("{name}{words}"))));
    }
    let mut notes = Vec::new();
    for (name, cell) in names.iter().zip(&row.cells) {
        match cell {
            Figure::Failed { reason } => notes.push(vec![
                Span::new(Role::Name, name),
                Span::fixed(Role::Plain, " "),
                Span::fixed(Role::Bad, "failed"),
                Span::new(Role::Plain, format!(": {reason}")),
            ]),
            Figure::Missing => {
                notes.push(vec![Span::new(Role::Name, name), Span::fixed(Role::Dim, " was not measured.")]);
            }
            Figure::Measured { .. } => {}
        }
    }
    let original = original_words(document, suite.suite, row);
    notes.extend(original.map(|words| vec![Span::new(Role::Dim, words)]));
    Fold { head, notes, table: details(document, row) }
}

/// What the line of a row says about a build: nothing of the reference, unless it stands alone or failed.
fn said(row: &RowSummary, build: usize, cell: &Figure) -> Option<(Role, String)> {
    if let Some(one) = cell.compared().map(|one| &one.time) {
        return Some((difference_role(one), format!("{} {}", difference_words(one), difference_word(one))));
    }
    match cell {
        Figure::Failed { .. } => Some((Role::Bad, "failed".to_owned())),
        Figure::Missing => Some((Role::Dim, "not measured".to_owned())),
        Figure::Measured { .. } if build == 0 && row.cells.len() > 1 => None,
        Figure::Measured { .. } => figure(row, cell).map(|figure| (Role::Number, figure.median())),
    }
}

/// The columns of a table of one row's builds.
const DETAILS: [&str; 12] = [
    "build",
    "median#",
    "95 %",
    "difference#",
    "95 %",
    "",
    "p#",
    "blocks#",
    "virtual#",
    "resident#",
    "dirty#",
    "frequency#",
];

/// All that is known of a row: a line for each build that was measured.
fn details(document: &Summary, row: &RowSummary) -> DataTable {
    let clocked = row.cells.iter().any(|cell| matches!(cell, Figure::Measured { mhz: Some(_), .. }));
    let columns = if clocked { &DETAILS[..] } else { &DETAILS[..DETAILS.len() - 1] };
    let mut table = DataTable::new(columns).ordered();
    titles(&mut table, row);
    for (build, (name, cell)) in build_names(document, 40).iter().zip(&row.cells).enumerate() {
        let (Some(shown), Figure::Measured { memory, mhz, .. }) = (figure(row, cell), cell) else { continue };
        let mut cells = vec![
            Cell::new(Role::Name, name),
            Cell::number(shown.interval.estimate, shown.median()),
            Cell::new(Role::Plain, shown.bounds()),
        ];
        match cell.compared() {
            Some(one) => cells.extend(compared(&one.time)),
            None => {
                cells.push(Cell::new(Role::Dim, undifferenced(document, build)));
                cells.extend((0..4).map(|_| Cell::default()));
            }
        }
        cells.extend(MEMORY.map(|(_, bytes)| Cell::number(bytes(memory), figure_words(bytes(memory), Unit::Bytes))));
        if clocked {
            let words = |mhz: f64| Cell::number(mhz, format!("{mhz:.0} MHz"));
            cells.push(mhz.map_or_else(|| Cell::new(Role::Dim, "not known"), words));
        }
        table.row(cells);
    }
    table
}

/// Puts the confidence that the intervals have into the titles of their columns.
fn titles(table: &mut DataTable, row: &RowSummary) {
    let medians: Vec<Interval> =
        row.cells.iter().filter_map(|cell| figure(row, cell)).map(|figure| figure.interval).collect();
    let ratios: Vec<Interval> = row.cells.iter().filter_map(Figure::compared).map(|one| one.time.ratio).collect();
    for (column, intervals) in [(2, medians), (4, ratios)] {
        if let Some(column) = table.columns.get_mut(column) {
            column.name = Span::new(Role::Dim, confidence_title(&intervals));
        }
    }
}

fn compared(one: &Comparison) -> [Cell; 5] {
    [
        Cell::number(gain(one).estimate, difference_words(one)),
        Cell::new(Role::Plain, difference_interval(one)),
        Cell::new(difference_role(one), difference_word(one)),
        Cell::number(one.p_corrected, format!("{:.1e}", one.p_corrected)),
        Cell::count(one.count as u64),
    ]
}

/// The rows as a table for each group.
pub(super) fn tables(document: &Summary, suite: &SuiteSummary) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (group, rows) in groups(suite) {
        blocks.push(Block::Table(table(document, group, &rows)));
        for row in rows {
            for (build, cell) in document.builds.iter().zip(&row.cells) {
                let Figure::Failed { reason } = cell else { continue };
                blocks.push(Block::Paragraph(vec![
                    Span::new(Role::Name, &row.row),
                    Span::fixed(Role::Plain, " with "),
                    Span::new(Role::Name, &build.name),
                    Span::fixed(Role::Plain, " "),
                    Span::fixed(Role::Bad, "failed"),
                    Span::new(Role::Plain, format!(": {reason}")),
                ]));
            }
        }
    }
    blocks
}

fn table(document: &Summary, group: &str, rows: &[&RowSummary]) -> DataTable {
    let names = build_names(document, 40);
    let ratios = || rows.iter().flat_map(|row| &row.cells).filter_map(Figure::compared).map(|one| &one.time.ratio);
    let confidence = confidence_title(ratios());
    let mut columns = vec![Column::new("row", false), Column::new("what it does", false)];
    for (build, name) in names.iter().enumerate() {
        columns.push(Column::new(name, true));
        if build > 0 {
            columns.extend([Column::new("difference", true), Column::new(&confidence, false)]);
        }
    }
    let original = rows.iter().any(|row| row.original_ratio.is_some());
    columns.extend(original.then(|| Column::new("original", true)));
    let mut table = DataTable { columns, ..DataTable::default() }.ordered().caption(group);
    for row in rows {
        let mut cells = vec![Cell::new(Role::Name, &row.row), Cell::new(Role::Plain, &row.label)];
        cells.extend(row.cells.iter().enumerate().flat_map(|(build, cell)| cells_of(document, row, build, cell)));
        if original {
            let words = gain_of_original(row).map_or_else(String::new, |gain| change_words(gain, 0));
            cells.push(Cell::new(Role::Dim, words));
        }
        table.row(cells);
    }
    table
}

/// The cells of a row for one build: its figure, and unless it is the reference, its difference and the interval.
fn cells_of(document: &Summary, row: &RowSummary, build: usize, cell: &Figure) -> Vec<Cell> {
    let measured = match (figure(row, cell), cell) {
        (Some(figure), _) => Cell::number(figure.interval.estimate, figure.median()),
        (None, Figure::Failed { .. }) => Cell::new(Role::Bad, "failed"),
        (None, _) => Cell::new(Role::Dim, "-"),
    };
    let mut cells = vec![measured];
    if build == 0 {
        return cells;
    }
    match (cell.compared().map(|one| &one.time), cell) {
        (Some(one), _) => {
            let words = format!("{} {}", difference_words(one), difference_word(one));
            cells.push(Cell { sort: Some(gain(one).estimate), ..Cell::new(difference_role(one), words) });
            cells.push(Cell::new(Role::Plain, difference_interval(one)));
        }
        (None, Figure::Measured { .. }) => {
            cells.extend([Cell::new(Role::Warn, undifferenced(document, build)), Cell::default()]);
        }
        (None, _) => cells.extend([Cell::default(), Cell::default()]),
    }
    cells
}
