//! Rows that were measured in guests: what `suites/guest/rows.c` says, boot by boot, and the records that come of it.

mod figures;

pub use figures::{
    BootFigure, GuestCell, GuestFigure, GuestFigureName, Repeats, STEADY, Unsteady, guest_figure, repeats,
};

use crate::row::Row;
use crate::summary::{Build, Failure, RowRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use underpin_bench::{BenchRecord, End, Header, Nanos, Reported, RowName, RunOutcome, Sample, Stopped, VariantRecord};

/// Where rows ran that did not run on the machine itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guest {
    /// The machine: `qemu-aarch64`.
    pub machine: String,
    /// What emulated it: `QEMU 7.2 (tcg)`.
    pub emulator: String,
    /// Its clock counted instructions: a nanosecond for each.
    pub counts_instructions: bool,
}

/// What the guest was like before anything ran in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct GuestUp {
    /// Since its kernel started, by its own clock.
    pub up_ns: u64,
    /// Memory that its kernel has.
    pub total_kib: u64,
    /// What it gives away without swapping.
    pub available_kib: u64,
}

/// What a row came to in one boot.
pub type Outcome = Result<Reported, String>;

/// What one boot said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The guest at its start.
    pub up: Option<GuestUp>,
    /// The median time of a start of a program that does nothing, in nanoseconds.
    pub start_ns: Option<u64>,
    /// The rows that ended, by name (`libc:strlen`), in their order.
    pub rows: Vec<(String, Outcome)>,
    /// The row that began and did not end: the guest went down, or was ended.
    pub unfinished: Option<String>,
    /// Every row was reached.
    pub is_done: bool,
}

#[derive(Deserialize)]
struct Start {
    ns: u64,
}

#[derive(Deserialize)]
struct Ended {
    status: i32,
    killed: bool,
}

/// The name of a row in a guest.
#[must_use]
pub fn guest_name(row: &Row) -> String {
    format!("{}:{}", row.suite, row.name)
}

impl Said {
    /// Reads what a boot wrote; lines that nobody expects belong to the row before them.
    #[must_use]
    pub fn of_text(text: &str) -> Said {
        let mut said = Said::default();
        let mut written = String::new();
        for line in text.lines() {
            let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
            match mark {
                "@boot" => said.up = serde_json::from_str(rest).ok(),
                "@start" => said.start_ns = serde_json::from_str(rest).ok().map(|start: Start| start.ns),
                "@row" => {
                    said.unfinished = Some(rest.to_owned());
                    written.clear();
                }
                "@end" => {
                    if let (Some(name), Ok(ended)) = (said.unfinished.take(), serde_json::from_str::<Ended>(rest)) {
                        said.rows.push((name, outcome(&written, &ended)));
                    }
                }
                "@done" => said.is_done = true,
                _ if line.trim().is_empty() => {}
                _ => {
                    written.push_str(line);
                    written.push('\n');
                }
            }
        }
        said
    }
}

fn outcome(written: &str, ended: &Ended) -> Outcome {
    let outcome = match (ended.killed, ended.status & 0x7f) {
        (true, _) => RunOutcome::TimedOut,
        (false, 0) => RunOutcome::Exited(ended.status >> 8 & 0xff),
        (false, signal) => RunOutcome::Signalled(signal),
    };
    if outcome.succeeded() { Reported::of_text(written) } else { Err(why_failed(written, outcome)) }
}

/// How a row's program ended, and the last line that it wrote besides its report.
#[must_use]
pub fn why_failed(written: &str, outcome: RunOutcome) -> String {
    let last = written.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('{'));
    match (last, outcome) {
        // A program that gives a reason need not have its status repeated.
        (Some(line), RunOutcome::Exited(1 | 3)) => line.to_owned(),
        (Some(line), outcome) => format!("the program {}: {line}", outcome.words()),
        (None, outcome) => format!("the program {}", outcome.words()),
    }
}

