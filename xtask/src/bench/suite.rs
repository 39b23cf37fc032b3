//! `underpin bench --suite all` on this machine: its tables beside the published figures, what must hold, and two equal builds.

use super::stats::Estimate;
use super::table::{self, Goal, Limit};
use super::underpin_bench::document;
use crate::run;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The group of `libc` with libc-bench's rows.
const LIBC_BENCH: &str = "libc-bench's rows";
/// glibc's time may be exceeded by so much.
const SLOWER: f64 = 1.05;
const KIB: f64 = 1024.0;
const SUITES: [&str; 5] = ["alloc", "libc", "os", "system", "cpu"];
const PAGE: &str = "suite";
/// What is known of the causes of misses that stay, each from a program that shows it.
const WHY: &str = "
What is known of the rows that stay slower:

- `malloc-sparse` and `malloc-bubble`: 1.5 % is mimalloc's own (by `MIMALLOC_PURGE_DELAY=-1`), 2 % are 4 of 39 MiB that go back \
  while the rows run. All that was free, 11 MiB, took 5 %.
- `thread-create-serial1`: 2,500 threads that nobody waits for. Creations and ends meet at musl's lock of its list of threads: with \
  the overlay they spin there, since sleeping took 1.22 of glibc's time. What is left is which processor a thread begins on.
- `mutex`, on Intel: glibc leaves the locked instructions out while a program has one thread. With a second thread that sleeps, a \
  mutex took 22 ns in glibc and 19 in musl, without it 7.5 and 20 (model 207, 2026-11-27).
- Dirty memory of `--goal memory`: the median is that of rows that allocate nothing. More than glibc's have `malloc-tiny2` and \
  `malloc-big2` (mallocng keeps freed groups of some sizes).
";

/// Measures and returns the page.
///
/// # Errors
/// If a build or a run fails.
pub fn run() -> anyhow::Result<String> {
    let underpin = run::release_binary()?;
    let folder = run::scratch("bench-suite")?;
    let measure = |name: &str, words: &[&str]| -> anyhow::Result<(Value, f64)> {
        let json = folder.join(name);
        let begun = Instant::now();
        measured(&underpin, words, &json, &folder)?;
        Ok((document(&json)?, begun.elapsed().as_secs_f64()))
    };
    let load = table::load();
    let (all, seconds) = measure("all.json", &["--suite", "all", "--build", "glibc,musl"])?;
    let names = rows(&all, "libc", Some(LIBC_BENCH)).into_iter().filter_map(|row| row["row"].as_str());
    let names: Vec<&str> = names.flat_map(|row| ["--filter", row]).collect();
    let (memory, _) = measure(
        "memory.json",
        &[&["--suite", "libc", "--build", "glibc,musl", "--goal", "memory"][..], &names].concat(),
    )?;
    // The last part takes as long again: what is there by then is kept.
    let path = super::page(PAGE);
    std::fs::write(&path, page(&load, &all, &memory, None, seconds)?)
        .with_context(|| format!("cannot write {path}"))?;
    let (same, _) = measure("same.json", &["--suite", "all", "--build", "glibc,glibc"])?;
    let text = page(&load, &all, &memory, Some(&same), seconds)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(text)
}

fn page(load: &str, all: &Value, memory: &Value, same: Option<&Value>, seconds: f64) -> anyhow::Result<String> {
    let mut text = table::machine("The suites", "cargo xtask bench suite");
    write!(
        text,
        "\nThe short form of `underpin bench --suite all`: glibc and static musl as `underpin build` makes it without options. The \
         load of the last minute was {load} at its beginning. The difference is glibc / musl - 1 for times, musl / glibc - 1 \
         for bandwidths and rates, so + is better than glibc. \"Published\" is openEuler's comparison, on another machine (a \
         Raspberry Pi 4 at 600 MHz) with musl as it comes.\n"
    )?;
    text += &others(Path::new("docs/bench"))?;
    text += &table::goals(&goals(all, memory, same, seconds));
    text += &slower_rows(all);
    text += WHY;
    text += &indices(all);
    for suite in all["suites"].as_array().into_iter().flatten() {
        text += &tables(suite)?;
    }
    text += &memory_table(all, memory)?;
    Ok(text)
}

/// The pages that were kept of other kinds of processors, by their names (suite-amd-25.md): all but this machine's own, and that
/// of the original programs.
fn others(folder: &Path) -> anyhow::Result<String> {
    let own = super::page(PAGE);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_page =
            name.starts_with("suite") && Path::new(&name).extension().is_some_and(|extension| extension == "md");
        if is_page && name != "suite-originals.md" && !own.ends_with(&format!("/{name}")) {
            names.push(format!("[{name}]({name})"));
        }
    }
    names.sort();
    Ok(if names.is_empty() { String::new() } else { format!("\nOn other processors: {}.\n", names.join(", ")) })
}

