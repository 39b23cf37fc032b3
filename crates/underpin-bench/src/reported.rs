//! The figures that a program reports about itself: one line of JSON on its standard output, as the programs of the
//! suites print it (`suites/common/row.h`).

use crate::error::BenchError;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// What the program of a row reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Nanoseconds of one operation; above zero.
    pub ns: f64,
    /// The operations of one repetition.
    pub operations: u64,
    /// The repetitions that the time is the median of.
    pub repetitions: u32,
    /// Bytes that one operation moves; 0 if that means nothing.
    #[serde(default)]
    pub bytes: u64,
    /// Virtual memory after the work, in bytes, as libc-bench sums it.
    #[serde(rename = "virtual")]
    pub virtual_memory: u64,
    /// Resident memory, in bytes.
    pub resident: u64,
    /// Private dirty memory, in bytes.
    pub dirty: u64,
    /// The processor's frequency during the run, if the program measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mhz: Option<f64>,
}

impl Reported {
    /// A figure of it, in base units.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        Some(match metric {
            Metric::Operation => self.ns / 1e9,
            Metric::Virtual => self.virtual_memory as f64,
            Metric::Resident => self.resident as f64,
            Metric::PrivateDirty => self.dirty as f64,
            _ => return None,
        })
    }

    /// The last line of what a program wrote.
    ///
    /// # Errors
    /// Why it is not a report, as a clause.
    pub fn of_text(text: &str) -> Result<Reported, String> {
        let line = text.lines().next_back().ok_or("it printed nothing")?;
        let reported: Reported = serde_json::from_str(line).map_err(|error| format!("{error} in {line:?}"))?;
        let is_time = reported.ns.is_finite() && reported.ns > 0.0;
        if is_time { Ok(reported) } else { Err(format!("no time was measured: {} ns", reported.ns)) }
    }
}

/// Empties the file that a run is about to report into.
///
/// # Errors
/// [`BenchError::NotReported`] if it cannot be written to.
pub(crate) fn make_ready(name: &str, path: &Path) -> Result<(), BenchError> {
    fs::write(path, "").map_err(|error| not_reported(name, format!("{}: {error}", path.display())))
}

/// What a run has reported there.
///
/// # Errors
/// [`BenchError::NotReported`].
pub(crate) fn read(name: &str, path: &Path) -> Result<Reported, BenchError> {
    let text = fs::read_to_string(path).map_err(|error| not_reported(name, format!("{}: {error}", path.display())))?;
    Reported::of_text(&text).map_err(|reason| not_reported(name, reason))
}

fn not_reported(name: &str, reason: String) -> BenchError {
    BenchError::NotReported { name: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"row":"strlen","ns":31.5,"operations":64,"repetitions":5,"bytes":0,"virtual":4096,"resident":0,"dirty":0}"#;

    #[test]
    fn the_last_line_counts() {
        let reported = Reported::of_text(&format!("warming up\n{LINE}\n")).unwrap();
        assert_eq!(reported.figure(Metric::Operation), Some(31.5e-9));
        assert_eq!(reported.figure(Metric::Virtual), Some(4096.0));
        assert_eq!(reported.figure(Metric::Wall), None);
        assert_eq!(reported.mhz, None);
    }

    #[test]
    fn what_is_no_report_says_why() {
        assert_eq!(Reported::of_text(""), Err("it printed nothing".to_owned()));
        assert!(Reported::of_text("done").unwrap_err().contains("\"done\""));
        assert!(Reported::of_text(&LINE.replace("31.5", "0")).unwrap_err().contains("no time"));
    }
}
