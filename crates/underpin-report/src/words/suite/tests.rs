//! Signs of differences by measure, and what the verdict says.

use super::*;
use crate::document::suite::SuiteDocument;
use crate::styled::Span;
use crate::testing::{
    Fared, Fate, PER_MINUTE, build, emulated_suite, hostile_suite, sample_suite, suite_of, summary_of,
};
use underpin_bench::Change;
use underpin_suite::Measure;

/// One row: 2 ms under the reference, and so many times that under the build.
fn row_of(measure: Measure, ratio: f64) -> SuiteDocument {
    let builds = vec![build("glibc", ""), build("musl", "")];
    let others = &[Fate::Took(ratio, 0.005, 80.0)];
    let row = Fared { name: "row", group: "Group", measure, seconds: 0.002, others };
    let suite = suite_of(Suite::Libc, &builds, &[row]);
    summary_of(builds, vec![suite])
}

/// The figures of both builds, and the difference with its word.
fn read(document: &SuiteDocument) -> (String, String, String, &'static str) {
    let row = &document.summary.suites[0].rows[0];
    let of = |build: usize| figure(row, &row.cells[build]).unwrap().median();
    let one = &row.cells[1].compared().unwrap().time;
    (of(0), of(1), difference_words(one), difference_word(one))
}

fn words(figures: (&str, &str, &str), word: &'static str) -> (String, String, String, &'static str) {
    (figures.0.to_owned(), figures.1.to_owned(), figures.2.to_owned(), word)
}

#[test]
fn a_time_that_is_a_quarter_longer_is_minus_20_percent() {
    // 2 ms / 2.5 ms - 1
    let slower = read(&row_of(Measure::Time, 1.25));
    assert_eq!(slower, words(("2.00 ms", "2.50 ms", "-20.0 %"), "slower"));
    // 2 ms / 1.6 ms - 1
    let faster = read(&row_of(Measure::Time, 0.8));
    assert_eq!(faster, words(("2.00 ms", "1.60 ms", "+25.0 %"), "faster"));
}

#[test]
fn a_bandwidth_that_is_less_is_minus() {
    // 1 MB in 2 ms and in 2.5 ms: 400 / 500 - 1
    let slower = read(&row_of(Measure::Bandwidth, 1.25));
    assert_eq!(slower, words(("500 MB/s", "400 MB/s", "-20.0 %"), "slower"));
}

#[test]
fn a_rate_that_is_more_is_plus() {
    // 60 s / 2 ms and 60 s / 1.6 ms: 37,500 / 30,000 - 1
    let faster = read(&row_of(PER_MINUTE, 0.8));
    assert_eq!(faster, words(("30,000 loops/min", "37,500 loops/min", "+25.0 %"), "faster"));
}

#[test]
fn the_bounds_of_a_difference_change_places() {
    let document = row_of(Measure::Time, 1.25);
    let one = &document.summary.suites[0].rows[0].cells[1].compared().unwrap().time;
    let gain = gain(one);
    // 1 / 1.255 and 1 / 1.245
    assert!((gain.low - 0.796_81).abs() < 1e-5 && (gain.high - 0.803_21).abs() < 1e-5, "{gain:?}");
    assert_eq!(difference_interval(one), "[-20.3, -19.7]");
    assert_eq!((one.verdict, difference_role(one)), (Change::More, crate::styled::Role::Bad));
}

#[test]
fn the_original_has_the_same_sign() {
    let document = sample_suite();
    let row = &document.summary.suites[1].rows[0];
    // 0.004129741 / 0.006242797 - 1: the -34 % of its table.
    assert!((gain_of_original(row).unwrap() - 0.6615).abs() < 1e-4);
    let said = original_words(&document.summary, Suite::Libc, row).unwrap();
    assert!(said.contains("`b_malloc_tiny1` of libc-bench") && said.contains("musl -34 %"), "{said}");
    assert!(said.contains("Here against glibc: musl -25 %"), "{said}");
}

fn said(document: &SuiteDocument) -> Vec<String> {
    let line = |spans: Vec<Span>| spans.iter().map(Span::text).collect::<String>();
    suite_verdict(&document.summary).into_iter().map(line).collect()
}

#[test]
fn the_verdict_is_a_sentence_for_each_question() {
    insta::assert_snapshot!(said(&sample_suite()).join("\n"));
}

#[test]
fn an_emulated_build_is_named_and_not_compared() {
    let document = emulated_suite();
    let said = said(&document);
    assert_eq!(said, ["aarch64-musl ran under qemu-aarch64: its figures are emulated, and not compared."]);
    assert!(!is_comparison(&document.summary));
    assert_eq!(undifferenced(&document.summary, 1), "emulated");
}

#[test]
fn an_interrupted_run_counts_what_was_not_measured() {
    let mut document = sample_suite();
    document.summary.is_interrupted = true;
    let said = said(&document);
    assert!(said.iter().any(|line| line == "The run was interrupted: 1 row was not measured."), "{said:?}");
}

#[test]
fn a_failure_is_counted_for_the_build_that_failed() {
    let said = said(&sample_suite());
    assert!(said.iter().any(|line| line == "musl failed in 1 row: libc regex-search."), "{said:?}");
    assert!(!said.iter().any(|line| line.starts_with("glibc failed")), "{said:?}");
}

#[test]
fn titles_and_names_are_without_control_characters() {
    let document = hostile_suite();
    let all = [said(&document), vec![suite_title(&document.summary)], build_names(&document.summary, 12)].concat();
    for line in all {
        assert!(!line.chars().any(|ch| ch.is_control() || ch == '\u{202e}'), "{line:?}");
    }
}

#[test]
fn without_a_difference_the_verdict_says_so() {
    let builds = vec![build("glibc", ""), build("musl", "")];
    let others = &[Fate::Took(1.001, 0.004, 160.0)];
    let row = Fared { name: "row", group: "Group", measure: Measure::Time, seconds: 0.002, others };
    let suite = suite_of(Suite::Os, &builds, &[row]);
    let said = said(&summary_of(builds, vec![suite]));
    assert_eq!(
        said,
        ["musl does not differ from glibc with certainty in any of 1 row (os); geometric mean of the times \
          1.00 (0.98 to 1.02)."]
    );
}
