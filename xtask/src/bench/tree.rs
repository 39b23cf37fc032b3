//! `tree` against libtree, ldd and the loader's own list.

use super::measure::{Contestant, interleaved};
use super::stats::Estimate;
use super::table::{self, Goal, Limit};
use super::underpin_bench::{self, Underpin};
use crate::build::{self, Processor};
use crate::run;
use anyhow::Context;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The program with the largest closure that the tests install.
const PROGRAM: &str = "/usr/bin/emacs-gtk";

/// Indices of two peers in the interleaved run.
const LIBTREE: usize = 6;
const LDD: usize = 8;

/// Every dynamic file of a folder, one `ldd` each.
const LDD_LOOP: &str = "for file in /usr/bin/*; do ldd \"$file\" || true; done";

/// What begins the tables of one kind of processor; its name follows.
const SECTION: &str = "\n## On ";

/// Runs the comparison and returns its page: the tables of this machine's kind of processor in place of those that the page
/// had for it, and those of other kinds as they were.
///
/// # Errors
/// If libtree or ldd is missing (`cargo xtask test --install` brings them).
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let kind = table::family();
    let section = section(rounds)?;
    let before = fs::read_to_string("docs/bench/tree.md").unwrap_or_default();
    Ok(page(&before, &kind, &section))
}

/// The tables of all kinds of processors, and of each goal the worst verdict.
fn page(before: &str, kind: &str, section: &str) -> String {
    let mut sections: BTreeMap<&str, &str> =
        before.split(SECTION).skip(1).filter_map(|text| text.split_once('\n')).collect();
    sections.insert(kind, section);
    let mut text = "# `tree` beside its peers\n\nRatios between programs depend on the processor, so each processor \
                    has its own tables.\n\n| goal | on every processor measured |\n| --- | --- |\n"
        .to_owned();
    for (goal, verdict) in worst(sections.values().copied()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {goal} | {verdict} |");
    }
    for (kind, section) in sections {
        let _ = write!(text, "{SECTION}{kind}\n{}\n", section.trim_end());
    }
    text
}

/// Goals in the order of the first section, each with the worst of its verdicts.
fn worst<'a>(sections: impl Iterator<Item = &'a str>) -> Vec<(&'a str, &'a str)> {
    let rank = |verdict: &str| match verdict {
        "met" => 0,
        "**missed**" => 2,
        _ => 1,
    };
    let mut all: Vec<(&str, &str)> = Vec::new();
    for section in sections {
        let goals = section.split_once("### Goals").map_or("", |(_, goals)| goals);
        for row in goals.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let &[goal, _, verdict] = cells.as_slice() else { continue };
            if goal == "goal" || goal.starts_with("---") {
                continue;
            }
            match all.iter_mut().find(|known| known.0 == goal) {
                Some(known) if rank(verdict) > rank(known.1) => known.1 = verdict,
                Some(_) => {}
                None => all.push((goal, verdict)),
            }
        }
    }
    all
}

/// Peak memory of each command, in bytes.
fn memory(binary: &Path, commands: &[&str]) -> anyhow::Result<Vec<f64>> {
    let folder = run::scratch("tree")?;
    let options = ["-N", "-r", "2", "--memory-runs", "5"];
    let document = Underpin(binary.to_owned()).measure(&options, commands, &folder)?;
    (0..commands.len()).map(|index| underpin_bench::median(&document, index, "rss")).collect()
}

