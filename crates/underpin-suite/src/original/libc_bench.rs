//! libc-bench (Rich Felker, 2011): one program that runs 29 tests, each in a process of its own, and prints for each
//! its label and a line with seconds and kilobytes.

use super::parse::{ParseError, Printed, number, whole_lines};
use super::recipe::{Program, Recipe, Run, Step, owned};
use super::{Amount, Figure, MemoryLeft, Readings, RowName};
use crate::row::Suite;
use std::time::Duration;

const RUN: &str = "libc-bench";

/// A test: its label, our row, the operations that our row counts in it, and the least nanoseconds that one can take.
/// What took less was removed by a compiler, or was not done: the tests of UTF-8 return at once without such a locale.
struct Test {
    label: &'static str,
    row: &'static str,
    operations: f64,
    least_ns: f64,
}

const fn test(label: &'static str, row: &'static str, operations: u32, least_ns: f64) -> Test {
    Test { label, row, operations: operations as f64, least_ns }
}

/// Characters in the text of the tests of UTF-8: c3 80 to df bf, e1 80 80 to ec bf bf, and a quarter of f1 to f3.
const CHARACTERS: u32 = 29 * 64 + 12 * 64 * 64 + 3 * 64 * 64;

/// In the order of the program. Operations and least times are those of `suites/libc/suite.c`.
const TESTS: &[Test] = &[
    test("b_malloc_sparse (0)", "malloc-sparse", 10_000, 10.0),
    test("b_malloc_bubble (0)", "malloc-bubble", 10_000, 10.0),
    test("b_malloc_tiny1 (0)", "malloc-tiny1", 10_000, 1.0),
    test("b_malloc_tiny2 (0)", "malloc-tiny2", 10_000, 0.5),
    test("b_malloc_big1 (0)", "malloc-big1", 2_000, 1.0),
    test("b_malloc_big2 (0)", "malloc-big2", 2_000, 0.5),
    test("b_malloc_thread_stress (0)", "malloc-thread-stress", 200_000, 1.0),
    test("b_malloc_thread_local (0)", "malloc-thread-local", 200_000, 1.0),
    test("b_string_strstr (\"abcdefghijklmnopqrstuvwxyz\")", "strstr-1", 50, 500.0),
    test("b_string_strstr (\"azbycxdwevfugthsirjqkplomn\")", "strstr-2", 50, 500.0),
    test("b_string_strstr (\"aaaaaaaaaaaaaacccccccccccc\")", "strstr-3", 50, 500.0),
    test("b_string_strstr (\"aaaaaaaaaaaaaaaaaaaaaaaaac\")", "strstr-4", 50, 500.0),
    test("b_string_strstr (\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\")", "strstr-5", 50, 500.0),
    test("b_string_memset (0)", "memset", 100, 700.0),
    test("b_string_strchr (0)", "strchr", 100, 700.0),
    test("b_string_strlen (0)", "strlen", 100, 700.0),
    test("b_pthread_createjoin_serial1 (0)", "thread-join-serial1", 2_500, 300.0),
    test("b_pthread_createjoin_serial2 (0)", "thread-join-serial2", 2_500, 300.0),
    test("b_pthread_create_serial1 (0)", "thread-create-serial1", 2_500, 300.0),
    test("b_pthread_uselesslock (0)", "thread-uselesslock", 1_000_000, 0.5),
    test("b_pthread_createjoin_minimal1 (0)", "thread-join-minimal1", 2_500, 300.0),
    test("b_pthread_createjoin_minimal2 (0)", "thread-join-minimal2", 2_500, 300.0),
    // 0.1 ns for a character: far below any mbstowcs, and above what a search for locales takes.
    test("b_utf8_bigbuf (0)", "utf8-bigbuf", 50, 6_000.0),
    test("b_utf8_onebyone (0)", "utf8-onebyone", 50 * CHARACTERS, 0.5),
    test("b_stdio_putcgetc (0)", "putcgetc", 5_000_000, 0.4),
    test("b_stdio_putcgetc_unlocked (0)", "putcgetc-unlocked", 5_000_000, 0.3),
    test("b_regex_compile (\"(a|b|c)*d*b\")", "regex-compile", 1_000, 50.0),
    test("b_regex_search (\"(a|b|c)*d*b\")", "regex-search-1", 1, 800.0),
    test("b_regex_search (\"a{25}b\")", "regex-search-2", 1, 800.0),
];

