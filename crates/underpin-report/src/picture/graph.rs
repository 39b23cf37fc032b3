//! The dependency picture: every object once, below the object that requested it first, in columns by depth.
//!
//! The drawing shows the loader's order as a tree without crossings: each label has a row of its own, so none collide,
//! with ten objects as with two hundred. The other requests are drawn faintly and highlighted for the object under the
//! pointer. A request that fails is a leaf of its own.

use super::svg::{Anchor, Svg};
use super::{Key, Picture};
use crate::bytes::Raw;
use crate::document::tree::{EdgeRecord, EdgeResult, FoundBy, TreeDocument};
use crate::layout::shorten;
use crate::styled::width;
use crate::units::count;

/// Height of a row, in user units.
const ROW: f64 = 15.0;
/// Advance of one character of the 11-unit monospace label font.
const CHARACTER: f64 = 6.7;
/// Columns of a label before it is shortened.
const LABEL: usize = 34;
/// The gap between a label and the next column, where the curves run.
const GAP: f64 = 46.0;
const MARGIN: f64 = 10.0;
/// A parent is at most this many rows below its first child, so that the program is in sight at the top.
const NEAR: f64 = 4.0;

/// What a node of the picture represents.
#[derive(Clone, Copy)]
enum Place<'a> {
    Object(usize),
    Failed(&'a EdgeRecord),
}

struct Node<'a> {
    place: Place<'a>,
    parent: Option<usize>,
    depth: usize,
    row: f64,
    children: Vec<usize>,
}

/// Draws which object requests which.
pub(crate) fn dependency_picture(document: &TreeDocument) -> Picture {
    let mut nodes = nodes(document);
    let rows = place(&mut nodes);
    let columns = columns(document, &nodes);
    let width = columns.last().copied().unwrap_or(0.0) + MARGIN;
    let height = rows * ROW + 2.0 * MARGIN;
    let objects = count(document.objects.len(), "object", "objects");
    let mut svg = Svg::new(width, height, "graph", &format!("Dependency picture: {objects}"));
    let at = |node: &Node<'_>| (columns[node.depth] + 4.0, MARGIN + (node.row + 0.5) * ROW);
    let ends = |node: &Node<'_>| columns[node.depth] + 10.0 + width_of(&label(document, node.place));
    let mut of_object = vec![None; document.objects.len()];
    for (index, node) in nodes.iter().enumerate() {
        if let Place::Object(object) = node.place {
            of_object[object] = Some(index);
        }
    }
    repeated_edges(&mut svg, document, &nodes, &of_object, &at, &ends);
    for (index, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            let (x1, y1, (x2, y2)) = (ends(&nodes[parent]), at(&nodes[parent]).1, at(node));
            let class = if matches!(node.place, Place::Failed(_)) { "e lost" } else { "e" };
            svg.curve(class, &[("from", parent), ("to", index)], [x1, y1, x2 - 4.0, y2]);
        }
    }
    for (index, node) in nodes.iter().enumerate() {
        draw_node(&mut svg, document, node, index, at(node));
    }
    Picture { svg: svg.finish(), title: None, legend: legend(document) }
}

/// Every object under its first requester, in request order; failed requests beside them.
fn nodes(document: &TreeDocument) -> Vec<Node<'_>> {
    let mut wanted: Vec<Vec<Place<'_>>> = vec![Vec::new(); document.objects.len().max(1)];
    let mut seen = vec![false; document.objects.len().max(1)];
    seen[0] = true;
    for edge in &document.edges {
        let place = match edge.object {
            Some(object) if object < seen.len() => {
                if std::mem::replace(&mut seen[object], true) {
                    continue;
                }
                Place::Object(object)
            }
            _ => Place::Failed(edge),
        };
        if let Some(list) = wanted.get_mut(edge.from) {
            list.push(place);
        }
    }
    let mut nodes = vec![Node { place: Place::Object(0), parent: None, depth: 0, row: 0.0, children: Vec::new() }];
    let mut next = 0;
    while next < nodes.len() {
        if let Place::Object(object) = nodes[next].place {
            for place in std::mem::take(&mut wanted[object]) {
                let child = nodes.len();
                let depth = nodes[next].depth + 1;
                nodes.push(Node { place, parent: Some(next), depth, row: 0.0, children: Vec::new() });
                nodes[next].children.push(child);
            }
        }
        next += 1;
    }
    nodes
}

