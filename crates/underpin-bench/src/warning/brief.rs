//! Warnings in a few words, for a screen that says everything in a dozen lines; the whole sentences are a `-v` away.

use super::WarningKind;

impl WarningKind {
    /// The warning in a clause. Warnings of one kind about several variants have the same clause if it names no figure.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            WarningKind::FewBlocks { runs, .. } => format!("take at least {runs} runs of each"),
            WarningKind::FailedRequests { count, of, reason, .. } => {
                format!("{count} of {of} requests failed: {reason}")
            }
            WarningKind::SentAgain { count, of, .. } => format!("{count} of {of} requests were sent twice"),
            WarningKind::Redirected { count, of, .. } => {
                format!("{count} of {of} answers were redirects (3xx), not followed")
            }
            WarningKind::SampledPeak { seen, most, .. } => {
                format!("the peak of its processes together is between {} and {} MiB", seen >> 20, most >> 20)
            }
            WarningKind::FreedAtEnd { late, at_exit, .. } => {
                format!("{} MiB late in the run, {} MiB right before its end", late >> 20, at_exit >> 20)
            }
            WarningKind::Unsettled { settle, .. } => {
                format!("memory still moved at the {:.0} ms from which growth counts (--settle)", settle * 1e3)
            }
            WarningKind::Outliers { count, of, .. } => format!("{count} of {of} runs are far slower than the rest"),
            WarningKind::Drift { change, .. } => {
                format!("times changed by {:+.0} % while it ran; the ratios are not affected", (change - 1.0) * 100.0)
            }
            WarningKind::ColdStart { .. } => "slow first run (-w 3 warms up)".to_owned(),
            WarningKind::Short { seconds, .. } => format!("{:.2} ms a run, mostly start-up", seconds * 1e3),
            WarningKind::Load { hundredths, processors } => {
                let load = *hundredths as f64 / 100.0;
                format!("other work was running: load average {load:.2} on {processors} processors")
            }
            WarningKind::Governor(name) => format!("the frequency governor is `{name}`"),
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_warning_is_shorter_and_keeps_its_figures() {
        let load = WarningKind::Load { hundredths: 908, processors: 2 };
        assert_eq!(load.brief(), "other work was running: load average 9.08 on 2 processors");
        let failed = WarningKind::FailedRequests { count: 3, of: 9, reason: "it closes".to_owned() };
        assert!(failed.brief().len() < failed.to_string().len() && failed.brief().contains("3 of 9"));
        let cold = |factor| WarningKind::ColdStart { factor }.brief();
        assert_eq!(cold(3.0), cold(4.0), "said once for several variants");
    }
}
