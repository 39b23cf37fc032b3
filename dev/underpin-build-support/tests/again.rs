//! A build script that missed its compiler, and cargo as the judge of when it runs again.
#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = r#"
use underpin_build_support::{compilers, first};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let run = |compiler: &Vec<String>| {
        let output = std::process::Command::new(&compiler[0]).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        if output.status.success() { Ok(said) } else { Err(output.status.to_string()) }
    };
    // No machine has a compiler for it.
    let made = first("vax", &compilers("vax", || None, ""), run).unwrap_or_else(|_| "nothing".to_owned());
    println!("cargo::rustc-env=MADE={}", made.trim());
}
"#;

fn build(folder: &Path, path: &Path) -> String {
    let run = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(folder)
        .env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap()))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn a_script_that_missed_its_compiler_runs_again_once_there_is_one_and_then_no_more() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, path) = (scratch.path().join("program"), scratch.path().join("bin"));
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir(&path).unwrap();
    let manifest = format!(
        "[package]\nname = \"program\"\nedition = \"2024\"\n[build-dependencies]\nunderpin-build-support = {{ path = {:?} }}\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("build.rs"), SCRIPT).unwrap();
    fs::write(folder.join("src/main.rs"), "fn main() { print!(\"{}\", env!(\"MADE\")) }").unwrap();
    // The crate takes its version and lints from the workspace above it, which cargo finds by its path.
    assert_eq!(build(&folder, &path), "nothing");
    let compiler = path.join("vax-linux-gnu-gcc");
    let install = |text: &str| {
        // Put in place like a package's file: renamed, and older than the build.
        let new = path.join("new");
        fs::write(&new, format!("#!/bin/sh\necho {text}\n")).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        let file = fs::File::options().write(true).open(&new).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
        drop(file);
        fs::rename(&new, &compiler).unwrap();
    };
    install("first");
    assert_eq!(build(&folder, &path), "first");
    install("second");
    assert_eq!(build(&folder, &path), "first", "nothing was missing any more");
}
