//! Our suites beside the programs that they were made after, on the same builds and the same machine.

use super::stats::Estimate;
use super::suite::{measured, ratio, rows};
use super::table;
use super::underpin_bench::document;
use crate::run;
use anyhow::{Context, bail};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// An original, the suite after it, and why its figures are not kept if they are not.
const ORIGINALS: [(&str, &str, Option<&str>); 4] = [
    ("libc-bench", "libc", None),
    ("coremark", "cpu", None),
    ("unixbench", "system", None),
    (
        "lmbench",
        "os",
        Some("its licence restricts the publication of results, so only how far ours are from them is kept"),
    ),
];
/// The variable that names the folder with the sources, each in a folder of its name.
const VARIABLE: &str = "ORIGINALS";
/// How far ours may be from the original's.
const WITHIN: f64 = 0.15;

/// Measures and returns the page.
///
/// # Errors
/// If no sources are there, or something does not build or run.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
    let folder =
        folder.with_context(|| format!("{VARIABLE} names no folder with the sources of libc-bench, lmbench, ..."))?;
    let underpin = run::release_binary()?;
    let scratch = run::scratch("bench-suite-originals")?;
    let mut text = table::machine(
        "Our suites beside the originals",
        &format!("{VARIABLE}=FOLDER cargo xtask bench suite-originals"),
    );
    write!(
        text,
        "\nmusl's time over glibc's, by our programs and by the originals' own, both built by `underpin build` as glibc and as \
         static musl, in the short form and one after the other. Ours is to be within 15 % of the original's.\n"
    )?;
    let mut any = false;
    for (original, suite, _) in ORIGINALS {
        let source = folder.join(original);
        if source.is_dir() {
            any = true;
            text += &beside(&underpin, original, suite, &source, &scratch, rounds)?;
        }
    }
    if !any {
        bail!("{}: none of libc-bench, lmbench, unixbench and coremark is in it", folder.display());
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(text)
}

fn beside(
    underpin: &Path,
    original: &str,
    suite: &str,
    source: &Path,
    scratch: &Path,
    rounds: usize,
) -> anyhow::Result<String> {
    let (theirs, ours) = (scratch.join("theirs.json"), scratch.join("ours.json"));
    let (named, runs) = (format!("{original}={}", source.display()), rounds.to_string());
    let common = ["--build", "glibc,musl", "--runs", &runs];
    measured(underpin, &[&common[..], &["--suite-source", &named]].concat(), &theirs, scratch)?;
    let theirs = document(&theirs)?;
    let names: Vec<String> =
        rows(&theirs, suite, None).iter().filter_map(|row| row["row"].as_str().map(str::to_owned)).collect();
    let filter: Vec<&str> = names.iter().flat_map(|name| ["--filter", name]).collect();
    measured(underpin, &[&common[..], &["--suite", suite], &filter].concat(), &ours, scratch)?;
    table_of(original, suite, &theirs, &document(&ours)?)
}

fn table_of(original: &str, suite: &str, theirs: &Value, ours: &Value) -> anyhow::Result<String> {
    let kept = ORIGINALS.iter().find(|(name, ..)| *name == original).and_then(|(.., reason)| *reason);
    let mut text = format!("\n## {original}\n");
    if let Some(reason) = kept {
        write!(text, "\nFigures of {original} are not here: {reason}.\n")?;
    }
    text += "\n| row | original | ours | ours / original | |\n| --- | ---: | ---: | ---: | --- |\n";
    let ours = rows(ours, suite, None);
    let (mut within, mut both) = (0, 0);
    for row in rows(theirs, suite, None) {
        let name = row["row"].as_str().unwrap_or_default();
        let own = ours.iter().find(|own| own["row"] == name).and_then(|own| ratio(own));
        let (Some(theirs), Some(own)) = (ratio(row), own) else {
            writeln!(text, "| {name} | - | - | - | not measured by both |")?;
            continue;
        };
        let apart = own.value / theirs.value;
        let is_within = (apart - 1.0).abs() <= WITHIN;
        within += usize::from(is_within);
        both += 1;
        let shown = |one: Estimate| format!("{:.2} ({:.2} to {:.2})", one.value, one.low, one.high);
        let original = if kept.is_some() { "-".to_owned() } else { shown(theirs) };
        let overlap = theirs.low <= own.high && own.low <= theirs.high;
        let verdict = match (is_within, overlap) {
            (true, _) => "within",
            (false, true) => "open: the intervals overlap",
            (false, false) => "**apart**",
        };
        writeln!(text, "| {name} | {original} | {} | {apart:.2} | {verdict} |", shown(own))?;
    }
    writeln!(text, "\n{within} of {both} rows are within 15 %.")?;
    Ok(text)
}
