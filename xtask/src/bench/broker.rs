//! The allocation benchmark of fossas/broker (workloads/broker) on glibc and on static musl, with each allocator that
//! underpin links in, with and without the overlay.

use super::stats::{Estimate, Sample};
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::{Context, bail, ensure};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One way to build the program.
struct Build {
    /// As `underpin build` writes it.
    name: &'static str,
    musl: bool,
    /// Files of `write_objects`, in the order of the link line.
    objects: &'static [&'static str],
}

const fn glibc(name: &'static str, objects: &'static [&'static str]) -> Build {
    Build { name, musl: false, objects }
}

const fn musl(name: &'static str, objects: &'static [&'static str]) -> Build {
    Build { name, musl: true, objects }
}

/// The first is what the others are compared with.
const BUILDS: [Build; 16] = [
    glibc("glibc", &[]),
    glibc("glibc+jemalloc", &["jemalloc-speed.o"]),
    glibc("glibc+mimalloc", &["mimalloc-speed.o"]),
    glibc("glibc+snmalloc", &["snmalloc-speed.o"]),
    musl("musl-overlay", &[]),
    musl("musl+jemalloc-overlay", &["jemalloc-speed.o"]),
    musl("musl+mimalloc-overlay", &["mimalloc-speed.o"]),
    musl("musl+snmalloc-overlay", &["snmalloc-speed.o"]),
    musl(MEMORY, &["overlay.o", "random.o"]),
    musl("musl+jemalloc, speed", &["jemalloc-speed.o", "overlay.o", "random.o"]),
    musl("musl+jemalloc, balanced", &["jemalloc-balanced.o", "overlay.o", "random.o"]),
    musl(SPEED, &["mimalloc-speed.o", "overlay.o", "random.o"]),
    musl(BALANCED, &["mimalloc-balanced.o", "overlay.o", "random.o"]),
    musl("musl+snmalloc", &["snmalloc-speed.o", "overlay.o", "random.o"]),
    musl("musl+mimalloc, strings alone", &["mimalloc-balanced.o", "overlay.o"]),
    glibc("glibc+mimalloc, balanced", &["mimalloc-balanced.o"]),
];
/// What `underpin build` makes for each goal.
const SPEED: &str = "musl+mimalloc, speed";
const BALANCED: &str = "musl+mimalloc, balanced";
const MEMORY: &str = "musl, memory";

/// The tests of the program, and what each is.
const TESTS: [(&str, &str); 15] = [
    ("single", "one thread: 10,000 keys, each with a UUID, inserted into a table, and 10,000 lookups of other keys"),
    ("multi", "the same table, and 100,000 lookups by four threads"),
    ("single-own", "as `single`, with random bytes from the program's own generator instead of the kernel"),
    ("multi-own", "as `multi`, with the same generator"),
    ("churn", "200,000 blocks of 16 to 4,111 bytes in 4,096 slots"),
    ("churn-threads", "the same on four threads"),
    ("handed-over", "three threads allocate, a fourth frees"),
    ("grown", "64 vectors that grow in turn, word by word, to 160 kB each"),
    ("big", "2,000 blocks of 16 to 80 kB, filled and dropped"),
    ("replaced", "64 blocks of 900 kB, each replaced eight times in turn, and written to once a page"),
    ("replaced-mixed", "32 blocks of 16 kB to 4 MB, replaced 256 times at random, and written to once a page"),
    ("buffer", "a buffer that grows to 3 MB as a vector does and is dropped, 20 times"),
    ("appended", "a buffer that grows to 64 MB, by 64 kB at a time"),
    ("small", "32,000 strings of 8 to 71 bytes, copied and compared"),
    ("burst", "four threads hold 16 MB of small blocks each for a moment"),
];

/// What one build did in one test: seconds, and KiB at the peak and after a pause.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    peak: Vec<f64>,
    after: Vec<f64>,
}

/// Measures and returns the page.
///
/// # Errors
/// If a compiler or Rust's target for musl is missing.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("broker")?;
    objects(&folder)?;
    let mut builds = Vec::new();
    for build in &BUILDS {
        // snmalloc needs a C++20 compiler when underpin is built.
        if build.objects.iter().all(|object| folder.join(object).exists()) {
            builds.push((build, compile(&folder, build)?));
        }
    }
    let mut text = table::machine("The allocation benchmark of Broker", "cargo xtask bench broker");
    let _ = writeln!(text, "The one-minute load average at the start was {}; {rounds} rounds.", table::load());
    text += INTRODUCTION;
    let mut goals = Vec::new();
    for (test, meaning) in TESTS {
        println!("+ {test}: {} processes of each of {} builds", 2 * rounds, builds.len());
        let runs = measure(&builds, test, rounds)?;
        let names: Vec<&str> = builds.iter().map(|(build, _)| build.name).collect();
        text += &section(test, meaning, &names, &runs);
        goals.extend(goals_of(test, &names, &runs));
    }
    text += "\n## Goals\n";
    text += &table::goals(&goals);
    std::fs::remove_dir_all(&folder)?;
    Ok(text)
}

