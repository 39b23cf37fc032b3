//! The rows of a suite: a table for each of its groups.

use super::{broker, failures, say};
use crate::layout::{Align, Table, View};
use crate::styled::{Role, Span, Text, width};
use crate::units::count;
use crate::words::suite::{
    BROKER, build_names, difference_interval, difference_role, difference_word, difference_words, figure,
    gain_of_original, groups, is_comparison, undifferenced,
};
use crate::words::{change_words, confidence_title};
use underpin_bench::Comparison;
use underpin_suite::{Cell, RowSummary, SuiteSummary, Summary};

/// Columns of a build's name above its differences, if there are several.
const NAME: usize = 12;
/// The least columns of a difference.
const DIFFERENCE: usize = 9;
/// The most columns that a row's name keeps beside many builds.
const ROW: usize = 24;
/// Columns of the gap between two columns.
const GAP: usize = 2;

/// The rows of a suite that a view shows, and how many more there are.
pub(super) fn rows(text: &mut Text, summary: &Summary, suite: &SuiteSummary, view: &View) {
    text.heading(format!("{}: {}", suite.suite, suite.suite.label()));
    let mut hidden = Hidden::default();
    let mut tables: Vec<(Vec<Table>, Vec<&RowSummary>)> = Vec::new();
    for (group, rows) in groups(suite) {
        if group == BROKER && rows.iter().any(|row| row.cells.iter().any(|cell| cell.memory().is_some())) {
            broker::broker(text, summary, &rows, view);
            continue;
        }
        let shown: Vec<&RowSummary> = rows.into_iter().filter(|row| hidden.shows(row, view)).collect();
        if !shown.is_empty() {
            tables.push((group_tables(summary, group, &shown, view), shown));
        }
    }
    let mut all: Vec<Table> = tables.iter().flat_map(|(tables, _)| tables.clone()).collect();
    Table::align(&mut all, view.usable());
    let mut aligned = all.into_iter();
    for (place, (tables, _)) in tables.iter().enumerate() {
        if place > 0 {
            text.gap();
        }
        aligned.by_ref().take(tables.len()).for_each(|table| text.append(table.lines(view.usable())));
    }
    let shown: Vec<&RowSummary> = tables.iter().flat_map(|(_, shown)| shown.iter().copied()).collect();
    failures::failures(text, summary, &shown, view);
    hidden.say(text, view);
}

/// Rows that a view leaves out.
#[derive(Debug, Default)]
struct Hidden {
    alike: usize,
    not_reached: usize,
}

impl Hidden {
    /// Whether a view shows a row; counts it if not.
    fn shows(&mut self, row: &RowSummary, view: &View) -> bool {
        let claimed = |cell: &Cell| cell.compared().is_some_and(|one| one.time.verdict.is_claimed());
        let told = |cell: &Cell| matches!(cell, Cell::Failed { .. }) || claimed(cell);
        let is_missing = row.cells.iter().all(|cell| matches!(cell, Cell::Missing));
        let is_compared = row.cells.iter().any(|cell| cell.compared().is_some());
        let shown = view.verbosity > 0 || row.cells.iter().any(told) || !(is_missing || is_compared);
        if !shown {
            *(if is_missing { &mut self.not_reached } else { &mut self.alike }) += 1;
        }
        shown
    }

    fn say(&self, text: &mut Text, view: &View) {
        if self.alike > 0 {
            let (do_not, shows) = if self.alike == 1 { ("does not", "it") } else { ("do not", "them") };
            let more = count(self.alike, "more row", "more rows");
            say(text, "  ", Role::Dim, &format!("{more} {do_not} differ with certainty; -v shows {shows}"), view);
        }
        if self.not_reached > 0 {
            let were = if self.not_reached == 1 { "was" } else { "were" };
            let rows = count(self.not_reached, "row", "rows");
            say(text, "  ", Role::Dim, &format!("{rows} {were} not measured"), view);
        }
    }
}

/// The table of a group; several, if there are more builds than fit beside each other.
fn group_tables(summary: &Summary, group: &str, rows: &[&RowSummary], view: &View) -> Vec<Table> {
    if summary.builds.len() <= 2 {
        return vec![pair(summary, group, rows, view)];
    }
    let others: Vec<usize> = (1..summary.builds.len()).collect();
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let row = widest(&mut rows.iter().map(|row| width(&row.row))).min(ROW);
    let reference = |row: &&RowSummary| row.cells.first().map_or(0, |cell| plain(row, cell).width());
    let figure = widest(&mut rows.iter().map(reference));
    let column = widest(&mut build_names(summary, NAME).iter().map(|name| width(name))).max(DIFFERENCE) + GAP;
    let published = if has_original(rows, view) { ORIGINAL.len() + GAP } else { 0 };
    let fitting = view.usable().saturating_sub(GAP + row + GAP + figure + published) / column;
    others.chunks(fitting.max(1)).map(|builds| several(summary, group, rows, builds, view)).collect()
}

