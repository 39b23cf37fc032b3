//! A command against itself on a loaded machine: whatever is claimed is false.
//!
//! What a tool claims is what it tells its reader: underpin if it says `more` or `less`, hyperfine if it prints a
//! ratio, which is that of the means and has no uncertainty. Every comparison is made by every tool in turn, so all of
//! them meet the same load.

use super::hyperfine::Hyperfine;
use super::load::Load;
use super::stats::Sample;
use super::table;
use super::underpin_bench::{self, Underpin};
use crate::run;
use std::fmt::Write;
use std::path::Path;

/// The command.
const TRUE: &str = "/bin/true";
/// A difference above this is one that a reader would act on.
const NOTABLE: f64 = 0.05;
/// The most claims of such differences in 25 comparisons.
const GOAL: usize = 1;
/// Runs of each side in the short form.
const FEW: &str = "40";

/// One comparison by one tool.
struct Outcome {
    /// Second over first, less 1.
    difference: f64,
    /// The tool claims the difference.
    claimed: bool,
}

/// One row: a tool in one form.
struct Row {
    name: String,
    outcomes: Vec<Outcome>,
}

/// What a tool makes of a comparison.
type Judge = Box<dyn Fn(&Path) -> anyhow::Result<Outcome>>;

/// Runs the comparisons and returns their page.
///
/// # Errors
/// If a tool is missing or fails.
pub fn run(comparisons: usize) -> anyhow::Result<String> {
    let folder = run::scratch("aa")?;
    let judges = judges(run::release_binary()?)?;
    let mut rows: Vec<Row> = judges.iter().map(|(name, _)| Row { name: name.clone(), outcomes: Vec::new() }).collect();
    let load = Load::start()?;
    for number in 0..comparisons.max(1) {
        for (row, (name, judge)) in rows.iter_mut().zip(&judges) {
            let outcome = judge(&folder)?;
            println!("{} of {comparisons}, {name}: {:+.1} %", number + 1, outcome.difference * 100.0);
            row.outcomes.push(outcome);
        }
    }
    Ok(page(&rows, comparisons.max(1), load.count()))
}

fn judges(underpin: std::path::PathBuf) -> anyhow::Result<Vec<(String, Judge)>> {
    let mut judges: Vec<(String, Judge)> = Vec::new();
    let forms: [(&str, &'static [&'static str]); 2] =
        [("as it is", &[]), ("40 runs a side", &["-r", FEW, "--memory-runs", "0"])];
    for (form, options) in forms {
        let underpin = Underpin(underpin.clone());
        let judge = move |folder: &Path| {
            let names = [&["-n", "first", "-n", "second"], options].concat();
            let claim = underpin_bench::claim(&underpin.measure(&names, &[TRUE, TRUE], folder)?, "wall")?;
            Ok(Outcome { difference: claim.ratio - 1.0, claimed: claim.claimed })
        };
        judges.push((format!("underpin bench, {form}"), Box::new(judge)));
    }
    for (form, options) in [("as it is", &[][..]), ("40 runs a side", &["-r", FEW])] {
        for peer in Hyperfine::all()? {
            let name = format!("{}, {form}", peer.name);
            let judge = move |folder: &Path| {
                let figures = peer.measure(options, &[TRUE, TRUE], folder)?;
                let [first, second] = figures.as_slice() else { anyhow::bail!("not two figures") };
                Ok(Outcome { difference: second.mean / first.mean - 1.0, claimed: true })
            };
            judges.push((name, Box::new(judge)));
        }
    }
    Ok(judges)
}

fn page(rows: &[Row], comparisons: usize, load: usize) -> String {
    let mut text = table::machine("A command against itself", "cargo xtask bench aa");
    let _ = writeln!(
        text,
        "`{TRUE}` against itself, {comparisons} times by each tool in turn, with {load} other processes busy. Every \
         claimed difference is false. underpin claims one if its test is significant at the 1 % level and its interval \
         excludes 1; hyperfine prints the ratio of the means without any uncertainty, so it always claims one.\n\n\
         | tool | differences above 5 % claimed | any difference claimed | largest difference claimed | median difference |\n\
         | --- | --- | --- | --- | --- |"
    );
    for row in rows {
        let claimed = || row.outcomes.iter().filter(|outcome| outcome.claimed);
        let notable = claimed().filter(|outcome| is_notable(outcome)).count();
        let largest = claimed().map(|outcome| outcome.difference.abs()).fold(0.0, f64::max);
        let sizes = Sample::new(row.outcomes.iter().map(|outcome| outcome.difference.abs()).collect());
        let largest = if claimed().next().is_some() { format!("{:.1} %", largest * 100.0) } else { "-".to_owned() };
        let _ = writeln!(
            text,
            "| {} | {notable} of {comparisons} | {} | {largest} | {:.1} % |",
            row.name,
            claimed().count(),
            sizes.median().value * 100.0
        );
    }
    let claims = rows.first().map_or(0, |row| row.outcomes.iter().filter(|one| one.claimed && is_notable(one)).count());
    let verdict = if claims <= GOAL { "met" } else { "**missed**" };
    let _ = writeln!(
        text,
        "\n## Goal\n\n| goal | measured | verdict |\n| --- | --- | --- |\n\
         | differences above 5 % claimed by underpin: at most {GOAL} of 25 | {claims} of {comparisons} | {verdict} |"
    );
    text
}

fn is_notable(outcome: &Outcome) -> bool {
    // As hyperfine prints it: the slower over the faster.
    let ratio = 1.0 + outcome.difference;
    ratio.max(1.0 / ratio) > 1.0 + NOTABLE
}
