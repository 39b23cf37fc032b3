//! The texts in `recorded` are what the unchanged programs printed here, built by gcc for glibc and by musl-gcc
//! -static. lmbench's licence does not let its output be kept: its lines are written with the figures of
//! `seeds/openeuler-musl.rst`.

use super::*;
use crate::row::{Measure, Row, rows};
use std::collections::BTreeSet;
use std::time::Duration;

const LIBC_BENCH: [&str; 2] =
    [include_str!("recorded/libc-bench-glibc.txt"), include_str!("recorded/libc-bench-musl.txt")];
const COREMARK: [(&str, &str, f64); 4] = [
    ("coremark-1", include_str!("recorded/coremark-1-glibc.txt"), 40_562.466_198),
    ("coremark-1", include_str!("recorded/coremark-1-musl.txt"), 38_380.349_261),
    ("coremark-n", include_str!("recorded/coremark-n-glibc.txt"), 32_282.363_069),
    ("coremark-n", include_str!("recorded/coremark-n-musl.txt"), 61_807.880_505),
];
/// Runs of a second, their row, and operations in a second.
const UNIXBENCH: [(&str, &str, f64); 11] = [
    ("dhrystone", "COUNT|71288819|1|lps\n", 71_288_819.0),
    ("dhrystone", "COUNT|40565107|1|lps\n", 40_565_107.0),
    ("execl", "COUNT|11585|1|lps\n", 11_585.0),
    ("pipe-throughput", "COUNT|1216583|1|lps\n", 1_216_583.0),
    ("context-switch", "COUNT|208738|1|lps\nCOUNT|208739|1|lps\n", 208_739.0),
    ("process-creation", "COUNT|6514|1|lps\n", 6_514.0),
    ("shell-1", "COUNT|44|60|lpm\n", 44.0),
    ("shell-8", "COUNT|13|60|lpm\n", 13.0),
    ("syscall", "COUNT|865094|1|lps\n", 865_094.0),
    ("whetstone", "COUNT|9405.520|0|MWIPS\nTIME|8.994\n", 9_405.52),
    (
        "file-copy-1024",
        "COUNT|1726292|0|KBps\nTIME|2.0\nCOUNT|1865684|0|KBps\nTIME|2.0\nCOUNT|841691|0|KBps\nTIME|1.0\n",
        841_691.0,
    ),
];

/// A run's output as the tests have it.
struct Case {
    suite: OriginalSuite,
    run: &'static str,
    text: String,
}

impl Case {
    fn parse(&self, text: &str) -> Result<Readings, ParseError> {
        let printed = match self.suite {
            OriginalSuite::LibcBench | OriginalSuite::Coremark => Printed { stdout: text, ..Printed::default() },
            OriginalSuite::Lmbench | OriginalSuite::Unixbench => Printed { stderr: text, ..Printed::default() },
        };
        self.suite.parse(self.run, &Printed { elapsed: Duration::from_secs(1), ..printed })
    }
}

fn cases() -> Vec<Case> {
    let libc = LIBC_BENCH.iter().map(|text| (OriginalSuite::LibcBench, "libc-bench", (*text).to_owned()));
    let cpu = COREMARK.iter().map(|(run, text, _)| (OriginalSuite::Coremark, *run, (*text).to_owned()));
    let system = UNIXBENCH.iter().map(|(run, text, _)| (OriginalSuite::Unixbench, *run, (*text).to_owned()));
    let os = lmbench_runs().into_iter().map(|(run, text)| (OriginalSuite::Lmbench, run, text));
    libc.chain(cpu).chain(system).chain(os).map(|(suite, run, text)| Case { suite, run, text }).collect()
}

/// The published figure of a row of `os` on musl.
fn seeds(name: &str) -> f64 {
    crate::row::find("os", name).unwrap().original.unwrap().figures.unwrap().musl
}

