//! The allocation benchmark as criterion prints it: for each build the time of a row with its interval, then the change
//! against the reference. Here, unlike in the tables, `+` is more time.

use super::failures::failures;
use crate::layout::{View, padded, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, time_to};
use crate::words::suite::{BROKER, build_names, difference_role, undifferenced};
use underpin_bench::stats::Outliers;
use underpin_bench::{Change, Comparison, Interval};
use underpin_suite::{Cell, RowSummary, Summary};

/// Columns of a row's name, as criterion has them.
const NAME: usize = 23;

/// The rows of the benchmark, build by build.
pub(super) fn broker(text: &mut Text, summary: &Summary, rows: &[&RowSummary], view: &View) {
    for (build, name) in build_names(summary, 40).iter().enumerate() {
        let title = Line::new().plain("  ").with(Role::Heading, BROKER).with(Role::Heading, format!(", {name}"));
        if build > 0 {
            text.gap();
        }
        text.push(title);
        for row in rows {
            let Some(Cell::Measured { seconds, compared, outliers, .. }) = row.cells.get(build) else { continue };
            let label = Line::new().with(Role::Name, padded(&row.row, NAME)).with(Role::Dim, " time:   ");
            text.append(wrap(label, &[Span::new(Role::Number, times(seconds))], view.usable()));
            match compared.as_deref() {
                Some(one) => change(text, &one.time, view),
                None if build > 0 => beneath(text, Role::Warn, undifferenced(summary, build), view),
                None => {}
            }
            outliers.iter().for_each(|found| far(text, found));
        }
    }
    failures(text, summary, rows, view);
    let words = "As criterion prints it: + is more time; the change is that against the reference.";
    text.append(wrap(Line::new().plain("  "), &[Span::fixed(Role::Dim, words)], view.usable()));
    text.gap();
}

/// A line below the time.
fn beneath(text: &mut Text, role: Role, words: &str, view: &View) {
    text.append(wrap(Line::new().plain(" ".repeat(NAME + 1)), &[Span::new(role, words)], view.usable()));
}

/// `[5.3980 ms 5.4019 ms 5.4057 ms]`.
fn times(seconds: &Interval) -> String {
    if !seconds.is_confident() {
        return format!("{} (too few runs for an interval)", time_to(seconds.estimate, 5));
    }
    let [low, estimate, high] = [seconds.low, seconds.estimate, seconds.high].map(|one| time_to(one, 5));
    format!("[{low} {estimate} {high}]")
}

/// `Found 3 outliers among 100 measurements (3.00%)`, then how far on which side.
fn far(text: &mut Text, found: &Outliers) {
    let percent = |count: usize| 100.0 * count as f64 / found.of as f64;
    let all = found.count();
    if all == 0 {
        return;
    }
    let (outliers, share) = (count(all, "outlier", "outliers"), percent(all));
    text.push(Line::new().with(Role::Dim, format!("Found {outliers} among {} measurements ({share:.2}%)", found.of)));
    let sides = [
        (found.low_severe, "low severe"),
        (found.low_mild, "low mild"),
        (found.high_mild, "high mild"),
        (found.high_severe, "high severe"),
    ];
    for (count, side) in sides.into_iter().filter(|(count, _)| *count > 0) {
        text.push(Line::new().with(Role::Dim, format!("  {count} ({:.2}%) {side}", percent(count))));
    }
}

fn change(text: &mut Text, one: &Comparison, view: &View) {
    let role = difference_role(one);
    let than = if one.p_corrected <= one.level { "<" } else { ">" };
    // Two digits as criterion has, unless the figures would look alike on both sides of the sign.
    let p = match format!("{:.2}", one.p_corrected) {
        p if p == one.level.to_string() => format!("{:.4}", one.p_corrected),
        p => p,
    };
    let words = format!("{} (p = {p} {than} {})", percents(&one.ratio), one.level);
    let label = Line::new().plain(" ".repeat(NAME + 1)).with(Role::Dim, "change: ");
    text.append(wrap(label, &[Span::new(role, words)], view.usable()));
    let said = match one.verdict {
        Change::More => "Performance has regressed.",
        Change::Less => "Performance has improved.",
        Change::Same => "Change within noise threshold.",
        Change::Undecided => "No change in performance detected.",
    };
    beneath(text, role, said, view);
}

/// `[+44.223% +44.499% +44.930%]`.
fn percents(ratio: &Interval) -> String {
    let bounds = if ratio.is_confident() { vec![ratio.low, ratio.estimate, ratio.high] } else { vec![ratio.estimate] };
    let words: Vec<String> = bounds.into_iter().map(percent).collect();
    format!("[{}]", words.join(" "))
}

fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = match percent.abs() {
        ones if ones < 10.0 => 4,
        tens if tens < 100.0 => 3,
        hundreds if hundreds < 1000.0 => 2,
        _ => 0,
    };
    format!("{percent:+.decimals$}%")
}
