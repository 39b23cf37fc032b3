//! The allocation workloads of `workloads/` on every allocator: time and growth of memory, as the workloads measure them
//! and as underpin does, over one and the same interleaved runs.
//!
//! `underpin bench` starts everything; each workload prints one line of figures for each run, in the order of the runs.
//! The figures of both are shown, and nothing is corrected.

use super::stats::Sample;
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A workload.
#[derive(Clone, Copy)]
pub struct Workload {
    title: &'static str,
    command: &'static [&'static str],
    chore: &'static str,
    /// Whether growth and time of the best variant have a goal.
    goals: bool,
}

/// Ruby's: the comparison of ruby-fips-jemalloc, which has the goals.
pub const RUBY: Workload = Workload {
    title: "A Ruby service's memory on every allocator",
    command: &["/usr/bin/ruby", "workloads/ruby/bench_alloc.rb"],
    chore: "cargo xtask bench ruby",
    goals: true,
};

/// Python's.
pub const PYTHON: Workload = Workload {
    title: "A Python service's memory on every allocator",
    command: &["/usr/bin/python3", "workloads/python/bench_alloc.py"],
    chore: "cargo xtask bench python",
    goals: false,
};

/// Node's.
pub const NODE: Workload = Workload {
    title: "A Node service's memory on every allocator",
    command: &["node", "workloads/node/bench_alloc.js"],
    chore: "cargo xtask bench node",
    goals: false,
};

/// The allocators; the first is what the others are compared with.
const VARIANTS: [&str; 9] = [
    "system",
    "system:arena_max=2",
    "system:arena_max=2,mmap_threshold=65536,trim_threshold=131072",
    "jemalloc",
    "jemalloc:background_thread:false,dirty_decay_ms:10000",
    "jemalloc:background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:100,retain:false,narenas:2",
    "mimalloc",
    "mimalloc:purge_delay=0",
    "snmalloc",
];

/// Seconds of rest before the first round, so that a reading from outside finds the process after its start-up.
const SLEEP_BEFORE: f64 = 1.5;
/// The time of that reading.
const SETTLE: &str = "1s";
/// Seconds of rest before the last reading of the memory, as in ruby-fips-jemalloc.
const SLEEP_AFTER: f64 = 2.0;

/// Runs the comparison and returns its page.
///
/// # Errors
/// If the interpreter is missing (`cargo xtask test --install` brings it), or a run fails.
pub fn run(workload: Workload, rounds: usize) -> anyhow::Result<String> {
    let scratch = std::env::temp_dir().join(format!("underpin-workload-{}", std::process::id()));
    fs::create_dir(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let measured = measure(workload, rounds.max(1), &scratch);
    let removed = fs::remove_dir_all(&scratch);
    let page = measured?.page(workload);
    removed?;
    Ok(page)
}

fn measure(workload: Workload, blocks: usize, scratch: &Path) -> anyhow::Result<Measured> {
    let lines = scratch.join("lines");
    let mut command = Command::new(run::release_binary()?);
    command.arg("bench").args(VARIANTS.iter().flat_map(|variant| ["--malloc", variant])).arg("--json");
    command.args(["--runs", &(2 * blocks).to_string(), "--memory-runs", &blocks.to_string(), "--settle", SETTLE]);
    command.arg("--store").arg(scratch.join("store")).arg("--output").arg(&lines).arg("--").args(workload.command);
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_CONF", "GLIBC_TUNABLES", "PYTHONMALLOC", "NODE_OPTIONS"] {
        command.env_remove(name);
    }
    command.env("BENCH_SLEEP_BEFORE", SLEEP_BEFORE.to_string()).env("BENCH_SLEEP_AFTER", SLEEP_AFTER.to_string());
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "underpin bench failed: {}", output.status);
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let said = fs::read_to_string(&lines).with_context(|| format!("cannot read {}", lines.display()))?;
    let said = said.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    Measured::new(&document, &said.context("a workload printed something other than its figures")?)
}

/// The figures of one variant; times in seconds, sizes in MB.
struct Row {
    name: String,
    time: Sample,
    growth: Sample,
    live: Sample,
    wall: Sample,
    growth_outside: Sample,
}

struct Measured {
    rows: Vec<Row>,
    /// What the interpreter says of itself and of its parameters.
    parameters: String,
}