/// What lmbench prints, in the formats of its sources, with the published figures.
fn lmbench_runs() -> Vec<(&'static str, String)> {
    let micro = |label: &str, row: &str| format!("{label}: {:.4} microseconds\n", seeds(row));
    let sized = |size: &str, row: &str| format!("{size} {:.2}\n", seeds(row));
    let labelled = |label: &str, row: &str| format!("{label}: {:.2} MB/sec\n", seeds(row));
    let switches = |size: &str| {
        let line = |processes: u32| format!("{processes} {:.2}\n", seeds(&format!("context-{processes}p-{size}")));
        format!("\n\"size={size} ovr=0.85\n{}{}{}", line(2), line(8), line(16))
    };
    let rate = |row: &str| format!("{:.0}", 1e6 / seeds(row));
    let files = |size: &str| format!("{}\t{}", rate(&format!("create-{size}")), rate(&format!("delete-{size}")));
    vec![
        ("null-call", micro("Simple syscall", "null-call")),
        // The seed's row is the mean of the two.
        ("null-io", "Simple read: 4.2300 microseconds\nSimple write: 4.7300 microseconds\n".to_owned()),
        ("stat", micro("Simple stat", "stat")),
        ("open-close", micro("Simple open/close", "open-close")),
        ("select-tcp-100", micro("Select on 100 tcp fd's", "select-tcp-100")),
        ("signal-install", micro("Signal handler installation", "signal-install")),
        ("signal-handle", micro("Signal handler overhead", "signal-handle")),
        ("fork", micro("Process fork+exit", "fork")),
        ("exec", micro("Process fork+execve", "exec")),
        ("sh-system", micro("Process fork+/bin/sh -c", "sh-system")),
        ("context-0k", format!("\n\"size=0k ovr=0.85\n2 {:.2}\n8 6.54\n16 6.32\n", seeds("context-2p-0k"))),
        ("context-16k", switches("16k")),
        ("context-64k", switches("64k")),
        ("pipe-latency", micro("Pipe latency", "pipe-latency")),
        ("af-unix-latency", micro("AF_UNIX sock stream latency", "af-unix-latency")),
        ("udp-latency", micro("UDP latency using localhost", "udp-latency")),
        ("tcp-latency", micro("TCP latency using localhost", "tcp-latency")),
        ("tcp-connect", micro("TCP/IP connection cost to localhost", "tcp-connect")),
        ("files", format!("0k\t481\t{}\n1k\t474\t41\t11\n4k\t480\t41\t95\n10k\t414\t{}\n", files("0k"), files("10k"))),
        ("mmap-latency", format!("67.108864 {:.0}\n", seeds("mmap-latency"))),
        ("protection-fault", micro("Protection fault", "protection-fault")),
        ("page-fault", micro("Pagefaults on file", "page-fault")),
        ("select-file-100", micro("Select on 100 fd's", "select-file-100")),
        ("pipe-bandwidth", labelled("Pipe bandwidth", "pipe-bandwidth")),
        ("af-unix-bandwidth", labelled("AF_UNIX sock stream bandwidth", "af-unix-bandwidth")),
        ("tcp-bandwidth", format!("10.485760 {:.2} MB/sec\n", seeds("tcp-bandwidth"))),
        ("file-reread", sized("67.11", "file-reread")),
        ("mmap-reread", sized("67.11", "mmap-reread")),
        ("copy-libc", sized("33.55", "copy-libc")),
        ("copy-by-hand", sized("33.55", "copy-by-hand")),
        ("memory-read", sized("67.11", "memory-read")),
        ("memory-write", sized("67.11", "memory-write")),
    ]
}

/// The value of an amount.
fn value(figure: Figure) -> f64 {
    match figure.amount {
        Amount::Seconds(value) | Amount::BytesPerSecond(value) | Amount::PerSecond(value) => value,
    }
}

#[test]
fn an_unknown_name_lists_those_that_exist() {
    for suite in OriginalSuite::ALL {
        assert_eq!(suite.name().parse(), Ok(suite));
    }
    let said = "lmbench3".parse::<OriginalSuite>().unwrap_err().to_string();
    assert_eq!(said, "unknown suite `lmbench3`: originals are libc-bench, lmbench, unixbench, coremark");
}

#[test]
fn a_folder_is_recognised_by_every_file_that_is_needed_and_the_missing_one_is_named() {
    for suite in OriginalSuite::ALL {
        let files = suite.recipe(&Setting::default()).files();
        for place in suite.places() {
            let has = |path: &Path| {
                path.strip_prefix(place).is_ok_and(|rest| files.iter().any(|file| rest == Path::new(file)))
            };
            assert_eq!(suite.recognise(&has), Ok(PathBuf::from(place)), "{suite}");
            for file in &files {
                let lacks = |path: &Path| has(path) && path != Path::new(place).join(file);
                let refused = suite.recognise(&lacks).unwrap_err();
                assert_eq!(refused, NotThatSuite { suite, expected: Path::new(place).join(file) });
            }
        }
    }
    let said = OriginalSuite::Lmbench.recognise(&|_| false).unwrap_err().to_string();
    assert_eq!(said, "not the sources of lmbench: expected the file `src/hello.c` in it");
}

