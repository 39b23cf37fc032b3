//! The memory that the rows of a suite leave, as one table for all builds.

use crate::page::{Cell, Column, DataTable};
use crate::styled::{Role, Span};
use crate::words::figure_words;
use crate::words::suite::{MEMORY, build_names};
use underpin_bench::Unit;
use underpin_suite::{SuiteSummary, Summary};

/// A row for each row of the suite; for each kind of memory a column for each build.
pub(super) fn table(document: &Summary, suite: &SuiteSummary) -> DataTable {
    let names = build_names(document, 24);
    let mut columns = vec![Column::new("row", false)];
    for (kind, _) in MEMORY {
        columns.extend(names.iter().map(|name| Column::new(format!("{kind}, {name}"), true)));
    }
    let mut table = DataTable { columns, stacked: true, ..DataTable::default() }.caption("Memory after the work");
    for row in &suite.rows {
        let mut cells = vec![Cell::new(Role::Name, &row.row)];
        for (_, bytes) in MEMORY {
            cells.extend(row.cells.iter().map(|cell| match cell.memory().map(bytes) {
                Some(bytes) => Cell::number(bytes, figure_words(bytes, Unit::Bytes)),
                None => Cell { spans: vec![Span::fixed(Role::Dim, "-")], sort: Some(-1.0), ..Cell::default() },
            }));
        }
        table.row(cells);
    }
    table
}
