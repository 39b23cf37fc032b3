//! The part of docs/bench/fuse.md about bundles in one file: what a start of one costs over the original's.

use crate::bench::measure::{Contestant, interleaved};
use crate::bench::table;
use crate::run;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The heading of the part.
pub const HEADING: &str = "## A bundle in one file";
/// What a start may cost over the original's.
const GOAL: f64 = 1.1;
/// Programs, and how they are called.
const TIMED: [(&str, &str); 7] = [
    ("/usr/bin/ffmpeg", "-version"),
    ("/usr/bin/emacs", "--version"),
    ("/usr/bin/gdb", "--version"),
    ("/usr/bin/qemu-system-x86_64", "--version"),
    ("/usr/lib/postgresql/15/bin/postgres", "--version"),
    ("/usr/bin/curl", "--version"),
    ("/usr/bin/git", "--version"),
];

/// Bundles each program twice, with its libraries separate and merged, and times both beside the original.
///
/// # Errors
/// If underpin cannot be built, or a program cannot be bundled.
pub fn measure(scratch: &Path, rounds: usize) -> anyhow::Result<String> {
    let underpin = run::debug_binary()?;
    let machine = table::machine("", &format!("cargo xtask fuse-trials --part bundles --rounds {rounds}"));
    let measured = machine.lines().last().unwrap_or_default().to_owned();
    let mut text = format!(
        "{HEADING}\n\n{measured}\nProcessor time of whole runs over the unchanged program's; runs interleave (ABBA), load \
         average {}. The goal is at most {GOAL}.\n\n\
         | program | libraries merged | unchanged, ms | separate (`--no-fuse`) | merged | goal | runs |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        table::load()
    );
    for (program, argument) in TIMED {
        let name = program.rsplit('/').next().unwrap_or(program);
        let Ok(original) = Path::new(program).canonicalize() else {
            writeln!(text, "| {name} | not installed | | | | | |")?;
            continue;
        };
        let original = original.display().to_string();
        let separate = scratch.join(format!("{name}.separate")).display().to_string();
        let merged = scratch.join(format!("{name}.merged")).display().to_string();
        let bundle = |target: &str, more: &[&str]| -> anyhow::Result<usize> {
            let mut command = Command::new(&underpin);
            let output = command.args(["bundle", "--file", "--json", &original, "-o", target]).args(more).output()?;
            anyhow::ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
            let files = document["files"].as_array().into_iter().flatten();
            Ok(files.filter_map(|file| file["members"].as_array()).map(Vec::len).sum())
        };
        bundle(&separate, &["--no-fuse"])?;
        let members = bundle(&merged, &[])?;
        // Emacs looks for its own files beside itself: the name that it is called by is that of the original.
        let called = |file: &str| match name {
            "emacs" => Contestant::new(name, &["bash", "-c", &format!("exec -a {original} {file} {argument}")]),
            _ => Contestant::new(name, &[file, argument]),
        };
        let samples = interleaved(&[called(&original), called(&separate), called(&merged)], rounds)?;
        let [before, apart, one] = [&samples[0], &samples[1], &samples[2]].map(|sample| sample.processor());
        let [apart_ratio, one_ratio] = [apart, one].map(|sample| sample.ratio(before));
        let [apart_text, one_text] =
            [&apart_ratio, &one_ratio].map(|ratio| format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high));
        writeln!(
            text,
            "| {name} | {members} | {:.1} | {apart_text} | **{one_text}** | {} | {} |",
            before.median().value * 1e3,
            if one_ratio.high <= GOAL { "met" } else { "missed" },
            one.runs(),
        )?;
        for file in [separate, merged] {
            std::fs::remove_file(file)?;
        }
    }
    Ok(text)
}
