//! The prediction of `underpin storm` beside real starts from the delay file system: 1, 8 and 64 at the same time, of a
//! program in a Spack-like tree, as it is and bound.
//!
//! What a machine costs is measured without any delay and given to the model: the processor time of a start, and the
//! time and processor time of one operation. Delay, capacity and the number of processes are then foreseen, not fitted.

mod place;
mod start;

use super::table;
use anyhow::{Context, bail};
use place::{Binaries, Place};
use start::{Started, together};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

/// Programs and the arguments with which they only say what they are.
const PROGRAMS: [(&str, &str); 2] = [("/usr/bin/cmake", "--version"), ("/usr/bin/ffmpeg", "-version")];

/// Processes that start at the same time.
const TOGETHER: [usize; 3] = [1, 8, 64];

/// How far a prediction may be off.
const GOAL: f64 = 0.2;

/// No cell of the table is measured for longer, once it has been measured twice.
const BUDGET: Duration = Duration::from_secs(20);

/// Runs from which what the machine costs is taken.
const RUNS: usize = 15;

/// One setting of the file system.
struct Setting {
    title: &'static str,
    delay_us: u32,
    rate: u32,
}

const SETTINGS: [Setting; 2] = [
    Setting { title: "100 us each, no other limit", delay_us: 100, rate: 0 },
    Setting { title: "100 us each, 10,000 operations a second together", delay_us: 100, rate: 10_000 },
];

/// What one start and one operation cost this machine.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Processor time of a start on the local disk.
    start: f64,
    /// Processor time of an operation, that of the file system's daemon included.
    operation_processor: f64,
    /// The rest of an operation's time.
    operation_wait: f64,
}

/// One cell: what was foreseen and what came.
struct Cell {
    program: &'static str,
    tree: &'static str,
    setting: &'static str,
    processes: usize,
    foreseen: Foreseen,
    operations: f64,
    seconds: Vec<f64>,
}

/// What `underpin storm` says.
#[derive(Clone, Copy, Debug)]
struct Foreseen {
    operations: f64,
    seconds: f64,
}

/// Runs the comparison and returns its page.
///
/// # Errors
/// Where nobody may mount, or a program is missing or fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let binaries = Binaries::build()?;
    let mut cells = Vec::new();
    let mut costs = Vec::new();
    for (program, argument) in PROGRAMS {
        let place = Place::new(&binaries, program)?;
        let mut operation = None;
        for tree in ["unbound", "bound"] {
            if tree == "bound" {
                place.bind(&binaries)?;
            }
            let alone = local(&place, argument)?;
            place.away()?;
            // An operation costs the same whatever the tree; where there are many of them it is measured best.
            let (processor, wait) = match operation {
                Some(known) => known,
                None => *operation.insert(operation_costs(&binaries, &place, argument, alone)?),
            };
            let cost = Costs { start: alone.processor, operation_processor: processor, operation_wait: wait };
            for setting in &SETTINGS {
                for processes in TOGETHER {
                    let named = (program, tree);
                    let one = cell(&binaries, &place, argument, (named, setting, processes), cost, rounds)?;
                    println!("{}", row(&one));
                    cells.push(one);
                }
            }
            costs.push((program, tree, cost));
            place.back()?;
        }
    }
    Ok(page(&cells, &costs))
}

