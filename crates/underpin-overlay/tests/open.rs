//! `open` in static programs on musl: what it is on glibc, and one system call.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

#[test]
fn a_file_is_opened_as_on_glibc_by_one_call() {
    need!("gcc", "musl-gcc", "strace");
    let both =
        Both { program: include_str!("open.c"), parts: &[Part::Open], libraries: &["-pthread"], ..Both::default() };
    let compared = both.judged();
    assert!(compared.judge.contains("open, error 0, close on exec 1") && compared.judge.contains("cancelled 1"));
    compared.agrees();
    compared.alone();
    let sets = |program: &str| {
        let words = ["-f", "-e", "trace=fcntl", "-o", "calls", program];
        compared.dir.must("strace", words);
        std::fs::read_to_string(compared.dir.join("calls")).unwrap().matches("F_SETFD").count()
    };
    assert_eq!((sets("./on-glibc"), sets("./on-musl"), sets("./musls-own") > 0), (0, 0, true));
}