const INTRODUCTION: &str = "\n\
    The program is workloads/broker: the two tests of fossas/broker's `benches/allocations.rs` (`single`, `multi`), \
    rewritten, and cases that they leave out. It is built by rustc for glibc (dynamic) and for static musl (rustup's), \
    with the objects that `underpin build` links in first on the link line. `-overlay` leaves out the overlay: its \
    string functions, and its getrandom, which calls the kernel's vDSO function if there is one (Linux 6.11; glibc \
    does the same since 2.41); `strings alone` leaves out the latter. The runs of all builds interleave (ABBA); each \
    is a process that runs the test four times; the first is a warm-up, and the median of the others is the result. \
    Times and ratios are medians over the processes with 95 % bootstrap intervals; memory is the median of what the \
    process itself reads from /proc: its peak, and what is resident at the end (for `burst` after 1.5 \
    seconds of sleep).\n";

/// Has the crates write their objects.
fn objects(folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "-q", "-p", "underpin-malloc", "--example", "write_objects", "--"]).arg(folder);
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// rustc appends to the link line; what is to come first goes there through a linker wrapper of our own.
fn compile(folder: &Path, build: &Build) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let linker = folder.join("linker");
    let objects: Vec<String> = build.objects.iter().map(|name| format!("'{}'", folder.join(name).display())).collect();
    std::fs::write(&linker, format!("#!/bin/sh\nexec cc {} \"$@\"\n", objects.join(" ")))?;
    std::fs::set_permissions(&linker, std::fs::Permissions::from_mode(0o755))?;
    let program = folder.join(build.name.replace([' ', ','], "-"));
    let target = format!("{}-unknown-linux-{}", std::env::consts::ARCH, if build.musl { "musl" } else { "gnu" });
    let mut command = Command::new("rustc");
    command.args(["--edition", "2024", "-O", "-C", "codegen-units=1", "--target", &target, "-C"]);
    command.arg(format!("linker={}", linker.display())).arg("-o").arg(&program).arg("workloads/broker/src/main.rs");
    let status = command.status().context("cannot start rustc")?;
    if !status.success() {
        bail!("{command:?} failed: {status} (rustup target add {target})");
    }
    Ok(program)
}

fn measure(builds: &[(&Build, PathBuf)], test: &str, rounds: usize) -> anyhow::Result<Vec<Runs>> {
    let mut all: Vec<Runs> = builds.iter().map(|_| Runs::default()).collect();
    for _ in 0..rounds {
        let there = 0..builds.len();
        for index in there.clone().chain(there.rev()) {
            once(&builds[index].1, test, &mut all[index])?;
        }
    }
    Ok(all)
}

fn once(program: &Path, test: &str, runs: &mut Runs) -> anyhow::Result<()> {
    let output = Command::new(program).args([test, "3"]).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(output.status.success(), "{} {test} ended with {}", program.display(), output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = |text: &str| text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).collect::<Vec<_>>();
    let (times, memory) = text.split_once(';').with_context(|| format!("{} {test}: {text:?}", program.display()))?;
    let (times, memory) = (figures(times), figures(memory));
    ensure!(times.len() == 3 && memory.len() == 3, "{} {test}: {text:?}", program.display());
    runs.seconds.push(Sample::new(times).median().value / 1e9);
    runs.peak.push(memory[0]);
    runs.after.push(memory[2]);
    Ok(())
}