/// One outcome for each row, in the order of their names' first: of a row that several processes ran that of the middle one by
/// its time (of an even number the quicker one), or the first failure.
#[must_use]
pub fn guest_rows(outcomes: Vec<(String, Outcome)>) -> Vec<(String, Outcome)> {
    let mut of_rows: Vec<(String, Vec<Outcome>)> = Vec::new();
    for (name, outcome) in outcomes {
        match of_rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(outcome),
            None => of_rows.push((name, vec![outcome])),
        }
    }
    let middle = |all: Vec<Outcome>| -> Outcome {
        let mut all = all.into_iter().collect::<Result<Vec<Reported>, String>>()?;
        all.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        let at = (all.len() - 1) / 2;
        Ok(all.swap_remove(at))
    };
    of_rows.into_iter().map(|(name, all)| (name, middle(all))).collect()
}

/// One boot of one build.
#[derive(Clone, Debug)]
pub struct GuestBoot {
    /// The index of the build.
    pub build: usize,
    /// The block: every build is started once in each.
    pub block: u32,
    /// When it began, since the beginning.
    pub at_ns: Nanos,
    /// The rows that ended in it.
    pub rows: Vec<(String, Outcome)>,
}

/// The rows of all boots, each with its record. A row that failed in one boot of a build has failed under that build;
/// `failed` says what is known besides: name, build and reason.
#[must_use]
pub fn rows_of(
    boots: &[GuestBoot],
    rows: &[&'static Row],
    builds: &[Build],
    failed: &[(String, Failure)],
    header: &Header,
) -> Vec<RowRun> {
    rows.iter().map(|row| row_of(boots, row, builds, failed, header)).collect()
}

fn row_of(
    boots: &[GuestBoot],
    row: &'static Row,
    builds: &[Build],
    failed: &[(String, Failure)],
    header: &Header,
) -> RowRun {
    let name = guest_name(row);
    let mut failures: Vec<Failure> =
        failed.iter().filter(|(of, _)| *of == name).map(|(_, failure)| failure.clone()).collect();
    let outcomes = || {
        boots.iter().filter_map(|boot| {
            let (_, outcome) = boot.rows.iter().find(|(known, _)| *known == name)?;
            Some((boot, outcome))
        })
    };
    for (boot, outcome) in outcomes() {
        if let Err(reason) = outcome
            && !failures.iter().any(|failure| failure.build == boot.build)
        {
            failures.push(Failure { build: boot.build, reason: reason.clone() });
        }
    }
    failures.sort_by_key(|failure| failure.build);
    failures.dedup_by_key(|failure| failure.build);
    let lost: BTreeSet<usize> = failures.iter().map(|failure| failure.build).collect();
    let working: Vec<usize> = (0..builds.len()).filter(|build| !lost.contains(build)).collect();
    let samples: Vec<Sample> = outcomes()
        .filter_map(|(boot, outcome)| {
            let variant = working.iter().position(|build| *build == boot.build)?;
            let reported = outcome.as_ref().ok()?.clone();
            Some(Sample::of_report(variant, boot.block, boot.at_ns, RunOutcome::Exited(0), reported))
        })
        .collect();
    if samples.is_empty() {
        return RowRun { row, record: None, failures };
    }
    let variants = working.iter().map(|&build| VariantRecord {
        name: builds[build].name.clone(),
        command: vec![row.name.to_owned()],
        ..VariantRecord::default()
    });
    let header = Header {
        variants: variants.collect(),
        row: Some(RowName { suite: row.suite.to_string(), row: row.name.to_owned() }),
        ..header.clone()
    };
    let end = End {
        stopped: Stopped::Runs,
        took_ns: boots.last().map_or(Nanos(0), |boot| boot.at_ns),
        missing: Vec::new(),
        load_hundredths: None,
        sampled: None,
    };
    RowRun { row, record: Some(BenchRecord { header, samples, memory: Vec::new(), end: Some(end) }), failures }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::find;
    use underpin_bench::{Machine, Metric, Rules};

    /// Of a run of which nothing else matters.
    pub(super) fn header() -> Header {
        Header {
            started: 1,
            underpin: "0".to_owned(),
            machine: Machine::default(),
            variants: Vec::new(),
            reference: 0,
            rules: Rules::default(),
            load: None,
            row: None,
        }
    }

    fn line(row: &str, ns: f64) -> String {
        format!(
            "@row libc:{row}\n{{\"row\":\"{row}\",\"ns\":{ns},\"operations\":1,\"repetitions\":5,\"virtual\":0,\"resident\":0,\
             \"dirty\":0}}\n\n@end {{\"status\":0,\"killed\":false}}\n"
        )
    }

    #[test]
    fn each_row_of_a_boot_is_its_report_or_its_reason() {
        let text = [
            "@boot {\"up_ns\":900,\"total_kib\":200,\"available_kib\":150}\n@start {\"ns\":77}\n",
            &line("strlen", 31.5),
            "@row libc:memset\nout of memory\n\n@end {\"status\":256,\"killed\":false}\n",
            "@row libc:memcpy\n@end {\"status\":9,\"killed\":true}\n",
            "@row libc:strchr\nhalf a li\n@end {\"status\":11,\"killed\":false}\n",
            "@row libc:regex-search\n{\"row\":",
        ]
        .concat();
        let said = Said::of_text(&text);
        assert_eq!(said.up, Some(GuestUp { up_ns: 900, total_kib: 200, available_kib: 150 }));
        assert_eq!(said.start_ns, Some(77));
        assert_eq!(said.rows[0].1.as_ref().unwrap().ns, 31.5);
        let reasons: Vec<&str> = said.rows[1..].iter().map(|(_, one)| one.as_ref().unwrap_err().as_str()).collect();
        assert_eq!(reasons[0], "out of memory");
        assert!(reasons[1].contains("in time") && reasons[2].contains("signal 11: half a li"), "{reasons:?}");
        assert_eq!((said.unfinished.as_deref(), said.is_done), (Some("libc:regex-search"), false));
        assert!(Said::of_text("@done\n").is_done && Said::of_text("") == Said::default());
    }

    #[test]
    fn of_a_row_that_several_processes_ran_the_middle_one_counts_or_the_first_failure() {
        let of = |text: &[String]| guest_rows(Said::of_text(&text.concat()).rows);
        let rows = of(&[line("memset", 7.0), line("strlen", 31.5), line("strlen", 28.0), line("strlen", 31.0)]);
        let figures: Vec<(&str, f64)> =
            rows.iter().map(|(name, one)| (name.as_str(), one.as_ref().unwrap().ns)).collect();
        assert_eq!(figures, [("libc:memset", 7.0), ("libc:strlen", 31.0)]);
        let failed = |reason: &str| format!("@row libc:strlen\n{reason}\n\n@end {{\"status\":256,\"killed\":false}}\n");
        let rows = of(&[line("strlen", 31.5), failed("no memory"), failed("no time")]);
        assert_eq!(rows, [("libc:strlen".to_owned(), Err("no memory".to_owned()))]);
    }

    #[test]
    fn a_row_that_fails_once_under_a_build_has_no_figure_there_and_keeps_those_of_the_other() {
        let build = |name: &str| Build { name: name.to_owned(), description: String::new(), emulator: None };
        let boot =
            |build, block, rows: &str| GuestBoot { build, block, at_ns: Nanos(0), rows: Said::of_text(rows).rows };
        let crash = "@row libc:strlen\n@end {\"status\":11,\"killed\":false}\n";
        let boots = [
            boot(0, 0, &line("strlen", 10.0)),
            boot(1, 0, &line("strlen", 20.0)),
            boot(1, 1, crash),
            boot(0, 1, &line("strlen", 11.0)),
        ];
        let header = header();
        let rows = [find("libc", "strlen").unwrap(), find("libc", "memset").unwrap()];
        let down = ("libc:memset".to_owned(), Failure { build: 0, reason: "the guest went down".to_owned() });
        let runs = rows_of(&boots, &rows, &[build("glibc"), build("musl")], &[down], &header);
        let record = runs[0].record.as_ref().unwrap();
        assert_eq!(record.figures(Metric::Operation, 0), [10e-9, 11e-9]);
        assert_eq!(record.header.variants.len(), 1);
        assert_eq!(runs[0].failures[0].build, 1);
        assert!(runs[1].record.is_none() && runs[1].failures[0].reason.contains("down"));
    }
}
