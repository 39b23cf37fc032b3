//! `gmtime` in static programs on musl: the date that it is on glibc, and the zone's name.

use underpin_test_support::{Fixture, Output, need};

#[test]
fn universal_time_is_glibcs() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("universal.c", include_str!("universal.c"));
    dir.write("universal.o", underpin_overlay::universal(std::env::consts::ARCH).expect("on board").bytes);
    dir.write("dates.o", underpin_overlay::dates(std::env::consts::ARCH).expect("on board").bytes);
    dir.must("gcc", ["-w", "-D_GNU_SOURCE", "-O1", "universal.c", "-o", "on-glibc"]);
    dir.musl_cc(["-w", "-D_GNU_SOURCE", "-static", "-O1", "universal.o", "dates.o", "universal.c", "-o", "on-musl"]);
    let says = |file: &str| Output::of(&mut dir.command(dir.join(file))).stdout;
    let judge = says("on-glibc");
    assert!(judge.lines().count() > 400_000 && judge.contains(" GMT ") && judge.contains("none"));
    let said = says("on-musl");
    for (expected, line) in judge.lines().zip(said.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(said.lines().count(), judge.lines().count());
}
