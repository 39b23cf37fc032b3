//! The options of `underpin bench --suite`.

use crate::cli::GoalName;
use clap::Args;
use underpin_build::Processor;
use underpin_suite::Suite;

/// What says which command is measured, and how: the rows of suites have both.
const ELSEWHERE: [&str; 35] = [
    "commands",
    "words",
    "commits",
    "project",
    "malloc",
    "bind",
    "variant",
    "serve",
    "load",
    "baseline",
    "any_machine",
    "env",
    "parameter_list",
    "parameter_scan",
    "command_name",
    "reference",
    "aa",
    "warmup",
    "min_runs",
    "max_runs",
    "budget",
    "until",
    "memory_runs",
    "settle",
    "counters",
    "prepare",
    "conclude",
    "setup",
    "cleanup",
    "ignore_failure",
    "input",
    "output",
    "shell",
    "show_output",
    "time_unit",
];

/// Which suites are run, and how.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Suites")]
#[group(id = "suites", args = ["suite", "suite_source"], multiple = true)]
pub struct SuiteArgs {
    /// Compare the builds of --build (glibc,musl if not given) by suites of our own instead of a command: alloc, libc, os,
    /// system, cpu, or all
    #[arg(long, value_name = "NAME,NAME,...", value_delimiter = ',', conflicts_with_all = ELSEWHERE)]
    pub suite: Vec<SuiteName>,

    /// With --suite: only the row of this name; if there is none, those whose names have this text, or match it with `*` for
    /// any text. `SUITE:TEXT` is for one suite alone (may be repeated)
    #[arg(long, value_name = "PATTERN", requires = "suites")]
    pub filter: Vec<String>,

    /// With --suite: the short form, 100 ms for a run instead of 300, and as few runs as can show a difference
    #[arg(long, requires = "suites")]
    pub quick: bool,

    /// With --suite: go on with the latest run of the same suites and builds that was interrupted, at the row where it was
    #[arg(long, requires = "suites", conflicts_with = "save")]
    pub resume: bool,

    /// With --suite: build for another processor and run under its user emulation (qemu-user); the figures say so and are
    /// not compared
    #[arg(long, value_name = "PROCESSOR", requires = "suites")]
    pub target: Option<Processor>,

    /// With --suite: what the allocators of static musl builds are chosen and set for, as in `underpin build` (balanced if not
    /// given)
    #[arg(long, value_enum, value_name = "GOAL", requires = "suites")]
    pub goal: Option<GoalName>,

    /// Measure the rows of a suite by the programs of the benchmark that it was made after, built from its sources in a
    /// folder of yours: libc-bench, lmbench, unixbench or coremark (may be repeated)
    #[arg(long, value_name = "NAME=DIR", conflicts_with_all = ELSEWHERE)]
    pub suite_source: Vec<String>,

    /// List the suites and their rows
    #[arg(long, exclusive = true)]
    pub list_suites: bool,
}

/// A word of `--suite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteName {
    /// Every suite.
    All,
    /// This one.
    One(Suite),
}

impl std::str::FromStr for SuiteName {
    type Err = underpin_suite::UnknownSuite;

    fn from_str(text: &str) -> Result<SuiteName, Self::Err> {
        if text == "all" { Ok(SuiteName::All) } else { text.parse().map(SuiteName::One) }
    }
}

impl SuiteName {
    /// The suites that words name, each once, in the order in which they run.
    pub fn all_of(names: &[SuiteName]) -> Vec<Suite> {
        let wanted =
            |suite: &Suite| names.iter().any(|name| matches!(name, SuiteName::All) || *name == SuiteName::One(*suite));
        Suite::ALL.into_iter().filter(wanted).collect()
    }
}

impl SuiteArgs {
    /// Whether suites are asked for.
    pub fn is_given(&self) -> bool {
        !self.suite.is_empty() || !self.suite_source.is_empty()
    }

    /// The suites, each once, in the order in which they run.
    pub fn suites(&self) -> Vec<Suite> {
        SuiteName::all_of(&self.suite)
    }
}
