//! The screen of `underpin bundle`: what is included and why, what a bundle cannot contain, how to start it.

use crate::document::bundle::{BundleDocument, BundleFile, BundleForm, BundleRole};
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};

/// What bundling does, or would do.
#[must_use]
pub fn bundle(document: &BundleDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(headline(document));
    row(&mut text, "files", vec![Span::new(Role::Plain, sums(document))], view);
    if let Some(judged) = &document.judged {
        let span = match (judged.objects, &judged.reason) {
            (Some(objects), _) => {
                Span::new(Role::Good, format!("its loader maps {objects} objects, every one from the bundle"))
            }
            (None, reason) => {
                Span::new(Role::Warn, format!("its loader was not asked: {}", reason.as_deref().unwrap_or("unknown")))
            }
        };
        row(&mut text, "judge", vec![span], view);
    }
    if let Some(entry) = &document.entry {
        text.push(Line::new().with(Role::Dim, "  start   ").with(Role::Command, entry.to_string()));
    }
    if let Some(line) = locales(document) {
        row(&mut text, "locales", vec![Span::new(Role::Plain, line)], view);
    }
    files(&mut text, document, view);
    if !document.notices.is_empty() {
        text.gap();
        for notice in &document.notices {
            text.append(wrap(
                Line::new().with(Role::Warn, "! "),
                &[Span::new(Role::Plain, &notice.text)],
                view.usable(),
            ));
        }
    }
    text
}

fn headline(document: &BundleDocument) -> Line {
    let form = match document.form {
        BundleForm::Directory => "a directory",
        BundleForm::File => "one file",
    };
    let program = document.program.to_string();
    if document.dry_run {
        let line = Line::new().with(Role::Heading, format!("Plan: {form} of {program}"));
        line.with(Role::Heading, " (nothing was written)")
    } else {
        Line::new().with(Role::Good, format!("Bundled {program} as {form}"))
    }
}

fn row(text: &mut Text, name: &str, spans: Vec<Span>, view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<8}")), &spans, view.usable()));
}

/// How many files of each kind.
fn sums(document: &BundleDocument) -> String {
    let of = |wanted: &[BundleRole]| document.files.iter().filter(|file| wanted.contains(&file.role)).count();
    let later = of(&[BundleRole::NameService, BundleRole::Unwinder, BundleRole::Declared, BundleRole::NeededLater]);
    let parts = [
        (document.files.iter().map(|file| file.members.len()).sum(), "library in one", "libraries merged into one"),
        (of(&[BundleRole::Needed]), "library", "libraries"),
        (later, "opened later", "opened later"),
        (of(&[BundleRole::Charset]), "file of charsets", "files of charsets"),
        (of(&[BundleRole::Included]), "file included", "files included"),
    ];
    let mut words = vec!["the program, its loader".to_owned()];
    words.extend(parts.into_iter().filter(|part| part.0 > 0).map(|(figure, one, many)| count(figure, one, many)));
    format!("{}; {}", words.join(", "), size(document.bytes))
}

/// The locales of the bundle, and how to get others.
fn locales(document: &BundleDocument) -> Option<String> {
    let mut names: Vec<String> = document
        .files
        .iter()
        .filter(|file| file.role == BundleRole::Locale)
        .filter_map(|file| Some(file.by.as_ref()?.to_string()))
        .collect();
    names.sort();
    names.dedup();
    let more = "used if the machine has none of the name; --locale NAME includes another";
    (!names.is_empty()).then(|| format!("{}; {more}", names.join(", ")))
}

/// The table of files: the short form leaves out the closure, which `tree` shows, charset modules and locales.
fn files(text: &mut Text, document: &BundleDocument, view: &View) {
    let in_short = |role: BundleRole| {
        !matches!(role, BundleRole::Program | BundleRole::Loader | BundleRole::Needed | BundleRole::Charset)
            && !matches!(role, BundleRole::Locale | BundleRole::LocaleLibrary)
    };
    let shown: Vec<&BundleFile> =
        document.files.iter().filter(|file| view.verbosity > 0 || in_short(file.role)).collect();
    if shown.is_empty() {
        return;
    }
    text.gap();
    let columns = [("file", Align::Left), ("size", Align::Right), ("taken because", Align::Left)];
    let mut table = Table::new(&columns).flexible(0);
    const NAMED: usize = 20;
    let limit = if view.verbosity > 0 { usize::MAX } else { NAMED };
    for file in shown.iter().take(limit) {
        table.row(vec![
            Span::new(Role::Path, file.place.bytes()),
            Span::new(Role::Number, size(file.bytes)),
            Span::new(Role::Plain, why(file)),
        ]);
    }
    text.append(table.lines(view.usable()));
    if shown.len() > limit {
        text.push(Line::new().with(Role::Dim, format!("  and {} more; -v shows all", shown.len() - limit)));
    }
}

fn why(file: &BundleFile) -> String {
    let by = file.by.as_ref().map_or_else(|| "the program".to_owned(), ToString::to_string);
    match file.role {
        BundleRole::Program => "the program".to_owned(),
        BundleRole::Loader => "the program names it as its loader".to_owned(),
        BundleRole::Needed | BundleRole::NeededLater => format!("needed by {by}"),
        BundleRole::NameService => format!("name service {by}"),
        BundleRole::Unwinder => format!("glibc opens it for {by}"),
        BundleRole::Declared => match &file.feature {
            Some(feature) => format!("declared by {by}: {feature}"),
            None => format!("declared by {by}"),
        },
        BundleRole::Charset => "charsets of iconv".to_owned(),
        BundleRole::Locale => format!("locale {by}"),
        BundleRole::Merged => format!("{} merged into one", count(file.members.len(), "library", "libraries")),
        BundleRole::LocaleLibrary => "underpin's own: setlocale finds the locales by it".to_owned(),
        BundleRole::Included => format!("--include {by}"),
    }
}
