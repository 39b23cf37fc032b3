//! The screen of `underpin image doctor`: each finding with what shows it and how to fix it, then what is not needed.

use crate::document::image_doctor::{ImageDoctorDocument, ImageEvidence, ImageExtra, ImageExtraKind, ImageFinding};
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};

/// Programs and paths that the short form names.
const NAMED: usize = 4;

/// What is missing in an image.
#[must_use]
pub fn image_doctor(document: &ImageDoctorDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.append(wrap(Line::new(), &[Span::new(Role::Heading, headline(document))], view.usable()));
    let all = if view.verbosity > 0 { usize::MAX } else { NAMED };
    let programs: Vec<String> = document.programs.iter().map(|program| program.path.to_string()).collect();
    row(&mut text, if document.configured { "starts" } else { "programs" }, Role::Path, &named(&programs, all), view);
    if let Some(chosen) = &document.chosen {
        row(&mut text, "image", Role::Plain, &format!("{chosen}, of several"), view);
    }
    text.gap();
    if document.programs.is_empty() && document.findings.is_empty() {
        text.push(Line::new().with(Role::Warn, "No program was found in it"));
    } else if document.findings.is_empty() {
        text.push(Line::new().with(Role::Good, "Nothing that these programs need is missing"));
    } else {
        text.push(Line::new().with(Role::Bad, count(document.findings.len(), "finding", "findings")));
    }
    for finding in &document.findings {
        missing(&mut text, finding, document.programs.len(), all, view);
    }
    if !document.unneeded.is_empty() {
        text.gap();
        text.push(Line::new().with(Role::Heading, "There without need"));
        for extra in &document.unneeded {
            unneeded(&mut text, extra, all, view);
        }
    }
    for unknown in &document.unknown {
        text.append(wrap(
            Line::new().with(Role::Warn, "! not looked at: "),
            &[Span::new(Role::Plain, unknown)],
            view.usable(),
        ));
    }
    text
}

fn headline(document: &ImageDoctorDocument) -> String {
    let mut parts = vec![document.form.clone()];
    if document.layers > 1 {
        parts.push(format!("{} layers", document.layers));
    }
    parts.push(count(document.entries, "entry", "entries"));
    parts.extend(document.architecture.clone());
    if let Some(user) = &document.user {
        parts.push(format!("user {}", if user.is_empty() { "root" } else { user }));
    }
    format!("{}: {}", document.image, parts.join(", "))
}

fn named(names: &[String], limit: usize) -> String {
    let shown: Vec<&str> = names.iter().take(limit).map(String::as_str).collect();
    let more = names.len().saturating_sub(limit);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more (-v)", shown.join(", ")) }
}

fn row(text: &mut Text, name: &str, role: Role, words: &str, view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<9} ")), &[Span::new(role, words)], view.usable()));
}

fn missing(text: &mut Text, finding: &ImageFinding, programs: usize, all: usize, view: &View) {
    text.gap();
    text.append(wrap(Line::new().with(Role::Bad, "- "), &[Span::new(Role::Plain, &finding.missing)], view.usable()));
    if programs > 1 {
        let names: Vec<String> = finding.programs.iter().map(ToString::to_string).collect();
        row(text, "concerns", Role::Path, &named(&names, all), view);
    }
    for evidence in &finding.evidence {
        row(text, "shown by", Role::Plain, &shown(evidence), view);
    }
    row(text, "fix", Role::Good, &finding.fix, view);
}

fn shown(evidence: &ImageEvidence) -> String {
    let place = evidence.file.as_ref().map_or_else(|| "the configuration".to_owned(), ToString::to_string);
    match evidence.offset {
        Some(offset) => format!("{place}, byte {offset:#x}: {}", evidence.what),
        None => format!("{place}: {}", evidence.what),
    }
}

fn unneeded(text: &mut Text, extra: &ImageExtra, all: usize, view: &View) {
    let name = match extra.kind {
        ImageExtraKind::SetUser => "set-user",
        ImageExtraKind::Shell => "shells",
        ImageExtraKind::PackageDatabase => "packages",
        ImageExtraKind::Documentation => "documents",
    };
    let paths: Vec<String> = extra.paths.iter().map(ToString::to_string).collect();
    let words = format!("{} ({}, {})", named(&paths, all), count(extra.files, "file", "files"), size(extra.bytes));
    row(text, name, Role::Plain, &words, view);
}
