//! CoreMark 1.0 (EEMBC): one program for one context and one for as many as there are processors. It runs for ten
//! seconds or more, checks its own results, and prints iterations per second.
//!
//! Its rules for a report: only `core_portme*` may differ, the same options for all files, ten seconds. They are kept.

use super::parse::{ParseError, Printed, positive, whole_lines};
use super::recipe::{Program, Recipe, Run, Setting, Step, owned};
use super::{Amount, Figure, Readings, RowName};
use crate::row::Suite;
use std::time::Duration;

/// Programs, which are also the names of the runs, and their rows.
const RUNS: [(&str, &str); 2] = [("coremark-1", "core-1"), ("coremark-n", "core-n")];

const SOURCES: [&str; 6] =
    ["core_main.c", "core_list_join.c", "core_matrix.c", "core_state.c", "core_util.c", "posix/core_portme.c"];

const OPTIONS: &[&str] = &[
    "-O2",
    "-w",
    "-Iposix",
    "-I.",
    "-DFLAGS_STR=\"-O2\"",
    "-DITERATIONS=0",
    "-DPERFORMANCE_RUN=1",
    "-lpthread",
    "-lrt",
];

/// `run1.log-PARAM` of its makefile: the seeds of the performance run, iterations by its own choice, all algorithms,
/// one allocation of 2000 bytes.
const ARGUMENTS: &[&str] = &["0x0", "0x0", "0x66", "0", "7", "1", "2000"];

const fn row(name: &'static str) -> RowName {
    RowName { suite: Suite::Cpu, name }
}

pub(super) fn recipe(setting: &Setting) -> Recipe {
    let threads = [format!("-DMULTITHREAD={}", setting.processors.max(1)), "-DUSE_PTHREAD=1".to_owned()];
    let program = |(name, row): (&'static str, &str)| {
        let mut options = owned(OPTIONS);
        if row == "core-n" {
            options.extend(threads.clone());
        }
        Program { name, sources: SOURCES.to_vec(), takes_the_folder: false, options }
    };
    let run = |(name, of): (&'static str, &'static str)| Run {
        name,
        rows: vec![row(of)],
        steps: vec![Step::measures(name, ARGUMENTS)],
        installed: None,
        usual: Duration::from_secs(20),
        // It measures until a second is over, takes that as the speed, and may run for a hundred.
        deadline: Duration::from_secs(300),
    };
    Recipe {
        written: Vec::new(),
        programs: RUNS.map(program).to_vec(),
        copied: Vec::new(),
        work_files: Vec::new(),
        environment: Vec::new(),
        runs: RUNS.map(run).to_vec(),
    }
}

const EXPECTED: &str = "a validated run with `Iterations/Sec : NUMBER`";

/// What must be there besides the figure: the parameters of the performance run, and the program's own verdict.
const MARKS: [&str; 2] = ["2K performance run parameters for coremark.", "Correct operation validated."];

pub(super) fn parse(run: &str, printed: &Printed<'_>) -> Result<Readings, ParseError> {
    let known = RUNS.into_iter().find(|(name, _)| *name == run);
    let (run, row_name) = known.ok_or_else(|| ParseError::UnknownRun(run.to_owned()))?;
    let lines: Vec<&str> = whole_lines(run, printed.stdout, EXPECTED)?.collect();
    if let Some(wrong) = lines.iter().find(|line| line.to_ascii_uppercase().contains("ERROR")) {
        return Err(ParseError::line(run, wrong, "no error"));
    }
    for mark in MARKS {
        if !lines.iter().any(|line| line.starts_with(mark)) {
            return Err(ParseError::missing(run, printed.stdout, format!("the line `{mark}`")));
        }
    }
    let of = |key| {
        value(&lines, key).ok_or_else(|| ParseError::missing(run, printed.stdout, format!("one line `{key} : NUMBER`")))
    };
    let ((line, rate), (_, iterations)) = (of("Iterations/Sec")?, of("Iterations")?);
    let ((_, seconds), (last, score)) = (of("Total time (secs)")?, of("CoreMark 1.0")?);
    // The same figure stands there three times.
    if (iterations / seconds / rate - 1.0).abs() > 1e-3 {
        return Err(ParseError::line(run, line, format!("{iterations} iterations in {seconds} s")));
    }
    if score.to_bits() != rate.to_bits() {
        return Err(ParseError::line(run, last, format!("the score {rate}")));
    }
    if let Some(wrong) = lines.iter().find(|line| row_name == "core-1" && line.starts_with("Parallel")) {
        return Err(ParseError::line(run, wrong, "one context"));
    }
    let figure = Figure::new(Amount::PerSecond(rate)).ok_or_else(|| ParseError::line(run, line, EXPECTED))?;
    Ok(Readings { figures: vec![(row(row_name), figure)], refused: Vec::new() })
}

/// The line `KEY : NUMBER`, behind which only ` / ...` may follow, and its number, if there is exactly one.
fn value<'t>(lines: &[&'t str], key: &str) -> Option<(&'t str, f64)> {
    let of_key = |line: &&&str| line.split_once(':').is_some_and(|(name, _)| name.trim_end() == key);
    let mut found = lines.iter().filter(of_key);
    let (line, None) = (*found.next()?, found.next()) else { return None };
    let text = line.split_once(':')?.1.trim();
    let text = text.split_once(" / ").map_or(text, |(number, _)| number);
    positive(text, &[0, 6]).map(|number| (line, number))
}
