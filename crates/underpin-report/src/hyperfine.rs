//! The tables that hyperfine writes, for users who put them into a document: AsciiDoc and org-mode, with its columns.
//!
//! They contain means of times, as hyperfine's do; the figures behind claims are in the other exports.

use crate::document::bench::BenchDocument;
pub use crate::units::TimeUnit;
use underpin_bench::VariantSummary;

/// The unit that hyperfine would take for the first mean.
fn usual(seconds: f64) -> TimeUnit {
    if seconds < 1.0 { TimeUnit::Millisecond } else { TimeUnit::Second }
}

fn words(unit: TimeUnit, seconds: f64) -> String {
    match unit {
        TimeUnit::Microsecond | TimeUnit::Millisecond => format!("{:.1}", seconds * unit.sign().1),
        TimeUnit::Second => format!("{seconds:.3}"),
    }
}

/// A table in AsciiDoc.
#[must_use]
pub fn asciidoc(document: &BenchDocument, unit: Option<TimeUnit>) -> String {
    let (head, rows) = cells(document, unit);
    let row = |cells: &[String]| cells.iter().map(|cell| format!("| {cell} \n")).collect::<String>();
    let mut out = format!("[cols=\"<,>,>,>,>\"]\n|===\n{}", row(&head));
    for [command, rest @ ..] in &rows {
        let command = format!("`{}`", command.replace('|', "\\|"));
        out.push('\n');
        out.push_str(&row(&[&[command][..], rest].concat()));
    }
    out + "|===\n"
}

/// A table in org-mode.
#[must_use]
pub fn orgmode(document: &BenchDocument, unit: Option<TimeUnit>) -> String {
    let (head, rows) = cells(document, unit);
    let row = |cells: &[String]| format!("| {} |\n", cells.join("  |  "));
    let mut out = row(&head) + "|--+--+--+--+--|\n";
    for [command, rest @ ..] in &rows {
        let command = format!("={}=", command.replace('|', "\\vert{}"));
        out.push_str(&row(&[&[command][..], rest].concat()));
    }
    out
}

/// Times of one variant: the mean, its standard deviation, the least and the greatest.
struct Times {
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
}

fn times(variant: &VariantSummary) -> Option<Times> {
    let all: Vec<f64> = variant.runs.iter().filter_map(|run| run.figures.get("wall").copied()).collect();
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let squares: f64 = all.iter().map(|one| (one - mean).powi(2)).sum();
    let deviation = if all.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    (!all.is_empty()).then_some(Times { mean, deviation, least, most })
}

/// The head and the rows.
fn cells(document: &BenchDocument, unit: Option<TimeUnit>) -> ([String; 5], Vec<[String; 5]>) {
    let all: Vec<(&VariantSummary, Times)> =
        document.analysis.variants.iter().filter_map(|one| Some((one, times(one)?))).collect();
    let unit = unit.unwrap_or_else(|| usual(all.first().map_or(0.0, |(_, times)| times.mean)));
    let fastest = all.iter().map(|(_, times)| times).min_by(|a, b| a.mean.total_cmp(&b.mean));
    let title = |name: &str| format!("{name} [{}]", unit.sign().0);
    let head = ["Command".to_owned(), title("Mean"), title("Min"), title("Max"), "Relative".to_owned()];
    let rows = all.iter().map(|(variant, times)| {
        let mean = format!("{} ± {}", words(unit, times.mean), words(unit, times.deviation));
        let relative = fastest.map_or_else(String::new, |fastest| relative(times, fastest));
        [one_line(&variant.name), mean, words(unit, times.least), words(unit, times.most), relative]
    });
    (head, rows.collect())
}

/// The ratio to the fastest, with the standard deviation of a ratio of two means.
fn relative(times: &Times, fastest: &Times) -> String {
    if std::ptr::eq(times, fastest) || fastest.mean <= 0.0 {
        return "1.00".to_owned();
    }
    let ratio = times.mean / fastest.mean;
    let share = |one: &Times| (one.deviation / one.mean).powi(2);
    format!("{ratio:.2} ± {:.2}", ratio * (share(times) + share(fastest)).sqrt())
}

/// A name without line breaks and other controls, which would end its row.
fn one_line(name: &str) -> String {
    crate::bytes::visible(name.into()).into_owned()
}
