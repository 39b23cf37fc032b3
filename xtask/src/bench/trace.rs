//! `trace` against no tracer at all and against strace on the same calls.

use super::measure::{Contestant, interleaved};
use super::stats::Sample;
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The calls that underpin and strace are both told to trace.
const CALLS: &str = "execve,open,openat,access,stat,newfstatat,mmap,mprotect,munmap,brk,clone,vfork";

/// `quiet N`: N system calls that are not in the set. `busy N`: N that are.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    long rounds = count > 2 ? atol(words[2]) : 0;
    int busy = count > 1 && !strcmp(words[1], "busy");
    for (long i = 0; i < rounds; i++)
        busy ? (void) access("/nothing/here", F_OK) : (void) syscall(SYS_getppid);
    return 0;
}
"#;

/// Calls outside the set: about half a second of nothing else.
const QUIET: [&str; 2] = ["quiet", "5000000"];
/// Calls of the set: enough that starting the tracer hardly counts.
const BUSY: [&str; 2] = ["busy", "20000"];

/// Runs the comparisons and returns their page.
///
/// # Errors
/// Where strace or the C compiler is missing.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let binary = run::release_binary()?;
    let bench = Bench { underpin: text(&binary)?, program: text(&build()?)? };
    let (rounds, few) = (rounds.max(4), (rounds / 4).max(4));
    let quiet = bench.compare(&QUIET, "exit", few)?;
    let busy = bench.compare(&BUSY, "exit", rounds)?;
    let until = bench.compare(&BUSY, "main", rounds)?;

    let mut page = table::head("`trace` beside strace and beside no tracer", "cargo xtask bench trace");
    page += &table::comparison("A program whose calls are not traced", &quiet.0, &quiet.1);
    page += &table::comparison("A program that does little but traced calls", &busy.0, &busy.1);
    page += &table::comparison("The same, watched until `main` only", &until.0, &until.1);
    page += &format!(
        "\nEvery tracer is told to trace `{CALLS}`. What `--until main` adds is the start-up itself: the difference of \
         the medians in the last table is {:.2} ms, whatever the program does afterwards.\n\n## Goals\n",
        (until.1[1].median().value - until.1[0].median().value) * 1e3
    );
    page += &table::goals(&goals(&quiet.1, &busy.1, &until.1));
    Ok(page)
}

/// Samples are in the order alone, underpin, strace.
fn goals(quiet: &[Sample], busy: &[Sample], until: &[Sample]) -> [Goal<'static>; 3] {
    [
        Goal {
            text: "a program whose calls are not traced: at most 5 % slower than alone",
            ratio: quiet[1].ratio(&quiet[0]),
            limit: Limit::AtMost(1.05),
        },
        Goal {
            text: "not slower than strace on the same calls",
            ratio: busy[1].ratio(&busy[2]),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "`--until main`: faster than strace, which stays to the end",
            ratio: until[1].ratio(&until[2]),
            limit: Limit::AtMost(0.5),
        },
    ]
}

struct Bench {
    underpin: String,
    program: String,
}

impl Bench {
    fn compare(&self, args: &[&str; 2], until: &str, rounds: usize) -> anyhow::Result<(Vec<Contestant>, Vec<Sample>)> {
        let (underpin, program) = (self.underpin.as_str(), self.program.as_str());
        let traced = format!("trace={CALLS}");
        let tail = [program, args[0], args[1]];
        let trace = [underpin, "trace", "--calls", CALLS, "--until", until, "--"];
        let strace = ["strace", "-f", "--seccomp-bpf", "-e", &traced, "-o", "/dev/null"];
        let contestants = vec![
            Contestant::new("alone", &tail),
            Contestant::new(&format!("underpin trace --until {until}"), &[&trace[..], &tail].concat()),
            Contestant::new("strace -f --seccomp-bpf", &[&strace[..], &tail].concat()),
        ];
        let samples = interleaved(&contestants, rounds)?;
        Ok((contestants, samples))
    }
}

/// Builds the program below target/.
fn build() -> anyhow::Result<PathBuf> {
    let dir = Path::new("target/bench");
    fs::create_dir_all(dir)?;
    let (source, program) = (dir.join("calls.c"), dir.join("calls"));
    fs::write(&source, SOURCE)?;
    let status =
        Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(&source).status().context("cannot start cc")?;
    if !status.success() {
        bail!("cc failed on {}", source.display());
    }
    Ok(program.canonicalize()?)
}

fn text(path: &Path) -> anyhow::Result<String> {
    Ok(path.to_str().context("a path that is not UTF-8")?.to_owned())
}
