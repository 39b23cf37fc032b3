//! What results of `underpin build` cost beside glibc builds, and what `underpin build` costs beside cargo.

use super::stats::{Estimate, Sample};
use super::table::{self, Goal, Limit};
use super::underpin_bench::{self, Underpin};
use crate::trials::{self, FD, HEADING, Project, RIPGREP};
use crate::{run, trials::reference};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Searches: the project, its arguments before the trees, and what it does in words.
const SEARCHES: [(&Project, &[&str], &str); 4] = [
    (&RIPGREP, &["-c", "unsafe"], "ripgrep, lines with a word"),
    (&RIPGREP, &["-n", "-i", "'[a-z]+_(alloc|free)\\('"], "ripgrep, a regular expression, lines printed"),
    (&FD, &["-u", "-e", "rs", "."], "fd, files with one extension"),
    (&FD, &["-u", "--size", "+100k", "."], "fd, files of a size"),
];

/// It does nothing, or prints at its beginning the processor time of its process.
const EMPTY: &str = r#"
#include <stdio.h>
#include <time.h>
int main(int count, char **words) {
    struct timespec now;
    (void)words;
    if (count > 1) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        printf("%ld\n", now.tv_sec * 1000000000L + now.tv_nsec);
    }
    return 0;
}
"#;

/// Of a page without trials: those are of another kind of processor.
const TITLE: &str = "# What `underpin build` makes of published projects, on another kind of processor";

/// The least that a process can be: no library, no stack of its own, one system call.
const FLOOR: &str = r#"
#if defined __x86_64__
__asm__(".globl _start\n_start: mov $60, %eax\n xor %edi, %edi\n syscall\n");
#elif defined __aarch64__
__asm__(".globl _start\n_start: mov x8, #93\n mov x0, #0\n svc #0\n");
#endif
"#;

/// Measures and returns the page: the trials as they were, and the measurements in place of those that the page had.
///
/// # Errors
/// If something does not build or run.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let underpin = run::release_binary()?;
    let folder = run::scratch("bench-build")?;
    let trials = trials::Underpin::new()?.with(underpin.clone());
    let bench = Underpin(underpin);
    let mut goals = Vec::new();
    let load = table::load();
    let mut text = format!("{HEADING}\n{}", introduction(&load));
    text += &searches(&bench, &trials, &folder, rounds, &mut goals)?;
    text += &start(&bench, &trials, &folder, rounds, &mut goals)?;
    text += &overhead(&trials, &folder, rounds, &mut goals)?;
    text += "\n### Goals\n";
    text += &table::goals(&goals);
    fs::remove_dir_all(&folder)?;
    let before = super::kept("build", HEADING).0;
    let before = if before.trim().is_empty() { TITLE } else { before.trim_end() };
    Ok(format!("{before}\n\n{text}"))
}

fn introduction(load: &str) -> String {
    let machine = table::machine("", "cargo xtask bench build");
    let measured = machine.lines().find(|line| line.starts_with("Measured")).unwrap_or_default();
    format!(
        "{measured} The one-minute load average at the start was {load}. The runs interleave (`underpin bench`); \
         medians, and ratios with 95 % intervals.\n"
    )
}

/// The trees: sources of crates, and what the system has below /usr.
fn trees() -> anyhow::Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no cargo folder: set CARGO_HOME")?;
    let trees = [home.join("registry/src"), "/usr/include".into(), "/usr/share".into(), "/usr/lib".into()];
    Ok(trees.into_iter().filter(|tree| tree.is_dir()).collect())
}