/// Has `underpin bench` measure in the short form and write its document.
///
/// # Errors
/// If it fails.
pub fn measured(underpin: &Path, words: &[&str], json: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(underpin);
    command.args(["bench", "--quick", "--style", "none", "--export-json"]).arg(json).args(words);
    command.arg("--store").arg(folder.join("store")).stdin(Stdio::null());
    let status = command.status().context("cannot start underpin")?;
    ensure!(status.success(), "underpin bench {}: {status}", words.join(" "));
    Ok(())
}

/// The rows of a suite in a document, of one group or of all.
pub fn rows<'a>(document: &'a Value, suite: &str, group: Option<&str>) -> Vec<&'a Value> {
    let suites = document["suites"].as_array().into_iter().flatten().filter(|one| one["suite"] == suite);
    let rows = suites.flat_map(|one| one["rows"].as_array().into_iter().flatten());
    rows.filter(|row| group.is_none_or(|group| row["group"] == group)).collect()
}

/// The time of the second build over the first one's.
pub fn ratio(row: &Value) -> Option<Estimate> {
    let ratio = &row["cells"][1]["compared"]["time"]["ratio"];
    let of = |key: &str| ratio[key].as_f64();
    Some(Estimate { value: of("estimate")?, low: of("low")?, high: of("high")? })
}

fn exactly(value: f64) -> Estimate {
    Estimate { value, low: value, high: value }
}

fn compared(row: &Value, key: &str) -> Option<f64> {
    row["cells"][1]["compared"][key].as_f64()
}

/// Rows whose whole interval is above [`SLOWER`].
fn slower<'a>(rows: &[&'a Value]) -> Vec<&'a Value> {
    rows.iter().copied().filter(|row| ratio(row).is_some_and(|ratio| ratio.low > SLOWER)).collect()
}

fn count(number: usize) -> Estimate {
    exactly(number as f64)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn dirty_sum(rows: &[&Value], cell: usize) -> f64 {
    rows.iter().filter_map(|row| row["cells"][cell]["memory"]["dirty_bytes"].as_f64()).sum()
}

fn goals<'a>(all: &Value, memory: &Value, same: Option<&Value>, seconds: f64) -> Vec<Goal<'a>> {
    let libc = rows(all, "libc", Some(LIBC_BENCH));
    let published: Vec<&Value> = libc.iter().copied().filter(|row| row["original_ratio"].is_number()).collect();
    let low = rows(memory, "libc", Some(LIBC_BENCH));
    let most = |key: &str| libc.iter().filter_map(|row| compared(row, key)).fold(f64::MIN, f64::max);
    let more = low.iter().filter(|row| compared(row, "dirty_bytes").is_some_and(|bytes| bytes > 0.0)).count();
    let shares = low.iter().filter_map(|row| compared(row, "dirty")).collect();
    let at_most = |text, ratio, limit| Goal { text, ratio, limit: Limit::AtMost(limit) };
    let mut goals = vec![
        at_most(
            "the 23 published rows of `libc`: slower than glibc by more than 5 %",
            count(slower(&published).len()),
            0.0,
        ),
        at_most("all 29: the same, the three of regex included", count(slower(&libc).len()), 3.0),
        at_most("`--goal memory`: rows of the 29 with more dirty memory than glibc (2 were known)", count(more), 2.0),
        at_most("`--goal memory`: dirty memory / glibc's, median of the 29", exactly(median(shares)), 1.0 / 3.0),
        at_most(
            "balanced: the most dirty memory of a row above glibc's, KiB",
            exactly(most("dirty_bytes") / KIB),
            512.0,
        ),
        at_most(
            "balanced: sum of dirty memory over the 29 / glibc's",
            exactly(dirty_sum(&libc, 1) / dirty_sum(&libc, 0)),
            1.0,
        ),
        at_most(
            "balanced: the most virtual memory of a row above glibc's, MiB",
            exactly(most("virtual_bytes") / KIB / KIB),
            64.0,
        ),
        at_most("the whole comparison, in minutes", exactly(seconds / 60.0), 15.0),
    ];
    goals.extend(same.map(|same| {
        at_most("two equal builds: rows of which a difference is claimed, in %", exactly(claimed(same)), 1.0)
    }));
    goals
}

/// Rows of which a difference is claimed, in per cent.
fn claimed(same: &Value) -> f64 {
    let all: Vec<&Value> = SUITES.iter().flat_map(|suite| rows(same, suite, None)).collect();
    let claimed = all.iter().filter(|row| {
        let verdict = &row["cells"][1]["compared"]["time"]["verdict"];
        verdict == "less" || verdict == "more"
    });
    100.0 * claimed.count() as f64 / all.len().max(1) as f64
}

/// The rows that miss the first goals, by name.
fn slower_rows(all: &Value) -> String {
    let libc = rows(all, "libc", Some(LIBC_BENCH));
    let names: Vec<String> = slower(&libc)
        .into_iter()
        .filter_map(|row| Some(format!("{} {:.2}", row["row"].as_str()?, ratio(row)?.value)))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("\nSlower than glibc, by their times: {}.\n", names.join(", "))
    }
}

