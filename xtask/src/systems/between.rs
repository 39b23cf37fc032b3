//! What a release defines whose packages cannot be read here, from its neighbours: `data/ubuntu-packages.txt` says why
//! that may be concluded, and from which versions.

use super::library::Library;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

/// A library of some release, with the upstream version of its package.
pub struct Seen {
    pub upstream: String,
    pub library: Library,
}

/// The lines of one release: its sources first.
///
/// # Errors
/// If dpkg cannot compare two versions.
pub fn conclude(packages: &str, id: &str, seen: &[Seen], text: &mut String) -> anyhow::Result<()> {
    let mut lines = BTreeMap::new();
    for line in packages.lines().filter_map(|line| line.strip_prefix(id)) {
        let Some((package, version)) = line.trim().split_once(' ') else { continue };
        let (upstream, mut by_soname) = (upstream(version), BTreeMap::<&str, Vec<&Seen>>::new());
        for one in seen.iter().filter(|one| one.library.package.trim_end_matches("t64") == package) {
            by_soname.entry(&one.library.soname).or_default().push(one);
        }
        for (soname, releases) in by_soname {
            if let Some(line) = between(package, soname, &upstream, &releases)? {
                lines.insert(soname.to_owned(), line);
            }
        }
    }
    writeln!(text, "system {id}")?;
    lines.values().for_each(|line| text.push_str(line));
    Ok(())
}

/// The line of one library: the newest release that is not newer, and the oldest that is not older.
fn between(package: &str, soname: &str, upstream: &str, releases: &[&Seen]) -> anyhow::Result<Option<String>> {
    let (mut older, mut newer): (Option<&Seen>, Option<&Seen>) = (None, None);
    for &one in releases {
        if compares(&one.upstream, "le", upstream)?
            && older.map_or(Ok(true), |best| compares(&best.upstream, "le", &one.upstream))?
        {
            older = Some(one);
        }
        if compares(&one.upstream, "ge", upstream)?
            && newer.map_or(Ok(true), |best| compares(&best.upstream, "gt", &one.upstream))?
        {
            newer = Some(one);
        }
    }
    let sets = |one: Option<&Seen>| one.map(|one| one.library.versions.clone());
    let (has, most) = match (sets(older), sets(newer)) {
        (Some(None), Some(None)) => return Ok(Some(format!("{soname} {package} -\n"))),
        (Some(Some(has)), Some(Some(most))) => (has, most),
        (None, Some(Some(most))) => (BTreeSet::new(), most),
        // Beyond the newest release, or a library that gained or lost its versions in between: not known.
        _ => return Ok(None),
    };
    if !has.is_subset(&most) {
        return Ok(None);
    }
    let mut line = format!("{soname} {package}");
    for version in most.iter().filter(|version| *version != soname) {
        write!(line, " {}{version}", if has.contains(version) { "" } else { "?" })?;
    }
    line.push('\n');
    Ok(Some(line))
}

/// The version without epoch and packaging.
pub fn upstream(version: &str) -> String {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let version = version.rsplit_once('-').map_or(version, |(upstream, _)| upstream);
    version.split(['+', '~']).next().unwrap_or(version).trim_end_matches(".dfsg").to_owned()
}

fn compares(left: &str, how: &str, right: &str) -> anyhow::Result<bool> {
    Ok(Command::new("dpkg").args(["--compare-versions", left, how, right]).status()?.success())
}
