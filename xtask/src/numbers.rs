//! foolsgold's numbers beside CRuby's: the test of the crate over as many cases as asked, and its page.

use anyhow::{Context, bail};
use std::fmt::Write;
use std::process::Command;

const PAGE: &str = "foolsgold/docs/numbers.md";
/// What begins a line of the table that the test prints.
const ROW: &str = "numbers: ";

/// Runs the test and writes the page.
///
/// # Errors
/// If it cannot be built, CRuby is missing, or something differs.
pub fn run(values: usize, dry: bool) -> anyhow::Result<()> {
    let cargo = crate::run::cargo();
    let mut command = Command::new(cargo);
    command.args(["test", "--package", "foolsgold-ruby", "--lib", "random_numbers_and_formats", "--", "--nocapture"]);
    command.env("FOOLSGOLD_NUMBERS", values.to_string()).env("UNDERPIN_REQUIRE_ALL", "1");
    let output = command.output().context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(ROW)).collect();
    if rows.is_empty() {
        bail!("the test did not run:\n{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut page = format!(
        "# Numbers beside CRuby's\n\n`cargo xtask numbers --values {values}` on {}, {}. Both evaluate the same random cases: floats of any bits, \
         near halves of decimal places, powers of ten, subnormal ones, cents and their products; integers of up to 64 bits. What CRuby \
         answers with an Integer of more than 64 bits has to be a RangeError.\n\n| what | cases | differ |\n| --- | ---: | ---: |\n",
        output_of("date", &["-u", "+%Y-%m-%d"])?,
        output_of("ruby", &["-e", "print \"CRuby #{RUBY_VERSION}\""])?
    );
    for row in rows {
        writeln!(page, "{row}")?;
    }
    println!("{page}");
    if !output.status.success() {
        bail!("numbers differ:\n{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    if !dry {
        std::fs::write(PAGE, &page).with_context(|| PAGE.to_owned())?;
    }
    Ok(())
}

fn output_of(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot start {program}"))?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
