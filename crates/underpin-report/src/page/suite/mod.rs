//! The suite document as a page: the verdict, for each suite its pictures and its rows, then how it was measured.

mod memory;
mod rows;

use super::{Block, Cell, Column, DataTable, Item, Page, Pictures, Section, machine_table, paragraph};
use crate::picture::{rows_picture, trade_picture};
use crate::styled::{Role, Span};
use crate::units::time;
use crate::words::suite::{
    build_names, extent_words, factor_words, index_table, is_comparison, mean_words, per_megahertz, row_limits,
    shows_memory, sign_words, suite_method, suite_title, suite_verdict,
};
use crate::words::{capital, figure_words, gate_words};
use underpin_bench::Unit;
use underpin_suite::{Build, SuiteSummary, Summary};

/// The page of `underpin bench --suite`.
pub(crate) fn suite_page(document: &Summary, pictures: Pictures) -> Page {
    let mut sections = vec![builds(document)];
    sections.extend(gate(document));
    sections.extend(document.suites.iter().map(|suite| section(document, suite, pictures)));
    sections.push(method(document, pictures));
    Page {
        title: Span::new(Role::Heading, suite_title(document)),
        subtitle: vec![Span::new(Role::Dim, extent_words(document))],
        answer: suite_verdict(document),
        tiles: Vec::new(),
        sections,
    }
}

/// The builds, and how the signs of their differences are to be read.
fn builds(document: &Summary) -> Section {
    let emulated = document.builds.iter().any(|build| build.emulator.is_some());
    let mut columns = vec![Column::new("build", false), Column::new("what it is", false)];
    columns.extend(emulated.then(|| Column::new("emulated by", false)));
    let mut table = DataTable { columns, ..DataTable::default() }.ordered();
    for build in &document.builds {
        let mut row = vec![Cell::new(Role::Name, &build.name), Cell::new(Role::Plain, &build.description)];
        if emulated {
            let by = |build: &Build| build.emulator.as_ref().map(|emulator| Cell::new(Role::Warn, emulator));
            row.push(by(build).unwrap_or_default());
        }
        table.row(row);
    }
    let mut blocks = vec![Block::Table(table)];
    if is_comparison(document) {
        blocks.push(paragraph(Role::Plain, capital(&format!("differences: {}", sign_words(document)))));
    }
    Section::new("Builds", blocks)
}

/// The limits of rows.
fn gate(document: &Summary) -> Option<Section> {
    let gate = document.gate.as_ref()?;
    let (limits, _) = row_limits(document, gate, true);
    let item = |(mark, role, words)| {
        let spans = vec![Span::fixed(role, mark), Span::new(Role::Plain, format!(" {words}"))];
        Item { spans, command: None }
    };
    let (_, title) = gate_words(gate.outcome);
    Some(Section::new(title, vec![Block::List(limits.into_iter().map(item).collect())]))
}

fn section(document: &Summary, suite: &SuiteSummary, pictures: Pictures) -> Section {
    let mut blocks: Vec<Block> = means(document, suite).map(Block::Table).into_iter().collect();
    if pictures == Pictures::Drawn {
        let trade = trade_picture(document, suite).filter(|_| shows_memory(suite));
        let drawn: Vec<_> = rows_picture(document, suite).into_iter().chain(trade).collect();
        if !drawn.is_empty() {
            blocks.push(Block::Gallery(drawn));
        }
        blocks.extend(rows::folds(document, suite));
    } else {
        blocks.extend(rows::tables(document, suite));
    }
    blocks.extend(per_megahertz(document, suite).iter().map(|words| paragraph(Role::Plain, words)));
    if shows_memory(suite) {
        blocks.push(Block::Table(memory::table(document, suite)));
    }
    blocks.extend(indices(document, suite));
    Section::new(format!("{}: {}", capital(suite.suite.name()), suite.suite.label()), blocks)
}

/// What all rows say about each build; `None` if nothing was compared.
fn means(document: &Summary, suite: &SuiteSummary) -> Option<DataTable> {
    let memory = shows_memory(suite) && suite.means.iter().any(|means| means.memory.is_some());
    let mut names = vec!["build", "mean of times#", "rows#", "faster#", "slower#", "failed#"];
    if memory {
        names.extend(["dirty memory, median#", "sum#", "rows with more#", "most above", "virtual, most above"]);
    }
    let mut table = DataTable::new(&names).ordered().caption("All rows together");
    let builds = build_names(document, 40);
    for means in &suite.means {
        let counted = |count: usize| Cell::count(count as u64);
        let name = builds.get(means.build).map_or("", String::as_str);
        let mut row = vec![Cell::new(Role::Name, name), Cell::number(means.time.estimate, mean_words(&means.time))];
        row.extend([means.rows, means.faster, means.slower, means.failed].map(counted));
        if let Some(kept) = means.memory.as_ref().filter(|_| memory) {
            let factor = |factor: f64| Cell::number(factor, factor_words(factor));
            row.extend([factor(kept.median_dirty), factor(kept.sum_dirty), counted(kept.more)]);
            row.extend([&kept.worst_dirty, &kept.worst_virtual].map(|worst| {
                let above = || format!("{} ({})", figure_words(worst.bytes, Unit::Bytes), worst.row);
                Cell::new(Role::Plain, if worst.bytes > 0.0 { above() } else { "none".to_owned() })
            }));
        }
        table.row(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The index of each build, row by row, in the form of UnixBench's report.
fn indices(document: &Summary, suite: &SuiteSummary) -> Vec<Block> {
    let names = build_names(document, 40);
    let table = |indexed| {
        let values = index_table(suite, indexed);
        let title = names.get(indexed.build).map_or("", String::as_str);
        let mut table = DataTable::new(&["test", "baseline#", "result#", "index#"]).ordered();
        table = table.caption(format!("Index values of {title}"));
        let figure = |words: String| Cell { sort: Some(0.0), ..Cell::new(Role::Number, words) };
        for [row, baseline, score, index] in values.rows {
            table.row(vec![Cell::new(Role::Plain, row), figure(baseline), figure(score), figure(index)]);
        }
        table.row(vec![Cell::new(Role::Heading, "Index"), Cell::default(), Cell::default(), figure(values.index)]);
        Block::Table(table)
    };
    suite.indices.iter().map(table).collect()
}

/// The machine and the method.
fn method(document: &Summary, pictures: Pictures) -> Section {
    let facts = vec![
        ("underpin", document.underpin.clone()),
        ("form", if document.is_quick { "quick" } else { "full" }.to_owned()),
        ("took", time(document.seconds)),
        ("ended", if document.is_interrupted { "by an interruption" } else { "after all rows" }.to_owned()),
    ];
    let mut blocks =
        vec![Block::Table(machine_table(&document.machine)), Block::Table(DataTable::facts("method", facts))];
    blocks.extend(suite_method(document).iter().map(|words| paragraph(Role::Plain, words)));
    if pictures == Pictures::Drawn {
        let words =
            "Every figure is in this page: the element `document` holds them as JSON (schema underpin.suite/1).";
        blocks.push(paragraph(Role::Dim, words));
    }
    Section::new("Machine and method", blocks)
}
