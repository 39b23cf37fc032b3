//! Local time in static programs on musl: what glibc makes of TZ, from files of zones and from rules.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, need};

/// Of zones.zi; as zic writes them now (the changes until the last rule) and as it once did (those until 2037).
const FILES: [&str; 12] = [
    "North/East",
    "EST5EDT",
    "South/Down",
    "South/Half",
    "GB-Eire",
    "W-SU",
    "Once",
    "Never",
    "War",
    "Other/Day",
    "Always",
    "Negative",
];

/// Values of `TZ` for which there is no file.
const RULES: [&str; 31] = [
    "",
    ":",
    "UTC0",
    "GMT-2",
    "UTC+3",
    "<+03>-3",
    "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT4,M3.2.0,M11.1.0",
    "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "WGT3WGST,M3.5.0/-2,M10.5.0/-1",
    "ABC5DEF,J60,J300",
    "ABC5DEF,59/1,299/3:30:15",
    "ABC5DEF,M3.2.0/-1,M11.1.0/26",
    "ABC+5:30DEF,M4.1.0,M10.5.0",
    "LHST-10:30LHDT-11,M10.1.0,M4.1.0",
    "AB5",
    "ABC",
    "5",
    "+5",
    "ABC-25",
    "ABC24:59:59",
    "ABC5:60",
    "<A>5",
    "<ABC5",
    " ABC5",
    "Nowhere/City",
    ":ABC5",
    "TheNameOfThisZoneIsLongerThanThatOfAnyOther-5:45",
    "<+0330>-3:30",
];

/// Rules that are left out: glibc takes those of a file `posixrules`, if there is one, else those of today, as the overlay does.
const WITHOUT_RULE: [&str; 6] = ["PST8PDT", "CET-1CEST", "AEST-10AEDT", "ABC5DEF6", "UTC0UTC,", "ABC5DEF,M4.1.0"];

fn compare(format: &str) {
    let zones = Fixture::new();
    zones.write("zones.zi", include_str!("zones.zi"));
    zones.must("/usr/sbin/zic", ["-b", format, "-d", "zones", "zones.zi"]);
    let folder = zones.join("zones").display().to_string();
    let long = format!("{folder}/North/East");
    let arguments: Vec<&str> =
        [folder.as_str(), long.as_str()].into_iter().chain(FILES).chain(RULES).chain(WITHOUT_RULE).collect();
    let both = Both {
        program: include_str!("zones.c"),
        parts: &[Part::Zones, Part::Universal, Part::Dates],
        flags: &["-D_GNU_SOURCE"],
        arguments: &arguments,
        heads: Some(|line| line.starts_with("TZ=")),
        ..Both::default()
    };
    let compared = both.judged();
    assert!(compared.judge.lines().count() > 100_000 && compared.judge.contains(" LHDT "));
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}

#[test]
fn local_time_is_glibcs_by_files_of_today() {
    need!("gcc", "musl-gcc", "/usr/sbin/zic");
    compare("slim");
}

#[test]
fn local_time_is_glibcs_by_files_of_old() {
    need!("gcc", "musl-gcc", "/usr/sbin/zic");
    compare("fat");
}
