//! The page: a table with a row for each combination that was tried, and a list of those that were not.

use super::proofs::PROOFS;
use super::{Choice, combinations};
use crate::bench::table;
use anyhow::Context;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// The page.
pub const FILE: &str = "docs/bench/recipes.md";

const COLUMNS: &str = "\
    | recipe | C library | machine | compiler | version | initramfs | configured, built | in a guest | date |\n\
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// What came of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It printed what it had to.
    Shown {
        /// Of the recipe.
        version: String,
        /// Bytes of the initramfs, with everything that the command needed.
        bytes: u64,
        /// Seconds of its configuration, and of the rest of its build, when it was built.
        seconds: (f64, f64),
    },
    /// It did not build, or not work.
    Failed(String),
}

/// A trial.
pub struct Row {
    /// The recipe.
    pub name: &'static str,
    /// For what, by what.
    pub choice: Choice,
    /// The day.
    pub date: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// The day, in UTC.
pub fn today() -> String {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&date).trim().to_owned()
}

/// What a row begins with.
fn key(name: &str, choice: Choice) -> String {
    format!("| {name} | {} | {} | {} |", choice.libc, choice.target, choice.toolchain)
}

impl Row {
    /// Its line in the table.
    pub fn line(&self) -> String {
        let key = key(self.name, self.choice);
        match &self.outcome {
            Outcome::Shown { version, bytes, seconds: (configured, rest) } => format!(
                "{key} {version} | {:.0} KiB | {configured:.0} s, {rest:.0} s | works | {} |",
                *bytes as f64 / 1024.0,
                self.date
            ),
            Outcome::Failed(reason) => format!("{key} | | | **{}** | {} |", in_cell(reason), self.date),
        }
    }
}

/// Replaces bars, which end a cell, and a path that only this machine has.
fn in_cell(text: &str) -> String {
    let (target, root) = (crate::run::target(), crate::run::workspace());
    let text = text.replace(&target.display().to_string(), "target").replace(&format!("{}/", root.display()), "");
    text.replace('|', "/")
}

/// Puts a row into the page.
///
/// # Errors
/// If the page cannot be written.
pub fn put(row: &Row) -> anyhow::Result<()> {
    let page = fs::read_to_string(FILE).unwrap_or_default();
    fs::write(FILE, with(&page, row)).with_context(|| format!("cannot write {FILE}"))
}

/// The page with a row in the place of the same trial's last one.
fn with(page: &str, row: &Row) -> String {
    let trials: Vec<String> = combinations().map(|(proof, choice)| key(proof.name, choice)).collect();
    let own = key(row.name, row.choice);
    let old = page.lines().filter(|line| !line.starts_with(&own));
    let lines: Vec<String> = old.map(str::to_owned).chain([row.line()]).collect();
    let rows = trials.iter().filter_map(|trial| lines.iter().find(|line| line.starts_with(trial)));
    let rows: Vec<&str> = rows.map(String::as_str).collect();
    let untried: Vec<&String> = trials.iter().filter(|trial| !rows.iter().any(|row| row.starts_with(*trial))).collect();
    let mut text = table::machine("Recipes of the layers, built and started", "cargo xtask image-recipes");
    text += INTRODUCTION;
    text += COLUMNS;
    rows.iter().for_each(|row| text += &format!("{row}\n"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n## Not tried\n\n{} of {} combinations.\n", untried.len(), trials.len());
    for proof in PROOFS {
        let of = combinations().filter(|(other, _)| other.name == proof.name).map(|(_, choice)| choice);
        let left: Vec<String> = of
            .filter(|choice| untried.contains(&&key(proof.name, *choice)))
            .map(|choice| format!("{} {} {}", choice.libc, choice.target.trim_start_matches("qemu-"), choice.toolchain))
            .collect();
        if !left.is_empty() {
            let _ = writeln!(text, "- {}: {}", proof.name, left.join(", "));
        }
    }
    text
}

const INTRODUCTION: &str = "\n\
    Each recipe is built from its sources by `underpin image build NAME --libc ... --target ... --toolchain ...`, \
    under the check that nothing of this machine gets in, and started by `underpin image run` in QEMU without KVM. \
    \"Works\" means that a command in the guest ended with 0 and printed what was known before: a checksum, factors, \
    an answer of a server, the refusal of a certificate that no root signed (xtask/src/image_recipes/proofs.rs has \
    the commands). Libraries are tried by a small program that links them in. The line above has the machine and the \
    day of the last run; a row has its own day, and stays until the same combination is tried again. The initramfs \
    has the first process and everything that the command needs. Times are of the build that made the package, with \
    other work on the machine: they are upper bounds.\n\
    \n";

#[cfg(test)]
mod tests {
    use super::*;

    const GCC: Choice = Choice { libc: "musl", target: "qemu-x86_64", toolchain: "gcc" };
    const ZIG: Choice = Choice { toolchain: "zig", ..GCC };

    fn row(name: &'static str, choice: Choice, bytes: u64) -> Row {
        let outcome = Outcome::Shown { version: "1".to_owned(), bytes, seconds: (1.0, 2.0) };
        Row { name, choice, date: "2026-01-01".to_owned(), outcome }
    }

    #[test]
    fn a_row_replaces_the_same_trials_and_what_was_not_tried_is_named() {
        let page = with("", &row("lua", GCC, 1024));
        let page = with(&page, &row("dash", ZIG, 1024));
        let page = with(&page, &row("lua", GCC, 4096));
        let rows: Vec<&str> = page.lines().filter(|line| line.contains("| works |")).collect();
        assert_eq!(
            rows,
            [
                "| dash | musl | qemu-x86_64 | zig | 1 | 1 KiB | 1 s, 2 s | works | 2026-01-01 |",
                "| lua | musl | qemu-x86_64 | gcc | 1 | 4 KiB | 1 s, 2 s | works | 2026-01-01 |",
            ]
        );
        let count = combinations().count();
        assert!(page.contains(&format!("{} of {count} combinations.", count - 2)), "{page}");
        assert!(page.contains("\n- lua: musl x86_64 clang, musl x86_64 zig, musl aarch64 gcc, "), "{page}");
        assert!(page.contains("\n- dash: musl x86_64 gcc, musl x86_64 clang, musl aarch64 gcc, "), "{page}");
    }

    #[test]
    fn a_failure_keeps_the_table_whole() {
        let outcome = Outcome::Failed("a | b".to_owned());
        let line = Row { outcome, ..row("lua", GCC, 0) }.line();
        assert_eq!(line, "| lua | musl | qemu-x86_64 | gcc | | | | **a / b** | 2026-01-01 |");
        assert_eq!(line.matches('|').count(), COLUMNS.lines().next().expect("a head").matches('|').count());
    }
}