/// Gives each leaf a row and each parent the middle of its children, or a place near the first of many; returns the
/// number of rows.
fn place(nodes: &mut [Node<'_>]) -> f64 {
    let mut rows = 0.0;
    let mut stack = vec![(0, false)];
    while let Some((index, children_done)) = stack.pop() {
        let children = nodes[index].children.clone();
        if children.is_empty() {
            nodes[index].row = rows;
            rows += 1.0;
        } else if children_done {
            let (first, last) = (children[0], children[children.len() - 1]);
            let middle = (nodes[first].row + nodes[last].row) / 2.0;
            nodes[index].row = middle.min(nodes[first].row + NEAR);
        } else {
            stack.push((index, true));
            stack.extend(children.into_iter().rev().map(|child| (child, false)));
        }
    }
    rows
}

/// The left edge of each column, and at the end the right edge of the last one.
fn columns(document: &TreeDocument, nodes: &[Node<'_>]) -> Vec<f64> {
    let depth = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
    let mut widest = vec![0.0_f64; depth + 1];
    for node in nodes {
        widest[node.depth] = widest[node.depth].max(width_of(&label(document, node.place)));
    }
    let mut columns = vec![MARGIN];
    let mut x = MARGIN;
    for width in widest {
        x += width + GAP;
        columns.push(x);
    }
    columns
}

fn width_of(label: &str) -> f64 {
    width(label) as f64 * CHARACTER + 4.0
}

fn label(document: &TreeDocument, place: Place<'_>) -> String {
    let name = match place {
        Place::Object(object) => {
            document.objects.get(object).map(|object| Raw::from(object.label()).to_string()).unwrap_or_default()
        }
        Place::Failed(edge) => edge.name.to_string(),
    };
    shorten(&name, LABEL)
}

type At<'a> = &'a dyn Fn(&Node<'_>) -> (f64, f64);
type Ends<'a> = &'a dyn Fn(&Node<'_>) -> f64;

/// Requests for objects that were already loaded, each pair once.
fn repeated_edges(
    svg: &mut Svg,
    document: &TreeDocument,
    nodes: &[Node<'_>],
    of_object: &[Option<usize>],
    at: At<'_>,
    ends: Ends<'_>,
) {
    let mut drawn = std::collections::BTreeSet::new();
    for edge in &document.edges {
        let place = |object: usize| of_object.get(object).copied().flatten();
        let (Some(from), Some(to)) = (place(edge.from), edge.object.and_then(place)) else { continue };
        if nodes[to].parent == Some(from) || from == to || !drawn.insert((from, to)) {
            continue;
        }
        let (x1, y1, (x2, y2)) = (ends(&nodes[from]), at(&nodes[from]).1, at(&nodes[to]));
        svg.curve("e again", &[("from", from), ("to", to)], [x1, y1, x2 - 4.0, y2]);
    }
}

/// The class of a node, by the rule that led to it.
fn class(document: &TreeDocument, place: Place<'_>) -> &'static str {
    match place {
        Place::Failed(edge) if edge.result == EdgeResult::Ignored => "n ignored",
        Place::Failed(_) => "n lost",
        Place::Object(object) => match document.objects.get(object).map(|object| object.found.by) {
            Some(FoundBy::Program) => "n program",
            Some(FoundBy::Rpath | FoundBy::Runpath | FoundBy::Direct) => "n own",
            Some(FoundBy::LibraryPath) => "n env",
            _ => "n system",
        },
    }
}

fn draw_node(svg: &mut Svg, document: &TreeDocument, node: &Node<'_>, index: usize, (x, y): (f64, f64)) {
    svg.open(class(document, node.place), &[("node", index)], &title(document, node.place));
    svg.circle("dot", x, y, 3.5);
    svg.text("label", x + 7.0, y + 3.8, Anchor::Start, &label(document, node.place));
    svg.close();
}

/// The text under the pointer: path, rule, requester.
fn title(document: &TreeDocument, place: Place<'_>) -> String {
    match place {
        Place::Failed(edge) => {
            let reason = edge.reason.as_deref().unwrap_or("not found");
            format!("{}: {reason} ({})", edge.name, count(edge.tries.len(), "path tried", "paths tried"))
        }
        Place::Object(index) => {
            let Some(object) = document.objects.get(index) else { return String::new() };
            let requests = document.edges.iter().filter(|edge| edge.object == Some(index)).count();
            let asks = document.edges.iter().filter(|edge| edge.from == index).count();
            format!(
                "{} [{}] asked for {}, asks for {}",
                object.path,
                object.found.text,
                count(requests, "time", "times"),
                count(asks, "object", "objects")
            )
        }
    }
}

fn legend(document: &TreeDocument) -> Vec<Key> {
    let has = |by: &[FoundBy]| document.objects.iter().any(|object| by.contains(&object.found.by));
    let failed = |result| document.edges.iter().any(|edge| edge.result == result);
    let mut legend = vec![Key::fixed("system", "found by the system’s configuration")];
    if has(&[FoundBy::Rpath, FoundBy::Runpath, FoundBy::Direct]) {
        legend.push(Key::fixed("own", "found by a path in a file"));
    }
    if has(&[FoundBy::LibraryPath]) {
        legend.push(Key::fixed("env", "found by LD_LIBRARY_PATH"));
    }
    if failed(EdgeResult::Missing) || failed(EdgeResult::Fatal) {
        legend.push(Key::fixed("lost", "not found"));
    }
    if failed(EdgeResult::Ignored) {
        legend.push(Key::fixed("ignored", "not found, and not needed"));
    }
    legend.push(Key::hint("Point at an object to see everybody who asks for it; click to keep it."));
    legend
}
