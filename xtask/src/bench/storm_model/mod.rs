//! The prediction of `underpin storm` beside real starts from the delay file system: 1, 8 and 64 at the same time, of a
//! program in a Spack-like tree, unbound and bound.
//!
//! The machine's own costs are measured and given to the model: the processor time of a start on the local disk and,
//! behind a delay of another length than those of the table, the processor time of one operation. The effect of delay,
//! capacity and number of processes is then predicted, not fitted. Two more programs are held out: of them only the
//! start on the local disk is measured, and the cost of an operation is taken from the programs before them.

mod place;
mod start;

use super::table;
use anyhow::{Context, bail};
use place::{Binaries, Place};
use start::{Started, together};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

/// Programs and the arguments with which they only print their version.
const PROGRAMS: [(&str, &str); 2] = [("/usr/bin/appstreamcli", "--version"), ("/usr/bin/ffmpeg", "-version")];
/// The same for programs from which no figure of the model was ever taken.
const HELD_OUT: [(&str, &str); 2] =
    [("/usr/bin/gdb", "--version"), ("/usr/lib/postgresql/15/bin/postgres", "--version")];

/// Processes that start at the same time.
const TOGETHER: [usize; 3] = [1, 8, 64];

/// How far a prediction may be off.
const GOAL: f64 = 0.2;

/// No further round of a cell is begun after this.
const BUDGET: Duration = Duration::from_secs(20);

/// A cell that is predicted to take longer is left out.
const LONGEST: f64 = 45.0;

/// Runs from which the cost of a start is taken.
const RUNS: usize = 15;

/// Rounds from which the cost of an operation is taken, their delay, and the processes that keep the machine busy.
const ROUNDS: usize = 5;
const CALIBRATION_US: u32 = 50;
const BUSY: usize = 8;

/// One setting of the file system.
struct Setting {
    title: &'static str,
    delay_us: u32,
    rate: u32,
}

/// That of the programs held out.
const SLOW: Setting = Setting { title: "1 ms each, no other limit", delay_us: 1000, rate: 0 };
/// Processes of theirs at the same time.
const FEW: [usize; 2] = [1, 8];

const SETTINGS: [Setting; 2] = [
    Setting { title: "100 us each, no other limit", delay_us: 100, rate: 0 },
    Setting { title: "100 us each, 10,000 operations a second in total", delay_us: 100, rate: 10_000 },
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

/// One cell: the prediction and the measurement.
struct Cell {
    program: &'static str,
    tree: &'static str,
    setting: &'static Setting,
    /// A client that knows nothing yet: no name and no page.
    first: bool,
    processes: usize,
    foreseen: Foreseen,
    operations: f64,
    seconds: Vec<f64>,
}

/// The prediction of `underpin storm`.
#[derive(Clone, Copy, Debug)]
struct Foreseen {
    operations: f64,
    seconds: f64,
}

/// Runs the comparison and returns its page.
///
/// # Errors
/// If mounting is not permitted, or a program is missing or fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let binaries = Binaries::build()?;
    let mut cells = Vec::new();
    let mut costs = Vec::new();
    let mut left_out = Vec::new();
    for (program, argument) in PROGRAMS {
        let place = Place::new(&binaries, program)?;
        for tree in ["unbound", "bound"] {
            if tree == "bound" {
                place.bind(&binaries)?;
            }
            let alone = local(&place, argument)?;
            // A bound start opens and reads, an unbound one looks names up: their operations do not cost the same.
            place.away()?;
            let operation = operation_costs(&binaries, &place, argument, alone);
            place.back()?;
            let (processor, wait) = operation?;
            let cost = Costs { start: alone.processor, operation_processor: processor, operation_wait: wait };
            // Predicted before anything is measured, while the tree is on the disk.
            let all = SETTINGS.iter().flat_map(|setting| TOGETHER.map(|processes| (setting, processes)));
            let foreseen = all
                .map(|(setting, processes)| {
                    let foreseen = foresee(&binaries, &place, setting, processes, false, cost)?;
                    Ok(Cell::new(program, tree, setting, false, processes, foreseen))
                })
                .collect::<anyhow::Result<Vec<Cell>>>()?;
            place.away()?;
            for mut cell in foreseen {
                if cell.foreseen.seconds > LONGEST {
                    left_out.push(format!(
                        "{program}, {tree}, {}, {} at the same time: predicted to take {:.0} s",
                        cell.setting.title, cell.processes, cell.foreseen.seconds
                    ));
                    continue;
                }
                measure(&mut cell, &binaries, &place, argument, rounds)?;
                println!("{}", row(&cell));
                cells.push(cell);
            }
            costs.push((program, tree, cost));
            place.back()?;
        }
    }
    for (program, argument) in HELD_OUT {
        let place = Place::new(&binaries, program)?;
        for tree in ["unbound", "bound"] {
            if tree == "bound" {
                place.bind(&binaries)?;
            }
            let known: Vec<Costs> = costs
                .iter()
                .filter(|(of, own, _)| *own == tree && PROGRAMS.iter().any(|(name, _)| name == of))
                .map(|row| row.2)
                .collect();
            let mean = |of: fn(&Costs) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
            let cost = Costs {
                start: local(&place, argument)?.processor,
                operation_processor: mean(|cost| cost.operation_processor),
                operation_wait: mean(|cost| cost.operation_wait),
            };
            let mut foreseen = Vec::new();
            for (first, processes) in [(true, FEW[0]), (false, FEW[0]), (false, FEW[1])] {
                let said = foresee(&binaries, &place, &SLOW, processes, first, cost)?;
                foreseen.push(Cell::new(program, tree, &SLOW, first, processes, said));
            }
            place.away()?;
            for mut cell in foreseen {
                measure(&mut cell, &binaries, &place, argument, rounds)?;
                println!("{}", row(&cell));
                cells.push(cell);
            }
            costs.push((program, tree, cost));
            place.back()?;
        }
    }
    Ok(page(&cells, &costs, &left_out))
}

