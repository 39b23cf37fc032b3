//! The survey document as a page: the figures, the advice, then check, tree and trace.

use super::check::{check_sections, check_tiles};
use super::trace::{trace_sections, trace_tiles};
use super::tree::{tree_sections, tree_tiles};
use super::{Page, Section, advice_section, paragraph};
use crate::document::survey::SurveyDocument;
use crate::styled::{Role, Span};

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
    // Stable: within both halves the order stays.
    sections.sort_by_key(|section| section.detail);
    let file = &document.check.file;
    Page {
        title: Span::new(Role::Path, document.program.bytes()),
        subtitle: vec![Span::new(Role::Dim, format!("{} {}", file.machine, file.linkage))],
        tiles,
        sections,
    }
}