/// The title of the figures of the originals.
const ORIGINAL: &str = "original";

/// Whether a table shows the figures of the originals.
fn has_original(rows: &[&RowSummary], view: &View) -> bool {
    view.verbosity > 0 && rows.iter().any(|row| row.original_ratio.is_some())
}

/// The figure of the original.
fn original(row: &RowSummary) -> Span {
    Span::new(Role::Dim, gain_of_original(row).map_or_else(String::new, |gain| change_words(gain, 0)))
}

/// A build beside the reference, with the interval of each difference; or one build alone.
fn pair(summary: &Summary, group: &str, rows: &[&RowSummary], view: &View) -> Table {
    let names = build_names(summary, NAME + 4);
    let compared = || rows.iter().flat_map(|row| &row.cells).filter_map(Cell::compared).map(|one| &one.time.ratio);
    let confidence = match compared().next() {
        Some(_) => confidence_title(compared()),
        None if is_comparison(summary) => String::new(),
        None => "95 %".to_owned(),
    };
    let mut columns = vec![(group, Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    columns.extend([(confidence.as_str(), Align::Left), ("", Align::Left)]);
    if has_original(rows, view) {
        columns.push((ORIGINAL, Align::Right));
    }
    let mut table = Table::new(&columns).labelled(0).titled();
    for row in rows {
        let mut cells = vec![Span::new(Role::Name, &row.row)];
        cells.extend(row.cells.iter().take(names.len().saturating_sub(1)).map(|cell| plain(row, cell)));
        let last = summary.builds.len().saturating_sub(1);
        cells.extend(row.cells.get(last).map(|cell| full(summary, row, cell, last)).into_iter().flatten());
        if has_original(rows, view) {
            cells.push(original(row));
        }
        table.row(cells);
    }
    table
}

/// Several builds beside the reference.
fn several(summary: &Summary, group: &str, rows: &[&RowSummary], builds: &[usize], view: &View) -> Table {
    let names = build_names(summary, NAME);
    let mut columns = vec![(group, Align::Left), (names[0].as_str(), Align::Right)];
    columns.extend(builds.iter().map(|build| (names[*build].as_str(), Align::Right)));
    if has_original(rows, view) {
        columns.push((ORIGINAL, Align::Right));
    }
    let mut table = Table::new(&columns).labelled(0).titled();
    for row in rows {
        let mut cells = vec![Span::new(Role::Name, &row.row)];
        cells.extend(row.cells.first().map(|cell| plain(row, cell)));
        cells.extend(builds.iter().filter_map(|build| row.cells.get(*build)).map(|cell| short(row, cell, view)));
        if has_original(rows, view) {
            cells.push(original(row));
        }
        table.row(cells);
    }
    table
}

/// The figure of a cell.
fn plain(row: &RowSummary, cell: &Cell) -> Span {
    match (figure(row, cell), cell) {
        (Some(figure), _) => Span::new(Role::Number, figure.median()),
        (None, Cell::Failed { .. }) => Span::fixed(Role::Bad, "failed"),
        (None, _) => Span::fixed(Role::Dim, "-"),
    }
}

/// The difference of a cell with its interval and its verdict; the figure, if it has no difference.
fn full(summary: &Summary, row: &RowSummary, cell: &Cell, build: usize) -> [Span; 3] {
    if let Some(one) = cell.compared().map(|one| &one.time) {
        return [
            Span::new(difference_role(one), difference_words(one)),
            Span::new(Role::Dim, difference_interval(one)),
            Span::fixed(difference_role(one), difference_word(one)),
        ];
    }
    let bounds = figure(row, cell).map_or_else(String::new, |figure| figure.bounds());
    let is_measured = matches!(cell, Cell::Measured { .. });
    let word = if is_measured && build > 0 { undifferenced(summary, build) } else { "" };
    [plain(row, cell), Span::new(Role::Dim, bounds), Span::fixed(Role::Warn, word)]
}

/// The difference of a cell alone.
fn short(row: &RowSummary, cell: &Cell, view: &View) -> Span {
    let Some(one) = cell.compared().map(|one| &one.time) else {
        let plain = plain(row, cell);
        let role = if plain.role() == Role::Number { Role::Dim } else { plain.role() };
        return Span::new(role, plain.text());
    };
    let certain = |one: &Comparison| Span::new(difference_role(one), difference_words(one));
    match (one.verdict.is_claimed(), view.verbosity) {
        (true, _) => certain(one),
        (false, 0) => Span::fixed(Role::Dim, "~"),
        (false, _) => Span::new(Role::Dim, format!("~ {}", difference_words(one))),
    }
}