fn section(test: &str, meaning: &str, names: &[&str], runs: &[Runs]) -> String {
    let mut text = format!(
        "\n## `{test}`: {meaning}\n\n| build | median | interval | of glibc | peak | at the end |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    let times: Vec<Sample> = runs.iter().map(|runs| Sample::new(runs.seconds.clone())).collect();
    let memory = |kib: &[f64]| Sample::new(kib.to_vec()).median().value / 1024.0;
    for ((name, sample), runs) in names.iter().zip(&times).zip(runs) {
        let (median, ratio) = (sample.median(), sample.ratio(&times[0]));
        let _ = writeln!(
            text,
            "| {name} | {:.2} ms | {:.2} to {:.2} | {:.3} ({:.3} to {:.3}) | {:.1} MiB | {:.1} MiB |",
            median.value * 1e3,
            median.low * 1e3,
            median.high * 1e3,
            ratio.value,
            ratio.low,
            ratio.high,
            memory(&runs.peak),
            memory(&runs.after),
        );
    }
    if matches!(test, "single" | "multi") {
        text += &as_broker_prints(test, names, &times);
    }
    text
}

/// The same in the format of Broker's own document, which is criterion's output.
fn as_broker_prints(test: &str, names: &[&str], times: &[Sample]) -> String {
    let mut text = "\n```\n".to_owned();
    let title = format!("{test} thread");
    for (name, sample) in names.iter().zip(times).filter(|(name, _)| ["glibc", MEMORY, SPEED, BALANCED].contains(name))
    {
        let (Estimate { value, low, high }, change) = (sample.median(), sample.ratio(&times[0]));
        let (ms, percent) = (|seconds: f64| seconds * 1e3, |ratio: f64| (ratio - 1.0) * 100.0);
        let _ =
            writeln!(text, "{title:<24}time:   [{:.4} ms {:.4} ms {:.4} ms]   {name}", ms(low), ms(value), ms(high));
        if *name != "glibc" {
            let (low, value, high) = (percent(change.low), percent(change.value), percent(change.high));
            let _ = writeln!(text, "{:24}change: [{low:+.3}% {value:+.3}% {high:+.3}%]", "");
        }
    }
    text + "```\n"
}

/// The goals of issue 14 that this test decides.
fn goals_of(test: &str, names: &[&str], runs: &[Runs]) -> Vec<Goal<'static>> {
    let limits: &[(&str, &'static str, Limit)] = match test {
        "single" => &[(BALANCED, "one thread, static musl as built without options / glibc", Limit::AtMost(0.95))],
        "multi" => &[(BALANCED, "several threads, static musl as built without options / glibc", Limit::AtMost(0.7))],
        "single-own" => &[(BALANCED, "one thread, without the kernel's random bytes", Limit::AtMost(0.95))],
        "multi-own" => &[(BALANCED, "several threads, without the kernel's random bytes", Limit::AtMost(0.7))],
        _ => &[],
    };
    let ratio = |name: &str, of: fn(&Runs) -> &Vec<f64>| {
        let at = names.iter().position(|known| *known == name)?;
        Some(Sample::new(of(&runs[at]).clone()).ratio(&Sample::new(of(&runs[0]).clone())))
    };
    let mut goals = Vec::new();
    for (name, text, limit) in limits {
        if let Some(ratio) = ratio(name, |runs| &runs.seconds) {
            goals.push(Goal { text, ratio, limit: *limit });
        }
    }
    let memory = match test {
        "single" => "`--goal memory`, one thread: peak / glibc",
        "multi" => "`--goal memory`, several threads: peak / glibc",
        _ => return goals,
    };
    goals.extend(ratio(MEMORY, |runs| &runs.peak).map(|ratio| Goal {
        text: memory,
        ratio,
        limit: Limit::AtMost(0.75),
    }));
    goals
}
