//! The tree screen and the list of `underpin tree`.
//!
//! Each object appears once, under the object that requested it first: the tree shows the loader's order and is not an
//! expansion of it. The C library's family is folded into one line unless something about it is unusual.

use super::tries::{tries_words, try_lines};
use super::{calls_line, findings};
use crate::bytes::Raw;
use crate::document::tree::{EdgeRecord, EdgeResult, LoaderFamily, ObjectRecord, RequestKind, TreeDocument};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text, width};
use crate::units::count;
use bstr::BStr;

/// The screen of `underpin tree`: tree, findings, predicted calls.
///
/// Verbosity 0 folds repeated requests and the C library's family, 1 shows them and all paths, 2 every path tried.
#[must_use]
pub fn tree(document: &TreeDocument, view: &View) -> Text {
    let mut screen = Screen { document, view, columns: view.usable(), text: Text::new() };
    screen.header();
    screen.nodes();
    screen.folded();
    screen.summary();
    screen.text.append(findings(document, view));
    screen.text.append(calls_line(document, view));
    screen.text
}

/// The paths of `--list`: the objects in load order, the program itself left out, as bytes for another program to read.
pub fn tree_list(document: &TreeDocument) -> impl Iterator<Item = &BStr> {
    document.objects.iter().skip(1).map(|object| object.path.bytes())
}

/// The C library's own family and the compilers' runtimes: the objects that nearly every program has.
const FAMILY: [&[u8]; 15] = [
    b"ld-linux",
    b"ld64.so",
    b"ld.so",
    b"ld-musl-",
    b"libc.so",
    b"libc.musl-",
    b"libm.so",
    b"libmvec.so",
    b"libpthread.so",
    b"librt.so",
    b"libdl.so",
    b"libutil.so",
    b"libresolv.so",
    b"libgcc_s.so",
    b"libstdc++.so",
];

fn is_family(object: &ObjectRecord) -> bool {
    let label = object.label();
    object.found.by.is_system() && FAMILY.iter().any(|prefix| label.starts_with(prefix))
}

struct Screen<'a> {
    document: &'a TreeDocument,
    view: &'a View,
    columns: usize,
    text: Text,
}

/// A request below an object.
#[derive(Clone, Copy)]
struct Child<'a> {
    edge: &'a EdgeRecord,
    /// Whether an earlier request loaded the object.
    repeat: bool,
}

/// A line of the tree that is not yet written.
struct Pending<'a> {
    child: Child<'a>,
    prefix: String,
    last: bool,
}

impl<'a> Screen<'a> {
    fn header(&mut self) {
        let program = shorten(&self.document.program.to_string(), self.columns);
        self.text.push(Line::new().with(Role::Heading, program));
    }

