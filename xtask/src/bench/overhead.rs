//! What measuring costs: `underpin bench` and hyperfine running `true`, beside a bare loop of `posix_spawn` and `wait4`.
//!
//! One round calls every tool once for the same number of runs, forwards and then backwards. The whole time of a tool,
//! its own start and its report included, divided by the runs, is what a run costs with it; what it says that a run took
//! is the other figure. The processor time of tool and command together tells the same and hardly depends on other work.

use super::hyperfine::{self, Hyperfine};
use super::measure;
use super::stats::Sample;
use super::table::{self, Goal, Limit};
use super::underpin_bench::{self, Underpin};
use crate::run;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs of one call of a tool.
const RUNS: usize = 1000;
/// The command, by its path: how a name is looked up is not part of this.
const TRUE: &str = "/bin/true";

/// The floor: prepared once, then nothing but `posix_spawn` and `wait4`. Prints the median in seconds.
const FLOOR: &str = r#"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static int order(const void *a, const void *b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}
int main(int count, char **words) {
    int runs = count > 2 ? atoi(words[2]) : 1, status;
    char *argv[] = {words[1], 0};
    double *times = malloc(runs * sizeof *times);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    for (int i = 0; i < runs; i++) {
        struct rusage usage;
        pid_t pid;
        double start = now();
        if (posix_spawn(&pid, argv[0], &actions, 0, argv, environ) || wait4(pid, &status, 0, &usage) != pid || status)
            return 1;
        times[i] = now() - start;
    }
    qsort(times, runs, sizeof *times, order);
    printf("%.9f\n", (times[(runs - 1) / 2] + times[runs / 2]) / 2);
    return 0;
}
"#;

/// One tool: how it is called, and how its own median is read.
struct Tool {
    name: String,
    call: Box<dyn Fn(&Path) -> Command>,
    median: Box<Reader>,
}

/// Reads a figure from what a tool wrote.
type Reader = dyn Fn(&Path) -> anyhow::Result<f64>;

/// Whole time per run, processor time per run and reported median, in seconds.
#[derive(Default)]
struct Series {
    whole: Vec<f64>,
    processor: Vec<f64>,
    told: Vec<f64>,
}

/// Runs the comparison and returns its page.
///
/// # Errors
/// If a tool is missing or fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("overhead")?;
    let tools = tools(&folder)?;
    let mut series: Vec<Series> = tools.iter().map(|_| Series::default()).collect();
    for _ in 0..rounds.max(2) {
        for index in (0..tools.len()).chain((0..tools.len()).rev()) {
            let [whole, processor, told] = tools[index].once(&folder)?;
            series[index].whole.push(whole);
            series[index].processor.push(processor);
            series[index].told.push(told);
        }
    }
    Ok(page(&tools, series))
}

impl Tool {
    fn once(&self, folder: &Path) -> anyhow::Result<[f64; 3]> {
        let json = folder.join("figures.json");
        let mut command = (self.call)(&json);
        let (before, start) = (measure::processor()?, Instant::now());
        let status = command.status().with_context(|| format!("cannot start {}", self.name))?;
        let whole = start.elapsed().as_secs_f64() / RUNS as f64;
        let processor = (measure::processor()? - before).as_secs_f64() / RUNS as f64;
        if !status.success() {
            bail!("{} failed: {status}", self.name);
        }
        Ok([whole, processor, (self.median)(&json)?])
    }
}

fn tools(folder: &Path) -> anyhow::Result<Vec<Tool>> {
    let underpin = Underpin(run::release_binary()?);
    let runs = RUNS.to_string();
    let count = runs.clone();
    let mut tools = vec![Tool {
        name: "underpin bench".to_owned(),
        call: Box::new(move |json| underpin.command(&["-r", &count, "--memory-runs", "0"], &[TRUE], json)),
        median: Box::new(|json| underpin_bench::median(&underpin_bench::document(json)?, 0, "wall")),
    }];
    for peer in Hyperfine::all()? {
        let count = runs.clone();
        tools.push(Tool {
            name: peer.name.clone(),
            call: Box::new(move |json| peer.command(&["-r", &count], &[TRUE], json)),
            median: Box::new(|json| Ok(hyperfine::figures(json)?.first().context("no figures")?.median)),
        });
    }
    let floor = run::compile_c(folder, "floor", FLOOR, &["-O2"])?;
    tools.push(Tool {
        name: "a loop of posix_spawn and wait4".to_owned(),
        call: Box::new(move |json| {
            let mut command = Command::new(&floor);
            let output = std::fs::File::create(json).map_or_else(|_| Stdio::null(), Stdio::from);
            command.args([TRUE, &runs]).stdout(output);
            command
        }),
        median: Box::new(|json| Ok(std::fs::read_to_string(json)?.trim().parse()?)),
    });
    Ok(tools)
}

fn page(tools: &[Tool], series: Vec<Series>) -> String {
    let mut text = table::machine("What measuring costs", "cargo xtask bench overhead");
    let _ = writeln!(
        text,
        "Each tool runs `{TRUE}` {RUNS} times per invocation; the invocations of all tools interleave (ABBA). Medians \
         over the invocations, with 95 % bootstrap intervals; ratios are of invocations of the same round.\n\n\
         | tool | whole time per run | over the first | processor time per run | over the first | run time as the tool \
         reports it | over the first | invocations |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |"
    );
    let samples: Vec<[Sample; 3]> =
        series.into_iter().map(|one| [one.whole, one.processor, one.told].map(Sample::new)).collect();
    for (tool, figures) in tools.iter().zip(&samples) {
        let cell = |sample: &Sample, first: &Sample| {
            let (median, ratio) = (sample.median(), sample.ratio(first));
            let micro = |seconds: f64| seconds * 1e6;
            format!(
                "{:.1} µs ({:.1} to {:.1}) | {:.3} ({:.3} to {:.3})",
                micro(median.value),
                micro(median.low),
                micro(median.high),
                ratio.value,
                ratio.low,
                ratio.high
            )
        };
        let cells: Vec<String> = figures.iter().zip(&samples[0]).map(|(one, first)| cell(one, first)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", tool.name, cells.join(" | "), figures[0].runs());
    }
    text += "\n## Goals\n";
    let [[whole, processor, told], [peer_whole, peer_processor, peer_told], ..] = samples.as_slice() else {
        return text;
    };
    text += &table::goals(&[
        Goal {
            text: "what a run costs, over what it costs with the newest hyperfine: at most 1",
            ratio: whole.ratio(peer_whole),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "the same in processor time, tool and command together: at most 1",
            ratio: processor.ratio(peer_processor),
            limit: Limit::AtMost(1.0),
        },
        Goal {
            text: "the time reported for a run, over what the newest hyperfine reports: at most 1",
            ratio: told.ratio(peer_told),
            limit: Limit::AtMost(1.0),
        },
    ]);
    text
}
