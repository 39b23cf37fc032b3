//! UnixBench 5.1.3 and 6 (`UnixBench/src`): the programs of the twelve tests of its index, run as its script `Run` runs
//! them. They print `COUNT|NUMBER|TIMEBASE|UNIT` to standard error, some of them `TIME|SECONDS` too; where they do not,
//! `Run` takes the time from the start of the program to its end.

use super::parse::{ParseError, Printed, positive, whole_lines};
use super::recipe::{Program, Recipe, Run, Setting, SourceCopy, Step, owned};
use super::{Amount, Figure, Readings, RowName};
use crate::row::Suite;
use std::time::Duration;

/// A test of the index; the run has the row's name.
struct Test {
    row: &'static str,
    program: &'static str,
    /// Before the seconds, and behind them.
    words: (&'static [&'static str], &'static [&'static str]),
    /// Seconds as `Run` has them; `None` if the program takes no time.
    seconds: Option<u64>,
    /// The unit that it prints.
    unit: Unit,
    /// How often it prints one: with less of them, or more, something was lost or went wrong.
    counts: (usize, usize),
}

/// The third and the second field of `COUNT`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Counted, per second.
    PerSecond,
    /// Counted, per minute.
    PerMinute,
    /// A rate already: kilobytes in a second.
    Kilobytes,
    /// A rate already: millions of Whetstone instructions in a second.
    Mwips,
}

impl Unit {
    const fn fields(self) -> (&'static str, &'static str) {
        match self {
            Unit::PerSecond => ("1", "lps"),
            Unit::PerMinute => ("60", "lpm"),
            Unit::Kilobytes => ("0", "KBps"),
            Unit::Mwips => ("0", "MWIPS"),
        }
    }
}

type Words = &'static [&'static str];

const fn loops(row: &'static str, program: &'static str, seconds: u64) -> Test {
    Test { row, program, words: (&[], &[]), seconds: Some(seconds), unit: Unit::PerSecond, counts: (1, 1) }
}

/// It prints its writing and its reading before the copying.
const fn copies(row: &'static str, rest: Words) -> Test {
    let words: (Words, Words) = (&["-c", "-t"], rest);
    Test { row, program: "fstime", words, seconds: Some(30), unit: Unit::Kilobytes, counts: (3, 3) }
}

const fn scripts(row: &'static str, rest: Words) -> Test {
    Test { row, program: "looper", words: (&[], rest), seconds: Some(60), unit: Unit::PerMinute, counts: (1, 1) }
}

const TESTS: &[Test] = &[
    loops("dhrystone", "dhry2reg", 10),
    Test {
        row: "whetstone",
        program: "whetstone-double",
        words: (&[], &[]),
        seconds: None,
        unit: Unit::Mwips,
        counts: (1, 1),
    },
    loops("execl", "execl", 30),
    copies("file-copy-1024", &["-d", ".", "-b", "1024", "-m", "2000"]),
    copies("file-copy-256", &["-d", ".", "-b", "256", "-m", "500"]),
    copies("file-copy-4096", &["-d", ".", "-b", "4096", "-m", "8000"]),
    loops("pipe-throughput", "pipe", 10),
    // Both of its processes print.
    Test { counts: (1, 2), ..loops("context-switch", "context1", 10) },
    loops("process-creation", "spawn", 30),
    scripts("shell-1", &["./multi.sh", "1"]),
    scripts("shell-8", &["./multi.sh", "8"]),
    loops("syscall", "syscall", 10),
];

/// The optimisation of 5.1.3; version 6 takes `-O3 -march=native`, which not every compiler and target knows. Its
/// sources are of 1989: newer compilers refuse some of them without these options.
const OPTIONS: &[&str] = &[
    "-O2",
    "-fomit-frame-pointer",
    "-ffast-math",
    "-std=gnu11",
    "-w",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
    "-DTIME",
    "-Isrc",
];

/// Name, sources, and options besides.
const PROGRAMS: &[(&str, Words, Words)] = &[
    ("dhry2reg", &["src/dhry_1.c", "src/dhry_2.c"], &["-DHZ=0", "-DREG=register"]),
    ("whetstone-double", &["src/whets.c"], &["-DDP", "-DGTODay", "-DUNIXBENCH", "-lm"]),
    ("execl", &["src/execl.c"], &[]),
    ("fstime", &["src/fstime.c"], &[]),
    ("pipe", &["src/pipe.c"], &[]),
    ("context1", &["src/context1.c"], &[]),
    ("spawn", &["src/spawn.c"], &[]),
    ("looper", &["src/looper.c"], &[]),
    ("syscall", &["src/syscall.c"], &[]),
];