/// A start from the local disk, the median of some.
fn local(place: &Place, argument: &str) -> anyhow::Result<Started> {
    together(place, argument, 1)?;
    let runs = (0..RUNS).map(|_| together(place, argument, 1)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(middle(runs))
}

/// Processor time and waiting of one operation without any delay, that of the daemon included.
fn operation_costs(binaries: &Binaries, place: &Place, argument: &str, alone: Started) -> anyhow::Result<(f64, f64)> {
    let mount = place.mount(binaries, 0, 0)?;
    together(place, argument, 1)?;
    let before = mount.counts()?;
    let runs = (0..RUNS)
        .map(|_| {
            let daemon = mount.processor()?;
            let run = together(place, argument, 1)?;
            Ok(Started { processor: run.processor + mount.processor()? - daemon, ..run })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let operations = (mount.counts()? - before) / RUNS as f64;
    let one = middle(runs);
    let processor = ((one.processor - alone.processor) / operations).max(0.0);
    let all = ((one.wall - alone.wall) / operations).max(processor);
    Ok((processor, all - processor))
}

/// The run with the median wall time.
fn middle(mut runs: Vec<Started>) -> Started {
    runs.sort_by(|one, two| one.wall.total_cmp(&two.wall));
    runs[runs.len() / 2]
}

fn cell(
    binaries: &Binaries,
    place: &Place,
    argument: &str,
    ((program, tree), setting, processes): ((&'static str, &'static str), &'static Setting, usize),
    costs: Costs,
    rounds: usize,
) -> anyhow::Result<Cell> {
    let mount = place.mount(binaries, setting.delay_us, setting.rate)?;
    let foreseen = foresee(binaries, place, setting, processes, costs)?;
    // Pages are warm afterwards, names never are.
    together(place, argument, 1)?;
    let before = mount.counts()?;
    let mut seconds: Vec<f64> = Vec::new();
    while seconds.len() < rounds.max(2) && (seconds.len() < 2 || seconds.iter().sum::<f64>() < BUDGET.as_secs_f64()) {
        seconds.push(together(place, argument, processes)?.wall);
    }
    let operations = (mount.counts()? - before) / seconds.len() as f64;
    Ok(Cell { program, tree, setting: setting.title, processes, foreseen, operations, seconds })
}

/// Asks underpin, as a user would.
fn foresee(
    binaries: &Binaries,
    place: &Place,
    setting: &Setting,
    processes: usize,
    costs: Costs,
) -> anyhow::Result<Foreseen> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let microseconds = |seconds: f64| format!("{:.3}us", seconds * 1e6);
    let mut command = Command::new(&binaries.underpin);
    command.args(["storm", "--json", "--fs", "slowfs", "--touched", "0"]).arg("--on").arg(&place.tree);
    command.args(["--ppn", &processes.to_string(), "--cores", &cores.to_string()]);
    command.args(["--latency", &format!("{}us", setting.delay_us), "--rate", &setting.rate.to_string()]);
    command.args(["--cpu-time", &microseconds(costs.start)]);
    command.args(["--cpu-per-operation", &microseconds(costs.operation_processor)]);
    command.args(["--wait-per-operation", &microseconds(costs.operation_wait)]);
    let output = command.arg(&place.program).env_remove("LD_LIBRARY_PATH").output().context("cannot start underpin")?;
    if !output.status.success() {
        bail!("underpin storm: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let case = text.split("\"cases\":[").nth(1).context("no cases in the document")?;
    let figure = |name: &str| {
        let after = case.split(&format!("\"{name}\":")).nth(1)?;
        after.split([',', '}']).next()?.parse::<f64>().ok()
    };
    let [waited, seconds] = ["waited_for", "seconds"].map(|name| figure(name).with_context(|| format!("no {name}")));
    Ok(Foreseen { operations: waited? * processes as f64, seconds: seconds? })
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[at] } else { f64::midpoint(sorted[at - 1], sorted[at]) }
}

impl Cell {
    /// Prediction over measurement.
    fn ratio(&self) -> f64 {
        self.foreseen.seconds / median(&self.seconds)
    }

    fn meets(&self) -> bool {
        (1.0 - GOAL..=1.0 + GOAL).contains(&self.ratio())
    }
}

fn row(cell: &Cell) -> String {
    let (low, high) =
        cell.seconds.iter().fold((f64::MAX, 0.0_f64), |(low, high), &seconds| (low.min(seconds), high.max(seconds)));
    format!(
        "| {} | {} | {} | {:.0} | {:.0} | {:.2} s | {:.2} s ({:.2} to {:.2}) | {:.2} | {} | {} |",
        cell.tree,
        cell.setting,
        cell.processes,
        cell.foreseen.operations,
        cell.operations,
        cell.foreseen.seconds,
        median(&cell.seconds),
        low,
        high,
        cell.ratio(),
        cell.seconds.len(),
        if cell.meets() { "met" } else { "**missed**" },
    )
}

fn page(cells: &[Cell], costs: &[(&str, &str, Costs)]) -> String {
    let mut text = table::machine("The model of `storm` beside real starts", "cargo xtask bench storm-model");
    text += "A Spack-like tree on underpin-slowfs, which remembers no name for anybody (time to live 0), contents in the \
             page cache. The goal: the prediction is within 20 % of the median of the measured times until the last of \
             1, 8 and 64 processes has ended. Operations are those that a start waits for.\n";
    for (program, _) in PROGRAMS {
        let _ = write!(
            text,
            "\n## {program}\n\n| tree | file system | at the same time | operations foreseen | counted | time foreseen | \
             measured (range) | foreseen / measured | rounds | goal |\n\
             | --- | --- | --: | --: | --: | --: | --: | --: | --: | --- |\n"
        );
        for cell in cells.iter().filter(|cell| cell.program == program) {
            let _ = writeln!(text, "{}", row(cell));
        }
        text += "\nGiven to the model, measured without any delay:\n\n";
        for (_, tree, cost) in costs.iter().filter(|(of, ..)| *of == program) {
            let _ = writeln!(
                text,
                "- {tree}: a start takes {:.1} ms of processor time on the local disk; an operation {:.1} us of processor \
                 time and {:.1} us of waiting",
                cost.start * 1e3,
                cost.operation_processor * 1e6,
                cost.operation_wait * 1e6
            );
        }
    }
    let missed = cells.iter().filter(|cell| !cell.meets()).count();
    let exact = cells.iter().filter(|cell| (cell.operations - cell.foreseen.operations).abs() < 0.5).count();
    let _ = write!(
        text,
        "\n## Goals\n\n- time within 20 %: {} of {} met, {missed} missed\n- operations: {exact} of {} exactly as counted\n",
        cells.len() - missed,
        cells.len(),
        cells.len()
    );
    text
}
