//! Every function of the overlay beside glibc's, musl's and LLVM's, in one process.

use super::overlay_kinds::{Masked, level, processor};
use super::stats::{Estimate, Sample, median};
use super::table::{self, Goal, Limit};
use crate::run;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_overlay::flags::ALWAYS;
use underpin_overlay::flags_of_strings;

const CRATE: &str = "crates/underpin-overlay";

/// The functions in the order of the page; the harness has the same ones.
const FUNCTIONS: [&str; 20] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "memchr",
    "memrchr",
    "memmem",
    "strlen",
    "strnlen",
    "strchr",
    "strrchr",
    "strchrnul",
    "strcmp",
    "strncmp",
    "strstr",
    "strcpy",
    "stpcpy",
    "strncpy",
    "stpncpy",
];

/// Those that compare, over what differs at once, by the harness's names.
const APART: [&str; 4] = ["memcmp-apart", "bcmp-apart", "strcmp-apart", "strncmp-apart"];

/// The functions of the page, and how they are used.
fn measured() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter().chain(APART)
}

/// What a goal allows for one function and size.
const MOST: f64 = 1.25;

/// From this ratio on a row is doubtful: near the limit, or above it.
const DOUBTFUL: f64 = 1.15;
/// So many times the rounds are measured again for doubtful rows.
const AGAIN: usize = 3;
/// Blocks of calls by one process. Each process has addresses of its own, and with them its own collisions in the processor's
/// predictors and caches, which stay for its whole life: one process in twenty shows a function at 1.5 times its usual time,
/// glibc's as often as ours. The ratio is therefore taken in each process, and the median over many.
///
/// Four: each of the four libraries follows each other once, however long a slow one has left the processor at a low clock.
const BLOCKS: usize = 4;

/// Function, size (0: mixed) and placing.
type Row = (String, usize, String);
/// The seconds of a call, by row and library: of each process the median of its blocks.
type Times = BTreeMap<Row, BTreeMap<String, Vec<f64>>>;
/// One function at one size, aligned or not: the samples of each library by name.
type Cell = BTreeMap<String, Sample>;
type Cells = BTreeMap<Row, Cell>;

/// Measures and returns the page.
///
/// # Errors
/// If a compiler or one of the C libraries is missing.
pub fn run(rounds: usize, masked: Option<Masked>) -> anyhow::Result<String> {
    if masked.is_some() && level() != "AVX-512" {
        bail!(
            "--level: this processor has no AVX-512 to be masked; its own page is that of `cargo xtask bench overlay`"
        );
    }
    let folder = run::scratch("overlay")?;
    let program = harness(&folder)?;
    let mut times = Times::new();
    measure(&program, masked, rounds, &[], &mut times)?;
    let doubtful = doubtful(&times);
    if !doubtful.is_empty() {
        measure(&program, masked, AGAIN * rounds, &doubtful, &mut times)?;
    }
    page(&cells(times), rounds, masked, doubtful.len())
}

/// Runs the harness for some rows, or for all, and adds what it measured.
fn measure(
    program: &Path,
    masked: Option<Masked>,
    rounds: usize,
    rows: &[String],
    times: &mut Times,
) -> anyhow::Result<()> {
    let processes = rounds.div_ceil(BLOCKS);
    let which = if rows.is_empty() { "" } else { " (doubtful rows)" };
    println!("+ {} {BLOCKS}, {processes} times{which}", program.display());
    for _ in 0..processes {
        let mut command = Command::new(program);
        command.arg(BLOCKS.to_string()).arg(masked.map_or("best", Masked::name)).args(rows);
        if let Some(masked) = masked {
            command.env("GLIBC_TUNABLES", masked.tunables());
        }
        let output = command.output().context("cannot start the harness")?;
        if !output.status.success() {
            bail!("the harness failed: {}", output.status);
        }
        read(&String::from_utf8_lossy(&output.stdout), times)?;
    }
    Ok(())
}

/// The rows near the limit or above it, as the harness names them: noise may have put them on either side.
fn doubtful(times: &Times) -> Vec<String> {
    let cells = cells(times.clone());
    let near = ratios(&cells).into_iter().filter(|(_, ratio)| ratio.value > DOUBTFUL);
    near.map(|((function, size, placing), _)| format!("{function}:{size}:{placing}")).collect()
}

/// The harness with the overlay and the other libraries' functions under names of their own.
fn harness(folder: &Path) -> anyhow::Result<PathBuf> {
    let source = run::workspace().join(CRATE);
    let path = |path: PathBuf| path.display().to_string();
    let (overlay, program) = (path(folder.join("overlay.o")), folder.join("strings"));
    let flags = flags_of_strings("x86_64");
    run::must("cc", &[&ALWAYS[..], &flags, &["-c", &path(source.join("native/overlay.c")), "-o", &overlay]].concat())?;
    let musl = peer(folder, "musl", "/usr/lib/x86_64-linux-musl/libc.a", ".lo", &[])?;
    let llvm = peer(folder, "llvm", "/usr/lib/llvm-19/lib/libllvmlibc.a", ".cpp.o", &["mempcpy"])?;
    let harness = path(source.join("bench/strings.c"));
    let output = path(program.clone());
    let link = ["-O2", "-fno-builtin", "-z", "noexecstack", "-o", &output, &harness, &overlay, &musl, &llvm, "-ldl"];
    run::must("cc", &link)?;
    Ok(program)
}