/// ripgrep and fd over a large tree, and their goals.
fn searches(
    bench: &Underpin,
    trials: &trials::Underpin,
    folder: &Path,
    rounds: usize,
    goals: &mut Vec<Goal<'static>>,
) -> anyhow::Result<String> {
    let trees = trees()?;
    let words: Vec<String> = trees.iter().map(|tree| tree.display().to_string()).collect();
    let files = trials::count(&trees);
    let mut text = format!(
        "\n### ripgrep and fd over {files} files\n\nThe sources of crates in cargo's registry and three folders of /usr, caches \
         warm, all threads. `glibc` is `cargo install` for this machine; `static` is `underpin build` without options.\n\n\
         | work | glibc | static | time | processor time | peak glibc | peak static | peak |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let goal = [
        ["ripgrep, words, time: at most 1.0", "ripgrep, words, peak: at most 1.2"],
        ["ripgrep, expression, time: at most 1.0", "ripgrep, expression, peak: at most 1.2"],
        ["fd, extension, time: at most 1.0", "fd, extension, peak: at most 1.2"],
        ["fd, size, time: at most 1.0", "fd, size, peak: at most 1.2"],
    ];
    for ((project, arguments, what), goal) in SEARCHES.into_iter().zip(goal) {
        let arguments = format!("{} {}", arguments.join(" "), words.join(" "));
        let of = |program: PathBuf| format!("{} {arguments}", program.display());
        let commands = [of(reference(project)?), of(trials.usual(project)?)];
        let commands = [commands[0].as_str(), commands[1].as_str()];
        let runs = rounds.to_string();
        // fd ends with 1 if a folder may not be read.
        let document = bench.measure(&["-N", "-i", "-w", "1", "-r", &runs], &commands, folder)?;
        let figures = Figures::new(&document)?;
        let _ = writeln!(text, "| {what} | {}", figures.row());
        for (text, ratio, limit) in [(goal[0], figures.wall, 1.0), (goal[1], figures.peak, 1.2)] {
            goals.push(Goal { text, ratio, limit: Limit::AtMost(limit) });
        }
    }
    Ok(text)
}

/// The second of two commands beside the first.
struct Figures {
    milliseconds: [f64; 2],
    mebibytes: [f64; 2],
    wall: Estimate,
    cpu: Estimate,
    peak: Estimate,
}

impl Figures {
    fn new(document: &Value) -> anyhow::Result<Figures> {
        let both = |metric, scale: f64| -> anyhow::Result<[f64; 2]> {
            let of = |at| underpin_bench::median(document, at, metric);
            Ok([of(0)? * scale, of(1)? * scale])
        };
        let ratio = |metric| {
            let claim = underpin_bench::claim(document, metric)?;
            anyhow::Ok(Estimate { value: claim.ratio, low: claim.interval[0], high: claim.interval[1] })
        };
        Ok(Figures {
            milliseconds: both("wall", 1e3)?,
            mebibytes: both("rss", 1.0 / (1024.0 * 1024.0))?,
            wall: ratio("wall")?,
            cpu: ratio("cpu")?,
            peak: ratio("rss")?,
        })
    }

    fn row(&self) -> String {
        let ([glibc, ours], [less, more]) = (self.milliseconds, self.mebibytes);
        format!(
            "{glibc:.2} ms | {ours:.2} ms | {} | {} | {less:.1} MiB | {more:.1} MiB | {} |",
            ratio(self.wall),
            ratio(self.cpu),
            ratio(self.peak)
        )
    }
}

