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

/// An original and the suite after it.
struct Beside {
    original: &'static str,
    suite: &'static str,
    /// How often each of its programs runs for a round: the shorter it takes, the more.
    runs: usize,
    /// Why its figures are not kept, if they are not.
    withheld: Option<&'static str>,
}

const fn beside(original: &'static str, suite: &'static str, runs: usize) -> Beside {
    Beside { original, suite, runs, withheld: None }
}

const ORIGINALS: [Beside; 4] = [
    beside("libc-bench", "libc", 6),
    beside("coremark", "cpu", 1),
    beside("unixbench", "system", 1),
    Beside {
        withheld: Some("its licence restricts the publication of results, so only how far ours are from them is kept"),
        ..beside("lmbench", "os", 1)
    },
];
/// Why a row of ours is not its original: the row, and the cause.
const CAUSES: [(&str, &str); 2] = [
    (
        "putcgetc-unlocked",
        "libc-bench is compiled with -Os, where glibc's headers leave putc_unlocked and getc_unlocked calls (they inline them \
         only if __OPTIMIZE_SIZE__ is not defined); ours with -O2, as most programs, where they are inlined for glibc and not \
         for musl",
    ),
    (
        "fork",
        "lmbench's parent is a child of its harness, and each of its children calls that first: a fork takes longer there in both \
         builds, which brings the ratio nearer to 1",
    ),
];

/// The variable that names the folder with the sources, each in a folder of its name.
const VARIABLE: &str = "ORIGINALS";
/// The two builds of each.
const BUILDS: [&str; 2] = ["--build", "glibc,musl"];
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
    for one in ORIGINALS {
        let source = folder.join(one.original);
        if source.is_dir() {
            any = true;
            write!(text, "\n## {}\n", one.original)?;
            // What one of them lacks must not cost the figures of the others.
            match one.measure(&underpin, &source, &scratch, rounds) {
                Ok(table) => text += &table,
                Err(error) => write!(text, "\nNot measured: {error:#}.\n")?,
            }
        }
    }
    if !any {
        bail!("{}: none of libc-bench, lmbench, unixbench and coremark is in it", folder.display());
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(text)
}

impl Beside {
    fn measure(&self, underpin: &Path, source: &Path, scratch: &Path, rounds: usize) -> anyhow::Result<String> {
        let (theirs, ours) = (scratch.join("theirs.json"), scratch.join("ours.json"));
        // The programs of an original run once for two runs of ours.
        let theirs_runs = (rounds * self.runs * 2).to_string();
        let theirs_words =
            ["--runs", &theirs_runs, "--suite-source", &format!("{}={}", self.original, source.display())];
        measured(underpin, &[&BUILDS[..], &theirs_words].concat(), &theirs, scratch)?;
        let theirs = document(&theirs)?;
        let names: Vec<String> =
            rows(&theirs, self.suite, None).iter().filter_map(|row| row["row"].as_str().map(str::to_owned)).collect();
        let filter: Vec<&str> = names.iter().flat_map(|name| ["--filter", name]).collect();
        let ours_runs = (rounds * 2).to_string();
        let ours_words = ["--runs", &ours_runs, "--suite", self.suite];
        measured(underpin, &[&BUILDS[..], &ours_words, &filter].concat(), &ours, scratch)?;
        self.table(&theirs, &document(&ours)?)
    }

    fn table(&self, theirs: &Value, ours: &Value) -> anyhow::Result<String> {
        let mut text = String::new();
        if let Some(reason) = self.withheld {
            write!(text, "\nFigures of {} are not here: {reason}.\n", self.original)?;
        }
        text += "\n| row | original | ours | ours / original | |\n| --- | ---: | ---: | ---: | --- |\n";
        let ours = rows(ours, self.suite, None);
        let mut apart = Vec::new();
        for row in rows(theirs, self.suite, None) {
            let name = row["row"].as_str().unwrap_or_default();
            let own = ours.iter().find(|own| own["row"] == name).copied().unwrap_or(&Value::Null);
            let (Some(theirs), Some(ours)) = (ratio(row), ratio(own)) else {
                writeln!(text, "| {name} | - | - | - | not measured: {} |", reason(self.original, row, own))?;
                continue;
            };
            let times = ours.value / theirs.value;
            let shown = |one: Estimate| format!("{:.2} ({:.2} to {:.2})", one.value, one.low, one.high);
            let original = if self.withheld.is_some() { "-".to_owned() } else { shown(theirs) };
            writeln!(text, "| {name} | {original} | {} | {times:.2} | {} |", shown(ours), verdict(theirs, ours))?;
            apart.push((name, times));
        }
        Ok(text + &sum(self.suite, &apart)?)
    }
}

/// The causes of rows that are apart, and how many are not. Each row has our ratio over the original's.
fn sum(suite: &str, apart: &[(&str, f64)]) -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, cause) in CAUSES {
        if apart.iter().any(|(of, times)| *of == name && !is_within(*times)) {
            writeln!(text, "\n`{name}`: {cause}.")?;
        }
    }
    let within = apart.iter().filter(|(_, times)| is_within(*times)).count();
    write!(text, "\n{within} of {} rows are within 15 %", apart.len())?;
    if suite == "system" {
        // The index is the geometric mean of the rows' rates over constants, which cancel out.
        let mean = (apart.iter().map(|(_, times)| times.ln()).sum::<f64>() / apart.len() as f64).exp();
        write!(text, "; the ratio of our two indices over that of the original's two: {:.3}", mean.recip())?;
    }
    Ok(text + ".\n")
}

/// Whether our ratio over the original's is near enough to 1.
fn is_within(times: f64) -> bool {
    (times - 1.0).abs() <= WITHIN
}

fn verdict(theirs: Estimate, ours: Estimate) -> &'static str {
    let overlap = theirs.low <= ours.high && ours.low <= theirs.high;
    match (is_within(ours.value / theirs.value), overlap) {
        (true, _) => "within",
        (false, true) => "open: the intervals overlap",
        (false, false) => "**apart**",
    }
}

/// Why a row has no ratio: the first thing that failed, with the build and whose program it was.
fn reason(original: &str, theirs: &Value, ours: &Value) -> String {
    let builds = BUILDS[1].split(',');
    let failed = [(original, theirs), ("ours", ours)].into_iter().flat_map(|(whose, row)| {
        let cells = row["cells"].as_array().into_iter().flatten().zip(builds.clone());
        cells.filter_map(move |(cell, build)| Some(format!("{whose}, {build}: {}", cell["reason"].as_str()?)))
    });
    failed.into_iter().next().unwrap_or_else(|| "no figure of one of the two".to_owned()).replace(['\n', '|'], " ")
}
