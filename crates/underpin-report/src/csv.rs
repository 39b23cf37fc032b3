//! Figures as comma-separated values (RFC 4180): one row for each variant and figure.

use crate::document::bench::BenchDocument;
use underpin_bench::Difference;

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

const fn verdict(verdict: Difference) -> &'static str {
    match verdict {
        Difference::Less => "less",
        Difference::More => "more",
        Difference::Same => "same",
        Difference::Undecided => "undecided",
    }
}

/// A field, quoted if necessary.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{bench, field};
    use crate::document::bench::BenchDocument;
    use crate::testing::served_bench;

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
    fn fields_that_would_break_a_row_are_quoted() {
        assert_eq!([field("a b"), field("a,b"), field("a\"b")], ["a b", "\"a,b\"", "\"a\"\"b\""]);
    }
}