const COPIED: [SourceCopy; 3] = [
    SourceCopy { from: "pgms/multi.sh", to: "multi.sh", is_executable: true },
    SourceCopy { from: "pgms/tst.sh", to: "tst.sh", is_executable: true },
    SourceCopy { from: "testdir/sort.src", to: "sort.src", is_executable: false },
];

/// The seconds of a quick run. `execl` looks at whole seconds only, so one would be none at times.
const QUICK: u64 = 3;

/// Beyond its time, `fstime` writes and reads for four seconds and sleeps for eleven.
const BESIDES: Duration = Duration::from_secs(15);

const fn row(name: &'static str) -> RowName {
    RowName { suite: Suite::System, name }
}

pub(super) fn recipe(setting: &Setting) -> Recipe {
    let program = |(name, sources, more): &(&'static str, Words, Words)| Program {
        name,
        sources: sources.to_vec(),
        takes_the_folder: false,
        options: owned(OPTIONS).into_iter().chain(owned(more)).collect(),
    };
    Recipe {
        written: Vec::new(),
        programs: PROGRAMS.iter().map(program).collect(),
        copied: COPIED.to_vec(),
        work_files: Vec::new(),
        // As `Run` sets them: `execl` and the scripts look for themselves there; the order of `sort` depends on LANG.
        environment: vec![("UB_BINDIR", "."), ("LANG", "en_US.utf8")],
        runs: TESTS.iter().map(|test| run(test, setting.is_quick)).collect(),
    }
}

fn run(test: &Test, is_quick: bool) -> Run {
    let seconds = test.seconds.map(|full| if is_quick { QUICK } else { full });
    let (first, rest) = test.words;
    let time = seconds.map(|seconds| seconds.to_string());
    let words = first.iter().map(|word| (*word).to_owned()).chain(time).chain(owned(rest));
    let usual = Duration::from_secs(seconds.unwrap_or(10));
    Run {
        name: test.row,
        rows: vec![row(test.row)],
        steps: vec![Step { arguments: words.collect(), ..Step::measures(test.program, &[]) }],
        installed: None,
        usual: if test.unit == Unit::Kilobytes { usual + BESIDES } else { usual },
        deadline: usual * 2 + BESIDES * 4,
    }
}

pub(super) fn parse(run: &str, printed: &Printed<'_>) -> Result<Readings, ParseError> {
    let test = TESTS.iter().find(|test| test.row == run).ok_or_else(|| ParseError::UnknownRun(run.to_owned()))?;
    let (run, (timebase, unit)) = (test.row, test.unit.fields());
    let expected = format!("`COUNT|NUMBER|{timebase}|{unit}`");
    let places = if test.unit == Unit::Mwips { 3 } else { 0 };
    if let Some(wrong) = printed.stdout.lines().find(|line| line.contains("Wrong answer")) {
        return Err(ParseError::line(run, wrong, "the right answer"));
    }
    let (mut count, mut time, mut counts) = (None, None, 0);
    for line in whole_lines(run, printed.stderr, &expected)? {
        let wrong = || ParseError::line(run, line, expected.clone());
        match line.split('|').collect::<Vec<_>>().as_slice() {
            // The last one counts, as in `Run`.
            ["COUNT", number, base, label] if (*base, *label) == (timebase, unit) => {
                count = Some(positive(number, &[places]).ok_or_else(wrong)?);
                (time, counts) = (None, counts + 1);
            }
            ["TIME", seconds] if count.is_some() => time = Some(positive(seconds, &[1, 3]).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        }
    }
    let missing = || ParseError::missing(run, printed.stderr, expected.clone());
    let (least, most) = test.counts;
    let count = count.filter(|_| (least..=most).contains(&counts)).ok_or_else(missing)?;
    let rate = match test.unit {
        Unit::PerSecond | Unit::PerMinute => count / time.unwrap_or(printed.elapsed.as_secs_f64()),
        // Its time is printed behind it; without, the output is not whole.
        Unit::Kilobytes | Unit::Mwips => time.map(|_| count).ok_or_else(missing)?,
    };
    let figure = Figure::new(Amount::PerSecond(rate)).ok_or_else(missing)?;
    Ok(Readings { figures: vec![(row(run), figure)], refused: Vec::new() })
}