/// The functions of another static C library in one object, each name with a prefix.
fn peer(folder: &Path, prefix: &str, archive: &str, suffix: &str, more: &[&str]) -> anyhow::Result<String> {
    if !Path::new(archive).exists() {
        bail!("{archive} is missing: Debian has it in musl-dev or libllvmlibc-19-dev");
    }
    let members = folder.join(prefix);
    std::fs::create_dir_all(&members)?;
    let names: Vec<String> = FUNCTIONS.iter().chain(more).map(|name| format!("{name}{suffix}")).collect();
    let object = folder.join(format!("{prefix}.o")).display().to_string();
    let renamed = format!("--prefix-symbols={prefix}_");
    let guard = format!("--redefine-sym={prefix}___stack_chk_fail=__stack_chk_fail");
    for (tool, args) in [
        ("ar", [vec!["x".to_owned(), archive.to_owned()], names.clone()].concat()),
        ("ld", [vec!["-r".to_owned(), "-o".to_owned(), object.clone()], names].concat()),
        ("objcopy", vec![renamed, object.clone()]),
        ("objcopy", vec![guard, object.clone()]),
    ] {
        let status = Command::new(tool).args(&args).current_dir(&members).status();
        if !status.with_context(|| format!("cannot start {tool}"))?.success() {
            bail!("{tool} failed for {archive}");
        }
    }
    Ok(object)
}

/// What one process of the harness printed, one block of calls a line.
fn read(printed: &str, times: &mut Times) -> anyhow::Result<()> {
    let mut blocks = Times::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [function, size, placing, library, nanoseconds] = words[..] else { bail!("unexpected line: {line}") };
        let cell = blocks.entry((function.to_owned(), size.parse()?, placing.to_owned())).or_default();
        cell.entry(library.to_owned()).or_default().push(nanoseconds.parse::<f64>()? * 1e-9);
    }
    for (row, libraries) in blocks {
        let cell = times.entry(row).or_default();
        for (library, all) in libraries {
            cell.entry(library).or_default().push(median(all));
        }
    }
    Ok(())
}

fn cells(times: Times) -> Cells {
    let sampled =
        |cell: BTreeMap<String, Vec<f64>>| cell.into_iter().map(|(name, all)| (name, Sample::new(all))).collect();
    times.into_iter().map(|(key, cell)| (key, sampled(cell))).collect()
}

fn page(cells: &Cells, rounds: usize, masked: Option<Masked>, doubtful: usize) -> anyhow::Result<String> {
    let option = masked.map_or_else(String::new, |masked| format!(" --level {}", masked.name()));
    let command = format!("cargo xtask bench overlay{option}");
    let mut text = table::machine("The overlay's functions beside other C libraries'", &command);
    let (family, model) = (processor("cpu family")?, processor("model")?);
    write!(
        text,
        "\nThe processor is of family {family}, model {model}; the overlay uses {}.\n\n\
         All libraries are in one process; glibc's functions are those that its loader chose for this processor. {} processes \
         make {BLOCKS} blocks of calls each, about 15 microseconds a block, in an order in which each library follows each other once, each \
         after as many calls that are not timed (for what is larger than 64 kB, 3 ms of them). A ratio is that of \
         a process's medians; shown are the median over the processes and, for the overlay, its 95 % bootstrap interval: where a \
         process's addresses collide in a predictor or a cache, a function takes half as long again for all its life. *Misaligned* is 17 bytes (the first argument of those that copy: 37) beyond a multiple of 64. What is \
         searched for lies at the end or is not there; what is compared is equal, or (*apart*) differs in its first byte. *Mixed* are lengths of 0 to 255, most of \
         them short, in an order that cannot be predicted; those that are apart differ in the fourth byte, which half of them \
         do not reach. {doubtful} rows that came out above {DOUBTFUL} at first, below \
         the limit of {MOST} as well as above, were measured again in {AGAIN} times the processes; their figures are those \
         of all processes together.\n",
        masked.map_or(level(), Masked::words),
        rounds.div_ceil(BLOCKS),
    )?;
    let ratios = ratios(cells);
    text.push_str(&goals(&ratios));
    text.push_str(&summary(cells, &ratios)?);
    for function in measured() {
        text.push_str(&rows(function, cells, &ratios)?);
    }
    Ok(text)
}

type Ratios<'a> = BTreeMap<&'a Row, Estimate>;