impl Measured {
    /// Brings the lines together with the runs: the last lines are those of the watched runs, and before them come the
    /// timed ones, in the order of their starts.
    fn new(document: &Value, said: &[Value]) -> anyhow::Result<Measured> {
        let variants = document["variants"].as_array().context("no variants")?;
        let runs = |variant: &Value, list: &str| variant[list].as_array().cloned().unwrap_or_default();
        let mut order: Vec<(usize, f64)> = Vec::new();
        for (index, variant) in variants.iter().enumerate() {
            order.extend(
                runs(variant, "runs").iter().map(|run| (index, run["at_seconds"].as_f64().unwrap_or(f64::NAN))),
            );
        }
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let watched: usize = variants.iter().map(|variant| runs(variant, "memory_runs").len()).sum();
        let timed = said.len().checked_sub(watched).and_then(|end| said[..end].len().checked_sub(order.len()));
        let start = timed.context("fewer lines of figures than runs")?;
        let mut lines: Vec<Vec<&Value>> = vec![Vec::new(); variants.len()];
        for ((index, _), line) in order.iter().zip(&said[start..]) {
            lines[*index].push(line);
        }
        let rows = variants.iter().zip(&lines).map(|(variant, lines)| {
            let figures = |list: &str, name: &str| {
                runs(variant, list).iter().filter_map(|run| run["figures"][name].as_f64()).collect::<Vec<_>>()
            };
            let own = |name: &str| lines.iter().filter_map(|line| line[name].as_f64()).collect::<Vec<_>>();
            let name = variant["name"].as_str().unwrap_or_default().to_owned();
            for line in lines {
                check(&name, line)?;
            }
            let walls = figures("runs", "wall").iter().map(|wall| wall - SLEEP_BEFORE - SLEEP_AFTER).collect();
            let outside = figures("memory_runs", "rss-growth").iter().map(|bytes| bytes / 1024.0 / 1024.0).collect();
            Ok(Row {
                name,
                time: sample(own("time_s"))?,
                growth: sample(own("rss_delta_mb"))?,
                live: sample(own("rss_live_mb"))?,
                wall: sample(walls)?,
                growth_outside: sample(outside)?,
            })
        });
        let rows = rows.collect::<anyhow::Result<_>>()?;
        let first = lines.first().and_then(|lines| lines.first()).context("no runs")?;
        let version =
            ["ruby", "python", "node"].iter().find_map(|name| Some(format!("{name} {}", first[name].as_str()?)));
        let parameters = format!(
            "{}: {} threads, {} objects a round, {} rounds",
            version.unwrap_or_default(),
            first["threads"],
            first["iters"],
            first["rounds"]
        );
        Ok(Measured { rows, parameters })
    }

    fn page(&self, workload: Workload) -> String {
        let mut page = table::machine(workload.title, workload.chore);
        let _ = write!(
            page,
            "\n`{}`, {}. Runs of all variants interleave (ABBA blocks in random order); medians of {} runs, with 95 % \
             bootstrap intervals of the ratios over glibc's default. The workload's file describes the pattern at its \
             head.\n{FIGURES}",
            workload.command.join(" "),
            self.parameters,
            self.rows[0].time.runs(),
        );
        page += &self.own();
        page += &self.beside();
        if workload.goals {
            page += &self.goals();
        }
        page
    }

    /// The table that ruby-fips-jemalloc prints.
    fn own(&self) -> String {
        let mut text = "\n## Time and growth\n\n\
             | allocator | time_s | of glibc's | rss_delta_mb | of glibc's | before the drop | on the front |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for row in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| `{}` | {:.2} | {} | {:.1} | {} | {:.0} MB | {} |",
                row.name,
                row.time.median().value,
                ratio(&row.time, &self.rows[0].time),
                row.growth.median().value,
                ratio(&row.growth, &self.rows[0].growth),
                row.live.median().value,
                self.beaten_by(row).map_or("**yes**".to_owned(), |other| format!("no: `{}`", other.name)),
            );
        }
        text + "\nA variant is on the Pareto front if no other is at least as good in the medians of both time and \
                growth and more than 1 % better in one.\n"
    }

    /// Another variant that is not worse in either median, and better in one.
    fn beaten_by(&self, row: &Row) -> Option<&Row> {
        const SAME: f64 = 0.01;
        let figures = |row: &Row| [row.time.median().value, row.growth.median().value];
        let ours = figures(row);
        self.rows.iter().find(|other| {
            let theirs = figures(other);
            let better = (0..2).any(|at| theirs[at] < ours[at] * (1.0 - SAME));
            better && (0..2).all(|at| theirs[at] <= ours[at])
        })
    }

    /// The same figures from outside.
    fn beside(&self) -> String {
        let mut text = "\n## The same, measured from outside\n\n\
             | allocator | wall minus the pauses | of glibc's | rss-growth (MB) | of glibc's |\n\
             | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for row in &self.rows {
            let _ = writeln!(
                text,
                "| `{}` | {:.2} s | {} | {:.1} | {} |",
                row.name,
                row.wall.median().value,
                ratio(&row.wall, &self.rows[0].wall),
                row.growth_outside.median().value,
                ratio(&row.growth_outside, &self.rows[0].growth_outside),
            );
        }
        text
    }

    /// The goal, for the best variant: at least 81 % less growth for at most 7.5 % more time.
    fn goals(&self) -> String {
        let (base, best) = (&self.rows[0], self.best());
        let goals = [
            Goal {
                text: "growth over glibc's default: at most 0.19",
                ratio: best.growth.ratio(&base.growth),
                limit: Limit::AtMost(0.19),
            },
            Goal {
                text: "time over glibc's default: at most 1.075",
                ratio: best.time.ratio(&base.time),
                limit: Limit::AtMost(1.075),
            },
        ];
        format!("\n## Goals\n\nThe best variant is `{}`:\n{}", best.name, table::goals(&goals))
    }

    /// The variant that grows least of those that take no more than 7.5 % longer; of all, if each takes longer.
    fn best(&self) -> &Row {
        let base = self.rows[0].time.median().value;
        let key = |row: &&Row| (row.time.median().value > 1.075 * base, row.growth.median().value);
        let best = self.rows[1..].iter().min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
        best.unwrap_or(&self.rows[0])
    }
}

