//! Times as CRuby writes and reads them. CRuby's zone is set to UTC here (`TZ`), so for texts without a zone only the
//! calendar is compared.

use super::{Civil, Kind, TimeError, Zone, parse, strftime, strptime};
use crate::stdlib::oracle::ruby;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use underpin_test_support::need;

fn formatted(epoch: i64, nanos: u32, offset: Option<i32>, format: &str) -> String {
    let zone = offset.map_or(Zone::Utc, Zone::Fixed);
    match strftime(&Civil::of(epoch, nanos, zone), format.as_bytes()) {
        Ok(text) => String::from_utf8(text).unwrap(),
        Err(error) => error.to_string(),
    }
}

fn compare_formats(cases: &[(i64, u32, Option<i32>, String)]) {
    let theirs = ruby(
        "INPUT.map { |epoch, nanos, offset, format| t = Time.at(epoch, nanos, :nsec); t = offset ? t.localtime(offset) : t.utc; t.strftime(format) rescue $!.message }",
        &json!(cases),
    );
    for ((epoch, nanos, offset, format), expected) in cases.iter().zip(theirs.as_array().unwrap()) {
        assert_eq!(
            json!(formatted(*epoch, *nanos, *offset, format)),
            *expected,
            "{format:?} at {epoch}.{nanos} {offset:?}"
        );
    }
}

#[test]
fn every_directive_and_flag_is_written_as_by_cruby() {
    need!("ruby");
    let letters = "YCymBbhdejHkIlPpMSLNzZAauwGgVUWsnt%cDFvxXrRT";
    let flags = ["", "-", "0", "_", "^", "#", "10", "010", "_10", "-10", "^10", "3", "1", ":", "::", "E", "O"];
    let mut cases = Vec::new();
    for (epoch, nanos, offset) in [
        (1_763_766_123, 123_456_789, None),
        (0, 0, Some(-12_600)),
        (951_782_400, 5, Some(34_245)),
        (1_735_689_599, 0, None),
    ] {
        for letter in letters.chars() {
            for flag in flags {
                let colon_elsewhere = flag.starts_with(':') && letter != 'z';
                // Only for blanks do widths beyond the zone's own digits differ between versions of CRuby.
                if !colon_elsewhere && !(letter == 'z' && (flag == "_10" || flag == "_")) {
                    cases.push((epoch, nanos, offset, format!("<%{flag}{letter}>")));
                }
            }
        }
    }
    compare_formats(&cases);
}

#[test]
fn what_is_no_directive_stays() {
    need!("ruby");
    let formats = [
        "",
        "plain",
        "%",
        "%%",
        "100%",
        "%Q",
        "%:::z",
        "é %d",
        "%-",
        "%5",
        "%^a%#B%#p%#Z",
        "%-d.%-m.%Y",
        "%10N|%3N|%6N|%0N",
    ];
    compare_formats(&formats.map(|format| (1_763_766_123, 42, None, format.to_owned())));
}

#[test]
fn any_instant_is_written_as_by_cruby() {
    need!("ruby");
    let case = (-60_000_000_000i64..250_000_000_000, 0u32..1_000_000_000, proptest::option::of(-86_399i32..86_400));
    let format = "%Y-%m-%d %H:%M:%S.%N %j %a %b %G-W%V-%u %U %W %w %I %p %s %z %::z %y %C %e %k %l %g";
    let mut runner = TestRunner::deterministic();
    let cases: Vec<_> = (0..1500)
        .map(|_| case.new_tree(&mut runner).unwrap().current())
        .map(|(epoch, nanos, offset)| (epoch, nanos, offset, format.to_owned()))
        .collect();
    compare_formats(&cases);
}

/// Epoch, nanoseconds and offset, or the kind of error.
fn shown(read: Result<super::Instant, TimeError>) -> Value {
    match read {
        Ok(instant) => json!([Civil::of(instant.epoch, 0, instant.zone).offset, instant.epoch, instant.nanos]),
        Err(_) => json!("ArgumentError"),
    }
}

const READ: &str = "INPUT.map { |text, *more| begin; t = READER; [t.utc_offset, t.to_i, t.nsec]; rescue ArgumentError; 'ArgumentError'; end }";
/// 2026-11-21 12:00:00 UTC.
const NOW: i64 = 1_795_262_400;

fn compare_reading(reader: &str, texts: &[&str], ours: impl Fn(&str) -> Result<super::Instant, TimeError>) {
    let input: Vec<_> = texts.iter().map(|text| [text]).collect();
    let theirs = ruby(&READ.replace("READER", reader), &json!(input));
    for (text, expected) in texts.iter().zip(theirs.as_array().unwrap()) {
        assert_eq!(shown(ours(text)), *expected, "{text:?} by {reader}");
    }
}