/// A start from the local disk: its time alone, and its processor time when several keep the processors busy. Making
/// and ending a process is part of that, and not counted separately.
fn local(place: &Place, argument: &str) -> anyhow::Result<Started> {
    together(place, argument, 1)?;
    let (mut alone, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        alone.push(together(place, argument, 1)?.wall);
        busy.push(together(place, argument, BUSY)?.wall);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(BUSY);
    Ok(Started { wall: median(&alone), processor: median(&busy) * cores as f64 / BUSY as f64 })
}

/// Processor time and waiting of one operation, that of the daemon included: the one taken from processes that keep all
/// processors busy, the other from one that is alone, both behind a delay of another length than those predicted.
fn operation_costs(binaries: &Binaries, place: &Place, argument: &str, alone: Started) -> anyhow::Result<(f64, f64)> {
    let mount = place.mount(binaries, CALIBRATION_US, 0)?;
    together(place, argument, 1)?;
    let run = |processes: usize| -> anyhow::Result<(Started, f64)> {
        let (daemon, before) = (mount.processor()?, mount.counts()?);
        let run = together(place, argument, processes)?;
        let operations = mount.counts()? - before;
        Ok((Started { processor: run.processor + mount.processor()? - daemon, ..run }, operations))
    };
    let mut busy = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..ROUNDS {
        let (many, operations) = run(BUSY)?;
        busy.push((many.processor - BUSY as f64 * alone.processor) / operations);
        let (one, operations) = run(1)?;
        waits.push((one.wall - alone.wall) / operations - f64::from(CALIBRATION_US) / 1e6);
    }
    let processor = median(&busy).max(0.0);
    Ok((processor, (median(&waits) - processor).max(0.0)))
}

fn measure(cell: &mut Cell, binaries: &Binaries, place: &Place, argument: &str, rounds: usize) -> anyhow::Result<()> {
    if cell.first {
        return measure_first(cell, binaries, place, argument, rounds);
    }
    let mount = place.mount(binaries, cell.setting.delay_us, cell.setting.rate)?;
    // Pages are warm afterwards, names never are.
    together(place, argument, 1)?;
    let before = mount.counts()?;
    let seconds = &mut cell.seconds;
    // What takes long is measured less often.
    while seconds.len() < rounds && (seconds.is_empty() || seconds.iter().sum::<f64>() < BUDGET.as_secs_f64()) {
        seconds.push(together(place, argument, cell.processes)?.wall);
    }
    cell.operations = (mount.counts()? - before) / seconds.len() as f64;
    Ok(())
}

/// Each start from a mount of its own, whose kernel knows no name and holds no page; the disk behind it is warm.
fn measure_first(
    cell: &mut Cell,
    binaries: &Binaries,
    place: &Place,
    argument: &str,
    rounds: usize,
) -> anyhow::Result<()> {
    let mut operations = Vec::new();
    while cell.seconds.len() < rounds.min(9)
        && (cell.seconds.is_empty() || cell.seconds.iter().sum::<f64>() < BUDGET.as_secs_f64())
    {
        let mount = place.mount(binaries, cell.setting.delay_us, cell.setting.rate)?;
        cell.seconds.push(together(place, argument, cell.processes)?.wall);
        operations.push(mount.counts()?);
    }
    cell.operations = median(&operations);
    Ok(())
}

/// Runs `underpin storm`, as a user would.
fn foresee(
    binaries: &Binaries,
    place: &Place,
    setting: &Setting,
    processes: usize,
    first: bool,
    costs: Costs,
) -> anyhow::Result<Foreseen> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let microseconds = |seconds: f64| format!("{:.3}us", seconds * 1e6);
    let mut command = Command::new(&binaries.underpin);
    command
        .args(["storm", "--json", "--after", "none", "--fs", "slowfs"])
        // Pages are warm but for the first start, for which the contents are left to the model.
        .args(if first { &[][..] } else { &["--touched", "0"] })
        .arg("--on")
        .arg(&place.tree);
    command.args(["--ppn", &processes.to_string(), "--cores", &cores.to_string()]);
    command.args(["--latency", &format!("{}us", setting.delay_us), "--rate", &setting.rate.to_string()]);
    command.args(["--cpu-time", &microseconds(costs.start)]);
    command.args(["--cpu-per-operation", &microseconds(costs.operation_processor)]);
    command.args(["--wait-per-operation", &microseconds(costs.operation_wait)]);
    let output = command.arg(&place.program).output().context("cannot start underpin")?;
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
    fn new(
        program: &'static str,
        tree: &'static str,
        setting: &'static Setting,
        first: bool,
        processes: usize,
        foreseen: Foreseen,
    ) -> Cell {
        Cell { program, tree, setting, first, processes, foreseen, operations: 0.0, seconds: Vec::new() }
    }

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
        "| {} | {} | {} | {} | {:.0} | {:.0} | {:.2} s | {:.2} s ({:.2} to {:.2}) | {:.2} | {} | {} |",
        cell.tree,
        if cell.first { "first" } else { "following" },
        cell.setting.title,
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

fn page(cells: &[Cell], costs: &[(&str, &str, Costs)], left_out: &[String]) -> String {
    let mut text = table::machine("The model of `storm` beside real starts", "cargo xtask bench storm-model");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    let _ = writeln!(text, "Load average of the machine at the end (1, 5 and 15 minutes): {}.", load.join(", "));
    text += "A Spack-like tree on underpin-slowfs, which lets no client cache a name (time to live 0); contents are in \
             the page cache. The goal: the prediction is within 20 % of the median time until the last of 1, 8 or 64 \
             processes has ended. Only operations that a start waits for are counted.\n";
    for (program, _) in PROGRAMS.into_iter().chain(HELD_OUT) {
        let held_out = if HELD_OUT.iter().any(|(name, _)| *name == program) { ", held out" } else { "" };
        let _ = write!(
            text,
            "\n## {program}{held_out}\n\n| tree | start | file system | at the same time | operations predicted | \
             counted | time predicted | measured (range) | predicted / measured | rounds | goal |\n\
             | --- | --- | --- | --: | --: | --: | --: | --: | --: | --: | --- |\n"
        );
        for cell in cells.iter().filter(|cell| cell.program == program) {
            let _ = writeln!(text, "{}", row(cell));
        }
        text += if held_out.is_empty() {
            "\nInputs of the model, measured on the local disk and behind a delay of 50 us:\n\n"
        } else {
            "\nInputs of the model: the start, measured on the local disk, and the cost of an operation as measured \
             for the programs above:\n\n"
        };
        for (_, tree, cost) in costs.iter().filter(|(of, ..)| *of == program) {
            let _ = writeln!(
                text,
                "- {tree}: a start on the local disk costs {:.1} ms of processor time; an operation {:.1} us of \
                 processor time and {:.1} us of waiting",
                cost.start * 1e3,
                cost.operation_processor * 1e6,
                cost.operation_wait * 1e6
            );
        }
    }
    if !left_out.is_empty() {
        let _ = write!(text, "\nLeft out, because they would take too long:\n\n- {}\n", left_out.join("\n- "));
    }
    let missed = cells.iter().filter(|cell| !cell.meets()).count();
    let exact = cells.iter().filter(|cell| (cell.operations - cell.foreseen.operations).abs() < 0.5).count();
    text += "\nThe operations predicted are the loader's, with warm pages. Those counted beyond them are reads of \
             pages that the kernel evicted meanwhile, and a program's own lookups before it ends.\n";
    let _ = write!(
        text,
        "\n## Goals\n\n- time within 20 %: {} of {} met, {missed} missed\n- operations: {exact} of {} predicted \
         exactly\n",
        cells.len() - missed,
        cells.len(),
        cells.len()
    );
    text
}
