//! hyperfine as a peer: the newest release that builds here, Debian's, and what their JSON says.
//!
//! A release is fetched and built by `cargo install` into a folder below the temporary folder, once. Nothing of it
//! comes into the repository.

use crate::run;
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Releases to try, the newest first.
const RELEASES: [&str; 2] = ["2.0.0", "1.20.0"];

/// One hyperfine.
pub struct Hyperfine {
    /// `hyperfine 2.0.0`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
}

/// One command's figures, in seconds and bytes.
pub struct Figures {
    /// What it compares and prints.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// Mean peak memory, if it has it.
    pub memory: Option<f64>,
}

impl Hyperfine {
    /// The newest release that builds with this compiler.
    ///
    /// # Errors
    /// If none builds.
    pub fn newest() -> anyhow::Result<Hyperfine> {
        for release in RELEASES {
            match Hyperfine::release(release) {
                Ok(hyperfine) => return Ok(hyperfine),
                Err(error) => println!("hyperfine {release} cannot be installed: {error:#}"),
            }
        }
        bail!("no release of hyperfine could be built")
    }

    /// The newest release, and Debian's if it is installed and another one.
    ///
    /// # Errors
    /// If no release builds.
    pub fn all() -> anyhow::Result<Vec<Hyperfine>> {
        let mut all = vec![Hyperfine::newest()?];
        let installed = Hyperfine::at(PathBuf::from("/usr/bin/hyperfine"));
        all.extend(installed.ok().filter(|installed| installed.name != all[0].name));
        Ok(all)
    }

    fn release(release: &str) -> anyhow::Result<Hyperfine> {
        let root = std::env::temp_dir().join(format!("underpin-hyperfine-{release}"));
        let program = root.join("bin/hyperfine");
        if !program.exists() {
            let cargo = run::cargo();
            let root = root.to_str().context("a temporary folder that is not UTF-8")?;
            // The minimum Rust version that it states is newer than what its code needs.
            let args = ["install", "hyperfine", "--quiet", "--locked", "--ignore-rust-version", "--root", root];
            run::must(&cargo, &[&args[..], &["--version", release]].concat())?;
        }
        Hyperfine::at(program)
    }

    fn at(program: PathBuf) -> anyhow::Result<Hyperfine> {
        let output = Command::new(&program).arg("--version").output().context("hyperfine")?;
        Ok(Hyperfine { name: String::from_utf8_lossy(&output.stdout).trim().to_owned(), program })
    }

    /// The command line that measures, with its figures going into a file.
    pub fn command(&self, options: &[&str], commands: &[&str], json: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-N").args(options).arg("--export-json").arg(json).args(commands);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Measures commands and returns the figures of each.
    ///
    /// # Errors
    /// If it fails or its document cannot be read.
    pub fn measure(&self, options: &[&str], commands: &[&str], folder: &Path) -> anyhow::Result<Vec<Figures>> {
        let json = folder.join("hyperfine.json");
        let status = self.command(options, commands, &json).status()?;
        if !status.success() {
            bail!("{} failed: {status}", self.name);
        }
        figures(&json)
    }
}

/// The figures in a document of either form.
///
/// # Errors
/// If it cannot be read.
pub fn figures(json: &Path) -> anyhow::Result<Vec<Figures>> {
    let document: Value = serde_json::from_slice(&std::fs::read(json)?)?;
    let results = document["results"].as_array().context("a document without results")?;
    results.iter().map(|result| one(result).context("a result without times")).collect()
}

fn one(result: &Value) -> Option<Figures> {
    let summary = match result.get("summary") {
        Some(summary) => &summary["time_wall_clock"],
        None => result,
    };
    let memory = &result["summary"]["memory_peak_resident"]["mean"];
    Some(Figures {
        mean: summary["mean"].as_f64()?,
        median: summary["median"].as_f64()?,
        memory: memory.as_f64().or_else(|| memory_of_runs(result)),
    })
}

/// Releases from 1.19 on list the memory of each run.
fn memory_of_runs(result: &Value) -> Option<f64> {
    let runs: Vec<f64> = result["memory_usage_byte"].as_array()?.iter().filter_map(Value::as_f64).collect();
    (!runs.is_empty()).then(|| runs.iter().sum::<f64>() / runs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_document_are_read() {
        let old = serde_json::json!({"mean": 2.0, "median": 1.5, "times": [1.0, 3.0]});
        let new = serde_json::json!({"summary": {
            "time_wall_clock": {"mean": 2.0, "median": 1.5},
            "memory_peak_resident": {"mean": 4096.0},
        }});
        let (old, new) = (one(&old).unwrap(), one(&new).unwrap());
        assert_eq!((old.mean, old.median, old.memory), (new.mean, new.median, None));
        assert_eq!(new.memory, Some(4096.0));
    }
}