fn indices(all: &Value) -> String {
    let system = all["suites"].as_array().into_iter().flatten().find(|suite| suite["suite"] == "system");
    let indices = system.and_then(|suite| suite["indices"].as_array()).into_iter().flatten();
    let words: Vec<String> = indices
        .filter_map(|one| {
            let build = usize::try_from(one["build"].as_u64()?).ok()?;
            Some(format!("{} {:.1}", all["builds"][build]["name"].as_str()?, one["index"].as_f64()?))
        })
        .collect();
    format!("\nThe index of `system`: {}. Published: glibc 146.5, musl 161.6.\n", words.join(", "))
}

/// The difference, signed as the published comparison does, in per cent.
pub fn difference(ratio: Estimate) -> String {
    let signed = |ratio: f64| (1.0 / ratio - 1.0) * 100.0;
    format!("{:+.1} % ({:+.1} to {:+.1})", signed(ratio.value), signed(ratio.high), signed(ratio.low))
}

fn tables(suite: &Value) -> anyhow::Result<String> {
    let mut text = format!("\n## {}\n", suite["suite"].as_str().unwrap_or_default());
    let mut group = String::new();
    for row in suite["rows"].as_array().into_iter().flatten() {
        if row["group"] != group.as_str() {
            group = row["group"].as_str().unwrap_or_default().to_owned();
            write!(
                text,
                "\n### {group}\n\n| row | glibc | musl | difference | published |\n| --- | ---: | ---: | --- | ---: |\n"
            )?;
        }
        let published = row["original_ratio"]
            .as_f64()
            .map_or("-".to_owned(), |ratio| format!("{:+.0} %", (1.0 / ratio - 1.0) * 100.0));
        let name = row["row"].as_str().unwrap_or_default();
        let difference = ratio(row).map_or("-".to_owned(), difference);
        writeln!(text, "| {name} | {} | {} | {difference} | {published} |", figure(row, 0), figure(row, 1))?;
    }
    Ok(text)
}

/// A row's figure under a build, in its unit, or why there is none.
pub fn figure(row: &Value, build: usize) -> String {
    let cell = &row["cells"][build];
    if let Some(reason) = cell["reason"].as_str() {
        return format!("failed: {reason}");
    }
    let estimate = |key: &str| cell[key]["estimate"].as_f64();
    match (row["measure"]["kind"].as_str(), estimate("seconds")) {
        (Some("bandwidth"), Some(_)) => format!("{:.0} MB/s", estimate("bytes_per_second").unwrap_or_default() / 1e6),
        (Some("rate"), Some(_)) => {
            format!(
                "{:.1} {}",
                estimate("rate").unwrap_or_default(),
                row["measure"]["unit"].as_str().unwrap_or_default()
            )
        }
        (_, Some(seconds)) if seconds < 1e-6 => format!("{:.2} ns", seconds * 1e9),
        (_, Some(seconds)) if seconds < 1e-3 => format!("{:.2} us", seconds * 1e6),
        (_, Some(seconds)) => format!("{:.2} ms", seconds * 1e3),
        (_, None) => "not measured".to_owned(),
    }
}

fn memory_table(all: &Value, memory: &Value) -> anyhow::Result<String> {
    let mut text = "\n## Memory of libc-bench's rows\n\nDirty and virtual memory after the work, in KiB: glibc, musl as built without \
                    options (balanced), musl with its own malloc (`--goal memory`).\n\n\
                    | row | glibc dirty | balanced | memory | glibc virtual | balanced | memory |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    let low = rows(memory, "libc", Some(LIBC_BENCH));
    let of = |row: &Value, cell: usize, key: &str| row["cells"][cell]["memory"][key].as_f64().unwrap_or(f64::NAN) / KIB;
    for row in rows(all, "libc", Some(LIBC_BENCH)) {
        let Some(other) = low.iter().find(|other| other["row"] == row["row"]) else { continue };
        let three = |key: &str| {
            [of(row, 0, key), of(row, 1, key), of(other, 1, key)].map(|kib| format!("{kib:.0}")).join(" | ")
        };
        let name = row["row"].as_str().unwrap_or_default();
        writeln!(text, "| {name} | {} | {} |", three("dirty_bytes"), three("virtual_bytes"))?;
    }
    Ok(text)
}
