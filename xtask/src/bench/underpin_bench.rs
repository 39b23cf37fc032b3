//! `underpin bench` as a program to call, and what its document says.

use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release build.
pub struct Underpin(pub PathBuf);

/// What it claims about the second of two commands beside the first, in one figure.
pub struct Claim {
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: [f64; 2],
    /// `more` or `less` is claimed.
    pub claimed: bool,
    /// `more` is claimed.
    pub more: bool,
}

impl Underpin {
    /// The command line that measures, with its document going into a file.
    pub fn command(&self, options: &[&str], commands: &[&str], json: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.arg("bench").args(options).arg("--export-json").arg(json).args(commands);
        if let Some(folder) = json.parent() {
            command.arg("--store").arg(folder.join("store"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Measures commands and returns the document.
    ///
    /// # Errors
    /// If it fails.
    pub fn measure(&self, options: &[&str], commands: &[&str], folder: &Path) -> anyhow::Result<Value> {
        let json = folder.join("underpin.json");
        let status = self.command(options, commands, &json).status()?;
        if !status.success() {
            bail!("underpin bench failed: {status}");
        }
        document(&json)
    }
}

/// A document that it wrote.
///
/// # Errors
/// If it cannot be read.
pub fn document(json: &Path) -> anyhow::Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(json)?)?)
}

/// The median of a variant in a figure.
///
/// # Errors
/// If it has none.
pub fn median(document: &Value, variant: usize, metric: &str) -> anyhow::Result<f64> {
    let metrics = document["variants"][variant]["metrics"].as_array().context("a variant without figures")?;
    let found = metrics.iter().find(|one| one["metric"] == metric);
    found.and_then(|one| one["median"]["estimate"].as_f64()).with_context(|| format!("no {metric} was measured"))
}

/// What is said of the second variant in a figure.
///
/// # Errors
/// If it was not compared.
pub fn claim(document: &Value, metric: &str) -> anyhow::Result<Claim> {
    let comparisons = document["comparisons"].as_array().context("a document without comparisons")?;
    let found = comparisons.iter().find(|one| one["metric"] == metric);
    let found = found.with_context(|| format!("{metric} was not compared"))?;
    let bound = |name: &str| found["ratio"][name].as_f64().with_context(|| format!("a ratio without {name}"));
    let verdict = found["verdict"].as_str().context("a comparison without a verdict")?;
    Ok(Claim {
        ratio: bound("estimate")?,
        interval: [bound("low")?, bound("high")?],
        claimed: ["more", "less"].contains(&verdict),
        more: verdict == "more",
    })
}
