//! What four running processes hold together, and how large the merged file is.

use super::copies::{self, Made, Merged};
use super::processes::{Group, settle};
use super::section::{Context, goal, head, missing, shown};
use crate::bench::stats::Sample;
use anyhow::{Context as _, bail};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use underpin_sys::memory_use;

/// The heading of the part.
pub const HEADING: &str = "## Memory and size";
/// What four processes may hold over four of the original, and the merged file over its members.
const GOALS: (f64, f64) = (1.05, 1.12);
/// Processes at a time.
const PROCESSES: usize = 4;
/// Memory is nearly the same from run to run, and each takes seconds.
const ROUNDS: usize = 3;
/// Programs, and arguments with which they wait for their standard input.
const WAITING: [(&str, &[&str]); 3] = [
    ("gdb", &["-q", "-nx"]),
    ("emacs", &["-Q", "--batch", "--eval", "(read-string \"\")"]),
    ("ffmpeg", &["-hide_banner", "-f", "s16le", "-ar", "8000", "-ac", "1", "-i", "pipe:0", "-f", "null", "-"]),
];

/// Proportional set sizes of four processes that wait for input, fused over unchanged, and the sizes of the files.
///
/// # Errors
/// If a copy cannot be made, or a process does not stay.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let rounds = context.rounds.min(ROUNDS);
    let mut text = head(HEADING, "memory", rounds);
    writeln!(
        text,
        "{PROCESSES} processes of a program that wait for input: their proportional set sizes (PSS) together, over those of \
         {PROCESSES} of the unchanged program; never both at a time. The merged file, over the libraries inside.\n\n\
         | program | unchanged, MiB | fused, MiB | ratio | goal {} | merged file, MiB | over the libraries | goal {} |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |",
        GOALS.0, GOALS.1
    )?;
    let mut absent = Vec::new();
    for (name, arguments) in WAITING {
        let Some(program) = copies::installed(name) else {
            absent.push((name, name));
            continue;
        };
        match copies::fused(&context.underpin, &program, &context.folder("memory", name))? {
            Made::Merged(merged) => text += &row(name, &program, &merged, arguments, rounds)?,
            other => bail!("{name}: {other:?}"),
        }
    }
    Ok(text + &missing(&absent))
}

fn row(name: &str, program: &Path, merged: &Merged, arguments: &[&str], rounds: usize) -> anyhow::Result<String> {
    let files = [program, &merged.program];
    let mut held = [Vec::new(), Vec::new()];
    for at in (0..rounds).flat_map(|_| [0, 1, 1, 0]) {
        held[at].push(pss(files[at], program, arguments).with_context(|| name.to_owned())?);
    }
    let [before, after] = held.map(Sample::new);
    let ratio = after.ratio(&before);
    let size = merged.bytes as f64 / merged.member_bytes as f64;
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    Ok(format!(
        "| {name} | {:.1} | {:.1} | {} | {} | {:.1} | **{size:.3}** | {} |\n",
        mebibytes(before.median().value),
        mebibytes(after.median().value),
        shown(ratio),
        goal(ratio, GOALS.0),
        mebibytes(merged.bytes as f64),
        if size <= GOALS.1 { "met" } else { "missed" },
    ))
}

/// The PSS of four processes together, once they do nothing any more.
fn pss(file: &Path, original: &Path, arguments: &[&str]) -> anyhow::Result<f64> {
    use std::os::unix::process::CommandExt as _;
    let mut all = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = Command::new(file);
        // Emacs looks for its own files beside the name that it is called by.
        command.arg0(original).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        all.push(Group::start(&mut command)?);
    }
    let ids = all.iter().map(Group::id).collect::<anyhow::Result<Vec<_>>>()?;
    settle(&ids)?;
    let mut sum = 0;
    for id in ids {
        sum += memory_use(id)?.pss;
    }
    Ok(sum as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_wait_for_input_hold_some_memory() {
        let cat = copies::installed("cat").unwrap();
        let bytes = pss(&cat, &cat, &[]).unwrap();
        assert!(bytes > 4.0 * 50e3 && bytes < 100e6, "{bytes}");
    }

    #[test]
    fn a_process_that_ends_is_an_error() {
        let program = copies::installed("true").unwrap();
        assert!(pss(&program, &program, &[]).is_err());
    }
}
