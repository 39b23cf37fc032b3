//! Regular expressions in static programs on musl: what a program sees of them is what it sees on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need};

#[test]
fn expressions_match_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let both = Both {
        program: include_str!("regex.c"),
        parts: &[Part::Regex],
        arguments: &["0", "12000"],
        heads: Some(|line| !line.starts_with(' ')),
        ..Both::default()
    };
    let compared = both.judged();
    let judge = &compared.judge;
    let (searches, matches) = (judge.matches("  [").count(), judge.matches(": 0 ").count());
    assert!(searches > 50_000 && matches > 10_000, "{searches} {matches}");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}

/// Memory that fails, several threads, texts too long for anything but linear time, and what glibc gets wrong.
#[test]
fn expressions_keep_the_rules_where_glibc_is_no_judge() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("rules.c", include_str!("regex_rules.c"));
    both::write(&dir, Part::Regex);
    let wraps = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free";
    dir.musl_cc(["-w", "-static", "-O1", "-pthread", wraps, "regex.o", "rules.c", "-o", "rules"]);
    let output = Output::of(&mut dir.command(dir.join("rules")));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "done\n"), "{}", output.stderr);
}
