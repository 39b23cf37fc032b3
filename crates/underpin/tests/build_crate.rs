//! `underpin build --crate` on a registry of the test's own: a folder that cargo takes in place of crates.io (cargo's
//! reference, "Source Replacement", `local-registry`). Results are checked with readelf and by running the program.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::underpin;
use std::path::Path;
use std::process::Command;
use underpin_test_support::{Fixture, Output, need};

/// A registry with two versions of a crate, of which the newer needs a compiler that does not exist.
fn registry(fixture: &Fixture) {
    let mut index = String::new();
    for (version, rust) in [("1.0.0", "1.56"), ("2.0.0", "1.9999")] {
        let name = format!("tool-{version}");
        let manifest = format!(
            "[package]\nname = \"tool\"\nversion = \"{version}\"\nedition = \"2021\"\nrust-version = \"{rust}\"\n\
             [[bin]]\nname = \"the-tool\"\npath = \"src/main.rs\"\n"
        );
        fixture.write(format!("pack/{name}/Cargo.toml"), manifest);
        let lock = format!("version = 3\n\n[[package]]\nname = \"tool\"\nversion = \"{version}\"\n");
        fixture.write(format!("pack/{name}/Cargo.lock"), lock);
        let main = "fn main() { println!(\"tool {}\", env!(\"CARGO_PKG_VERSION\")); }\n";
        fixture.write(format!("pack/{name}/src/main.rs"), main);
        let file = format!("{name}.crate");
        fixture.write(format!("registry/{file}"), "");
        fixture.must("tar", ["-czf", &format!("registry/{file}"), "-C", "pack", &name]);
        let sum = fixture.must("sha256sum", [format!("registry/{file}").as_str()]);
        let sum = sum.split_whitespace().next().unwrap();
        index += &format!(
            "{{\"name\":\"tool\",\"vers\":\"{version}\",\"deps\":[],\"cksum\":\"{sum}\",\"features\":{{}},\"yanked\":false,\
             \"rust_version\":\"{rust}\"}}\n"
        );
    }
    fixture.write("registry/index/to/ol/tool", index);
    let place = fixture.join("registry").display().to_string();
    let configuration =
        format!("[source.crates-io]\nreplace-with = \"local\"\n[source.local]\nlocal-registry = \"{place}\"\n");
    fixture.write("home/config.toml", configuration);
}

fn build(fixture: &Fixture, arguments: &[&str]) -> Output {
    let mut command = underpin([&["build", "--as", "musl+system-overlay"], arguments].concat());
    command.current_dir(fixture.path()).env("XDG_CACHE_HOME", fixture.join("cache"));
    command.env("CARGO_HOME", fixture.join("home"));
    for name in ["RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC"] {
        command.env_remove(name);
    }
    Output::of(&mut command)
}

fn has_musl_target() -> bool {
    let triple = "x86_64-unknown-linux-musl";
    let output = Output::of(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]));
    let there = Path::new(output.stdout.trim()).is_dir();
    if !there {
        underpin_test_support::skip_without_target(triple);
    }
    there
}

#[test]
fn a_published_crate_is_built_and_one_too_new_for_the_compiler_is_refused_with_the_version_that_is_not() {
    need!("cargo", "tar", "sha256sum", "musl-gcc", "readelf");
    if !has_musl_target() {
        return;
    }
    let fixture = Fixture::new();
    registry(&fixture);
    let refused = build(&fixture, &["--crate", "tool"]);
    assert_eq!(refused.code, Some(2), "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("underpin build --crate tool@1.0.0"), "{}", refused.stderr);
    assert!(!fixture.join("the-tool").exists());
    // Twice: the second time nothing is compiled, and the program is there all the same.
    for _ in 0..2 {
        let output = build(&fixture, &["--crate", "tool@1.0.0", "--force"]);
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        let program = fixture.join("the-tool");
        assert_eq!(Output::of(&mut Command::new(&program)).stdout, "tool 1.0.0\n");
        assert!(!fixture.must("readelf", ["-lW", program.to_str().unwrap()]).contains("INTERP"));
        std::fs::remove_file(program).unwrap();
    }
}
