//! `rand` and `random` in static programs on musl: a seed gives the sequence that it gives on glibc.

use underpin_test_support::{Fixture, Output, need};

fn says(dir: &Fixture, program: &str) -> String {
    let output = Output::of(&mut dir.command(dir.join(program)));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

#[test]
fn a_seed_gives_glibcs_sequence() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("sequences.c", include_str!("sequences.c"));
    dir.write("sequences.o", underpin_overlay::sequences(std::env::consts::ARCH).expect("on board").bytes);
    dir.must("gcc", ["-w", "sequences.c", "-o", "on-glibc"]);
    dir.musl_cc(["-w", "-static", "sequences.o", "sequences.c", "-o", "on-musl"]);
    let judge = says(&dir, "on-glibc");
    for (expected, line) in judge.lines().zip(says(&dir, "on-musl").lines()) {
        assert_eq!(line, expected);
    }
    dir.musl_cc(["-w", "-static", "sequences.c", "-o", "musls-own"]);
    assert!(says(&dir, "musls-own") != judge);
}
