//! All tests of the workspace, with one closing line that counts them.

use crate::build::BUILDER;
use crate::run;
use crate::setup::Installed;
use crate::silence::{SILENT, Watch};
use crate::statics::Released;
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What the fixtures and copies of the tests take, in MB; without it hardly a test says anything about the program.
const ROOM: u64 = 4096;
/// What a test prints if the disk was full.
const FULL: [&str; 2] = ["No space left on device", "os error 28"];

/// Test programs named in the tally: those that took longest.
const SLOWEST: usize = 8;

/// Tests run and their results.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    /// The test program that was last begun.
    program: String,
    /// It has not ended yet.
    running: bool,
    /// Seconds that each took.
    times: Vec<(f64, String)>,
}

/// Runs all tests, those that run a product on its released file if there is one. If everything that they need was
/// installed, a skip is a failure, except for what rustup could not fetch.
///
/// # Errors
/// If a test fails or none ran.
pub fn all(installed: Option<&Installed>, released: &[Released]) -> anyhow::Result<()> {
    [std::env::temp_dir(), run::target()].iter().try_for_each(|folder| has_room(folder))?;
    let cargo = run::cargo();
    let begun = Instant::now();
    // Cargo names the test programs on standard error, so one pipe takes both: that keeps them in order.
    let (output, input) = std::io::pipe()?;
    // Tests send these signals, and a shell starts what is in its background with SIGINT ignored: so would be all below it.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,QUIT,HUP", &cargo, "test", "--workspace", "--no-fail-fast"]);
    command.stdin(Stdio::null());
    command.stdout(input.try_clone()?).stderr(input);
    // It is for these chores; tests look at all that a program has in its environment.
    command.env_remove(BUILDER);
    command.envs(released.iter().map(|file| (file.variable, &file.path)));
    if let Some(installed) = installed {
        if installed.packages {
            command.env("UNDERPIN_REQUIRE_ALL", "1");
        }
        if !installed.refused.is_empty() {
            command.env("UNDERPIN_REFUSED_TARGETS", installed.refused.join(" "));
        }
    }
    let mut child = command.spawn().context("cannot start cargo")?;
    // It holds the writing ends; reading ends only once they are closed.
    drop(command);
    let (mut tally, mut failures) = (Tally::default(), Failures::default());
    let watch = Watch::over(child.id(), SILENT);
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        tally.add(&line);
        watch.line(tally.running.then_some(tally.program.as_str()));
        for line in failures.pass(line) {
            println!("{line}");
        }
    }
    let status = child.wait()?;
    watch.stop();
    let closing = format!("{} passed, {} failed", tally.passed, tally.failed);
    let report = format!("{}{closing}\n", tally.slowest(begun.elapsed().as_secs_f64()));
    std::fs::create_dir_all("target")?;
    std::fs::write("target/test-tally", &report)?;
    print!("{report}");
    if failures.full {
        bail!(
            "the disk was full while the tests ran: make room below {} and run them again",
            std::env::temp_dir().display()
        );
    }
    if !status.success() || tally.failed > 0 || tally.passed == 0 {
        bail!("the tests failed ({status}; {closing})");
    }
    Ok(())
}

/// What one test program says about its failures, held back until it is known whether the disk was full: then none of it
/// says anything about the program.
#[derive(Default)]
struct Failures {
    held: Option<Vec<String>>,
    /// The disk was full.
    full: bool,
}

impl Failures {
    /// The lines to print now.
    fn pass(&mut self, line: String) -> Vec<String> {
        if line == "failures:" && self.held.is_none() {
            self.held = Some(Vec::new());
        }
        let ends = line.starts_with("test result: ");
        let Some(held) = &mut self.held else { return vec![line] };
        held.push(line);
        if !ends {
            return Vec::new();
        }
        let held = self.held.take().unwrap_or_default();
        let full = held.iter().any(|line| FULL.iter().any(|words| line.contains(words)));
        self.full |= full;
        if full { held.into_iter().next_back().into_iter().collect() } else { held }
    }
}