#[test]
fn every_row_with_an_original_has_one_run_and_every_run_has_rows() {
    for suite in OriginalSuite::ALL {
        let recipe = suite.recipe(&Setting::default());
        let of_runs: Vec<RowName> = recipe.runs.iter().flat_map(|run| run.rows.iter().copied()).collect();
        let once: BTreeSet<RowName> = of_runs.iter().copied().collect();
        assert_eq!(once.len(), of_runs.len(), "{suite}: a row twice");
        let named = |row: &&Row| row.original.is_some();
        let expected: BTreeSet<RowName> =
            rows(suite.suite()).iter().filter(named).map(|row| RowName { suite: row.suite, name: row.name }).collect();
        assert_eq!(once, expected, "{suite}");
        let names: BTreeSet<&str> = recipe.runs.iter().map(|run| run.name).collect();
        assert_eq!(names.len(), recipe.runs.len(), "{suite}: a run twice");
        assert!(recipe.runs.iter().all(|run| !run.rows.is_empty() && run.usual < run.deadline));
    }
}

#[test]
fn the_steps_of_a_run_start_programs_that_are_built_and_servers_are_ended() {
    for (suite, is_quick) in OriginalSuite::ALL.iter().flat_map(|suite| [(suite, false), (suite, true)]) {
        let recipe = suite.recipe(&Setting { processors: 2, is_quick });
        for run in &recipe.runs {
            let is_built = |name: &str| recipe.programs.iter().any(|program| program.name == name);
            assert!(run.steps.iter().all(|step| is_built(step.program)), "{}", run.name);
            assert!(run.installed.is_none_or(|(program, _)| is_built(program)));
            let servers = run.steps.iter().filter(|step| matches!(step.role, Role::Serves { .. })).count();
            let ends = run.steps.iter().filter(|step| step.role == Role::Ends).count();
            assert_eq!(servers, ends, "{}", run.name);
            assert!(run.steps.iter().any(|step| step.role == Role::Measures));
        }
    }
    let udp = OriginalSuite::Lmbench.recipe(&Setting { processors: 1, is_quick: true });
    let steps: Vec<String> =
        udp.run("udp-latency").unwrap().steps.iter().map(|step| step.arguments.join(" ")).collect();
    assert_eq!(steps, ["-s", "-N 3 localhost", "-S localhost"]);
    let copy = OriginalSuite::Unixbench.recipe(&Setting::default());
    let step = &copy.run("file-copy-256").unwrap().steps[0];
    assert_eq!((step.program, step.arguments.join(" ").as_str()), ("fstime", "-c -t 30 -d . -b 256 -m 500"));
}

#[test]
fn the_words_of_a_build_have_options_then_sources_then_libraries() {
    let recipe = OriginalSuite::Coremark.recipe(&Setting { processors: 4, is_quick: false });
    let all = &recipe.programs[1];
    assert_eq!(all.project(), "core_main.c");
    let words = all.words(&[]);
    let at = |word: &str| words.iter().position(|one| one == word).unwrap_or_else(|| panic!("{word} in {words:?}"));
    assert!(at("-DMULTITHREAD=4") < at("core_list_join.c") && at("posix/core_portme.c") < at("-lrt"));
    assert!(!words.contains(&"core_main.c".to_owned()));
    for program in OriginalSuite::ALL.iter().flat_map(|suite| suite.recipe(&Setting::default()).programs) {
        assert!(program.project().ends_with(".c"), "{program:?}");
        let words = program.words(&[]);
        assert!(words.iter().all(|word| !["-static", "-march=native"].contains(&word.as_str())), "{program:?}");
    }
}

#[test]
fn a_fork_of_libc_bench_with_more_files_and_tests_is_built_whole_and_its_own_tests_are_passed_over() {
    let program = &OriginalSuite::LibcBench.recipe(&Setting::default()).programs[0];
    let beside = ["Makefile", "utf8.c", "main.c", "environ.c"].map(str::to_owned);
    let of_c = |word: &&String| word.ends_with("environ.c") || word.ends_with("utf8.c") || word.ends_with("main.c");
    let words = program.words(&beside);
    assert_eq!(words.iter().filter(of_c).collect::<Vec<_>>(), ["utf8.c", "environ.c"]);
    let coremark = &OriginalSuite::Coremark.recipe(&Setting::default()).programs[0];
    assert_eq!(coremark.words(&beside), coremark.words(&[]));

    let more = "b_environ_getenv (0)\n  time: 0.002000000, virt: 160, res: 20, dirty: 16\n\n";
    let parse =
        |text: &str| OriginalSuite::LibcBench.parse("libc-bench", &Printed { stdout: text, ..Printed::default() });
    assert_eq!(parse(&format!("{more}{}", LIBC_BENCH[0])), parse(LIBC_BENCH[0]));
    assert!(parse(&format!("{}b_environ_getenv (0)\n", LIBC_BENCH[0])).is_err(), "its figures are missing");
}

