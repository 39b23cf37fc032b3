//! Running the built binary as a user would.
#![allow(dead_code, reason = "every test file takes what it needs")]

pub mod libraries;

use std::ffi::OsStr;
use std::process::Command;
use std::sync::LazyLock;
use underpin_test_support::Output;

/// The binary under test: cargo's, or the one in UNDERPIN_TEST_PROGRAM (the released file: `cargo xtask test --released`).
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("UNDERPIN_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_underpin").to_owned())
    });
    &PROGRAM
}

/// The binary, without the developer's colours, terminal width and loader variables.
pub fn underpin<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program());
    command.args(args).stdin(std::process::Stdio::null());
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "GLIBC_TUNABLES",
        "UNDERPIN_REQUIRE_ALL",
        "UNDERPIN_REFUSED_TARGETS",
        "UNDERPIN_TEST_PROGRAM",
    ] {
        command.env_remove(name);
    }
    command
}

/// Its output with these arguments.
pub fn says<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    Output::of(&mut underpin(args))
}

/// Its standard output as one JSON document; fails if anything else is printed with it.
pub fn json<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> serde_json::Value {
    let output = says(args);
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON document ({error}): {}{}", output.stdout, output.stderr))
}
