//! All tests of the workspace, with one closing line that counts them.

use crate::setup::Installed;
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Tests run and their results.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Runs all tests. Where everything that they need was installed, a skip is a failure, but for what rustup could not fetch.
///
/// # Errors
/// Where a test fails or none ran.
pub fn all(installed: Option<&Installed>) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-fail-fast"]).stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(installed) = installed {
        if installed.packages {
            command.env("UNDERPIN_REQUIRE_ALL", "1");
        }
        if !installed.refused.is_empty() {
            command.env("UNDERPIN_REFUSED_TARGETS", installed.refused.join(" "));
        }
    }
    let mut child = command.spawn().context("cannot start cargo")?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            tally.add(&line);
            println!("{line}");
        }
    }
    let status = child.wait()?;
    let closing = format!("{} passed, {} failed", tally.passed, tally.failed);
    std::fs::create_dir_all("target")?;
    std::fs::write("target/test-tally", format!("{closing}\n"))?;
    println!("{closing}");
    if !status.success() || tally.failed > 0 || tally.passed == 0 {
        bail!("the tests failed ({status}; {closing})");
    }
    Ok(())
}

impl Tally {
    /// Reads cargo's `test result: ok. 5 passed; 0 failed; ...`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = result.split([' ', ';']).collect();
        let before = |word: &str| {
            let at = words.iter().position(|found| *found == word)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += before("passed").unwrap_or(0);
        self.failed += before("failed").unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn results_of_several_test_programs_are_added_up() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.09s");
        tally.add("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s");
        tally.add("test some::passed; ... ok");
        assert_eq!((tally.passed, tally.failed), (14, 3));
    }
}