#[test]
fn libc_bench_gives_time_of_an_operation_and_memory_for_29_rows() {
    for text in LIBC_BENCH {
        let readings =
            OriginalSuite::LibcBench.parse("libc-bench", &Printed { stdout: text, ..Printed::default() }).unwrap();
        assert_eq!((readings.figures.len(), readings.refused.len()), (29, 0));
    }
    let of = |text: &str, name: &'static str| {
        let readings =
            OriginalSuite::LibcBench.parse("libc-bench", &Printed { stdout: text, ..Printed::default() }).unwrap();
        readings.of(RowName { suite: Suite::Libc, name }).unwrap()
    };
    let sparse = of(LIBC_BENCH[0], "malloc-sparse");
    let memory = MemoryLeft { virtual_bytes: 39_036 * 1024, resident_bytes: 38_996 * 1024, dirty_bytes: 38_988 * 1024 };
    assert_eq!(sparse, Figure { amount: Amount::Seconds(0.016_123_317 / 10_000.0), memory: Some(memory) });
    assert_eq!(of(LIBC_BENCH[1], "regex-search-2").amount, Amount::Seconds(0.012_597_266));
    let reported = sparse.reported();
    assert_eq!((reported.ns, reported.dirty), (0.016_123_317 / 10_000.0 * 1e9, 38_988 * 1024));
}

#[test]
fn a_test_of_libc_bench_that_failed_or_was_not_done_is_refused_and_the_others_stay() {
    let parse =
        |text: &str| OriginalSuite::LibcBench.parse("libc-bench", &Printed { stdout: text, ..Printed::default() });
    let blocks: Vec<&str> = LIBC_BENCH[0].split_inclusive("\n\n").collect();
    assert_eq!(blocks.len(), 29);
    let without: String = blocks.iter().filter(|block| !block.starts_with("b_string_memset")).copied().collect();
    let readings = parse(&without).unwrap();
    let memset = RowName { suite: Suite::Libc, name: "memset" };
    assert_eq!(readings.figures.len(), 28);
    assert!(readings.of(memset).unwrap_err().contains("printed nothing"));
    // zig's clang removes the whole of it.
    let removed = format!("{without}b_string_memset (0)\n  time: 0.000000154, virt: 160, res: 20, dirty: 16\n\n");
    assert!(parse(&removed).unwrap().of(memset).unwrap_err().contains("it was not done"));
    let negative = format!("{without}b_string_memset (0)\n  time: -1.999999154, virt: 160, res: 20, dirty: 16\n\n");
    assert!(parse(&negative).unwrap_err().to_string().contains("`time: -1.9"));
    let twice = format!("{without}{}", blocks[0]);
    assert!(parse(&twice).unwrap_err().to_string().contains("printed `b_malloc_sparse (0)`"));
}

#[test]
fn coremark_gives_iterations_per_second_only_if_it_says_that_they_are_valid() {
    for (run, text, expected) in COREMARK {
        let parse = |text: &str| OriginalSuite::Coremark.parse(run, &Printed { stdout: text, ..Printed::default() });
        let readings = parse(text).unwrap();
        assert_eq!(readings.figures.len(), 1);
        assert_eq!(readings.figures[0].1.amount, Amount::PerSecond(expected), "{run}");
        let wrong = text.replace("2K performance", "2K validation");
        assert!(parse(&wrong).unwrap_err().to_string().contains("2K performance run"), "{run}");
        let crc = text.replace("CoreMark Size", "[0]ERROR! list crc 0x0000 - should be 0xe714\nCoreMark Size");
        assert!(parse(&crc).unwrap_err().to_string().contains("list crc"));
        let short = text.replace("Iterations/Sec   : ", "Iterations/Sec   : 1");
        assert!(parse(&short).unwrap_err().to_string().contains("iterations in"));
    }
    let threads = Printed { stdout: COREMARK[2].1, ..Printed::default() };
    assert!(OriginalSuite::Coremark.parse("coremark-1", &threads).unwrap_err().to_string().contains("one context"));
}