fn ratios(cells: &Cells) -> Ratios<'_> {
    let ratio = |cell: &Cell| Some(cell.get("overlay")?.paired_ratio(cell.get("glibc")?));
    cells.iter().filter_map(|(key, cell)| Some((key, ratio(cell)?))).collect()
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value.ln(), count + 1.0));
    (sum / count).exp()
}

fn goals(ratios: &Ratios) -> String {
    let worst = ratios.values().max_by(|one, other| one.value.total_cmp(&other.value)).copied();
    let above = ratios.values().filter(|ratio| ratio.value > MOST).count();
    let mean = Estimate::exact(geometric_mean(ratios.values().map(|ratio| ratio.value)));
    let count = format!("functions and sizes above {MOST} of glibc's time, of {}", ratios.len());
    table::goals(&[
        Goal {
            text: "the worst function and size over glibc's",
            ratio: worst.unwrap_or(mean),
            limit: Limit::AtMost(MOST),
        },
        Goal { text: &count, ratio: Estimate::exact(above as f64), limit: Limit::AtMost(0.0) },
        Goal { text: "the geometric mean of all", ratio: mean, limit: Limit::AtMost(1.0) },
    ])
}

/// The time of a library over glibc's, as a figure.
fn over(cell: &Cell, library: &str) -> Option<f64> {
    Some(cell.get(library)?.paired_ratio(cell.get("glibc")?).value)
}

fn summary(cells: &Cells, ratios: &Ratios) -> anyhow::Result<String> {
    let mut text = "\n## Over glibc's time: geometric means of all sizes\n\n\
         | function | overlay | its worst | musl | LLVM |\n| --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for function in measured() {
        let of = |library: &str| {
            let all = cells.iter().filter(|(key, _)| key.0 == function);
            geometric_mean(all.filter_map(|(_, cell)| over(cell, library)))
        };
        let ours = ratios.iter().filter(|(key, _)| key.0 == function).map(|(_, ratio)| ratio.value);
        let worst = ours.clone().fold(0.0, f64::max);
        let (musl, llvm) = (of("musl"), of("llvm"));
        writeln!(text, "| {function} | {:.2} | {worst:.2} | {musl:.2} | {llvm:.2} |", geometric_mean(ours))?;
    }
    Ok(text)
}

fn rows(function: &str, cells: &Cells, ratios: &Ratios) -> anyhow::Result<String> {
    let mut text = format!(
        "\n## {function}\n\n| bytes | glibc, ns | overlay | misaligned | musl | misaligned | LLVM | misaligned |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for ((_, size, _), aligned) in cells.iter().filter(|(key, _)| key.0 == function && key.2 == "aligned") {
        let key = |placing: &str| (function.to_owned(), *size, placing.to_owned());
        let ours = |placing: &str| {
            let ratio = ratios.get(&key(placing));
            ratio
                .map_or_else(String::new, |ratio| format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high))
        };
        let of = |placing: &str, library: &str| {
            let value = cells.get(&key(placing)).and_then(|cell| over(cell, library));
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
        };
        let size = if *size == 0 { "mixed".to_owned() } else { size.to_string() };
        let glibc = aligned.get("glibc").map_or(f64::NAN, |sample| sample.median().value * 1e9);
        writeln!(
            text,
            "| {size} | {glibc:.1} | {} | {} | {} | {} | {} | {} |",
            ours("aligned"),
            ours("misaligned"),
            of("aligned", "musl"),
            of("misaligned", "musl"),
            of("aligned", "llvm"),
            of("misaligned", "llvm"),
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_harness_is_one_time_of_one_library() {
        let mut times = Times::new();
        read("memcpy\t16\taligned\toverlay\t3.0\nmemcpy\t16\taligned\tglibc\t2.0\n", &mut times).unwrap();
        let cells = cells(times.clone());
        let ratio = ratios(&cells).into_values().next().unwrap();
        assert!((ratio.value - 1.5).abs() < 1e-9, "{ratio:?}");
        assert!(read("memcpy 16", &mut times).is_err());
    }

    #[test]
    fn rows_near_the_limit_are_measured_again_as_well_as_those_above() {
        let mut times = Times::new();
        for (size, ours) in [(1, 2.0), (2, 2.4), (3, 2.6)] {
            let lines = format!("memchr\t{size}\taligned\toverlay\t{ours}\nmemchr\t{size}\taligned\tglibc\t2.0\n");
            read(&lines, &mut times).unwrap();
        }
        assert_eq!(doubtful(&times), ["memchr:2:aligned", "memchr:3:aligned"]);
        for _ in 0..2 {
            let lines = "memchr\t3\taligned\toverlay\t2.0\nmemchr\t3\taligned\tglibc\t2.0\n";
            read(lines, &mut times).unwrap();
        }
        assert_eq!(doubtful(&times), ["memchr:2:aligned"]);
    }

    #[test]
    fn the_geometric_mean_of_a_half_and_a_double_is_one() {
        assert!((geometric_mean([0.5, 2.0].into_iter()) - 1.0).abs() < 1e-12);
    }
}
