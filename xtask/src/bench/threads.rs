//! Creating and joining threads on glibc, on static musl, and there with the overlay's stacks.

use super::stats::{Random, Sample};
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::{Context, ensure};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The contestants in the order of the page.
const NAMES: [&str; 3] = ["glibc, dynamic", "static musl", "static musl with the overlay's stacks"];
/// Threads at a time.
const COUNTS: [&str; 3] = ["1", "2", "8"];

/// Measures and returns the page.
///
/// # Errors
/// If a compiler is missing or a program fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let programs = programs(&run::scratch("threads")?)?;
    let mut random = Random::new(1);
    let mut times = vec![vec![Vec::new(); NAMES.len()]; COUNTS.len()];
    for _ in 0..rounds {
        for (count, of_count) in COUNTS.iter().zip(&mut times) {
            for at in random.order(programs.len()) {
                of_count[at].push(measure(&programs[at], count)?);
            }
        }
    }
    let samples = |all: Vec<Vec<f64>>| all.into_iter().map(Sample::new).collect::<Vec<_>>();
    page(&times.into_iter().map(samples).collect::<Vec<_>>(), rounds)
}

fn programs(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let source = run::workspace().join("crates/underpin-overlay");
    let text = |path: PathBuf| path.display().to_string();
    let (bench, object) = (text(source.join("bench/threads.c")), text(folder.join("stacks.o")));
    let flags = ["-std=c11", "-O2", "-ffreestanding", "-fno-builtin", "-fPIC", "-fno-stack-protector"];
    let stacks = text(source.join("native/stacks.c"));
    run::must("cc", &[&flags[..], &["-DOVERLAY_REPLACES", "-c", &stacks, "-o", &object]].concat())?;
    let names: Vec<PathBuf> = ["glibc", "musl", "stacks"].iter().map(|name| folder.join(name)).collect();
    let out = |at: usize| text(names[at].clone());
    run::must("cc", &["-O2", &bench, "-o", &out(0), "-pthread"])?;
    // As `underpin build` has it: threads have as much as on glibc.
    let stack = "-Wl,-z,stack-size=8388608";
    run::must("musl-gcc", &["-static", "-O2", stack, &bench, "-o", &out(1)])?;
    run::must("musl-gcc", &["-static", "-O2", stack, &object, &bench, "-o", &out(2)])?;
    Ok(names)
}

/// Seconds for one thread.
fn measure(program: &Path, count: &str) -> anyhow::Result<f64> {
    let output = Command::new(program).arg(count).output().context("cannot start the program")?;
    ensure!(output.status.success(), "{} {count}: {}", program.display(), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse::<f64>()? * 1e-9)
}

fn page(samples: &[Vec<Sample>], rounds: usize) -> anyhow::Result<String> {
    let mut text = table::machine("Creating and joining threads", "cargo xtask bench threads");
    let load = table::load();
    write!(
        text,
        "\nThreads that do nothing: as many as the table says are created and then joined. A process takes the median \
         of 600 such blocks; {rounds} processes of each build, in random order; medians over the processes, and 95 % \
         bootstrap intervals of their ratios. The load average at the end was {load}.\n"
    )?;
    let ratio = samples[0][2].ratio(&samples[0][0]);
    text.push_str(&table::goals(&[Goal {
        text: "one thread, static musl with the overlay / glibc",
        ratio,
        limit: Limit::AtMost(1.05),
    }]));
    text.push_str("\n| threads | build | microseconds per thread | over glibc |\n| ---: | --- | ---: | ---: |\n");
    for (count, of_count) in COUNTS.iter().zip(samples) {
        for (name, sample) in NAMES.iter().zip(of_count) {
            let ratio = sample.ratio(&of_count[0]);
            let over = format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high);
            let over = if *name == NAMES[0] { "1".to_owned() } else { over };
            writeln!(text, "| {count} | {name} | {:.1} | {over} |", sample.median().value * 1e6)?;
        }
    }
    Ok(text)
}