#[test]
fn unixbench_counts_over_the_time_that_was_taken_unless_it_prints_a_rate() {
    for (run, text, expected) in UNIXBENCH {
        let parse = |seconds: f64| {
            let elapsed = Duration::from_secs_f64(seconds);
            OriginalSuite::Unixbench.parse(run, &Printed { stderr: text, elapsed, ..Printed::default() })
        };
        let is_rate = text.contains("TIME");
        for seconds in [1.0, 2.5] {
            let expected = if is_rate { expected } else { expected / seconds };
            assert_eq!(parse(seconds).unwrap().figures[0].1.amount, Amount::PerSecond(expected), "{run}");
        }
        assert_eq!(parse(0.0).is_ok(), is_rate, "{run}");
    }
    let wrong = Printed { stdout: "MWIPS\nWrong answer  \n", stderr: UNIXBENCH[9].1, ..Printed::default() };
    assert!(OriginalSuite::Unixbench.parse("whetstone", &wrong).unwrap_err().to_string().contains("Wrong answer"));
    let failed = Printed { stderr: "Fork failed at iteration 17\n", ..Printed::default() };
    let said = OriginalSuite::Unixbench.parse("process-creation", &failed).unwrap_err().to_string();
    assert_eq!(said, "process-creation printed `Fork failed at iteration 17`: expected `COUNT|NUMBER|1|lps`");
}

/// The seed has microseconds and millions of bytes in a second; lmbench prints whole files in a second.
#[test]
fn lmbench_printing_the_seeds_figures_gives_the_seeds_figures() {
    for case in cases().into_iter().filter(|case| case.suite == OriginalSuite::Lmbench) {
        let readings = case.parse(&case.text).unwrap();
        assert!(readings.refused.is_empty(), "{}", case.run);
        for (name, figure) in readings.figures {
            let row = crate::row::find("os", name.name).unwrap();
            let scale = if row.measure == Measure::Bandwidth { 1e6 } else { 1e-6 };
            assert!((value(figure) / scale / seeds(row.name) - 1.0).abs() < 1e-4, "{}: {figure:?}", row.name);
            assert_eq!(matches!(figure.amount, Amount::BytesPerSecond(_)), row.measure == Measure::Bandwidth);
        }
    }
}

#[test]
fn what_lmbench_cannot_measure_or_says_beside_a_figure_is_refused() {
    let parse = |run: &str, stderr: &str| OriginalSuite::Lmbench.parse(run, &Printed { stderr, ..Printed::default() });
    let readings = parse("context-16k", "\n\"size=16k ovr=2.16\n8 5.41\n").unwrap();
    assert_eq!((readings.figures.len(), readings.refused.len()), (1, 2));
    let readings = parse("files", "0k\t1\t5\t-1\n1k\t1\t5\t5\n4k\t1\t5\t5\n10k\t1\t5\t5\n").unwrap();
    assert_eq!(readings.refused[0].0.name, "delete-0k");
    // The figure is of a loop that ended at its first call.
    let said =
        parse("stat", "file: No such file or directory\nSimple stat: 0.0010 microseconds\n").unwrap_err().to_string();
    assert_eq!(said, "stat printed `file: No such file or directory`: expected `Simple stat: NUMBER microseconds`");
    // Another size is another figure.
    assert!(parse("file-reread", "33.55 3087.74\n").is_err());
    assert!(parse("pipe-latency", "").unwrap_err().to_string().starts_with("pipe-latency printed nothing"));
    assert!(matches!(parse("pipe", ""), Err(ParseError::UnknownRun(_))));
}

/// Whatever is cut off or falsified: an error, or fewer rows; never another figure.
#[test]
fn no_part_of_an_output_and_no_falsified_character_gives_a_wrong_figure() {
    for case in cases() {
        let full = case.parse(&case.text).unwrap();
        let check = |text: &str| {
            let Ok(readings) = case.parse(text) else { return };
            for (row, figure) in readings.figures {
                let right = value(full.of(row).unwrap());
                // The two processes of context1 count one more or less.
                assert!((value(figure) / right - 1.0).abs() < 1e-4, "{row:?} in {text}");
            }
        };
        for at in 0..case.text.len() {
            check(&case.text[..at]);
            check(&case.text[at..]);
            for other in ["x", " ", "\n", "-", "|", ""] {
                // A digit that is not there cannot be seen.
                if case.text.as_bytes()[at].is_ascii_digit() && ["", "\n"].contains(&other) {
                    continue;
                }
                check(&format!("{}{other}{}", &case.text[..at], &case.text[at + 1..]));
            }
        }
        for noise in ["", "\n", "\u{0}\u{fffd}", "nan\n", "-1\n", "Segmentation fault\n", "1e999 1e999\n"] {
            assert!(case.parse(noise).is_err(), "{}: {noise:?}", case.run);
        }
    }
}
