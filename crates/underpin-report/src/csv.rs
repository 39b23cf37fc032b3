//! Figures as comma-separated values (RFC 4180): one row for each variant and figure, or for each row of a suite and build.

use crate::document::bench::BenchDocument;
use crate::document::suite::SuiteDocument;
use underpin_bench::Change;
use underpin_suite::{Cell, Comparisons};

const COLUMNS: [&str; 18] = [
    "variant",
    "metric",
    "unit",
    "count",
    "median",
    "median_low",
    "median_high",
    "mean",
    "min",
    "first_quartile",
    "third_quartile",
    "max",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "p_corrected",
    "verdict",
];

/// The summary of every figure of every variant, in base units; the columns of the ratio are empty for the reference.
#[must_use]
pub fn bench(document: &BenchDocument) -> String {
    let document = &document.analysis;
    let mut out = COLUMNS.join(",") + "\n";
    for variant in &document.variants {
        for record in &variant.metrics {
            let words = [record.metric.name(), record.unit.name()].map(str::to_owned);
            let mut row: Vec<String> = [field(&variant.name)].into_iter().chain(words).collect();
            row.push(record.count.to_string());
            let median = record.median;
            let figures = [median.estimate, median.low, median.high, record.mean, record.min, record.first_quartile];
            row.extend(figures.iter().chain(&[record.third_quartile, record.max]).map(f64::to_string));
            match document.comparison(&variant.name, record.metric) {
                Some(one) => {
                    let figures = [one.ratio.estimate, one.ratio.low, one.ratio.high, one.p_value, one.p_corrected];
                    row.extend(figures.iter().map(f64::to_string));
                    row.push(verdict(one.verdict).to_owned());
                }
                None => row.extend(std::iter::repeat_n(String::new(), 6)),
            }
            out.push_str(&row.join(","));
            out.push('\n');
        }
    }
    out
}

const SUITE_COLUMNS: [&str; 14] = [
    "suite",
    "row",
    "build",
    "median",
    "median_low",
    "median_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
    "virtual",
    "resident",
    "dirty",
    "failure",
];

/// Every row of every suite under every build: the seconds of one operation, their ratio to the reference's, and the
/// memory in bytes. Cells that have no figure are empty.
#[must_use]
pub fn suite(document: &SuiteDocument) -> String {
    let document = &document.summary;
    let mut out = SUITE_COLUMNS.join(",") + "\n";
    for suite in &document.suites {
        for row in &suite.rows {
            for (build, cell) in document.builds.iter().zip(&row.cells) {
                let mut fields = vec![suite.suite.name().to_owned(), field(&row.row), field(&build.name)];
                fields.extend(suite_cell(cell));
                out.push_str(&fields.join(","));
                out.push('\n');
            }
        }
    }
    out
}

/// The columns after the names.
fn suite_cell(cell: &Cell) -> Vec<String> {
    const FIGURES: usize = SUITE_COLUMNS.len() - 4;
    let mut fields = vec![String::new(); FIGURES];
    match cell {
        Cell::Measured { seconds, memory, compared, .. } => {
            fields.clear();
            fields.extend([seconds.estimate, seconds.low, seconds.high].map(|figure| figure.to_string()));
            fields.extend(compared.as_deref().map_or_else(Default::default, ratio));
            let bytes = [memory.virtual_bytes, memory.resident_bytes, memory.dirty_bytes];
            fields.extend(bytes.map(|figure| figure.to_string()));
            fields.push(String::new());
        }
        Cell::Failed { reason } => fields.push(field(reason)),
        Cell::Missing => fields.push("not measured".to_owned()),
    }
    fields
}

fn ratio(compared: &Comparisons) -> [String; 4] {
    let one = &compared.time;
    let [ratio, low, high] = [one.ratio.estimate, one.ratio.low, one.ratio.high].map(|figure| figure.to_string());
    [ratio, low, high, verdict(one.verdict).to_owned()]
}

const fn verdict(verdict: Change) -> &'static str {
    match verdict {
        Change::Less => "less",
        Change::More => "more",
        Change::Same => "same",
        Change::Undecided => "undecided",
    }
}

/// A field, quoted if necessary.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{SUITE_COLUMNS, bench, field, suite};
    use crate::document::bench::BenchDocument;
    use crate::testing::{hostile_suite, sample_suite, served_bench};

    #[test]
    fn figures_of_servers_are_rows_in_base_units() {
        let (_, analysis) = served_bench();
        let text = bench(&BenchDocument::new(analysis));
        for row in
            ["glibc,rps,per_second,", "mimalloc,p99.9,seconds,", "mimalloc,errors,count,", "glibc,rss-growth,bytes,"]
        {
            assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
        }
        assert!(!text.contains(",wall,"), "{text}");
    }

    #[test]
    fn a_suite_has_a_row_for_each_row_and_build() {
        let text = suite(&sample_suite());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 14, "{text}");
        for line in [
            "alloc,single,glibc,0.00540187,",
            "libc,strstr-abcd,musl,",
            "libc,dlopen,musl,,,,,,,,,,,not measured",
            "libc,regex-search,musl,,,,,,,,,,,\"signal 11 (SIGSEGV): \"\"matching\"\"\"",
        ] {
            assert!(lines.iter().any(|one| one.starts_with(line)), "{line}: {text}");
        }
        let tiny = lines.iter().find(|line| line.starts_with("libc,malloc-tiny1,musl,")).unwrap();
        let fields: Vec<&str> = tiny.split(',').collect();
        assert_eq!(fields[6..], ["1.33", "1.31", "1.35", "more", "167936", "36864", "32768", ""], "{tiny}");
        let reference = lines.iter().find(|line| line.starts_with("libc,malloc-tiny1,glibc,")).unwrap();
        assert!(reference.contains(",,,,,"), "no ratio: {reference}");
        let plain = |line: &&&str| !line.contains('"');
        assert!(lines.iter().filter(plain).all(|line| line.split(',').count() == SUITE_COLUMNS.len()), "{text}");
    }

    #[test]
    fn hostile_names_stay_in_their_fields() {
        let text = suite(&hostile_suite());
        assert!(text.contains("\"</script><script>alert(1)</script>,\"\"|\n\""), "{text}");
    }

    #[test]
    fn fields_that_would_break_a_row_are_quoted() {
        assert_eq!([field("a b"), field("a,b"), field("a\"b")], ["a b", "\"a,b\"", "\"a\"\"b\""]);
    }
}
