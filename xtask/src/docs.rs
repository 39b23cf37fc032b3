//! Man pages, completions and JSON Schemas: printed by the binary itself, kept in docs/ so that packagers need not run it.

use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const VERBS: [&str; 24] = [
    "survey",
    "tree",
    "check",
    "trace",
    "bind",
    "unbind",
    "verify",
    "bundle",
    "build",
    "image",
    "image-build",
    "image-run",
    "image-compare",
    "image-sdk",
    "image-size",
    "image-sources",
    "image-layer",
    "image-doctor",
    "image-fips",
    "storm",
    "bench",
    "report",
    "run",
    "doctor",
];
/// Verbs with a document of their own: `report` shows that of `bench`.
const DOCUMENTS: [&str; 25] = [
    "survey",
    "tree",
    "check",
    "tags",
    "trace",
    "bind",
    "fuse",
    "unbind",
    "verify",
    "bundle",
    "build",
    "image-build",
    "image-run",
    "image-compare",
    "image-sdk",
    "image-size",
    "image-sources",
    "image-layer",
    "image-doctor",
    "image-fips",
    "storm",
    "bench",
    "suite",
    "run",
    "doctor",
];
const SHELLS: [(&str, &str); 4] =
    [("bash", "underpin.bash"), ("elvish", "underpin.elv"), ("fish", "underpin.fish"), ("zsh", "_underpin")];

/// Writes every document, or with `check` fails if one differs.
///
/// # Errors
/// If the binary does not build, or a document is out of date.
pub fn generate(check: bool) -> anyhow::Result<()> {
    let binary = run::debug_binary()?;
    let mut stale = Vec::new();
    for (path, args) in documents() {
        let output = Command::new(&binary).arg("generate").args(&args).output().context("cannot run underpin")?;
        if !output.status.success() {
            bail!("underpin generate {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        if fs::read(&path).ok().as_ref() == Some(&output.stdout) {
            continue;
        }
        if check {
            stale.push(path);
        } else {
            write(Path::new(&path), &output.stdout)?;
            println!("wrote {path}");
        }
    }
    foolsgold(check)?;
    if stale.is_empty() { Ok(()) } else { bail!("out of date: {}; run `cargo xtask docs`", stale.join(", ")) }
}

/// The man pages and completions of foolsgold, below its own folder; a test of its package checks them.
fn foolsgold(check: bool) -> anyhow::Result<()> {
    let cargo = run::cargo();
    let of_package: &[&str] = if check {
        &["test", "--quiet", "--package", "foolsgold", "--test", "manual"]
    } else {
        &["run", "--quiet", "--package", "foolsgold", "--example", "generate", "--", "foolsgold/docs"]
    };
    run::must(&cargo, of_package)
}

/// Every document: its path, and the arguments of `underpin generate` that print it.
fn documents() -> Vec<(String, Vec<String>)> {
    let man = |verb: &str| (format!("docs/man/underpin-{verb}.1"), vec!["man".to_owned(), verb.to_owned()]);
    let schema =
        |verb: &str| (format!("docs/schemas/underpin.{verb}.1.json"), vec!["schema".to_owned(), verb.to_owned()]);
    let completions = |(shell, file): (&str, &str)| {
        (format!("docs/completions/{file}"), vec!["completions".to_owned(), shell.to_owned()])
    };
    let mut all = vec![("docs/man/underpin.1".to_owned(), vec!["man".to_owned()])];
    all.extend(VERBS.map(man));
    all.extend(DOCUMENTS.map(schema));
    all.extend(SHELLS.map(completions));
    all
}

fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
