//! The survey document as a page: the figures, the advice, then check, tree and trace.

use super::check::{check_sections, check_tiles};
use super::trace::{trace_sections, trace_tiles};
use super::tree::{tree_sections, tree_tiles};
use super::{Block, Cell, DataTable, Page, Section, advice_section, paragraph};
use crate::document::survey::SurveyDocument;
use crate::document::trial::TrialRatio;
use crate::styled::{Role, Span};
use crate::words::{change_decimals, change_interval, change_words, figure_words, verdict_role, verdict_word};
use underpin_bench::Unit;

/// The page of `underpin survey`.
pub(crate) fn survey_page(document: &SurveyDocument) -> Page {
    let mut tiles = check_tiles(&document.check);
    tiles.extend(tree_tiles(&document.tree));
    tiles.extend(document.trace.as_ref().map(trace_tiles).unwrap_or_default());
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(advice_section(&document.advice));
    sections.extend(check_sections(&document.check));
    sections.extend(tree_sections(&document.tree));
    match &document.trace {
        Some(trace) => sections.extend(trace_sections(trace)),
        None => {
            let reason = document.trace_absent.as_deref().unwrap_or("not run");
            sections.push(Section::new("Start-up", vec![paragraph(Role::Dim, format!("Not measured: {reason}"))]));
        }
    }
    sections.extend(allocator_section(document));
    // The sort is stable: the order within both halves is kept.
    sections.sort_by_key(|section| section.detail);
    let file = &document.check.file;
    Page {
        title: Span::new(Role::Path, document.program.bytes()),
        subtitle: vec![Span::new(Role::Dim, format!("{} {}", file.machine, file.linkage))],
        answer: Vec::new(),
        tiles,
        sections,
    }
}

/// What other allocators change.
fn allocator_section(document: &SurveyDocument) -> Option<Section> {
    const TITLE: &str = "On other allocators";
    if let Some(reason) = &document.allocators_absent {
        return Some(Section::new(TITLE, vec![paragraph(Role::Dim, format!("Not tried: {reason}"))]));
    }
    let trial = document.allocators.as_ref()?;
    let mut table = DataTable::new(&["allocator", "time#", "95 %", "", "memory#", "95 %", ""]).ordered();
    let absolute = |figure: f64, unit| Cell::number(1.0, figure_words(figure, unit));
    table.row(vec![
        Cell::new(Role::Name, "as it is"),
        absolute(trial.wall_seconds.estimate, Unit::Seconds),
        Cell::default(),
        Cell::new(Role::Dim, "reference"),
        trial.rss_bytes.map_or_else(Cell::default, |bytes| absolute(bytes.estimate, Unit::Bytes)),
        Cell::default(),
        Cell::new(Role::Dim, "reference"),
    ]);
    for tried in &trial.allocators {
        let mut row = vec![Cell::new(Role::Name, &tried.name)];
        row.extend(change_cells(Some(&tried.wall)).into_iter().chain(change_cells(tried.rss.as_ref())));
        table.row(row);
    }
    let runs = format!("{} timed runs of each, interleaved; {} watched for memory", trial.runs, trial.memory_runs);
    Some(Section::new(TITLE, vec![Block::Table(table), paragraph(Role::Dim, runs)]))
}

fn change_cells(figure: Option<&TrialRatio>) -> [Cell; 3] {
    let Some(TrialRatio { ratio, verdict }) = figure else { return Default::default() };
    let (word, role) = (verdict_word(*verdict), verdict_role(*verdict, None));
    [
        Cell::number(ratio.estimate, change_words(ratio.estimate, change_decimals(ratio))),
        Cell::new(Role::Plain, change_interval(ratio)),
        Cell::new(role, word),
    ]
}