/// The machine, its tables and its goals.
fn section(rounds: usize) -> anyhow::Result<String> {
    let binary = run::release_binary()?;
    let underpin = binary.to_str().context("a path that is not UTF-8")?;
    let built = build::program(&run::workspace(), &run::target(), "underpin", Processor::X86_64)?;
    let of_musl = built.to_str().context("a path that is not UTF-8")?;
    let load = table::load();
    // All in one interleaved run: figures of two runs, some minutes apart, cannot be compared.
    let one = [
        Contestant::new("underpin tree --list", &[underpin, "tree", "--list", PROGRAM]),
        Contestant::new("underpin tree", &[underpin, "tree", PROGRAM]),
        Contestant::new("underpin --version", &[underpin, "--version"]),
        Contestant::new("underpin tree --list, static", &[of_musl, "tree", "--list", PROGRAM]),
        Contestant::new("underpin tree, static", &[of_musl, "tree", PROGRAM]),
        Contestant::new("underpin --version, static", &[of_musl, "--version"]),
        Contestant::new("libtree", &["libtree", PROGRAM]),
        Contestant::new("libtree -vvv", &["libtree", "-vvv", PROGRAM]),
        Contestant::new("ldd", &["ldd", PROGRAM]),
        Contestant::new("ld.so --list", &["/lib64/ld-linux-x86-64.so.2", "--list", PROGRAM]),
        Contestant::new("true (what a process costs at least)", &["/bin/true"]),
    ];
    let samples = interleaved(&one, rounds)?;
    let folder = [
        Contestant::new("underpin tree --json /usr/bin", &[underpin, "tree", "--json", "/usr/bin"]),
        Contestant::new("ldd in a loop", &["sh", "-c", LDD_LOOP]),
    ];
    let folder_samples = interleaved(&folder, (rounds / 20).max(2))?;

    let list = format!("{underpin} tree --list {PROGRAM}");
    let tree = format!("{underpin} tree {PROGRAM}");
    let peaks = memory(&binary, &[&list, &tree, &format!("libtree {PROGRAM}")])?;

    let head = table::head("", "cargo xtask bench tree");
    let mut text = head.trim_start_matches(['#', ' ', '\n']).to_owned();
    text += &format!("Load average at the start: {}.\n", load);
    text += &table::comparison(
        &format!("One program, {PROGRAM}: a build on glibc, the static file that is released, and others"),
        &one,
        &samples,
    );
    text += &table::comparison("Every file of /usr/bin", &folder, &folder_samples);
    text += "\n## Memory\n\n| command | peak |\n| --- | --- |\n";
    for (name, peak) in ["underpin tree --list", "underpin tree", "libtree"].iter().zip(&peaks) {
        let _ = writeln!(text, "| {name} | {:.0} KiB |", peak / 1024.0);
    }
    text += "\n## Goals\n";
    text += &table::goals(&[
        Goal {
            text: "the list: at most 0.7 of libtree's time",
            ratio: samples[0].ratio(&samples[LIBTREE]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the tree with its findings (libtree reports none): at most 0.7 of libtree's time",
            ratio: samples[1].ratio(&samples[LIBTREE]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the list: at least 4 times as fast as ldd",
            ratio: samples[LDD].ratio(&samples[0]),
            limit: Limit::AtLeast(4.0),
        },
        Goal {
            text: "the tree with its findings: at least 4 times as fast as ldd, which reports none either",
            ratio: samples[LDD].ratio(&samples[1]),
            limit: Limit::AtLeast(4.0),
        },
        Goal {
            text: "a folder at least 10 times as fast as ldd in a loop",
            ratio: folder_samples[1].ratio(&folder_samples[0]),
            limit: Limit::AtLeast(10.0),
        },
        Goal {
            text: "the static file: the list in no more time than on glibc",
            ratio: samples[3].ratio(&samples[0]),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "the static file: the tree in no more time than on glibc",
            ratio: samples[4].ratio(&samples[1]),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "the static file: the start in no more time than on glibc",
            ratio: samples[5].ratio(&samples[2]),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "the static file: the list in at most 0.7 of libtree's time",
            ratio: samples[3].ratio(&samples[LIBTREE]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the static file: the tree in at most 0.7 of libtree's time",
            ratio: samples[4].ratio(&samples[LIBTREE]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the list: at most 3 times libtree's memory",
            ratio: Estimate::exact(peaks[0] / peaks[2]),
            limit: Limit::AtMost(3.0),
        },
        Goal {
            text: "the tree with its findings: at most 3 times libtree's memory",
            ratio: Estimate::exact(peaks[1] / peaks[2]),
            limit: Limit::AtMost(3.0),
        },
    ]);
    Ok(format!("\n{}", text.replace("\n## ", "\n### ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(verdict: &str) -> String {
        format!(
            "\nMeasured.\n\n### Goals\n\n| goal | measured | verdict |\n| --- | --- | --- |\n| fast | 1 | {verdict} |\n"
        )
    }

    #[test]
    fn each_kind_of_processor_keeps_its_tables_and_the_worst_verdict_counts() {
        let first = page("# old\n\n## Goals\n", "AMD EPYC", &tables("met"));
        assert!(first.contains("| fast | met |\n\n## On AMD EPYC\n\nMeasured."), "{first}");
        let both = page(&first, "Intel Xeon", &tables("**missed**"));
        assert!(both.contains("| fast | **missed** |\n\n## On AMD EPYC\n"), "{both}");
        let again = page(&both, "Intel Xeon", &tables("met"));
        assert!(again.contains("| fast | met |\n\n## On"), "{again}");
        assert_eq!(again.matches("## On ").count(), 2);
        assert_eq!(page(&again, "Intel Xeon", &tables("met")), again);
    }
}
