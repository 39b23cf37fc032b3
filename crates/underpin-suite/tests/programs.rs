//! The programs of the suites: they have the rows of the catalogue, and a row that a compiler removed is refused.

use std::collections::BTreeSet;
use underpin_suite::sources::program;
use underpin_suite::{Suite, rows};
use underpin_test_support::{Fixture, Output, need};

fn written(dir: &Fixture, suite: Suite) {
    for file in program(suite).files {
        dir.write(file.path, file.text);
    }
}

#[test]
fn every_program_has_the_rows_of_the_catalogue() {
    need!("cc", "musl-gcc");
    for suite in Suite::ALL.into_iter().filter(|suite| *suite != Suite::Alloc) {
        let dir = Fixture::new();
        written(&dir, suite);
        let source = program(suite);
        for compiler in ["cc", "musl-gcc"] {
            dir.must(
                compiler,
                [&["-Wall", "-Wextra", "-Werror", source.project], source.words, &["-o", "suite"]].concat(),
            );
            let listed = Output::of(dir.command(dir.join("suite")).arg("--list")).stdout;
            let listed: BTreeSet<&str> = listed.lines().collect();
            let known: BTreeSet<&str> = rows(suite).iter().map(|row| row.name).collect();
            assert_eq!(listed, known, "{suite} by {compiler}");
        }
    }
}

#[test]
fn the_small_shell_does_what_the_system_s_does() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    written(&dir, Suite::Os);
    let scripts = [
        ":",
        "exit 7",
        "\"$0\" one 'two three' \"$1\" $2",
        "false && echo no; echo $?",
        "true && echo \"$HOME-$?\"\nexit 3; echo never",
        "false && echo no && echo never",
        "no-such-program-at-all; exit $?",
        "echo '$0' \"a$\"; exit",
        "sh -c 'kill -15 $$'; exit $?",
    ];
    for compiler in ["cc", "musl-gcc"] {
        dir.must(compiler, ["-Wall", "-Wextra", "-Werror", "-O2", "os/sh.c", "-o", "small"]);
        for script in scripts {
            let run = |shell: &str| {
                Output::of(dir.command(shell).args(["-c", script, "echo", "first", "second"]).env("HOME", "/a b"))
            };
            let (ours, theirs) = (run(dir.join("small").to_str().unwrap()), run("/bin/sh"));
            assert_eq!((ours.code, &ours.stdout), (theirs.code, &theirs.stdout), "{script}: {}", ours.stderr);
        }
    }
}

#[test]
fn the_program_of_alloc_has_the_rows_of_the_catalogue() {
    need!("rustc");
    let dir = Fixture::new();
    written(&dir, Suite::Alloc);
    dir.must("rustc", ["--edition", "2024", "-O", "alloc/src/main.rs", "-o", "suite"]);
    for row in rows(Suite::Alloc) {
        let output = Output::of(dir.command(dir.join("suite")).args(row.words(1)));
        assert!(output.stdout.contains(&format!("\"row\":\"{}\"", row.name)), "{}: {}", row.name, output.stderr);
    }
}

const ROWS: &str = r#"
#define _GNU_SOURCE
#include "common/row.h"
static char text[100];
static void lengths(uint64_t n) { for (uint64_t i = 0; i < n; i++) KEEP(strlen(HIDE(&text[0]))); }
static void removed(uint64_t n) { (void)n; }
static void crashes(uint64_t n) { (void)n; *(volatile int *)HIDE((int *)0) = 1; }
static void gives_up(uint64_t n) { (void)n; fail("no such thing"); }
static void varies(uint64_t n) { static int turn; operations_took((int64_t)n * (turn++ % 2 ? 100 : 200)); }
static const struct row rows[] = {
    {"varies", IN_A_LOOP, 0, 0.1, 0, varies, 0, 0},
    {"lengths", IN_A_LOOP, 0, 0.1, 0, lengths, 0, 0},
    {"removed", IN_A_LOOP, 0, 0.1, 0, removed, 0, 0},
    {"removed-child", IN_A_CHILD, 1000000000, 0.1, 0, removed, 0, 0},
    {"crashes", IN_A_CHILD, 1, 0, 0, crashes, 0, 0},
    {"gives-up", IN_A_CHILD, 1, 0, 0, gives_up, 0, 0},
};
int main(int words, char **word) { return suite_main(words, word, rows, 6); }
"#;

/// A folder with the program `rows`, whose rows go wrong in each way.
fn odd_rows() -> Fixture {
    let dir = Fixture::new();
    written(&dir, Suite::Libc);
    dir.write("rows.c", ROWS);
    dir.must("cc", ["-O2", "rows.c", "-o", "rows"]);
    dir
}

#[test]
fn a_row_that_was_optimised_away_crashes_or_gives_up_is_never_a_figure() {
    need!("cc");
    let dir = odd_rows();
    let run = |row: &str| Output::of(dir.command(dir.join("rows")).args([row, "10"]));
    assert_eq!(run("lengths").code, Some(0));
    for (row, code, reason) in [
        ("removed", Some(3), "it was optimised away"),
        ("removed-child", Some(3), "it was optimised away"),
        ("crashes", None, ""),
        ("gives-up", Some(1), "no such thing"),
        ("unknown", Some(2), "usage"),
    ] {
        let output = run(row);
        assert_eq!((output.code, output.stdout.as_str()), (code, ""), "{row}");
        assert!(output.stderr.contains(reason), "{row}: {}", output.stderr);
    }
}

#[test]
fn figures_that_are_apart_are_repeated_more_often_where_that_is_asked_for() {
    need!("cc");
    let dir = odd_rows();
    let run = |asked: &str| Output::of(dir.command(dir.join("rows")).args(["varies", "10"]).env("SUITE_ALIKE", asked));
    for (asked, repetitions) in [("", 5), ("1", 15)] {
        let output = run(asked);
        assert!(
            output.stdout.contains(&format!("\"repetitions\":{repetitions},")),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
}
