//! The screen of `underpin bind --fuse`.

use crate::document::fuse::{FuseDocument, FuseOutcome, FuseShared, Fusion};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size, thousands};
use std::collections::BTreeMap;

/// Libraries that the short form names for one reason.
const NAMED: usize = 4;

/// What became of each program.
#[must_use]
pub fn fuse(document: &FuseDocument, view: &View) -> Text {
    let mut text = Text::new();
    for program in &document.programs {
        text.gap();
        let path = shorten(&program.path.to_string(), view.usable().saturating_sub(14));
        let line = Line::new();
        let (line, reason) = match &program.outcome {
            FuseOutcome::Merged(_) if document.dry_run => {
                (line.with(Role::Heading, format!("Would fuse {path}")), None)
            }
            FuseOutcome::Merged(_) => (line.with(Role::Good, format!("Fused {path}")), None),
            FuseOutcome::LeftAlone { members, worth } => {
                let found = match members {
                    0 => "no library".to_owned(),
                    members => count(*members, "library", "libraries"),
                };
                let reason = format!("{found} could be merged; below {worth} nothing is gained that can be measured");
                (line.with(Role::Heading, format!("Left alone {path}")), Some(reason))
            }
            FuseOutcome::Refused { reason } => (line.with(Role::Bad, format!("Refused {path}")), Some(reason.clone())),
        };
        text.push(line);
        if let Some(reason) = reason {
            row(&mut text, "because", &reason, view);
        }
        if let FuseOutcome::Merged(fusion) = &program.outcome {
            merged(&mut text, fusion, view);
        }
    }
    let merged = |outcome: &FuseOutcome| matches!(outcome, FuseOutcome::Merged(_));
    if document.programs.iter().any(|program| merged(&program.outcome)) {
        know(&mut text, document.dry_run, view);
    }
    text
}

fn merged(text: &mut Text, fusion: &Fusion, view: &View) {
    let sizes = format!("{}; the libraries together {}", size(fusion.bytes), size(fusion.member_bytes));
    row(text, "file", &fusion.file.to_string(), view);
    row(text, "size", &sizes, view);
    let bound = format!(
        "{}; {} of their {} references are looked up no more",
        count(fusion.members.len(), "library", "libraries"),
        thousands(fusion.bound as u64),
        thousands(fusion.references as u64)
    );
    row(text, "inside", &bound, view);
    if view.verbosity > 0 {
        fusion.members.iter().for_each(|member| row(text, "", &member.to_string(), view));
    }
    shared(text, &fusion.shared, view);
    if let Some(compared) = fusion.compared {
        let words = format!("the loader binds all {} references as before", thousands(compared as u64));
        text.append(wrap(start("judged"), &[Span::new(Role::Good, words)], view.usable()));
    }
}

/// What stays as it is, by the reason.
fn shared(text: &mut Text, all: &[FuseShared], view: &View) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in all {
        let name = if view.verbosity > 0 { one.path.to_string() } else { one.path.file_name().to_string() };
        reasons.entry(&one.reason).or_default().push(name);
    }
    let named = if view.verbosity > 0 { usize::MAX } else { NAMED };
    for (number, (reason, names)) in reasons.iter().enumerate() {
        let rest = names.len().saturating_sub(named);
        let mut words = names[..names.len() - rest].join(", ");
        if rest > 0 {
            words += &format!(" and {rest} more");
        }
        row(text, if number == 0 { "shared" } else { "" }, &format!("{words}: {reason}"), view);
    }
}

/// What is different with a fused program.
fn know(text: &mut Text, planned: bool, view: &View) {
    text.gap();
    for words in [
        "A library that is updated takes effect when `bind --fuse` runs again; `underpin verify` reports it.",
        "LD_PRELOAD no longer replaces what one library inside calls in another.",
        "A library inside that is opened by its absolute path is loaded a second time.",
    ] {
        text.append(wrap(Line::new().with(Role::Warn, "! "), &[Span::new(Role::Plain, words)], view.usable()));
    }
    let next = match planned {
        true => "Next: the same without --dry-run; `underpin unbind` restores every byte of the program.",
        false => "Next: `underpin bench` on your own work; `underpin unbind` restores every byte.",
    };
    text.append(wrap(Line::new(), &[Span::new(Role::Dim, next)], view.usable()));
}

fn start(name: &str) -> Line {
    Line::new().with(Role::Dim, format!("  {name:<8}"))
}

fn row(text: &mut Text, name: &str, words: &str, view: &View) {
    text.append(wrap(start(name), &[Span::new(Role::Plain, words)], view.usable()));
}