    /// The edges to show below each object, in request order.
    fn children(&self) -> Vec<Vec<Child<'a>>> {
        let mut children = vec![Vec::new(); self.document.objects.len().max(1)];
        let mut seen = vec![false; self.document.objects.len()];
        for edge in &self.document.edges {
            let repeat = edge.object.is_some_and(|object| seen.get(object).copied().unwrap_or(false) || object == 0);
            if let Some(mark) = edge.object.and_then(|object| seen.get_mut(object)) {
                *mark = true;
            }
            if let Some(list) = children.get_mut(edge.from)
                && (!repeat || self.view.verbosity > 0)
            {
                list.push(Child { edge, repeat });
            }
        }
        if self.folds() {
            for list in &mut children {
                list.retain(|child| !self.is_folded(child.edge));
            }
        }
        children
    }

    /// Whether the C library's family is folded: not if it is all there is to show.
    fn folds(&self) -> bool {
        self.view.verbosity == 0 && !self.document.objects.iter().skip(1).all(is_family)
    }

    /// Whether an edge is shown only in the line of the folded family.
    fn is_folded(&self, edge: &EdgeRecord) -> bool {
        edge.object.and_then(|object| self.document.objects.get(object)).is_some_and(|object| {
            is_family(object) && matches!(edge.kind, RequestKind::Needed | RequestKind::Interpreter)
        })
    }

    fn nodes(&mut self) {
        let children = self.children();
        let mut expanded = vec![false; children.len()];
        let mut stack: Vec<Pending<'a>> = pending(&children[0], "");
        expanded[0] = true;
        while let Some(node) = stack.pop() {
            let below = format!("{}{}", node.prefix, if node.last { "    " } else { "│   " });
            self.node(&node, &below);
            if let Some(object) = node.child.edge.object
                && !node.child.repeat
                && let Some(done) = expanded.get_mut(object)
                && !std::mem::replace(done, true)
            {
                stack.extend(pending(&children[object], &below));
            }
        }
    }

    fn node(&mut self, node: &Pending<'a>, below: &str) {
        let edge = node.child.edge;
        let branch = if node.last { "└── " } else { "├── " };
        let mut line = Line::new().with(Role::Dim, self.indent(&node.prefix)).with(Role::Dim, branch);
        let kind = match edge.kind {
            RequestKind::Needed => "",
            RequestKind::Filter => "filter ",
            RequestKind::Auxiliary => "auxiliary ",
            RequestKind::LdPreload => "LD_PRELOAD ",
            RequestKind::EtcPreload => "/etc/ld.so.preload ",
            RequestKind::Interpreter => "interpreter ",
        };
        line.push(Span::fixed(Role::Dim, kind));
        let role = match edge.result {
            EdgeResult::Loaded => Role::Name,
            EdgeResult::Missing | EdgeResult::Fatal => Role::Bad,
            EdgeResult::Ignored => Role::Warn,
        };
        let reason = self.reason(edge);
        let reason_room = self.columns.saturating_sub(line.width() + 13);
        let reason = Span::new(reason.role(), shorten(reason.text(), reason_room));
        let room = self.columns.saturating_sub(line.width() + 1 + reason.width());
        line.push(Span::new(role, shorten(&edge.name.to_string(), room)));
        line.push(Span::fixed(Role::Plain, " "));
        line.push(reason);
        self.place(&mut line, node.child);
        self.text.push(line);
        self.tries(edge, below);
    }

    /// The branches of the levels above; a very deep level is replaced by its number, so that the name still fits.
    fn indent(&self, prefix: &str) -> String {
        let columns = width(prefix);
        if columns + 30 <= self.columns { prefix.to_owned() } else { format!("… {} ", columns / 4) }
    }

    fn reason(&self, edge: &EdgeRecord) -> Span {
        match (edge.result, &edge.why) {
            (EdgeResult::Loaded, Some(why)) => {
                let whose = why.of.filter(|&of| of != edge.from).and_then(|of| self.document.objects.get(of));
                let whose = whose.map_or_else(String::new, |object| format!(" of {}", Raw::from(object.label())));
                let tries = if edge.tries.len() > 1 { format!(", try {}", edge.tries.len()) } else { String::new() };
                Span::new(Role::Dim, format!("[{}{whose}{tries}]", why.text))
            }
            (EdgeResult::Loaded, None) => Span::fixed(Role::Dim, "[loaded]"),
            (EdgeResult::Missing, _) => Span::fixed(Role::Bad, "not found"),
            (EdgeResult::Ignored, _) => Span::new(Role::Warn, edge.reason.as_deref().unwrap_or("ignored")),
            (EdgeResult::Fatal, _) => Span::new(Role::Bad, edge.reason.as_deref().unwrap_or("the loader stops here")),
        }
    }

    /// Where the object is, if that adds to the reason: the directory, or the path if its name differs.
    fn place(&self, line: &mut Line, Child { edge, repeat }: Child<'_>) {
        let Some(object) = edge.object.and_then(|object| self.document.objects.get(object)) else { return };
        let usual = edge.why.as_ref().is_none_or(|why| why.by.is_system() || repeat);
        if (usual && self.view.verbosity == 0) || edge.name == object.path {
            return;
        }
        let same_name = edge.name.file_name() == object.path.file_name();
        let path = if same_name { object.path.directory() } else { object.path.bytes() };
        let room = self.columns.saturating_sub(line.width() + 1);
        if room >= 12 {
            line.push(Span::fixed(Role::Plain, " "));
            line.push(Span::new(Role::Path, shorten(&Raw::from(path).to_string(), room)));
        }
    }

    /// The paths tried: always for a miss, otherwise only if all details are requested.
    fn tries(&mut self, edge: &EdgeRecord, below: &str) {
        let failed = is_failure(edge);
        if edge.tries.is_empty() || !(failed || self.view.verbosity >= 2) {
            return;
        }
        let indent = self.indent(below);
        if failed {
            let tried = tries_words(self.document, edge, self.view.verbosity);
            let tried = shorten(&tried, self.columns.saturating_sub(width(&indent) + 2));
            self.text.push(Line::new().with(Role::Dim, &indent).with(Role::Dim, format!("  {tried}")));
        }
        let room = self.columns.saturating_sub(width(&indent));
        for line in try_lines(self.document, edge, room, self.view.verbosity) {
            let mut whole = Line::new().with(Role::Dim, &indent);
            line.spans().iter().for_each(|span| whole.push(span.clone()));
            self.text.push(whole);
        }
    }

    /// One line for the objects that are folded.
    fn folded(&mut self) {
        if !self.folds() {
            return;
        }
        let names: Vec<String> = self
            .document
            .objects
            .iter()
            .skip(1)
            .filter(|object| is_family(object))
            .map(|object| Raw::from(object.label()).to_string())
            .collect();
        if !names.is_empty() {
            let spans = [Span::new(Role::Dim, names.join(", ")), Span::fixed(Role::Dim, " (-v shows where)")];
            self.text.append(wrap(Line::new().with(Role::Dim, "    and "), &spans, self.columns));
        }
    }

    fn summary(&mut self) {
        let document = self.document;
        let loader = &document.loader;
        self.text.gap();
        let version = loader.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
        let family = match loader.kind {
            LoaderFamily::Glibc => "glibc",
            LoaderFamily::Musl => "musl",
            LoaderFamily::None => {
                self.text.push(Line::new().plain("static: no loader, nothing else is loaded"));
                return;
            }
        };
        let objects = document.objects.len().saturating_sub(1);
        let loaded = document.edges.iter().filter(|edge| edge.result == EdgeResult::Loaded).count();
        let repeats = loaded.saturating_sub(objects);
        let lost = document.edges.iter().filter(|edge| is_failure(edge)).count();
        let requests = count(document.edges.len(), "request", "requests");
        let mut spans = vec![
            Span::new(Role::Number, count(objects, "object", "objects")),
            Span::new(Role::Plain, format!(" for {requests}")),
        ];
        if repeats > 0 {
            spans.push(Span::new(Role::Dim, format!(" ({repeats} repeated)")));
        }
        if lost > 0 {
            spans.push(Span::new(Role::Bad, format!(", {lost} not served")));
        }
        spans.push(Span::new(Role::Plain, format!(", by {family}{version} ")));
        spans.push(Span::new(Role::Path, loader.path.bytes()));
        if loader.assumed {
            spans.push(Span::fixed(Role::Warn, " (assumed: the file names no interpreter)"));
        }
        self.text.append(wrap(Line::new(), &spans, self.columns));
    }
}

/// The children of a node, reversed for a stack.
fn pending<'a>(children: &[Child<'a>], prefix: &str) -> Vec<Pending<'a>> {
    let last = children.len().saturating_sub(1);
    let mut nodes: Vec<Pending<'a>> = children
        .iter()
        .enumerate()
        .map(|(index, &child)| Pending { child, prefix: prefix.to_owned(), last: index == last })
        .collect();
    nodes.reverse();
    nodes
}

/// Whether the program does not start because of this edge.
fn is_failure(edge: &EdgeRecord) -> bool {
    matches!(edge.result, EdgeResult::Missing | EdgeResult::Fatal)
}