/// An error if a folder's file system has too little room.
fn has_room(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let text =
        Command::new("df").args(["--output=avail", "-BM"]).arg(folder).output().context("cannot start df")?.stdout;
    let text = String::from_utf8_lossy(&text);
    let free = text.lines().nth(1).and_then(|line| line.trim().trim_end_matches('M').parse::<u64>().ok());
    match free.filter(|free| *free < ROOM) {
        Some(free) => bail!("the tests need {ROOM} MB below {}, and {free} MB are free", folder.display()),
        None => Ok(()),
    }
}

impl Tally {
    /// Reads cargo's `Running tests/a.rs (target/debug/deps/a-0123)` and `test result: ok. 5 passed; 0 failed; ...`.
    fn add(&mut self, line: &str) {
        if let Some(program) = running(line) {
            (self.program, self.running) = (program, true);
        }
        let Some(result) = line.strip_prefix("test result: ") else { return };
        self.running = false;
        let words: Vec<&str> = result.split([' ', ';']).collect();
        let before = |word: &str| {
            let at = words.iter().position(|found| *found == word)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += before("passed").unwrap_or(0);
        self.failed += before("failed").unwrap_or(0);
        let time = result.rsplit_once("finished in ").and_then(|(_, time)| time.trim_end_matches('s').parse().ok());
        self.times.extend(time.map(|time| (time, self.program.clone())));
    }

    /// How long building and running took, and the test programs that took longest; a line each.
    fn slowest(&self, seconds: f64) -> String {
        let running: f64 = self.times.iter().map(|(time, _)| time).sum();
        let mut times = self.times.clone();
        times.sort_by(|one, other| other.0.total_cmp(&one.0));
        let slowest: String =
            times.iter().take(SLOWEST).map(|(time, program)| format!("{time:6.0} s  {program}\n")).collect();
        format!("{:6.0} s  building\n{running:6.0} s  running, of which\n{slowest}", (seconds - running).max(0.0))
    }
}

/// The test program that cargo says it runs now: its name without the hash, or the crate whose documentation is tested.
fn running(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(krate) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{krate} (documentation)"));
    }
    let (source, program) = line.strip_prefix("Running ")?.rsplit_once(" (")?;
    let name = program.trim_end_matches(')').rsplit('/').next()?;
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    Some(if source.starts_with("unittests") { format!("{name} (unit tests)") } else { name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Failures, Tally};

    fn shown(lines: &[&str]) -> (Vec<String>, bool) {
        let mut failures = Failures::default();
        let shown = lines.iter().flat_map(|line| failures.pass((*line).to_owned())).collect();
        (shown, failures.full)
    }

    #[test]
    fn a_full_disk_leaves_the_results_and_no_panics() {
        let lines = [
            "test a ... FAILED",
            "failures:",
            "---- a stdout ----",
            "cannot write /tmp/x: No space left on device (os error 28)",
            "failures:",
            "    a",
            "test result: FAILED. 0 passed; 1 failed",
        ];
        let kept = ["test a ... FAILED", "test result: FAILED. 0 passed; 1 failed"];
        assert_eq!(shown(&lines), (kept.map(str::to_owned).to_vec(), true));
        let other = lines.map(|line| if line.starts_with("cannot") { "assertion failed" } else { line });
        assert_eq!(shown(&other), (other.map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn results_of_several_test_programs_are_added_up() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.09s");
        tally.add("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s");
        tally.add("test some::passed; ... ok");
        assert_eq!((tally.passed, tally.failed), (14, 3));
    }

    #[test]
    fn the_slowest_test_programs_are_named() {
        let mut tally = Tally::default();
        for line in [
            "     Running unittests src/lib.rs (target/debug/deps/underpin_elf-1c30b300f78e81e7)",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.40s",
            "     Running tests/files_kill.rs (target/debug/deps/files_kill-b02f848a706c7718)",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 30.60s",
            "   Doc-tests underpin_elf",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.00s",
        ] {
            tally.add(line);
        }
        assert_eq!(
            tally.slowest(100.0),
            "    65 s  building\n    35 s  running, of which\n    31 s  files_kill\n     3 s  underpin_elf (documentation)\n     \
             1 s  underpin_elf (unit tests)\n"
        );
    }
}
