//! Phrases for symbols and systems in a check.

use crate::document::check::{Answer, ReasonKind, SymbolRecord, SystemRecord};
use crate::styled::Role;

/// The name as in the source if that is known.
pub(crate) fn symbol_name(symbol: &SymbolRecord) -> String {
    symbol.demangled.clone().unwrap_or_else(|| symbol.name.to_string())
}

/// The role of an answer.
pub(crate) const fn answer_role(answer: Answer) -> Role {
    match answer {
        Answer::Runs | Answer::RunsIfInstalled => Role::Good,
        Answer::Refuses => Role::Bad,
        Answer::Unknown => Role::Warn,
    }
}

/// The reason behind an answer in one clause.
pub(crate) fn reason_in_short(system: &SystemRecord) -> String {
    match system.answer {
        Answer::Runs => system.notes.first().or(system.doubts.first()).cloned().unwrap_or_default(),
        Answer::RunsIfInstalled => system.command.clone().unwrap_or_default(),
        Answer::Unknown => system.lacks.first().cloned().unwrap_or_default(),
        Answer::Refuses => refusal(system),
    }
}

/// All missing versions as one clause, then the other reasons.
fn refusal(system: &SystemRecord) -> String {
    let mut clauses: Vec<String> = system
        .reasons
        .iter()
        .filter(|reason| reason.kind != ReasonKind::VersionMissing)
        .map(|reason| reason.message.clone())
        .collect();
    let mut families: Vec<(&str, Vec<&str>, Option<&str>)> = Vec::new();
    for reason in &system.reasons {
        let Some(version) = reason.version.as_deref().filter(|_| reason.kind == ReasonKind::VersionMissing) else {
            continue;
        };
        let (family, number) = version.rsplit_once('_').unwrap_or(("", version));
        match families.iter_mut().find(|(known, ..)| *known == family) {
            Some((_, numbers, _)) if numbers.contains(&number) => {}
            Some((_, numbers, _)) => numbers.push(number),
            None => families.push((family, vec![number], reason.newest.as_deref())),
        }
    }
    for (family, numbers, newest) in families {
        let joint = if family.is_empty() { "" } else { "_" };
        let has = newest.map_or_else(String::new, |newest| format!("; has {newest}"));
        let more = match numbers.len() {
            1 => String::new(),
            2 => format!(" and {}", numbers[1]),
            all => format!(" and {} more", all - 1),
        };
        clauses.push(format!("needs {family}{joint}{}{more}{has}", numbers[0]));
    }
    clauses.join("; ")
}
