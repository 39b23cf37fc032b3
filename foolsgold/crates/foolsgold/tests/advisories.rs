//! The table of Rack's security advisories is complete, and the tests it names exist.
#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use underpin_test_support::skip;

const TABLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advisories.md"));

/// Advisory and test of each row.
fn rows() -> Vec<(&'static str, &'static str)> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| CVE-"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[1], cells[4].trim_matches('`'))
    })
    .collect()
}

#[test]
fn every_advisory_has_a_test_in_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let rows = rows();
    assert!(rows.len() > 40, "{} rows: the table was not read", rows.len());
    let names: BTreeSet<&str> = rows.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), rows.len(), "an advisory is listed twice");
    for (name, test) in rows {
        let text = std::fs::read_to_string(corpus.join(format!("{test}.ru"))).unwrap_or_default();
        assert!(text.contains("#> "), "{name}: there is no case {test}");
    }
}

/// Debian often fixes its package before this project hears of an advisory.
#[test]
fn every_advisory_that_debians_rack_was_corrected_for_is_answered() {
    let changelog = Command::new("zcat").arg("/usr/share/doc/ruby-rack/changelog.Debian.gz").output();
    let Some(changelog) = changelog.ok().filter(|done| done.status.success()) else {
        skip("Debian's ruby-rack is not on this machine");
        return;
    };
    let text = String::from_utf8_lossy(&changelog.stdout).into_owned();
    let known: BTreeSet<&str> = rows().into_iter().map(|(name, _)| name).collect();
    let is_part = |mark: char| mark.is_ascii_digit() || mark == '-';
    let named = text.match_indices("CVE-").map(|(at, _)| {
        let rest = &text[at + 4..];
        format!("CVE-{}", &rest[..rest.find(|mark| !is_part(mark)).unwrap_or(rest.len())])
    });
    // Advisories before 2018 are about code that no current Rack has.
    let recent = named.filter(|name| name.get(4..8).is_some_and(|year| year >= "2018"));
    let missing: BTreeSet<String> = recent.filter(|name| !known.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "foolsgold/docs/advisories.md does not answer {missing:?}");
}
