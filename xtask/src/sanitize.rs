//! The Ruby binding under AddressSanitizer and LeakSanitizer, both those of GCC.
//!
//! mruby and our C beside it are compiled with it, and each block of memory is an allocation of its own instead of a piece of
//! an arena, so that the sanitizer knows the bounds and the end of each. What rests on the arena itself (snapshots) is not
//! part of it: those tests compare bytes.

use crate::run;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// The tests that run with it, and what they do.
const TESTS: [(&str, &str); 4] = [
    ("interface", "every operation of the binding's Rust interface"),
    ("repairs", "what is corrected in mruby's own C"),
    ("stress", "a collection before each allocation, so that what nothing keeps alive is used after free"),
    (
        "limits",
        "endless loops stopped midway, exhausted memory, endless recursion; the interpreters are dropped afterwards",
    ),
];

const TABLE: &str = "foolsgold/docs/sanitize.md";

/// Runs them and writes the table.
///
/// # Errors
/// If something cannot be built, a test fails or a sanitizer reports something.
pub fn run(dry: bool) -> anyhow::Result<()> {
    let runtime = runtime()?;
    control(&runtime)?;
    let mut rows = String::new();
    let mut failed = Vec::new();
    for (name, what) in TESTS {
        let outcome = one(name, &runtime)?;
        writeln!(rows, "| `{name}` | {what} | {} | {} |", outcome.tests, outcome.reports)?;
        if !outcome.well {
            failed.push(name);
        }
    }
    let table = format!(
        "# Sanitizers over the Ruby binding\n\n\
         `cargo xtask sanitize`, with {}. mruby and the C beside it are compiled with `-fsanitize=address`; each block of \
         memory is an allocation of its own. Reports are what AddressSanitizer or LeakSanitizer found; leaks of mruby itself \
         that are known and end with the interpreter are listed in `foolsgold/crates/mruby/native/leaks.supp`. First, a deliberate use after \
         free has to be reported.\n\n\
         | test | what it does | tests passed | reports |\n|---|---|---:|---:|\n{rows}",
        compiler()?
    );
    println!("{table}");
    if !failed.is_empty() {
        bail!("the sanitizers or the tests found something in {}", failed.join(", "));
    }
    if !dry {
        std::fs::write(TABLE, &table).with_context(|| TABLE.to_owned())?;
    }
    Ok(())
}

/// What came of one test program.
struct Outcome {
    tests: u64,
    reports: usize,
    well: bool,
}

/// A test that misuses memory has to be reported: otherwise nothing is checked.
fn control(runtime: &str) -> anyhow::Result<()> {
    let said = test(&["control", "--", "--ignored"], runtime)?.1;
    if !said.contains("AddressSanitizer: heap-use-after-free") {
        println!("{said}");
        bail!("AddressSanitizer misses a use after free: the tests would prove nothing");
    }
    Ok(())
}

fn one(name: &str, runtime: &str) -> anyhow::Result<Outcome> {
    let (success, said) = test(&[name], runtime)?;
    let passed = said.lines().find_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok());
    let reports =
        said.lines().filter(|line| line.contains("ERROR: AddressSanitizer") || line.contains("ERROR: LeakSanitizer"));
    let (tests, reports) = (passed.unwrap_or(0), reports.count());
    let well = success && tests > 0 && reports == 0;
    if !well {
        println!("{said}");
    }
    Ok(Outcome { tests, reports, well })
}

/// Builds and runs one test program under the sanitizers; returns whether it passed, and its output.
fn test(arguments: &[&str], runtime: &str) -> anyhow::Result<(bool, String)> {
    let cargo = run::cargo();
    println!("+ cargo test -p mruby --test {}", arguments.join(" "));
    let mut command = Command::new(cargo);
    command.args(["test", "--package", "mruby", "--test"]).args(arguments).env("MRUBY_SANITIZE", "address");
    // A separate build, which would otherwise replace the usual one each time.
    command.env("CARGO_TARGET_DIR", run::target().join("sanitize"));
    // Only the tests get the sanitizer's library, not the compiler that cargo runs.
    command.env(format!("CARGO_TARGET_{}_RUNNER", host()?), format!("env LD_PRELOAD={runtime}"));
    command.env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0");
    let known = run::workspace().join("foolsgold/crates/mruby/native/leaks.supp");
    command.env("LSAN_OPTIONS", format!("suppressions={}:print_suppressions=0", known.display()));
    let output = command.output().context("cannot start cargo")?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// GCC's runtime library, which has to be the first one in the process.
fn runtime() -> anyhow::Result<String> {
    let output = Command::new("cc").arg("-print-file-name=libasan.so").output().context("cannot run cc")?;
    let path = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    if !path.is_absolute() {
        bail!("cc has no libasan.so; Debian has it in the package libasan8 or libgcc-12-dev");
    }
    Ok(path.display().to_string())
}

fn compiler() -> anyhow::Result<String> {
    let output = Command::new("cc").arg("--version").output().context("cannot run cc")?;
    Ok(String::from_utf8(output.stdout)?.lines().next().unwrap_or("an unknown compiler").to_owned())
}

/// This machine's target, as cargo writes it in variables.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("`rustc -vV` names no host")?;
    Ok(host.to_uppercase().replace('-', "_"))
}
