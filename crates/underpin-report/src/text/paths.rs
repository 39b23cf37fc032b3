//! `--paths`: where the requests of each object are searched, in order, with dead directories marked.
//!
//! The lists are the resolver's own, tokens replaced; objects with equal lists share one. What a search really tried is
//! shown by `-vv` and `--why`.

use super::why::why_words;
use crate::document::tree::{FoundBy, LoaderFamily, SearchDirectoryRecord, TreeDocument};
use crate::layout::{View, shorten};
use crate::styled::{Line, Role, Text, width};

/// Every distinct search list below the objects that it belongs to.
#[must_use]
pub fn tree_paths(document: &TreeDocument, view: &View) -> Text {
    let mut text = Text::new();
    if document.loader.kind == LoaderFamily::None {
        text.push(Line::new().plain("static: no loader, no search"));
        return text;
    }
    for (index, search) in document.searches.iter().enumerate() {
        let owners = owners(document, index);
        let Some(&first) = owners.first() else { continue };
        text.gap();
        headings(&mut text, document, &owners, view);
        for directory in &search.directories {
            text.push(directory_line(document, first, directory, view));
        }
    }
    if text.lines().is_empty() {
        text.push(Line::new().plain("nothing is searched for"));
    }
    text
}

/// The objects that search a list. An object without requests searches nothing, unless it names directories itself.
fn owners(document: &TreeDocument, search: usize) -> Vec<usize> {
    let searches = |index: &usize| {
        let object = &document.objects[*index];
        let asks = !object.needed.is_empty() || object.rpath.is_some() || object.runpath.is_some();
        asks && object.search == Some(search)
    };
    (0..document.objects.len()).filter(searches).collect()
}

fn headings(text: &mut Text, document: &TreeDocument, owners: &[usize], view: &View) {
    let shown = if view.verbosity == 0 { 1 } else { owners.len() };
    let hidden = owners.len() - shown;
    let rest = if hidden == 0 { String::new() } else { format!(" and {hidden} more (-v)") };
    for &owner in &owners[..shown] {
        let path =
            shorten(&document.objects[owner].path.to_string(), view.usable().saturating_sub(width(&rest)).max(8));
        text.push(Line::new().with(Role::Heading, path).with(Role::Dim, rest.as_str()));
    }
}

fn directory_line(document: &TreeDocument, owner: usize, directory: &SearchDirectoryRecord, view: &View) -> Line {
    let here = !directory.path.bytes().starts_with(b"/");
    let mark = match directory.exists {
        Some(false) if directory.source.by == FoundBy::Cache => "  not usable",
        Some(false) => "  does not exist",
        _ if here => "  depends on the current directory",
        _ => "",
    };
    let reason = format!("  [{}]", why_words(document, owner, &directory.source));
    let room = view.usable().saturating_sub(2 + width(&reason) + width(mark)).max(8);
    let shown = if directory.path.bytes().is_empty() { "./".to_owned() } else { directory.path.to_string() };
    let role = if mark.is_empty() { Role::Path } else { Role::Warn };
    let shown = shorten(&shown, room);
    Line::new().plain("  ").with(role, shown).with(Role::Dim, reason).with(Role::Warn, mark)
}
