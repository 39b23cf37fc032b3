//! `gmtime` in static programs on musl: the date that it is on glibc, and the zone's name.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

#[test]
fn universal_time_is_glibcs() {
    need!("gcc", "musl-gcc");
    let both = Both {
        program: include_str!("universal.c"),
        parts: &[Part::Universal, Part::Dates],
        flags: &["-D_GNU_SOURCE"],
        ..Both::default()
    };
    let compared = both.judged();
    let judge = &compared.judge;
    assert!(judge.lines().count() > 400_000 && judge.contains(" GMT ") && judge.contains("none"));
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}
