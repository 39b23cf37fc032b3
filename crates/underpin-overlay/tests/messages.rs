//! What errors and signals are called in static programs on musl: what they are called on glibc.

use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need};

fn says(dir: &Fixture, program: PathBuf) -> String {
    let output = Output::of(&mut dir.command(program));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // Whoever warns says its name.
    output.stdout.replace("on-musl: ", "on-glibc: ")
}

#[test]
fn errors_and_signals_are_called_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("messages.c", include_str!("messages.c"));
    let object = underpin_overlay::messages(std::env::consts::ARCH).expect("on board");
    dir.write("messages.o", object.bytes);
    let declared = "-D__xpg_strerror_r=strerror_r";
    dir.must("gcc", ["-w", "messages.c", "-o", "on-glibc"]);
    dir.musl_cc(["-w", "-static", declared, "messages.o", "messages.c", "-o", "on-musl"]);
    dir.musl_cc(["-w", "-static", declared, "messages.c", "-o", "musls-own"]);
    let judge = says(&dir, dir.join("on-glibc"));
    assert!(judge.lines().count() == 605 && judge.contains("[Too many open files]"), "{judge}");
    for (expected, line) in judge.lines().zip(says(&dir, dir.join("on-musl")).lines()) {
        assert_eq!(line, expected);
    }
    assert!(says(&dir, dir.join("musls-own")) != judge);
}
