//! `ab` and its figures.
//!
//! The original comparison waited a minute after each run for closed connections to vanish (TIME_WAIT). They are on the
//! server's side here, each server has a port of its own, and Linux takes a new connection from the port of a lingering
//! one: nothing has to be waited for.

use anyhow::{Context, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The figures of one run of ab; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Requests in a second.
    pub rate: f64,
    /// Half of the answers took no longer.
    pub p50: f64,
    /// Nine of ten answers took no longer.
    pub p90: f64,
    /// 99 of 100 answers took no longer.
    pub p99: f64,
}

/// As the original comparison calls it: no connection is kept alive, answers may differ in length.
pub const SEED: &[&str] = &["-l"];
/// The same with connections that are kept alive.
pub const KEPT_ALIVE: &[&str] = &["-k", "-l"];

/// Runs `ab OPTIONS -c CONNECTIONS -n REQUESTS URL`.
///
/// # Errors
/// If ab is missing, or a single request fails or is answered with anything but 2xx.
pub fn run(options: &[&str], url: &str, connections: u32, requests: u32, folder: &Path) -> anyhow::Result<Figures> {
    let csv = folder.join("ab.csv");
    let mut command = Command::new("ab");
    command.args(options).args(["-q", "-c", &connections.to_string(), "-n", &requests.to_string(), "-e"]).arg(&csv);
    command.arg(url).stdin(Stdio::null());
    let output = command.output().context("cannot start ab (package apache2-utils)")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let failed = number(&text, "Failed requests:")? + number(&text, "Non-2xx responses:").unwrap_or(0.0);
    let complete = number(&text, "Complete requests:")?;
    if failed > 0.0 || complete < f64::from(requests) {
        bail!("{command:?}: {complete} of {requests} requests were answered, {failed} of them with an error");
    }
    let shares = fs::read_to_string(csv)?;
    let rate = number(&text, "Requests per second:")?;
    Ok(Figures { rate, p50: share(&shares, "50")?, p90: share(&shares, "90")?, p99: share(&shares, "99")? })
}

/// A percentile in seconds; the file has thousandths of milliseconds, the text whole ones.
fn share(csv: &str, percent: &str) -> anyhow::Result<f64> {
    let line = csv.lines().find_map(|line| line.strip_prefix(percent)?.strip_prefix(','));
    line.and_then(|text| text.parse::<f64>().ok()).map(|ms| ms / 1e3).context("ab printed no percentiles")
}

/// The first number behind a label.
///
/// # Errors
/// If there is none.
pub fn number(text: &str, label: &str) -> anyhow::Result<f64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(label));
    let word = rest.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).with_context(|| format!("no {label:?} in the output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_ab_writes_them() {
        let text = "Complete requests:      1000\nFailed requests:        0\n\
                    Requests per second:    5123.45 [#/sec] (mean)\n";
        assert_eq!(number(text, "Requests per second:").unwrap(), 5123.45);
        assert!(number(text, "Non-2xx responses:").is_err());
        let p90 = share("Percentage served,Time in ms\n0,0.1\n90,2.345\n99,4.5\n", "90").unwrap();
        assert!((p90 - 0.002_345).abs() < 1e-12, "{p90}");
    }
}
