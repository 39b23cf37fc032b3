//! Running the built binary as a user would.
#![allow(dead_code, reason = "every test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

pub mod building;
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

/// What SPDX 2.3 requires of a document, as far as one can be wrong here.
pub fn holds(spdx: &serde_json::Value) {
    let identifiers: Vec<&str> =
        spdx["packages"].as_array().unwrap().iter().map(|package| package["SPDXID"].as_str().unwrap()).collect();
    let mut distinct = identifiers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), identifiers.len(), "{identifiers:?}");
    let allowed = |id: &str| id.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-".contains(letter));
    assert!(identifiers.iter().all(|id| id.strip_prefix("SPDXRef-").is_some_and(allowed)), "{identifiers:?}");
    for package in spdx["packages"].as_array().unwrap() {
        let required = ["name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"];
        assert!(required.iter().all(|field| package[field].as_str().is_some_and(|text| !text.is_empty())), "{package}");
        assert_eq!(package["filesAnalyzed"], false);
        for sum in package["checksums"].as_array().into_iter().flatten() {
            assert!(sum["algorithm"] == "SHA256" && sum["checksumValue"].as_str().unwrap().len() == 64, "{package}");
        }
    }
    let known =
        |value: &serde_json::Value| *value == "SPDXRef-DOCUMENT" || identifiers.contains(&value.as_str().unwrap());
    let relations = spdx["relationships"].as_array().unwrap();
    assert!(relations.iter().any(|relation| relation["relationshipType"] == "DESCRIBES"));
    for relation in relations {
        assert!(known(&relation["spdxElementId"]) && known(&relation["relatedSpdxElement"]), "{relation}");
    }
    assert_eq!((&spdx["spdxVersion"], &spdx["dataLicense"]), (&"SPDX-2.3".into(), &"CC0-1.0".into()));
    assert!(spdx["documentNamespace"].as_str().unwrap().starts_with("urn:sha256:"), "{spdx}");
}
