//! A command against one that takes 3 % longer: how often is that found within a minute, on a quiet and on a loaded
//! machine?

use super::load::Load;
use super::stats::Sample;
use super::table;
use super::underpin_bench::{self, Claim, Underpin};
use crate::run;
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A number of steps of a random number generator: each needs the one before, so none overlap on any
/// processor, and 3 % more steps are 3 % more time.
const SOURCE: &str = r"
#include <stdint.h>
#include <stdlib.h>
int main(int count, char **words) {
    uint64_t steps = count > 1 ? strtoull(words[1], 0, 10) : 0, x = 88172645463325252ull;
    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x == 1;
}
";

/// How long the command takes on a processor of its own.
const LENGTH: Duration = Duration::from_millis(50);
/// By how much the other takes longer.
const SLOWER: f64 = 1.03;
/// The time for one comparison.
const BUDGET: &str = "60s";
/// The share of tries that must find it.
const GOAL: f64 = 0.8;

/// What the tries on one machine found.
struct Row {
    name: &'static str,
    tries: Vec<[Claim; 2]>,
}

/// Runs the tries and returns their page.
///
/// # Errors
/// If there is no C compiler, or a run fails.
pub fn run(tries: usize) -> anyhow::Result<String> {
    let folder = run::scratch("power")?;
    let underpin = Underpin(run::release_binary()?);
    let program = run::compile_c(&folder, "steps", SOURCE, &["-O2"])?;
    let steps = calibrated(&program)?;
    let slower = (steps as f64 * SLOWER) as u64;
    let commands = [steps, slower].map(|steps| format!("{} {steps}", program.display()));
    let commands = [commands[0].as_str(), commands[1].as_str()];
    let mut rows = [Row { name: "as it is", tries: Vec::new() }, Row { name: "loaded", tries: Vec::new() }];
    for number in 0..tries.max(1) {
        for row in &mut rows {
            let load = (row.name == "loaded").then(Load::start).transpose()?;
            let document = underpin.measure(&["--budget", BUDGET, "--memory-runs", "0"], &commands, &folder)?;
            drop(load);
            let claims = [underpin_bench::claim(&document, "wall")?, underpin_bench::claim(&document, "cpu")?];
            println!("{} of {tries}, {}: {}; {}", number + 1, row.name, words(&claims[0]), words(&claims[1]));
            row.tries.push(claims);
        }
    }
    Ok(page(&rows))
}

fn words(claim: &Claim) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let [low, high] = claim.interval.map(percent);
    format!("{:+.1} % [{low:+.1}, {high:+.1}] {}", percent(claim.ratio), if claim.more { "found" } else { "not found" })
}

/// The steps that take [`LENGTH`]: from the fastest of some runs, which other work has slowed least.
fn calibrated(program: &Path) -> anyhow::Result<u64> {
    const TRIAL: u64 = 20_000_000;
    let once = |steps: u64| -> anyhow::Result<f64> {
        let start = Instant::now();
        let status = Command::new(program).arg(steps.to_string()).status().context("cannot start the program")?;
        anyhow::ensure!(status.success(), "the program failed: {status}");
        Ok(start.elapsed().as_secs_f64())
    };
    let fastest = |steps: u64| -> anyhow::Result<f64> {
        (0..20).try_fold(f64::INFINITY, |fastest, _| Ok(fastest.min(once(steps)?)))
    };
    let (start, whole) = (fastest(0)?, fastest(TRIAL)?);
    Ok((TRIAL as f64 * (LENGTH.as_secs_f64() - start) / (whole - start)) as u64)
}

fn page(rows: &[Row]) -> String {
    let mut text = table::machine("A slow-down of 3 %", "cargo xtask bench power");
    let _ = writeln!(
        text,
        "A command that computes for {} ms against one that computes 3 % longer, `underpin bench --budget {BUDGET}`, \
         as often as the table says. Found: `more` is claimed, at the 1 % level. Loaded: with two busy processes per \
         processor; there wall time is mostly waiting, but processor time still shows the difference.\n\n\
         | machine | tries | found in wall time | median ratio | width of the interval | found in processor time | \
         median ratio | width of the interval |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |",
        LENGTH.as_millis()
    );
    for row in rows {
        let _ = writeln!(text, "| {} | {} | {} | {} |", row.name, row.tries.len(), cells(row, 0), cells(row, 1));
    }
    text += "\n## Goals\n\n| goal | measured | verdict |\n| --- | --- | --- |\n";
    for row in rows {
        let found = row.tries.iter().filter(|[wall, cpu]| wall.more || cpu.more).count();
        let verdict = if found as f64 >= GOAL * row.tries.len() as f64 { "met" } else { "**missed**" };
        let of = row.tries.len();
        let _ = writeln!(text, "| machine {}: found within {BUDGET} | {found} of {of} | {verdict} |", row.name);
    }
    text
}

fn cells(row: &Row, figure: usize) -> String {
    let claims = || row.tries.iter().map(|claims| &claims[figure]);
    let median = |of: &dyn Fn(&Claim) -> f64| Sample::new(claims().map(of).collect()).median().value;
    let found = claims().filter(|claim| claim.more).count();
    let width = median(&|claim| claim.interval[1] - claim.interval[0]);
    format!("{found} | {:.3} | {:.3}", median(&|claim| claim.ratio), width)
}
