//! The screen of `underpin verify`: what holds, and everything that does not.

use super::calls_comparison;
use crate::document::verify::{LoaderAsked, VerifyDocument, VerifyFile, VerifyState};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;

/// Whether bound programs still load what they loaded unbound.
#[must_use]
pub fn verify(document: &VerifyDocument, view: &View) -> Text {
    let mut text = Text::new();
    let bound = document.files.iter().filter(|file| file.bound).count();
    let files = count(document.files.len(), "file", "files");
    text.push(if document.holds {
        Line::new().with(Role::Good, format!("Holds: {files} looked at, {bound} bound"))
    } else {
        let broken = document.files.iter().filter(|file| !file.holds()).count();
        Line::new().with(Role::Bad, format!("Does not hold: {broken} of {files}"))
    });
    summary(&mut text, document, view);
    let shown = |file: &&VerifyFile| {
        view.verbosity > 0 || !file.holds() || file.comparison.is_some() || file.not_undoable.is_some()
    };
    for file in document.files.iter().filter(shown) {
        one_file(&mut text, file, view);
    }
    text
}

fn summary(text: &mut Text, document: &VerifyDocument, view: &View) {
    let asked = document.files.iter().filter(|file| file.loader != LoaderAsked::ModelOnly).count();
    let mut row = |name: &str, words: String| {
        let spans = [Span::new(Role::Plain, words)];
        text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<9}")), &spans, view.usable()));
    };
    let fused = document.files.iter().filter(|file| file.fused.is_some()).count();
    if fused < document.files.len() {
        row("objects", "same device and inode, same load order, same order of initialisers".to_owned());
    }
    if fused > 0 {
        let programs = count(fused, "program", "programs");
        row("fused", format!("{programs}: one file stands for its libraries, and the others are loaded as before"));
    }
    row("loader", format!("asked for {asked} of {}", count(document.files.len(), "file", "files")));
    let stale: usize = document.files.iter().map(|file| file.stale.len()).sum();
    row("stale", count(stale, "name", "names"));
    let without = document.files.iter().filter(|file| !file.unrecorded.is_empty()).count();
    if without > 0 {
        row("record", format!("none in {}, so nothing is known of them", count(without, "bound file", "bound files")));
    }
    let lost = document.files.iter().filter(|file| file.not_undoable.is_some()).count();
    if lost > 0 {
        row("undo", format!("{} cannot be put back", count(lost, "file", "files")));
    }
    let symbols: usize = document.files.iter().filter_map(|file| file.symbols).sum();
    if symbols > 0 {
        row("symbols", format!("{} served by the same object", count(symbols, "binding", "bindings")));
    }
}

fn one_file(text: &mut Text, file: &VerifyFile, view: &View) {
    text.heading(shorten(&file.path.to_string(), view.usable()));
    let mut row = |role: Role, words: &str| {
        text.append(wrap(Line::new().plain("  "), &[Span::new(role, words)], view.usable()));
    };
    file.differences.iter().for_each(|words| row(Role::Bad, words));
    if !file.unrecorded.is_empty() {
        let names: Vec<String> = file.unrecorded.iter().take(4).map(ToString::to_string).collect();
        let more = file.unrecorded.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        row(
            Role::Bad,
            &format!(
                "it names {}{more} by absolute path and carries no record: another tool bound it or removed the record, \
                 so a stale name cannot be noticed; take the file from its package or build and bind it again",
                names.join(", ")
            ),
        );
    }
    if let Some(reason) = &file.not_undoable {
        row(Role::Warn, &format!("{}: {reason}", VerifyState::LoadsTheSameCannotBeUndone.words()));
    }
    file.stale.iter().for_each(|words| row(Role::Warn, words));
    let objects = count(file.objects, "object", "objects");
    match (file.loader, &file.not_asked) {
        (LoaderAsked::Agrees, _) => row(Role::Good, &format!("{objects}; the loader agrees")),
        (LoaderAsked::Differs, _) => row(Role::Bad, &format!("{objects}; the loader sees a difference")),
        (LoaderAsked::ModelOnly, reason) => {
            let reason = reason.as_deref().unwrap_or("it was not asked");
            row(Role::Dim, &format!("{objects}; judged by the model alone: {reason}"));
        }
    }
    if let Some(comparison) = &file.comparison {
        text.append(calls_comparison(comparison, view));
    }
}
