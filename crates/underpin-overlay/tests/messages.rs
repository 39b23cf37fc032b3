//! What errors and signals are called in static programs on musl: what they are called on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

#[test]
fn errors_and_signals_are_called_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let both = Both {
        program: include_str!("messages.c"),
        parts: &[Part::Messages],
        musl_flags: &["-D__xpg_strerror_r=strerror_r"],
        ..Both::default()
    };
    let compared = both.judged();
    let judge = &compared.judge;
    assert!(judge.lines().count() == 605 && judge.contains("[Too many open files]"), "{judge}");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}
