//! The part of docs/bench/fuse.md about bundles in one file: what a start of one costs over the original's.

use super::copies::{called, installed};
use super::section::{Context, goal, head, shown};
use crate::bench::measure::interleaved;
use std::fmt::Write as _;
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
/// If a program cannot be bundled, or does not run.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let mut text = head(HEADING, "bundles", context.rounds);
    writeln!(
        text,
        "Processor time of whole runs over the unchanged program's; runs interleave (ABBA). The goal is at most {GOAL}.\n\n\
         | program | libraries merged | unchanged, ms | separate (`--no-fuse`) | merged | goal | runs |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    )?;
    for (program, argument) in TIMED {
        let name = program.rsplit('/').next().unwrap_or(program);
        let Some(program) = installed(program) else {
            writeln!(text, "| {name} | not installed | | | | | |")?;
            continue;
        };
        let original = program.display().to_string();
        let separate = context.scratch.join(format!("{name}.separate")).display().to_string();
        let merged = context.scratch.join(format!("{name}.merged")).display().to_string();
        let bundle = |target: &str, more: &[&str]| -> anyhow::Result<usize> {
            let mut command = Command::new(&context.underpin);
            let output = command.args(["bundle", "--file", "--json", &original, "-o", target]).args(more).output()?;
            anyhow::ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
            let files = document["files"].as_array().into_iter().flatten();
            Ok(files.filter_map(|file| file["members"].as_array()).map(Vec::len).sum())
        };
        bundle(&separate, &["--no-fuse"])?;
        let members = bundle(&merged, &[])?;
        let called = |file: &str| called(name, &program, file, argument);
        let samples = interleaved(&[called(&original), called(&separate), called(&merged)], context.rounds)?;
        let [before, apart, one] = [&samples[0], &samples[1], &samples[2]].map(|sample| sample.processor());
        let [apart_ratio, one_ratio] = [apart, one].map(|sample| sample.ratio(before));
        writeln!(
            text,
            "| {name} | {members} | {:.1} | {} | {} | {} | {} |",
            before.median().value * 1e3,
            shown(apart_ratio),
            shown(one_ratio),
            goal(one_ratio, GOAL),
            one.runs(),
        )?;
        for file in [separate, merged] {
            std::fs::remove_file(file)?;
        }
    }
    Ok(text)
}