fn ratio(ratio: Estimate) -> String {
    format!("{:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
}

/// A program that does nothing, dynamic on glibc and as `underpin build` makes it.
fn start(
    bench: &Underpin,
    trials: &trials::Underpin,
    folder: &Path,
    rounds: usize,
    goals: &mut Vec<Goal<'static>>,
) -> anyhow::Result<String> {
    let glibc = run::compile_c(folder, "empty", EMPTY, &["-O2"])?;
    let ours = folder.join("static");
    let words = [folder.join("empty.c").display().to_string(), "-o".to_owned(), ours.display().to_string()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = trials.command(&words).output().context("cannot start underpin")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let floor = run::compile_c(folder, "floor", FLOOR, &["-nostdlib", "-static", "-no-pie"])?;
    let commands = [&glibc, &ours, &floor].map(|program| program.display().to_string());
    let runs = (rounds * 25).to_string();
    let document = bench.measure(&["-N", "-w", "20", "-r", &runs], &commands.each_ref().map(String::as_str), folder)?;
    let figures = Figures::new(&document)?;
    let least = underpin_bench::median(&document, 2, "wall")? * 1e3;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for _ in 0..rounds * 25 {
        before.push(to_main(&glibc)?);
        after.push(to_main(&ours)?);
    }
    let (before, after) = (Sample::new(before), Sample::new(after));
    let main = after.ratio(&before);
    goals.push(Goal { text: "start, time: at most 0.25", ratio: figures.wall, limit: Limit::AtMost(0.25) });
    goals.push(Goal { text: "start, processor time: at most 0.25", ratio: figures.cpu, limit: Limit::AtMost(0.25) });
    goals.push(Goal {
        text: "start, processor time before `main`: at most 0.25",
        ratio: main,
        limit: Limit::AtMost(0.25),
    });
    Ok(format!(
        "\n### The start of an empty program\n\n\
         `int main`, by `cc -O2` for glibc and by `underpin build` without options. Wall time and processor time \
         include the creation and the end of the process, which are the kernel's work and nearly the same for both; \
         processor time before `main` is what the process itself reads there (`CLOCK_PROCESS_CPUTIME_ID`), counted \
         from its creation.\n\n\
         | work | glibc | static | time | processor time | peak glibc | peak static | peak |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n\
         | from creation to end | {}\n\n\
         In the same rounds, a program whose only instruction of weight is the call to end takes {least:.2} ms, {:.3} of \
         glibc's: no program that is started at all can take less.\n\n\
         Processor time before `main`: {:.0} µs on glibc, {:.0} µs static, {}.\n",
        figures.row(),
        least / figures.milliseconds[0],
        before.median().value * 1e6,
        after.median().value * 1e6,
        ratio(main),
    ))
}

/// What the program says at the beginning of `main`, in seconds.
fn to_main(program: &Path) -> anyhow::Result<f64> {
    let mut command = Command::new(program);
    let output = command.arg("say").output()?;
    let nanoseconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok(nanoseconds / 1e9)
}

/// `underpin build` beside `cargo build`, both with nothing compiled.
fn overhead(
    trials: &trials::Underpin,
    folder: &Path,
    rounds: usize,
    goals: &mut Vec<Goal<'static>>,
) -> anyhow::Result<String> {
    let project = folder.join("small");
    fs::create_dir_all(project.join("src"))?;
    let name = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(project.join("Cargo.toml"), name)?;
    fs::write(project.join("Cargo.lock"), "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n")?;
    fs::write(project.join("src/main.rs"), "fn main() { println!(\"{:?}\", std::env::args()); }\n")?;
    let (target, cache) = (folder.join("target"), folder.join("cache"));
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let words = [project.display().to_string(), "-o".to_owned(), folder.join("out").display().to_string()];
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--force"]).collect();
    let (mut cargo, mut ours, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        for folder in [&target, &cache] {
            let _ = fs::remove_dir_all(folder);
        }
        let mut command = Command::new(run::cargo());
        command.args(["build", "--quiet", "--release", "--locked", "--target", &triple, "--target-dir"]);
        let plain = timed(command.arg(&target).current_dir(&project))?.as_secs_f64();
        let built = timed(trials.command(&words).env("XDG_CACHE_HOME", &cache).stdout(Stdio::null()))?.as_secs_f64();
        cargo.push(plain);
        ours.push(built);
        more.push(built - plain);
    }
    let (cargo, ours, more) = (Sample::new(cargo).median(), Sample::new(ours).median(), Sample::new(more).median());
    goals.push(Goal { text: "`build` over cargo: at most 2 s more", ratio: more, limit: Limit::AtMost(2.0) });
    Ok(format!(
        "\n### `underpin build` over cargo\n\nA package of one file, no dependencies, nothing compiled beforehand: \
         `cargo build --release --target {triple}` {:.2} s, `underpin build` {:.2} s; {:.2} s more ({:.2} to {:.2}). \
         This includes the search for toolchains, the objects, the confirmation and the longer link.\n",
        cargo.value, ours.value, more.value, more.low, more.high,
    ))
}

fn timed(command: &mut Command) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(began.elapsed())
}
