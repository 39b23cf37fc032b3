//! What it takes to reach a program's entry point: the kernel's and the loader's part of a start, and the constructors of the
//! libraries.
//!
//! The program is stopped by a breakpoint at the address that the kernel names as its entry (`AT_ENTRY`), and ended there.
//! Processor time is the kernel's own account of the process (`schedstat`) from its `execve` to that stop; stops of a tracer
//! cost the tracer, and there are two.

use super::copies::{self, Made};
use super::processes::used;
use super::section::{Context, goal, head, missing, shown};
use crate::bench::measure::abba;
use anyhow::{Context as _, bail, ensure};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use underpin_sys::{BREAKPOINT, Launch, Resume, Stop, Tracee, auxv, wait_for, write_byte_patch};

/// The heading of the part.
pub const HEADING: &str = "## To the entry point";
/// Programs, how they are called, and the goals.
const TIMED: [(&str, &str, f64); 2] = [("emacs", "--version", 0.36), ("ffmpeg", "-version", 0.27)];
/// The signal that a breakpoint raises.
const SIGTRAP: i32 = 5;

/// Processor time from `execve` to the entry point, fused over unchanged and bound over unchanged.
///
/// # Errors
/// If a copy cannot be made, or does not reach its entry point.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let mut text = head(HEADING, "entry", context.rounds);
    text += "Processor time of the process from its `execve` to its entry point (kernel, loader, constructors of the libraries), \
             over that of the unchanged program; runs interleave (ABBA).\n\n\
             | program | unchanged, ms | bound, ms | ratio | fused, ms | ratio | goal | | runs |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    let mut absent = Vec::new();
    for (name, argument, limit) in TIMED {
        let Some(program) = copies::installed(name) else {
            absent.push((name, name));
            continue;
        };
        let folder = context.folder("entry", name);
        let bound = copies::bound(&context.underpin, &program, &folder.join("bound"))?;
        let merged = match copies::fused(&context.underpin, &program, &folder.join("fused"))? {
            Made::Merged(merged) => merged,
            other => bail!("{name}: {other:?}"),
        };
        let files = [program.as_path(), &bound, &merged.program];
        let samples = abba(files.len(), context.rounds, |at| to_entry(files[at], argument))?;
        let [before, bound, fused] = [&samples[0], &samples[1], &samples[2]];
        let milliseconds = [before, bound, fused].map(|sample| sample.median().value * 1e3);
        let ratio = fused.ratio(before);
        writeln!(
            text,
            "| {name} | {:.2} | {:.2} | {} | {:.2} | {} | {limit} | {} | {} |",
            milliseconds[0],
            milliseconds[1],
            shown(bound.ratio(before)),
            milliseconds[2],
            shown(ratio),
            goal(ratio, limit),
            fused.runs(),
        )?;
    }
    Ok(text + &missing(&absent))
}

/// Seconds of processor time until the program's first own instruction.
fn to_entry(program: &Path, argument: &str) -> anyhow::Result<f64> {
    let launch = Launch {
        program: program.to_owned(),
        arguments: vec![program.into(), argument.into()],
        environment: std::env::vars_os().collect(),
        input: Some(File::open("/dev/null")?.into()),
        output: Some(File::options().write(true).open("/dev/null")?.into()),
        directory: None,
        filter: None,
    };
    let task = launch.start_alone()?.task;
    let spent = until_entry(task);
    task.kill_and_reap()?;
    spent.with_context(|| format!("{} {argument}", program.display()))
}

fn until_entry(task: Tracee) -> anyhow::Result<f64> {
    let before = used(&[task.0])?;
    task.resume(Resume::Continue, 0)?;
    loop {
        match wait_for(task.0)?.map(|report| report.stop) {
            Some(Stop::Executed) => {
                let entry = auxv(task.0)?.entry;
                ensure!(entry != 0, "the kernel names no entry point");
                write_byte_patch(task, entry, BREAKPOINT)?;
                task.resume(Resume::Continue, 0)?;
            }
            Some(Stop::Signal(SIGTRAP)) => return Ok((used(&[task.0])? - before) as f64 / 1e9),
            Some(Stop::Signal(signal)) => task.resume(Resume::Continue, signal)?,
            Some(Stop::Exited(_) | Stop::Signalled(_)) | None => bail!("it ended before its entry point"),
            Some(_) => task.resume(Resume::Continue, 0)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reaches_its_entry_point_in_some_time() {
        let seconds = to_entry(Path::new("/bin/true"), "").unwrap();
        assert!(seconds > 0.0 && seconds < 1.0, "{seconds}");
        assert!(to_entry(Path::new("/no/such/program"), "").is_err());
    }
}
