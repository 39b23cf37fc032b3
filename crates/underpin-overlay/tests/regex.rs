//! Regular expressions in static programs on musl: what a program sees of them is what it sees on glibc.

use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = include_str!("regex.c");
const RULES: &str = include_str!("regex_rules.c");
const CASES: [&str; 2] = ["0", "12000"];

fn object(dir: &Fixture) -> String {
    let object = underpin_overlay::regex(std::env::consts::ARCH).expect("on board");
    dir.write("regex.o", object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

fn says(dir: &Fixture, program: PathBuf) -> String {
    let output = Output::of(dir.command(program).args(CASES));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

#[test]
fn expressions_match_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("regex.c", PROGRAM);
    let object = object(&dir);
    dir.must("gcc", ["-w", "-O1", "regex.c", "-o", "on-glibc"]);
    let judge = says(&dir, dir.join("on-glibc"));
    let (searches, matches) = (judge.matches("  [").count(), judge.matches(": 0 ").count());
    assert!(searches > 50_000 && matches > 10_000, "{searches} {matches}");
    dir.musl_cc(["-w", "-static", "-O1", &object, "regex.c", "-o", "on-musl"]);
    let mut expression = "";
    for (expected, line) in judge.lines().zip(says(&dir, dir.join("on-musl")).lines()) {
        assert_eq!(line, expected, "{expression}");
        if !expected.starts_with(' ') {
            expression = expected;
        }
    }
    // musl's own answer otherwise, or nothing of this would be needed.
    dir.musl_cc(["-w", "-static", "-O1", "regex.c", "-o", "musls-own"]);
    assert!(says(&dir, dir.join("musls-own")) != judge);
}

/// Memory that fails, several threads, texts too long for anything but linear time, and what glibc gets wrong.
#[test]
fn expressions_keep_the_rules_where_glibc_is_no_judge() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("rules.c", RULES);
    let object = object(&dir);
    let wraps = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free";
    dir.musl_cc(["-w", "-static", "-O1", "-pthread", wraps, &object, "rules.c", "-o", "rules"]);
    let output = Output::of(&mut dir.command(dir.join("rules")));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "done\n"), "{}", output.stderr);
}
