//! `sbrk` and `brk` in static programs on musl: an allocator that grows by them has its memory.

use underpin_test_support::{Fixture, Output, need};

#[test]
fn the_break_moves_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("break.c", include_str!("break.c"));
    dir.write("break.o", underpin_overlay::data_break(std::env::consts::ARCH).expect("on board").bytes);
    dir.must("gcc", ["-w", "-O1", "break.c", "-o", "on-glibc"]);
    dir.musl_cc(["-w", "-static", "-O1", "break.o", "break.c", "-o", "on-musl"]);
    dir.musl_cc(["-w", "-static", "-O1", "break.c", "-o", "musls-own"]);
    let says = |file: &str| Output::of(&mut dir.command(dir.join(file)));
    let judge = says("on-glibc").stdout;
    assert!(judge.lines().count() > 3000 && judge.contains("up: 1 1, then "), "{judge}");
    for (expected, line) in judge.lines().zip(says("on-musl").stdout.lines()) {
        assert_eq!(line, expected);
    }
    assert!(says("musls-own").stdout != judge);
    // Where there are few addresses, it takes a part of them.
    let limited = Output::of(dir.command("sh").args(["-c", "ulimit -v 50000 && exec ./on-musl"]));
    assert_eq!((limited.code, limited.stdout), (Some(0), judge));
}
