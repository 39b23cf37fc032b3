//! The screen of `underpin bind --fuse`.

use crate::document::fuse::{FuseDocument, FuseModules, FuseOutcome, FuseProgram, FuseShared, Fusion};
use crate::layout::{View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size, thousands};
use crate::words::fuse as words;
use std::collections::BTreeMap;

/// Libraries that the short form names for one reason.
const NAMED: usize = 4;

/// With more programs the short form has one line for each instead of its details.
const DETAILED: usize = 3;

/// What became of each program.
#[must_use]
pub fn fuse(document: &FuseDocument, view: &View) -> Text {
    let mut text = Text::new();
    if document.programs.is_empty() {
        text.push(Line::new().with(Role::Plain, "No program here is fused."));
    } else if document.programs.len() > DETAILED && view.verbosity == 0 {
        many(&mut text, document, view);
    } else {
        document.programs.iter().for_each(|program| one(&mut text, program, document.dry_run, view));
    }
    if document.programs.iter().any(|program| matches!(program.outcome, FuseOutcome::Merged(_))) {
        know(&mut text, document.dry_run, view);
    }
    text
}

/// One program with its details.
fn one(text: &mut Text, program: &FuseProgram, planned: bool, view: &View) {
    text.gap();
    let path = shorten(&program.path.to_string(), view.usable().saturating_sub(14));
    let (role, done, reason) = match &program.outcome {
        FuseOutcome::Merged(_) if planned => (Role::Heading, "Would fuse", None),
        FuseOutcome::Merged(_) => (Role::Good, "Fused", None),
        FuseOutcome::Unchanged { members, .. } => {
            let members = count(*members, "library", "libraries");
            (Role::Good, "Unchanged", Some(format!("none of the {members} inside was updated since it was fused")))
        }
        FuseOutcome::LeftAlone { members, worth } => {
            let found = match members {
                0 => "no library".to_owned(),
                members => count(*members, "library", "libraries"),
            };
            let reason = format!("{found} could be merged; below {worth} nothing is gained that can be measured");
            (Role::Heading, "Left alone", Some(reason))
        }
        FuseOutcome::Refused { reason } => (Role::Bad, "Refused", Some(reason.clone())),
    };
    text.push(Line::new().with(role, format!("{done} {path}")));
    if let Some(reason) = reason {
        row(text, "because", &reason, view);
    }
    if let FuseOutcome::Merged(fusion) = &program.outcome {
        merged(text, fusion, view);
    }
}

/// Programs by what became of them.
fn many(text: &mut Text, document: &FuseDocument, view: &View) {
    let (mut done, mut unchanged, mut small) = (Vec::new(), 0, None);
    let mut refused: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for program in &document.programs {
        match &program.outcome {
            FuseOutcome::Merged(fusion) => done.push((&program.path, fusion)),
            FuseOutcome::Unchanged { .. } => unchanged += 1,
            FuseOutcome::LeftAlone { worth, .. } => small = Some((small.map_or(0, |(number, _)| number) + 1, *worth)),
            FuseOutcome::Refused { reason } => {
                refused.entry(reason).or_default().push(program.path.file_name().to_string());
            }
        }
    }
    let programs = |number| count(number, "program", "programs");
    let usable = view.usable();
    let line = |text: &mut Text, role, words: String| text.append(wrap(Line::new(), &[Span::new(role, words)], usable));
    if !done.is_empty() {
        let (role, verb) = if document.dry_run { (Role::Heading, "Would fuse") } else { (Role::Good, "Fused") };
        line(text, role, format!("{verb} {}", programs(done.len())));
        let common = common_folder(done.iter().map(|(path, _)| path.to_string()));
        for (number, (path, fusion)) in done.iter().enumerate() {
            let facts = match done[..number].iter().any(|(_, before)| before.file == fusion.file) {
                true => format!("  {:>24}  ", "the same file"),
                false => format!("  {:>9}  {:>3} libraries  ", size(fusion.bytes), fusion.members.len()),
            };
            let path = shorten(&path.to_string()[common..], usable.saturating_sub(facts.chars().count()));
            text.push(Line::new().with(Role::Dim, facts).with(Role::Plain, path));
        }
    }
    if unchanged > 0 {
        line(text, Role::Good, format!("Unchanged {}: no library inside was updated since", programs(unchanged)));
    }
    if let Some((small, worth)) = small {
        line(
            text,
            Role::Plain,
            format!("Left alone {}: fewer than {worth} libraries could be merged", programs(small)),
        );
    }
    if !refused.is_empty() {
        line(text, Role::Bad, format!("Refused {}", programs(refused.values().map(Vec::len).sum())));
        for (reason, names) in refused {
            let words = format!("{}: {reason}", named(&names, NAMED));
            text.append(wrap(Line::new().with(Role::Plain, "  "), &[Span::new(Role::Plain, words)], usable));
        }
    }
}

