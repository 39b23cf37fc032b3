//! The screen of `underpin build`: what was built and whether it matches the request, or what would be run.

use crate::document::build::{BuildDocument, BuildProgram};
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::size;

/// What building did, or would do.
#[must_use]
pub fn build(document: &BuildDocument, view: &View) -> Text {
    let mut text = Text::new();
    let what = format!("{} for {}", document.build, document.processor);
    if document.dry_run {
        let line = Line::new().with(Role::Heading, format!("Plan: {what}"));
        text.push(line.with(Role::Heading, " (nothing was run)"));
        row(&mut text, "project", Role::Path, &document.project.to_string(), view);
        row(&mut text, "kind", Role::Plain, &document.kind, view);
    }
    for program in &document.programs {
        built(&mut text, program, &what, view);
    }
    row(&mut text, "toolchain", Role::Plain, &document.toolchain, view);
    for claim in document.claims.iter().filter(|claim| shown(&claim.key, view)) {
        row(&mut text, &claim.key, Role::Plain, &claim.value, view);
    }
    if document.dry_run || view.verbosity > 0 {
        for step in &document.steps {
            text.gap();
            text.push(Line::new().with(Role::Dim, format!("{}:", step.what)));
            text.push(Line::new().with(Role::Plain, "  ").with(Role::Command, &step.command));
        }
    }
    for remark in &document.remarks {
        text.gap();
        text.append(wrap(Line::new().with(Role::Warn, "! "), &[Span::new(Role::Plain, remark)], view.usable()));
    }
    text
}

/// The claims that the short form shows: those that the file itself does not show.
fn shown(key: &str, view: &View) -> bool {
    (view.verbosity > 0 && key != "toolchain") || matches!(key, "allocator" | "overlay" | "libc")
}

fn built(text: &mut Text, program: &BuildProgram, what: &str, view: &View) {
    if program.confirmed {
        let facts: Vec<&str> =
            program.facts.iter().filter(|fact| fact.what != "note").map(|fact| fact.found.as_str()).collect();
        text.push(Line::new().with(Role::Good, format!("Built {} as {what}", program.name)));
        whole(text, "file", &program.path.to_string(), &format!(", {}", sizes(program)));
        row(text, "confirmed", Role::Plain, &facts.join(", "), view);
        return;
    }
    text.push(Line::new().with(Role::Bad, format!("{} is not {what}", program.name)));
    for fact in program.facts.iter().filter(|fact| !fact.met) {
        let words = format!("asked for {}, found: {}", fact.asked, fact.found);
        row(text, &fact.what, Role::Bad, &words, view);
    }
    whole(text, "left in", &program.path.to_string(), "");
}

/// A file's size; how much of it no start reads is said if that is most of it.
fn sizes(program: &BuildProgram) -> String {
    let all = size(program.bytes);
    if program.debug_bytes <= program.bytes / 2 {
        return all;
    }
    format!("{all}, {} of it debugging information", size(program.debug_bytes))
}

fn row(text: &mut Text, name: &str, role: Role, words: &str, view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<10} ")), &[Span::new(role, words)], view.usable()));
}

/// A path that the user will copy: on one line, however long.
fn whole(text: &mut Text, name: &str, path: &str, behind: &str) {
    let line = Line::new().with(Role::Dim, format!("  {name:<10} ")).with(Role::Command, path);
    text.push(line.with(Role::Plain, behind));
}
