//! `--why NAME`: the chain of requests from the program to an object, and all other objects that request it.

use super::tries::try_lines;
use crate::bytes::Raw;
use crate::document::tree::{EdgeRecord, EdgeResult, TreeDocument, Why};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;
use bstr::BStr;

/// Requesters that the short form names.
const NAMED_REQUESTERS: usize = 8;

/// Why an object is loaded, or why a name is not found. The name is a soname, a file name, a path or a requested name.
/// `None` if nothing of that name occurs in this program.
#[must_use]
pub fn tree_why(document: &TreeDocument, name: &BStr, view: &View) -> Option<Text> {
    let edges: Vec<&EdgeRecord> = edges_of(document, name);
    let first = edges.first()?;
    let mut text = Text::new();
    title(&mut text, document, first, view);
    chain(&mut text, document, first, view);
    others(&mut text, document, &edges, view);
    if !first.tries.is_empty() {
        text.heading("Paths tried, in order");
        try_lines(document, first, view.usable(), view.verbosity).into_iter().for_each(|line| text.push(line));
    }
    Some(text)
}

/// Every request that matches a name, the decisive one first.
fn edges_of<'a>(document: &'a TreeDocument, name: &BStr) -> Vec<&'a EdgeRecord> {
    let object = document.objects.iter().position(|object| {
        object.path.bytes() == name
            || object.soname.as_ref().is_some_and(|soname| soname.bytes() == name)
            || object.path.file_name() == name
            || object.names.iter().any(|other| other.bytes() == name)
    });
    let mut edges: Vec<&EdgeRecord> = match object {
        Some(index) => document.edges.iter().filter(|edge| edge.object == Some(index)).collect(),
        None => document.edges.iter().filter(|edge| edge.name.bytes() == name).collect(),
    };
    if let Some(index) = object
        && let Some(first) = document.objects.get(index).and_then(|object| object.requested_by)
        && let Some(position) = edges.iter().position(|edge| edge.from == first)
    {
        edges[..=position].rotate_right(1);
    }
    edges
}

fn title(text: &mut Text, document: &TreeDocument, edge: &EdgeRecord, view: &View) {
    let name = edge.name.to_string();
    let (role, rest) = match edge.object.and_then(|object| document.objects.get(object)) {
        Some(object) => (Role::Path, object.path.to_string()),
        None if edge.result == EdgeResult::Ignored => (Role::Warn, "ignored".to_owned()),
        None => (Role::Bad, "not found".to_owned()),
    };
    let spans = [Span::new(Role::Heading, name), Span::fixed(Role::Plain, " is "), Span::new(role, rest)];
    text.append(wrap(Line::new(), &spans, view.usable()));
}

/// The requests from the program to the edge. Stops at an object already met, so that a broken model cannot loop.
fn chain_edges<'a>(document: &'a TreeDocument, last: &'a EdgeRecord) -> Vec<&'a EdgeRecord> {
    let mut chain = vec![last];
    let mut object = last.from;
    while object != 0 && chain.len() <= document.objects.len() {
        let parent = document.objects.get(object).and_then(|record| record.requested_by);
        let edges = || document.edges.iter().filter(|edge| edge.object == Some(object));
        let Some(edge) = edges().find(|edge| Some(edge.from) == parent).or_else(|| edges().next()) else { break };
        chain.push(edge);
        object = edge.from;
    }
    chain.reverse();
    chain
}

fn chain(text: &mut Text, document: &TreeDocument, edge: &EdgeRecord, view: &View) {
    text.heading("Chain of requests");
    let columns = view.usable();
    let program = shorten(&document.program.to_string(), columns - 2);
    text.push(Line::new().plain("  ").with(Role::Path, program));
    for (depth, edge) in chain_edges(document, edge).into_iter().enumerate() {
        let indent = "  ".repeat(depth.min(12) + 1);
        let head = Line::new().with(Role::Dim, format!("{indent}└ {} ", edge.kind.phrase()));
        let mut spans = vec![Span::new(Role::Name, edge.name.bytes())];
        match (&edge.why, edge.object.and_then(|object| document.objects.get(object))) {
            (Some(why), Some(object)) => {
                spans.push(Span::new(Role::Dim, format!(" [{}] ", why_words(document, edge.from, why))));
                if object.path != edge.name {
                    spans.push(Span::new(Role::Path, object.path.bytes()));
                }
            }
            _ => {
                spans.push(Span::fixed(Role::Plain, ": "));
                spans.push(Span::new(Role::Bad, edge.reason.as_deref().unwrap_or("not found")));
            }
        }
        text.append(wrap(head, &spans, columns));
    }
}

/// The reason, with the object that the path belongs to if that is not the requesting one.
pub(super) fn why_words(document: &TreeDocument, asker: usize, why: &Why) -> String {
    match why.of.filter(|&of| of != asker).and_then(|of| document.objects.get(of)) {
        Some(object) => format!("{} of {}", why.text, Raw::from(object.label())),
        None => why.text.clone(),
    }
}

fn others(text: &mut Text, document: &TreeDocument, edges: &[&EdgeRecord], view: &View) {
    let mut names: Vec<String> = edges
        .iter()
        .skip(1)
        .filter_map(|edge| document.objects.get(edge.from))
        .map(|object| Raw::from(object.label()).to_string())
        .collect();
    names.dedup();
    if names.is_empty() {
        return;
    }
    text.heading(format!("Also asked for by {}", count(names.len(), "object", "objects")));
    let shown = if view.verbosity == 0 { NAMED_REQUESTERS } else { names.len() };
    let more = names.len().saturating_sub(shown);
    names.truncate(shown);
    let rest = if more > 0 { format!(" and {more} more (-v)") } else { String::new() };
    let spans = [Span::new(Role::Name, names.join(", ")), Span::new(Role::Dim, rest)];
    text.append(wrap(Line::new().plain("  "), &spans, view.usable()));
}