/// The length of the folder that all paths are in, with its slash.
fn common_folder(paths: impl Iterator<Item = String>) -> usize {
    let common = paths.reduce(|one, other| {
        let same = one.char_indices().zip(other.chars()).take_while(|((_, left), right)| left == right);
        let length = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
        one[..length].to_owned()
    });
    common.and_then(|path| path.rfind('/')).map_or(0, |slash| slash + 1)
}

/// The first of these names, and how many more there are.
fn named(names: &[String], most: usize) -> String {
    let rest = names.len().saturating_sub(most);
    let words = names[..names.len() - rest].join(", ");
    if rest > 0 { format!("{words} and {rest} more") } else { words }
}

fn merged(text: &mut Text, fusion: &Fusion, view: &View) {
    let sizes = format!("{}; the libraries together {}", size(fusion.bytes), size(fusion.member_bytes));
    row(text, "file", &fusion.file.to_string(), view);
    row(text, "size", &sizes, view);
    if !fusion.shared_with.is_empty() {
        let names: Vec<String> = fusion.shared_with.iter().map(|path| path.file_name().to_string()).collect();
        row(text, "group", &format!("the file is also that of {}", named(&names, NAMED)), view);
    }
    if let Some(reason) = &fusion.apart {
        row(text, "apart", &format!("not the file of programs with nearly the same libraries: {reason}"), view);
    }
    let bound = format!(
        "{}; {} of their {} references are looked up no more",
        count(fusion.members.len(), "library", "libraries"),
        thousands(fusion.bound as u64),
        thousands(fusion.references as u64)
    );
    row(text, "inside", &bound, view);
    if fusion.compared.is_none() && fusion.members.len() >= words::MANY_LIBRARIES {
        let gain = format!(
            "programs of so many libraries started in {} of their processor time; `underpin bench --bind fused` measures \
             this one, on a copy",
            words::GAINED
        );
        row(text, "gain", &gain, view);
    }
    if view.verbosity > 0 {
        fusion.members.iter().for_each(|member| row(text, "", &member.to_string(), view));
    }
    reasons(text, "shared", &fusion.shared, view);
    if let Some(found) = &fusion.modules {
        modules(text, found, view);
    }
    if let Some(compared) = fusion.compared {
        let words = format!("the loader binds all {} references as before", thousands(compared as u64));
        text.append(wrap(start("judged"), &[Span::new(Role::Good, words)], view.usable()));
    }
}

/// What modules bring.
fn modules(text: &mut Text, found: &FuseModules, view: &View) {
    let words = format!(
        "{}; {} that only they need {} loaded at each start",
        count(found.modules, "module", "modules"),
        count(found.libraries, "library", "libraries"),
        if found.libraries == 1 { "is" } else { "are" }
    );
    row(text, "modules", &words, view);
    reasons(text, "apart", &found.left, view);
}

/// What stays as it is, by the reason.
fn reasons(text: &mut Text, name: &str, all: &[FuseShared], view: &View) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in all {
        let name = if view.verbosity > 0 { one.path.to_string() } else { one.path.file_name().to_string() };
        reasons.entry(&one.reason).or_default().push(name);
    }
    let most = if view.verbosity > 0 { usize::MAX } else { NAMED };
    for (number, (reason, names)) in reasons.iter().enumerate() {
        row(text, if number == 0 { name } else { "" }, &format!("{}: {reason}", named(names, most)), view);
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