/// libc-bench's own options, without its `-static`: how it is linked is what the builds differ in.
const OPTIONS: &[&str] = &["-Os", "-std=gnu11", "-w", "-D_XOPEN_SOURCE=700", "-lpthread", "-lrt"];

const fn row(name: &'static str) -> RowName {
    RowName { suite: Suite::Libc, name }
}

pub(super) fn recipe() -> Recipe {
    let program = Program {
        name: "libc-bench",
        sources: vec!["main.c", "malloc.c", "pthread.c", "regex.c", "stdio.c", "string.c", "utf8.c"],
        takes_the_folder: true,
        options: owned(OPTIONS),
    };
    let run = Run {
        name: RUN,
        rows: TESTS.iter().map(|test| row(test.row)).collect(),
        steps: vec![Step::measures("libc-bench", &[])],
        installed: None,
        usual: Duration::from_secs(1),
        deadline: Duration::from_secs(120),
    };
    Recipe {
        written: Vec::new(),
        programs: vec![program],
        copied: Vec::new(),
        work_files: Vec::new(),
        environment: Vec::new(),
        runs: vec![run],
    }
}

/// What the line of figures looks like.
const FIGURES: &str = "`time: SECONDS, virt: KB, res: KB, dirty: KB` behind the name of a test";

pub(super) fn parse(run: &str, printed: &Printed<'_>) -> Result<Readings, ParseError> {
    if run != RUN {
        return Err(ParseError::UnknownRun(run.to_owned()));
    }
    let mut found: Vec<(&Test, f64, MemoryLeft)> = Vec::new();
    // The test whose figures come next; inside, `None` for a test that only a fork has.
    let mut open: Option<Option<&Test>> = None;
    for line in whole_lines(RUN, printed.stdout, FIGURES)? {
        let begun = TESTS.iter().find(|test| test.label == line);
        match (open, begun) {
            (None, Some(test)) if !found.iter().any(|(known, ..)| known.label == test.label) => open = Some(Some(test)),
            (None, None) if is_label(line) => open = Some(None),
            (Some(test), None) => {
                let (seconds, memory) = figures(line).ok_or_else(|| ParseError::line(RUN, line, FIGURES))?;
                found.extend(test.map(|test| (test, seconds, memory)));
                open = None;
            }
            _ => return Err(ParseError::line(RUN, line, FIGURES)),
        }
    }
    if open.is_some() || found.is_empty() {
        return Err(ParseError::missing(RUN, printed.stdout, FIGURES));
    }
    Ok(readings(&found))
}

/// `b_environ_getenv (0)`: a test's function and its argument.
fn is_label(line: &str) -> bool {
    line.starts_with("b_") && line.contains(" (") && line.ends_with(')')
}

fn readings(found: &[(&Test, f64, MemoryLeft)]) -> Readings {
    let mut readings = Readings::default();
    for test in TESTS {
        match found.iter().find(|(known, ..)| known.label == test.label) {
            None => readings.refused.push((row(test.row), "it printed nothing: its process has failed".to_owned())),
            Some((_, seconds, memory)) => {
                let one = seconds / test.operations;
                if one * 1e9 < test.least_ns {
                    let reason = format!("{seconds} s is less than its work can take: it was not done");
                    readings.refused.push((row(test.row), reason));
                } else {
                    let figure = Figure { amount: Amount::Seconds(one), memory: Some(*memory) };
                    readings.figures.push((row(test.row), figure));
                }
            }
        }
    }
    readings
}

/// `  time: 0.016123317, virt: 39036, res: 38996, dirty: 38988`: kilobytes of 1024 bytes, as the kernel counts them.
fn figures(line: &str) -> Option<(f64, MemoryLeft)> {
    let mut parts = line.trim_start().split(", ");
    let mut next = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix(": ");
    let seconds = number(next("time")?, &[9])?;
    let mut kilobytes = |key: &str| next(key)?.parse::<u64>().ok()?.checked_mul(1024);
    let memory = MemoryLeft {
        virtual_bytes: kilobytes("virt")?,
        resident_bytes: kilobytes("res")?,
        dirty_bytes: kilobytes("dirty")?,
    };
    parts.next().is_none().then_some((seconds, memory))
}
