//! Findings: errors and warnings one by one, notes grouped by kind unless all details are requested.

use crate::document::tree::{FindingRecord, FindingSlug, Level, TreeDocument};
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;
use std::collections::BTreeMap;

/// Findings of one kind that the short form shows before counting the rest.
const SHOWN_PER_KIND: usize = 4;
/// Objects that a grouped note names.
const NAMED_PER_GROUP: usize = 6;

/// The findings of a tree, worst first; empty if there are none.
#[must_use]
pub fn findings(document: &TreeDocument, view: &View) -> Text {
    let mut text = Text::new();
    if document.findings.is_empty() {
        return text;
    }
    text.push(Line::new());
    text.push(Line::new().with(Role::Heading, "Findings"));
    let mut groups: BTreeMap<(Level, FindingSlug), Vec<&FindingRecord>> = BTreeMap::new();
    for finding in &document.findings {
        groups.entry((finding.severity, finding.kind)).or_default().push(finding);
    }
    for ((level, kind), group) in groups {
        if view.verbosity == 0 && level == Level::Note && group.len() > 1 {
            grouped(&mut text, document, kind, &group, view);
        } else {
            one_by_one(&mut text, level, &group, view);
        }
    }
    text
}

fn bullet(level: Level) -> Line {
    let role = match level {
        Level::Error => Role::Bad,
        Level::Warning => Role::Warn,
        Level::Note => Role::Dim,
    };
    Line::new().plain("  ").with(role, format!("{:<9}", level.word()))
}

fn one_by_one(text: &mut Text, level: Level, group: &[&FindingRecord], view: &View) {
    let limit = if view.verbosity == 0 && level != Level::Error { SHOWN_PER_KIND } else { group.len() };
    for finding in group.iter().take(limit) {
        text.append(wrap(bullet(level), &[Span::new(Role::Plain, &finding.message)], view.usable()));
    }
    if group.len() > limit {
        let rest = format!("… {} more of this kind (-v shows all)", group.len() - limit);
        text.push(bullet(level).with(Role::Dim, rest));
    }
}

fn grouped(text: &mut Text, document: &TreeDocument, kind: FindingSlug, group: &[&FindingRecord], view: &View) {
    let mut names: Vec<String> = group
        .iter()
        .filter_map(|finding| finding.object.and_then(|object| document.objects.get(object)))
        .map(|object| crate::bytes::visible(object.label()).into_owned())
        .collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED_PER_GROUP);
    names.truncate(NAMED_PER_GROUP);
    let mut spans = vec![Span::new(Role::Plain, group_words(kind, group.len()))];
    if !names.is_empty() {
        spans.push(Span::new(Role::Plain, format!(": {}", names.join(", "))));
    }
    if more > 0 {
        spans.push(Span::new(Role::Plain, format!(" and {more} more")));
    }
    spans.push(Span::fixed(Role::Dim, " (-v)"));
    text.append(wrap(bullet(Level::Note), &spans, view.usable()));
}

fn group_words(kind: FindingSlug, figure: usize) -> String {
    let objects = |what: &str| format!("{} {what}", count(figure, "object", "objects"));
    match kind {
        FindingSlug::ImportsDlopen => objects("may load more at run time (dlopen)"),
        FindingSlug::DlopenNote => format!("{} in .note.dlopen", count(figure, "library", "libraries")),
        FindingSlug::HwcapsVariant => objects("chosen for this CPU"),
        FindingSlug::OriginThroughSymlink => objects("whose $ORIGIN is a link's directory"),
        FindingSlug::Shadowed => format!("{} passed over for an earlier one", count(figure, "file", "files")),
        FindingSlug::DuplicateSoname => format!("{} mapped twice", count(figure, "soname", "sonames")),
        FindingSlug::DeadDirectory => {
            format!("{} that do not exist", count(figure, "search directory", "search directories"))
        }
        FindingSlug::CurrentDirectory => {
            format!("{} of the current directory", count(figure, "search entry", "search entries"))
        }
        FindingSlug::Accidental => format!("{} met by luck", count(figure, "request", "requests")),
        FindingSlug::StaleCache => format!("{} in ld.so.cache", count(figure, "stale entry", "stale entries")),
        FindingSlug::NotInCache => {
            format!("{} that ldconfig would find", count(figure, "library", "libraries"))
        }
        FindingSlug::Missing
        | FindingSlug::FatalFile
        | FindingSlug::MissingInterpreter
        | FindingSlug::MissingVersion
        | FindingSlug::VersionFileUnknown
        | FindingSlug::Other => count(figure, "finding", "findings"),
    }
}