const FIGURES: &str = "\n\
    `time_s` and `rss_delta_mb` are the workload's own: the time of its rounds, and its resident memory 2 s after \
    everything was dropped, minus that before the first round. The second table has what underpin sees of the same \
    command from outside: the wall time of the same runs minus the pauses before and after (start-up and the last \
    collections are included), and the resident memory at the end minus that after start-up, in separate runs that are \
    not timed.\n";

/// A line belongs to the variant only if the workload found that allocator in its process.
fn check(variant: &str, line: &Value) -> anyhow::Result<()> {
    let found = line["allocator"].as_str().unwrap_or_default();
    let wanted = variant.split(':').next().unwrap_or_default();
    let wanted = if wanted == "system" { "glibc" } else { wanted };
    if !found.starts_with(wanted) {
        bail!("a run of {variant} used the allocator {found}");
    }
    Ok(())
}

fn sample(figures: Vec<f64>) -> anyhow::Result<Sample> {
    ensure!(!figures.is_empty(), "a figure is missing from every run");
    Ok(Sample::new(figures))
}

fn ratio(of: &Sample, base: &Sample) -> String {
    let ratio = of.ratio(base);
    format!("{:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(allocator: &str, time: f64, growth: f64) -> Value {
        json!({ "allocator": allocator, "time_s": time, "rss_delta_mb": growth, "rss_live_mb": 300.0, "ruby": "3.1",
                "threads": 4, "iters": 10, "rounds": 2 })
    }

    fn variant(name: &str, starts: [f64; 2]) -> Value {
        let runs: Vec<Value> =
            starts.iter().map(|at| json!({ "at_seconds": at, "figures": { "wall": 9.0 } })).collect();
        json!({ "name": name, "runs": runs, "memory_runs": [{ "figures": { "rss-growth": 1_048_576.0 } }] })
    }

    /// A proof, four timed runs there and back, two watched ones.
    fn measured(proof: &str) -> anyhow::Result<Measured> {
        let document = json!({ "variants": [variant("system", [1.0, 4.0]), variant("jemalloc", [2.0, 3.0])] });
        let glibc = |time| line("glibc (libc)", time, 200.0);
        let jemalloc = |time| line("jemalloc (via LD_PRELOAD)", time, 20.0);
        let watched = [glibc(99.0), jemalloc(99.0)];
        let lines = [line(proof, 77.0, 7.0), glibc(5.0), jemalloc(4.0), jemalloc(4.2), glibc(5.2)];
        Measured::new(&document, &[&lines[..], &watched].concat())
    }

    #[test]
    fn lines_belong_to_the_timed_runs_in_the_order_of_their_starts() {
        let measured = measured("jemalloc (via LD_PRELOAD)").unwrap();
        let times: Vec<f64> = measured.rows.iter().map(|row| row.time.median().value).collect();
        assert_eq!(times, [5.1, 4.1]);
        assert_eq!(measured.rows[1].growth_outside.median().value, 1.0);
        assert!(measured.beaten_by(&measured.rows[1]).is_none());
        assert_eq!(measured.beaten_by(&measured.rows[0]).unwrap().name, "jemalloc");
        assert_eq!(measured.best().name, "jemalloc");
        assert!(measured.page(RUBY).contains("| `jemalloc` | 4.10 | 0.804 ("), "{}", measured.page(RUBY));
    }

    #[test]
    fn a_run_on_another_allocator_is_refused() {
        assert!(check("jemalloc:narenas:2", &line("glibc (libc)", 1.0, 1.0)).is_err());
        assert!(check("system:arena_max=2", &line("glibc (libc)", 1.0, 1.0)).is_ok());
    }
}
