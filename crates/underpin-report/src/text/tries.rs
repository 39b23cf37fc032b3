//! The paths of one search: numbered, with the rule that led there and the result.
//!
//! A loader looks for variants for the CPU below every directory; if all of them are missing, the short form counts
//! them in the line of their directory.

use crate::bytes::Raw;
use crate::document::tree::{EdgeRecord, TreeDocument, TryOutcome, TryRecord};
use crate::layout::shorten;
use crate::styled::{Line, Role, width};
use crate::units::count;
use bstr::{BStr, ByteSlice};

/// One line: a path, and how many paths below its directory had the same result.
struct Entry<'a> {
    tried: &'a TryRecord,
    result: String,
}

/// The heading of the paths of a search.
pub(super) fn tries_words(document: &TreeDocument, edge: &EdgeRecord, verbosity: u8) -> String {
    let tried = count(edge.tries.len(), "path was tried", "paths were tried");
    let shown = if verbosity == 0 { entries(document, edge, true).len() } else { edge.tries.len() };
    match edge.tries.len() {
        1 => format!("{tried}:"),
        all if shown < all => format!("{tried}, in this order (×n: CPU variants; -v):"),
        _ => format!("{tried}, in this order:"),
    }
}

/// The paths of a search, in columns if all of them fit, otherwise each on its own line.
pub(super) fn try_lines(document: &TreeDocument, edge: &EdgeRecord, columns: usize, verbosity: u8) -> Vec<Line> {
    let entries = entries(document, edge, verbosity == 0);
    let digits = entries.len().to_string().len();
    let widest = |text: &dyn Fn(&Entry<'_>) -> usize| entries.iter().map(text).max().unwrap_or(0);
    let paths = widest(&|entry| width(&entry.tried.path.to_string()));
    let rules = widest(&|entry| width(&entry.tried.source.text) + 2);
    let results = widest(&|entry| width(&entry.result));
    let room = columns.saturating_sub(digits + 6);
    let aligned = paths + rules + results <= room;
    entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let rule = shorten(&format!("[{}]", entry.tried.source.text), room / 3);
            let result = shorten(&entry.result, room / 2);
            let path = shorten(&entry.tried.path.to_string(), room.saturating_sub(width(&rule) + width(&result)));
            let pad = |text: &str, columns: usize| if aligned { columns.saturating_sub(width(text)) } else { 0 };
            let (after_path, after_rule) = (pad(&path, paths), pad(&rule, rules));
            Line::new()
                .with(Role::Dim, format!("  {:>digits$}. ", index + 1))
                .with(Role::Path, path)
                .with(Role::Dim, format!("{} {rule}{} ", " ".repeat(after_path), " ".repeat(after_rule)))
                .with(role(entry.tried.result), result)
        })
        .collect()
}

fn role(result: TryOutcome) -> Role {
    match result {
        TryOutcome::Taken => Role::Good,
        TryOutcome::Fatal => Role::Bad,
        TryOutcome::NotFound | TryOutcome::DirectoryMissing => Role::Dim,
        _ => Role::Warn,
    }
}

fn entries<'a>(document: &TreeDocument, edge: &'a EdgeRecord, grouped: bool) -> Vec<Entry<'a>> {
    let below: Vec<&BStr> =
        document.loader.subdirectories.iter().map(Raw::bytes).filter(|subdirectory| !subdirectory.is_empty()).collect();
    let mut entries = Vec::new();
    let mut at = 0;
    while at < edge.tries.len() {
        let plain = if grouped { plain_directory(&edge.tries[at..], &below) } else { 0 };
        let tried = &edge.tries[at + plain];
        let result = match plain {
            0 => tried.text.clone(),
            _ => format!("{} ×{}", tried.text, plain + 1),
        };
        entries.push(Entry { tried, result });
        at += plain + 1;
    }
    entries
}

/// The index of the try in a directory itself, if all before it looked for the same file below that directory and found
/// nothing; 0 if the first try is shown by itself.
fn plain_directory(tries: &[TryRecord], below: &[&BStr]) -> usize {
    let first = &tries[0];
    let missing = |tried: &TryRecord| matches!(tried.result, TryOutcome::NotFound | TryOutcome::DirectoryMissing);
    let alike = |tried: &&TryRecord| missing(tried) && tried.source == first.source && tried.text == first.text;
    let run = tries.iter().take(below.len() + 1).take_while(alike).count();
    let is_plain = |&position: &usize| {
        let directory = tries[position].path.directory();
        !below.iter().any(|variant| directory.ends_with(variant.as_bytes()))
            && tries[..position].iter().all(|tried| {
                let rest = tried.path.directory().strip_prefix(directory.as_bytes()).map(ByteSlice::as_bstr);
                rest.is_some_and(|rest| below.contains(&rest))
            })
    };
    (1..run).rev().find(is_plain).unwrap_or(0)
}
