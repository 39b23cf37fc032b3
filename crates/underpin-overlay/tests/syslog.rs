//! `syslog` in static programs on musl: what arrives at the service is what arrives from a program on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

/// In its name space the program has a /dev of its own, and is the service itself.
const WITHOUT_DEVICES: &str = "mkdir -p dev && rm -rf dev/* && mount --bind dev /dev && exec \"$0\"";

#[test]
fn what_arrives_at_the_service_is_what_arrives_from_glibc() {
    need!("gcc", "musl-gcc", "unshare");
    let both = Both {
        program: include_str!("syslog.c"),
        parts: &[Part::Syslog, Part::Dates],
        libraries: &["-pthread"],
        runner: &["unshare", "-rm", "sh", "-c", WITHOUT_DEVICES],
        ..Both::default()
    };
    let compared = both.judged();
    let judge = &compared.judge;
    assert!(judge.contains("<28>(the local time)service[own]: with one|") && judge.contains(" 2 zeros\n"), "{judge}");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}
