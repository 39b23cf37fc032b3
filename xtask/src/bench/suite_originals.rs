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
const CAUSES: [(&str, &str); 1] = [(
    "putcgetc-unlocked",
    "libc-bench is compiled with -Os, where glibc's headers leave putc_unlocked and getc_unlocked calls (they inline them \
         only if __OPTIMIZE_SIZE__ is not defined); ours with -O2, as most programs, where they are inlined for glibc and not \
         for musl",
)];

/// The variable that names the folder with the sources, each in a folder of its name.
const VARIABLE: &str = "ORIGINALS";
/// The two builds of each.
const BUILDS: [&str; 2] = ["--build", "glibc,musl"];
/// So many times as many rounds for rows that the first ones leave open.
const LONGER: usize = 4;
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
         static musl, in the short form and one after the other. Ours is to be within 15 % of the original's. Rows that \
         {rounds} rounds leave open are measured again, {} times as long.\n",
        LONGER
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

fn names_of<'a>(document: &'a Value, suite: &str) -> Vec<&'a str> {
    rows(document, suite, None).iter().filter_map(|row| row["row"].as_str()).collect()
}

/// The words that select rows; none select all.
fn only<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().flat_map(|name| ["--filter", name]).collect()
}

/// The documents of one measurement: the original's rows, and ours.
struct Both {
    theirs: Value,
    ours: Value,
}

impl Both {
    /// musl's time over glibc's in both, if both have it.
    fn ratios(&self, suite: &str, name: &str) -> Option<(Estimate, Estimate)> {
        let of = |document| rows(document, suite, None).into_iter().find(|row| row["row"] == name).and_then(ratio);
        Some((of(&self.theirs)?, of(&self.ours)?))
    }
}

impl Beside {
    /// All rows; and those that are further apart than they should be, while their intervals overlap, once more for longer.
    fn measure(&self, underpin: &Path, source: &Path, scratch: &Path, rounds: usize) -> anyhow::Result<String> {
        let short = self.both(underpin, source, scratch, rounds, &[])?;
        let is_open =
            |name: &&str| short.ratios(self.suite, name).is_some_and(|(a, b)| Verdict::of(a, b) == Verdict::Open);
        let names: Vec<&str> = names_of(&short.theirs, self.suite).into_iter().filter(is_open).collect();
        let longer = match names.as_slice() {
            [] => None,
            names => Some(self.both(underpin, source, scratch, LONGER * rounds, names)?),
        };
        self.table(&short, longer.as_ref())
    }

    /// Some rows, or all.
    fn both(
        &self,
        underpin: &Path,
        source: &Path,
        scratch: &Path,
        rounds: usize,
        names: &[&str],
    ) -> anyhow::Result<Both> {
        let (theirs, ours) = (scratch.join("theirs.json"), scratch.join("ours.json"));
        // The programs of an original run once for two runs of ours.
        let theirs_runs = (rounds * self.runs * 2).to_string();
        let theirs_words =
            ["--runs", &theirs_runs, "--suite-source", &format!("{}={}", self.original, source.display())];
        measured(underpin, &[&BUILDS[..], &theirs_words, &only(names)].concat(), &theirs, scratch)?;
        let theirs = document(&theirs)?;
        let names = names_of(&theirs, self.suite);
        let ours_runs = (rounds * 2).to_string();
        let ours_words = ["--runs", &ours_runs, "--suite", self.suite];
        measured(underpin, &[&BUILDS[..], &ours_words, &only(&names)].concat(), &ours, scratch)?;
        Ok(Both { theirs, ours: document(&ours)? })
    }

    fn table(&self, short: &Both, longer: Option<&Both>) -> anyhow::Result<String> {
        let mut text = String::new();
        if let Some(reason) = self.withheld {
            write!(text, "\nFigures of {} are not here: {reason}.\n", self.original)?;
        }
        text += "\n| row | original | ours | ours / original | |\n| --- | ---: | ---: | ---: | --- |\n";
        let ours = rows(&short.ours, self.suite, None);
        let mut apart = Vec::new();
        for row in rows(&short.theirs, self.suite, None) {
            let name = row["row"].as_str().unwrap_or_default();
            let again = longer.and_then(|longer| longer.ratios(self.suite, name));
            let Some((theirs, own)) = again.or_else(|| short.ratios(self.suite, name)) else {
                let own = ours.iter().find(|own| own["row"] == name).copied().unwrap_or(&Value::Null);
                writeln!(text, "| {name} | - | - | - | not measured: {} |", reason(self.original, row, own))?;
                continue;
            };
            let times = own.value / theirs.value;
            let shown = |one: Estimate| format!("{:.2} ({:.2} to {:.2})", one.value, one.low, one.high);
            let original = if self.withheld.is_some() { "-".to_owned() } else { shown(theirs) };
            let verdict = Verdict::of(theirs, own).words();
            let longer = if again.is_some() { ", measured for longer" } else { "" };
            writeln!(text, "| {name} | {original} | {} | {times:.2} | {verdict}{longer} |", shown(own))?;
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

/// How far a row of ours is from the original's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Within,
    /// Further, and their intervals overlap.
    Open,
    Apart,
}

impl Verdict {
    fn of(theirs: Estimate, ours: Estimate) -> Verdict {
        let overlap = theirs.low <= ours.high && ours.low <= theirs.high;
        match (is_within(ours.value / theirs.value), overlap) {
            (true, _) => Verdict::Within,
            (false, true) => Verdict::Open,
            (false, false) => Verdict::Apart,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Verdict::Within => "within",
            Verdict::Open => "open: the intervals overlap",
            Verdict::Apart => "**apart**",
        }
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
