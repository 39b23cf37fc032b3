//! `rand` and `random` in static programs on musl: a seed gives the sequence that it gives on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

#[test]
fn a_seed_gives_glibcs_sequence() {
    need!("gcc", "musl-gcc");
    let both = Both { program: include_str!("sequences.c"), parts: &[Part::Sequences], ..Both::default() };
    let compared = both.judged();
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}
