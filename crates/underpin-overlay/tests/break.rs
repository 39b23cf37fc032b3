//! `sbrk` and `brk` in static programs on musl: an allocator that grows by them has its memory.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::{Output, need};

#[test]
fn the_break_moves_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let both = Both { program: include_str!("break.c"), parts: &[Part::Break], ..Both::default() };
    let compared = both.judged();
    let judge = &compared.judge;
    assert!(judge.lines().count() > 3000 && judge.contains("up: 1 1, then "), "{judge}");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
    // Where there are few addresses, it takes a part of them.
    let limited = Output::of(compared.dir.command("sh").args(["-c", "ulimit -v 50000 && exec ./on-musl"]));
    assert_eq!((limited.code, &limited.stdout), (Some(0), judge));
}