#[test]
fn the_formats_of_the_net_are_read_as_by_cruby() {
    need!("ruby");
    let read = |kind| move |text: &str| parse(text.as_bytes(), kind, NOW);
    let iso = [
        "2026-11-21T12:34:56Z",
        "2026-11-21T12:34:56.789+09:00",
        "2026-11-21T12:34:56-0330",
        "2026-02-30T00:00:00Z",
        "2026-11-21",
        "2026-11-21T12:34Z",
        "x",
        "-0001-01-01T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21t12:34:56z",
    ];
    compare_reading("Time.iso8601(text)", &iso, read(Kind::Iso));
    let http = [
        "Sat, 21 Nov 2026 12:34:56 GMT",
        "Saturday, 21-Nov-26 12:34:56 GMT",
        "Sat Nov 21 12:34:56 2026",
        "Sat Nov  1 12:34:56 2026",
        "Sat, 21 Nov 2026 12:34:56 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "",
    ];
    compare_reading("Time.httpdate(text)", &http, read(Kind::Http));
    let mail = [
        "Sat, 21 Nov 2026 12:34:56 +0900",
        "21 Nov 2026 12:34 GMT",
        "Sat, 21 Nov 26 12:34:56 EST",
        "Sat, 21 Nov 2026 12:34:56 +0000 (UTC)",
        "nonsense",
    ];
    compare_reading("Time.rfc2822(text)", &mail, read(Kind::Mail));
}

#[test]
fn usual_texts_are_read_as_by_cruby() {
    need!("ruby");
    let texts = [
        "2026-11-21 12:34:56 UTC",
        "2026-11-21 12:34:56 +0900",
        "2026-11-21 12:34:56.5Z",
        "2026-11-21T12:34:56Z",
        "2026-11-21T12:34:56+09:00",
        "2026/11/21 12:34:56 UTC",
        "2026-11-21 1:02:03 PM UTC",
        "2026-11-21 12:00 am UTC",
        "Sat, 21 Nov 2026 12:34:56 GMT",
        "Sat Nov 21 12:34:56 UTC 2026",
        "21 Nov 2026 12:34:56 -0500",
        "Nov 21, 2026 12:34 UTC",
        "November 21 2026 12:34:56 UTC",
        "20261121T123456Z",
        "20261121123456Z",
        "21-Nov-2026 12:34:56 EST",
        "1st Jan 2026 00:00:00 UTC",
        "nonsense",
        "",
        "2026-13-01 00:00:00 UTC",
        "2026-11-21 25:00:00 UTC",
    ];
    compare_reading("Time.parse(text)", &texts, |text| parse(text.as_bytes(), Kind::Any, NOW));
}

#[test]
fn texts_without_a_zone_are_of_the_machines() {
    let read = parse(b"2026-11-21 12:34:56", Kind::Any, NOW).unwrap();
    assert_eq!(read.zone, Zone::Local);
    let civil = Civil::of(read.epoch, 0, Zone::Local);
    assert_eq!((civil.year, civil.month, civil.day, civil.hour, civil.minute), (2026, 11, 21, 12, 34));
    let clock_alone = Civil::of(parse(b"07:08 UTC", Kind::Any, NOW).unwrap().epoch, 0, Zone::Utc);
    assert_eq!((clock_alone.year, clock_alone.month, clock_alone.day, clock_alone.hour), (2026, 11, 21, 7));
}

#[test]
fn a_format_reads_what_cruby_reads() {
    need!("ruby");
    let cases = [
        ("2026-11-21 12:34:56 +0900", "%Y-%m-%d %H:%M:%S %z"),
        ("2026-11-21T12:34:56.25Z", "%Y-%m-%dT%H:%M:%S.%N%z"),
        ("21/Nov/2026:12:34:56 +0000", "%d/%b/%Y:%H:%M:%S %z"),
        ("20261121 UTC", "%Y%m%d %Z"),
        ("1:05 pm 21.11.26 UTC", "%I:%M %p %d.%m.%y %Z"),
        ("Saturday 21 November 2026 +01:00", "%A %d %B %Y %z"),
        ("1795262400", "%s"),
        ("2026-325 UTC", "%Y-%j %Z"),
        ("2026-11-21 UTC", "%F %Z"),
        ("2026-11-21", "%Y/%m/%d"),
        ("2026-13-21 UTC", "%Y-%m-%d %Z"),
        ("2026-11-21 UTC extra", "%Y-%m-%d %Z"),
    ];
    let theirs = ruby(&READ.replace("READER", "Time.strptime(text, *more)"), &json!(cases));
    for ((text, format), expected) in cases.iter().zip(theirs.as_array().unwrap()) {
        let mut ours = shown(strptime(text.as_bytes(), format.as_bytes(), NOW));
        // CRuby ignores what follows the format; here it is an error, as in Date.strptime.
        if text.ends_with("extra") {
            assert_eq!(ours, json!("ArgumentError"));
            continue;
        }
        if *format == "%s" {
            ours[0] = json!(0);
        }
        assert_eq!(ours, *expected, "{text:?} by {format:?}");
    }
}
