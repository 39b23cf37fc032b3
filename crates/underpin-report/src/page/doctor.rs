//! The doctor document as a page: one table for each topic.

use super::{Block, Cell, DataTable, Page, Section};
use crate::document::doctor::{DoctorDocument, State};
use crate::styled::{Role, Span};

/// The page of `underpin doctor`.
pub(crate) fn doctor_page(document: &DoctorDocument) -> Page {
    let mut sections: Vec<Section> = Vec::new();
    let mut topic = None;
    for item in &document.items {
        if topic != Some(item.topic) {
            let table = DataTable::new(&["", "fact", "found", "what to do"]);
            sections.push(Section::new(item.topic.title(), vec![Block::Table(table)]));
            topic = Some(item.topic);
        }
        let (word, role) = match item.state {
            State::Good => ("ok", Role::Good),
            State::Limited => ("limited", Role::Warn),
            State::Broken => ("no", Role::Bad),
        };
        let mut found = vec![Span::new(Role::Plain, &item.value)];
        if let Some(effect) = &item.effect {
            found.push(Span::new(Role::Dim, format!("; {effect}")));
        }
        let fix = item.fix.as_ref().map_or_else(Cell::default, |fix| Cell::new(Role::Command, fix));
        if let Some(Block::Table(table)) = sections.last_mut().and_then(|section| section.blocks.last_mut()) {
            table.row(vec![Cell::new(role, word), Cell::new(Role::Name, &item.name), found.into(), fix]);
        }
    }
    Page {
        title: Span::fixed(Role::Heading, "What this machine allows"),
        subtitle: vec![Span::new(Role::Dim, format!("underpin {}", document.underpin))],
        answer: Vec::new(),
        tiles: Vec::new(),
        sections,
    }
}
