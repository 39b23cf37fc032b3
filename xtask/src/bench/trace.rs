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

/// `work N`: N times some arithmetic and a read, as programs do. `quiet N`: N system calls that are not in the set, and
/// nothing else. `busy N`: N that are.
const SOURCE: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned arithmetic(unsigned seed) {
    for (int i = 0; i < 4000; i++)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}
int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "quiet";
    long rounds = count > 2 ? atol(words[2]) : 0;
    int zero = open("/dev/zero", O_RDONLY);
    unsigned sum = 0;
    char page[4096];
    for (long i = 0; i < rounds; i++) {
        if (!strcmp(what, "busy"))
            (void) access("/nothing/here", F_OK);
        else if (!strcmp(what, "quiet"))
            (void) syscall(SYS_getppid);
        else
            sum = arithmetic(sum + (unsigned) read(zero, page, sizeof page));
    }
    return sum == 1;
}
"#;

/// About half a second of arithmetic and reads.
const WORK: [&str; 2] = ["work", "120000"];
/// About half a second of nothing but system calls.
const QUIET: [&str; 2] = ["quiet", "5000000"];
/// Calls of the set: enough that starting the tracer hardly counts.
const BUSY: [&str; 2] = ["busy", "20000"];
/// A program that ends at once.
const NOTHING: [&str; 2] = ["work", "0"];

/// Runs the comparisons and returns their page.
///
/// # Errors
/// If strace or the C compiler is missing.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let binary = run::release_binary()?;
    let bench = Bench { underpin: text(&binary)?, program: text(&build()?)? };
    let (rounds, few) = (rounds.max(4), (rounds / 4).max(4));
    let work = bench.compare(&WORK, few)?;
    let quiet = bench.compare(&QUIET, few)?;
    let busy = bench.compare(&BUSY, rounds)?;
    let rest = bench.rest(few)?;

    let mut page = table::head("`trace` beside strace and beside no tracer", "cargo xtask bench trace");
    page += &format!("Every tracer traces `{CALLS}`.\n");
    page += &table::comparison("A program that computes and reads; none of its calls is traced", &work.0, &work.1);
    page += &table::comparison("Nothing but system calls, none of them traced (the worst case)", &quiet.0, &quiet.1);
    page += &table::comparison("Nothing but traced calls", &busy.0, &busy.1);
    page += &table::comparison("Traced until `main`, with much and with nothing to do afterwards", &rest.0, &rest.1);
    page += "\n## Goals\n";
    page += &table::goals(&[
        Goal {
            text: "a program whose calls are not traced: at most 5 % slower than alone",
            ratio: work.1[1].ratio(&work.1[0]),
            limit: Limit::AtMost(1.05),
        },
        Goal {
            text: "the same, by processor time (tracer and program together)",
            ratio: work.1[1].processor().ratio(work.1[0].processor()),
            limit: Limit::AtMost(1.05),
        },
        Goal {
            text: "the same, for a program that does nothing but system calls",
            ratio: quiet.1[1].processor().ratio(quiet.1[0].processor()),
            limit: Limit::AtMost(1.05),
        },
        Goal {
            text: "not slower than strace on the same calls",
            ratio: busy.1[1].ratio(&busy.1[2]),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "`--until main`: what comes after `main` takes as long as without a tracer",
            ratio: Sample::ratio_of_differences([&rest.1[1], &rest.1[3]], [&rest.1[0], &rest.1[2]]),
            limit: Limit::AtMost(1.02),
        },
        Goal {
            text: "the same, by processor time",
            ratio: Sample::ratio_of_differences(
                [rest.1[1].processor(), rest.1[3].processor()],
                [rest.1[0].processor(), rest.1[2].processor()],
            ),
            limit: Limit::AtMost(1.02),
        },
    ]);
    page += "\nA program that does nothing but system calls pays for the seccomp filter at each of them, in the kernel and before \
             any tracer: strace pays the same. Without a filter (`--until main` needs none) nothing is paid.\n";
    Ok(page)
}

struct Bench {
    underpin: String,
    program: String,
}

impl Bench {
    /// Alone, under `underpin trace` to the end, under strace.
    fn compare(&self, args: &[&str; 2], rounds: usize) -> anyhow::Result<(Vec<Contestant>, Vec<Sample>)> {
        let (underpin, program) = (self.underpin.as_str(), self.program.as_str());
        let traced = format!("trace={CALLS}");
        let tail = [program, args[0], args[1]];
        let trace = [underpin, "trace", "--calls", CALLS, "--until", "exit", "--"];
        let strace = ["strace", "-f", "--seccomp-bpf", "-e", &traced, "-o", "/dev/null"];
        let contestants = vec![
            Contestant::new("alone", &tail),
            Contestant::new("underpin trace --until exit", &[&trace[..], &tail].concat()),
            Contestant::new("strace -f --seccomp-bpf", &[&strace[..], &tail].concat()),
        ];
        let samples = interleaved(&contestants, rounds)?;
        Ok((contestants, samples))
    }

    /// With much and with nothing to do, alone and watched until `main`.
    fn rest(&self, rounds: usize) -> anyhow::Result<(Vec<Contestant>, Vec<Sample>)> {
        let (underpin, program) = (self.underpin.as_str(), self.program.as_str());
        let trace = [underpin, "trace", "--until", "main", "--"];
        let contestants = [("much, ", WORK), ("nothing, ", NOTHING)]
            .map(|(what, args)| {
                let named = |name: &str, before: &[&str]| {
                    let command = [before, &[program, args[0], args[1]]].concat();
                    Contestant::new(&format!("{what}{name}"), &command)
                };
                [named("alone", &[]), named("underpin trace --until main", &trace)]
            })
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
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
