//! `--paths`: the directories in which each object's own dependencies are looked for, in order, dead ones marked.
//!
//! The order is the loader's (glibc elf/dl-load.c `_dl_map_object`, musl ldso/dynlink.c `load_library`). Tokens are
//! expanded for the reader; what the search really met is in the paths tried (`-vv`, `--why`).

use crate::bytes::Raw;
use crate::document::tree::{FindingSlug, LoaderFamily, ObjectRecord, TreeDocument};
use crate::layout::{View, shorten};
use crate::styled::{Line, Role, Text};
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeSet;

/// The search directories of every object that has its own, and those that all share.
#[must_use]
pub fn tree_paths(document: &TreeDocument, view: &View) -> Text {
    let mut text = Text::new();
    if document.loader.kind == LoaderFamily::None {
        text.push(Line::new().plain("static: no loader, no search"));
        return text;
    }
    let dead: BTreeSet<BString> = document
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingSlug::DeadDirectory)
        .filter_map(|finding| finding.path.as_ref().map(|path| trimmed(path.bytes())))
        .collect();
    for (index, object) in document.objects.iter().enumerate() {
        let entries = entries(document, index);
        if !entries.is_empty() {
            text.gap();
            let path = shorten(&object.path.to_string(), view.usable());
            text.push(Line::new().with(Role::Heading, path));
            entries.iter().for_each(|entry| text.push(entry_line(entry, &dead, view)));
        }
    }
    shared(&mut text, document, view);
    text
}

/// One directory of a search.
struct Entry {
    directory: BString,
    written: BString,
    rule: String,
}

/// DT_RPATH of the object and its chain of requesters, or its DT_RUNPATH; musl inherits both as one.
fn entries(document: &TreeDocument, index: usize) -> Vec<Entry> {
    let Some(object) = document.objects.get(index) else { return Vec::new() };
    if document.loader.kind == LoaderFamily::Glibc
        && let Some(runpath) = &object.runpath
    {
        return split(document, object, runpath, "runpath".to_owned());
    }
    let mut found = Vec::new();
    let (mut at, mut steps) = (Some(index), 0);
    while let Some((position, owner)) = at.and_then(|at| Some((at, document.objects.get(at)?)))
        && steps <= document.objects.len()
    {
        let list = match document.loader.kind {
            LoaderFamily::Musl => owner.runpath.as_ref().or(owner.rpath.as_ref()),
            _ => owner.rpath.as_ref().filter(|_| owner.runpath.is_none()),
        };
        if let Some(list) = list {
            let whose = if position == index { String::new() } else { format!(" of {}", Raw::from(owner.label())) };
            found.extend(split(document, owner, list, format!("rpath{whose}")));
        }
        at = owner.requested_by;
        steps += 1;
    }
    if object.rpath.is_none() && object.runpath.is_none() && index != 0 { Vec::new() } else { found }
}

fn split(document: &TreeDocument, owner: &ObjectRecord, list: &Raw, rule: String) -> Vec<Entry> {
    list.bytes()
        .split_str(":")
        .map(|entry| Entry {
            directory: expand(document, owner, entry.as_bstr()),
            written: entry.into(),
            rule: rule.clone(),
        })
        .collect()
}

/// An entry with its tokens replaced; `$PLATFORM` stays where its value is not known.
fn expand(document: &TreeDocument, owner: &ObjectRecord, entry: &BStr) -> BString {
    let origin_path = owner.real_path.as_ref().filter(|_| owner.requested_by.is_none()).unwrap_or(&owner.path);
    let origin = trimmed(origin_path.directory());
    let mut out = entry.to_vec();
    let mut tokens: Vec<(&str, &BStr)> = vec![("ORIGIN", origin.as_bstr()), ("LIB", document.loader.lib_token.bytes())];
    if let Some(platform) = &document.loader.platform {
        tokens.push(("PLATFORM", platform.bytes()));
    }
    for (name, value) in tokens {
        out = out.replace(format!("${{{name}}}"), value).replace(format!("${name}"), value);
    }
    out.into()
}

/// A directory without the slashes at its end.
fn trimmed(directory: &BStr) -> BString {
    let kept = directory.trim_end_with(|ch| ch == '/');
    if kept.is_empty() && !directory.is_empty() { "/".into() } else { kept.into() }
}

fn entry_line(entry: &Entry, dead: &BTreeSet<BString>, view: &View) -> Line {
    let is_dead =
        dead.contains(&trimmed(entry.directory.as_bstr())) || dead.contains(&trimmed(entry.written.as_bstr()));
    let here = entry.directory.is_empty();
    let mark = if is_dead { "  does not exist" } else { "" };
    let reason = format!("  [{}]", entry.rule);
    let room = view.usable().saturating_sub(2 + reason.chars().count() + mark.len()).max(8);
    let shown = if here { "(current directory)".to_owned() } else { Raw::from(entry.directory.as_bstr()).to_string() };
    let role = if is_dead || here { Role::Warn } else { Role::Path };
    Line::new().plain("  ").with(role, shorten(&shown, room)).with(Role::Dim, reason).with(Role::Warn, mark)
}

/// What every search goes on with.
fn shared(text: &mut Text, document: &TreeDocument, view: &View) {
    text.heading("For every object, after its own");
    let mut row = |path: String, rule: &str| {
        let room = view.usable().saturating_sub(rule.len() + 6);
        let line = Line::new().plain("  ").with(Role::Path, shorten(&path, room));
        text.push(line.with(Role::Dim, format!("  [{rule}]")));
    };
    row("LD_LIBRARY_PATH".to_owned(), "environment");
    let rule = if document.loader.kind == LoaderFamily::Musl { "musl path file" } else { "ld.so.cache" };
    if let Some(configuration) = &document.loader.configuration {
        row(configuration.to_string(), rule);
    }
    for directory in &document.loader.system_directories {
        row(directory.to_string(), "default directory");
    }
}
