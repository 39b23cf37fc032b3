//! `tree` against libtree, ldd and the loader's own list.

use super::measure::{Contestant, interleaved};
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::Context;

/// The program with the largest closure that the tests install.
const PROGRAM: &str = "/usr/bin/emacs-gtk";

/// Every dynamic file of a folder, one `ldd` each.
const LDD_LOOP: &str = "for file in /usr/bin/*; do ldd \"$file\" || true; done";

/// Runs the comparison and returns its page.
///
/// # Errors
/// Where libtree or ldd is missing (`cargo xtask test --install` brings them).
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let binary = run::release_binary()?;
    let underpin = binary.to_str().context("a path that is not UTF-8")?;
    let one = [
        Contestant::new("underpin tree --list", &[underpin, "tree", "--list", PROGRAM]),
        Contestant::new("underpin tree", &[underpin, "tree", PROGRAM]),
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

    let mut text = table::head("`tree` beside its peers", "cargo xtask bench tree");
    text += &table::comparison(&format!("One program: {PROGRAM}"), &one, &samples);
    text += &table::comparison("Every file of /usr/bin", &folder, &folder_samples);
    text += "\n## Goals\n";
    text += &table::goals(&[
        Goal {
            text: "the list: at most 0.7 of libtree's time",
            ratio: samples[0].ratio(&samples[2]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the tree with its findings, which libtree has none of: at most 0.7 of libtree's time",
            ratio: samples[1].ratio(&samples[2]),
            limit: Limit::AtMost(0.7),
        },
        Goal {
            text: "the list: at least 4 times as fast as ldd",
            ratio: samples[4].ratio(&samples[0]),
            limit: Limit::AtLeast(4.0),
        },
        Goal {
            text: "the tree with its findings: at least 4 times as fast as ldd, which has none either",
            ratio: samples[4].ratio(&samples[1]),
            limit: Limit::AtLeast(4.0),
        },
        Goal {
            text: "a folder at least 10 times as fast as ldd in a loop",
            ratio: folder_samples[1].ratio(&folder_samples[0]),
            limit: Limit::AtLeast(10.0),
        },
    ]);
    Ok(text)
}
