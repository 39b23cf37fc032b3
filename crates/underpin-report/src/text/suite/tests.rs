//! The screen of a suite: which rows it shows, in which columns, and that it fits.

use crate::document::suite::SuiteDocument;
use crate::layout::View;
use crate::testing::{emulated_suite, hostile_suite, sample_suite, wide_suite};
use crate::text::suite;
use underpin_suite::{Cell, Suite};

fn screen(document: &SuiteDocument, verbosity: u8) -> String {
    suite(document, &View::columns(80).verbose(verbosity)).to_string()
}

#[test]
fn the_verdict_comes_first_and_then_the_rows_that_differ() {
    insta::assert_snapshot!(screen(&sample_suite(), 0));
}

#[test]
fn verbose_shows_every_row_with_its_original_and_its_memory() {
    insta::assert_snapshot!(screen(&sample_suite(), 1));
}

#[test]
fn several_builds_have_a_column_each() {
    insta::assert_snapshot!(screen(&wide_suite(), 0));
}

#[test]
fn an_emulated_build_has_figures_without_differences() {
    insta::assert_snapshot!(screen(&emulated_suite(), 0));
}

#[test]
fn one_build_alone_shows_every_row() {
    let mut document = sample_suite();
    let summary = &mut document.summary;
    summary.builds.truncate(1);
    for suite in &mut summary.suites {
        suite.means.clear();
        suite.indices.truncate(1);
        suite.rows.iter_mut().for_each(|row| row.cells.truncate(1));
    }
    let shown = screen(&document, 0);
    for suite in &document.summary.suites {
        assert!(suite.rows.iter().all(|row| shown.contains(&row.row)), "{shown}");
    }
    assert!(!shown.contains("differ"), "{shown}");
}

#[test]
fn rows_that_do_not_differ_are_counted() {
    let shown = screen(&sample_suite(), 0);
    assert!(!shown.contains("strlen") && shown.contains("2 more rows do not differ with certainty"), "{shown}");
    assert!(screen(&sample_suite(), 1).contains("strlen"));
}

#[test]
fn a_failed_row_is_shown_with_its_reason_below_the_table() {
    let shown = screen(&sample_suite(), 0);
    let table = shown.find("failed\n").unwrap();
    let reason = shown.find("regex-search with musl failed: signal 11 (SIGSEGV): \"matching\"").unwrap();
    assert!(table < reason, "{shown}");
}

#[test]
fn a_reason_that_several_rows_share_is_told_once_and_keeps_its_lines() {
    let mut summary = sample_suite();
    let libc = summary.summary.suites.iter_mut().find(|suite| suite.suite == Suite::Libc).unwrap();
    for row in &mut libc.rows {
        row.cells[1] = Cell::Failed { reason: "not built:\nmain.c: undefined reference".to_owned() };
    }
    let shown = screen(&summary, 0);
    assert_eq!(shown.matches("failed: not built:\n    main.c: undefined reference\n").count(), 1, "{shown}");
    assert!(shown.contains("malloc-tiny1, malloc-big2, strlen, strstr-abcd, memset, "), "{shown}");
}

/// `shared/seeds`: the document of fossas/broker.
#[test]
fn the_allocation_benchmark_is_printed_as_criterion_prints_it() {
    let shown = screen(&sample_suite(), 0);
    for line in [
        "single                  time:   [5.3479 ms 5.4019 ms 5.4559 ms]",
        "                        change: [+44.300% +44.500% +44.700%] (p = 0.00 < 0.01)",
        "                        Performance has regressed.",
        "                        change: [-5.5000% -0.5000% +4.5000%] (p = 0.31 > 0.01)",
        "                        No change in performance detected.",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn screens_fit_and_are_safe() {
    for document in [sample_suite(), wide_suite(), emulated_suite(), hostile_suite()] {
        for verbosity in 0..3 {
            for columns in [40, 57, 80, 120] {
                let text = suite(&document, &View::columns(columns).verbose(verbosity));
                for line in text.lines() {
                    assert!(line.width() <= columns, "{} of {columns} columns: {line}", line.width());
                }
                let shown = text.to_string();
                assert!(!shown.chars().any(|ch| ch != '\n' && ch.is_control()), "{shown:?}");
                assert!(!shown.contains('\u{202e}'), "{shown:?}");
            }
        }
    }
}

/// Nothing of the figures is lost at 80 columns: the only words that are cut are names.
#[test]
fn figures_are_whole_on_80_columns() {
    for document in [sample_suite(), wide_suite()] {
        for line in screen(&document, 1).lines().filter(|line| line.contains('…')) {
            let cut: Vec<&str> = line.split("  ").filter(|cell| cell.contains('…') && !cell.contains(" … ")).collect();
            assert!(cut.iter().all(|cell| !cell.contains('%') && !cell.contains("/s")), "{line}");
        }
    }
}

#[test]
fn a_document_without_rows_is_a_screen_too() {
    let mut document = sample_suite();
    document.summary.suites.clear();
    assert!(screen(&document, 1).contains("musl against glibc"));
    document.summary.builds.clear();
    assert!(screen(&document, 1).contains("no builds"));
}

#[test]
fn limits_that_are_not_kept_are_named_with_their_row_and_build() {
    use underpin_bench::{GateOutcome, GateResult};
    use underpin_suite::{RowGate, RowLimit};
    let mut document = sample_suite();
    let ratio = document.summary.suites[1].rows[0].cells[1].compared().unwrap().time.ratio;
    let limit = |row: &str, result| RowLimit {
        limit: "row:m*:operation<+3%".to_owned(),
        row: Some(row.to_owned()),
        build: Some(1),
        ratio: Some(ratio),
        result,
    };
    let limits = vec![limit("malloc-tiny1", GateResult::Failed), limit("memset", GateResult::Kept)];
    document.summary.gate = Some(RowGate { outcome: GateOutcome::Failed, limits });
    let shown = screen(&document, 0);
    let failed = "✗ malloc-tiny1, musl, row:m*:operation<+3%: +33.0 % [+31.0, +35.0], the whole";
    assert!(shown.contains("Gate failed") && shown.contains(failed), "{shown}");
    assert!(shown.contains("1 limit is kept; -v shows them") && screen(&document, 1).contains("✓ memset"), "{shown}");
}
