//! Doubts in a few words, for a screen that says everything in a dozen lines; the whole sentences are a `-v` away.

use crate::doubt::Doubt;

impl Doubt {
    /// The doubt in a clause. Doubts of one kind about several variants have the same clause if it names no figure.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Doubt::FewBlocks { runs, .. } => format!("take {runs} runs of each at least"),
            Doubt::FailedRequests { count, of, reason, .. } => format!("{count} of {of} requests failed: {reason}"),
            Doubt::SentAgain { count, of, .. } => format!("{count} of {of} requests were sent twice"),
            Doubt::Redirected { count, of, .. } => format!("{count} of {of} answers were 3xx, and not followed"),
            Doubt::SampledPeak { seen, most, .. } => {
                format!("the peak of its processes together is between {} and {} MiB", seen >> 20, most >> 20)
            }
            Doubt::FreedAtEnd { late, at_exit, .. } => {
                format!("{} MiB late in the run, {} MiB right before its end", late >> 20, at_exit >> 20)
            }
            Doubt::Unsettled { settle, .. } => {
                format!("memory still moved at the {:.0} ms from which growth counts (--settle)", settle * 1e3)
            }
            Doubt::Outliers { count, of, .. } => format!("{count} of {of} runs are far slower than the rest"),
            Doubt::Drift { change, .. } => {
                format!("times went by {:+.0} % while it ran; not in the ratios", (change - 1.0) * 100.0)
            }
            Doubt::ColdStart { .. } => "slow first run (-w 3 warms up, -p chills)".to_owned(),
            Doubt::Short { seconds, .. } => format!("{:.2} ms a run, mostly start-up", seconds * 1e3),
            Doubt::Load { hundredths, processors } => {
                let load = *hundredths as f64 / 100.0;
                format!("other work was running: load average {load:.2} on {processors} processors")
            }
            Doubt::Governor(name) => format!("the frequency governor is `{name}`"),
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_doubt_is_shorter_and_keeps_its_figures() {
        let load = Doubt::Load { hundredths: 908, processors: 2 };
        assert_eq!(load.brief(), "other work was running: load average 9.08 on 2 processors");
        let failed = Doubt::FailedRequests { variant: 0, count: 3, of: 9, reason: "it closes".to_owned() };
        assert!(failed.brief().len() < failed.to_string().len() && failed.brief().contains("3 of 9"));
        let cold = |factor| Doubt::ColdStart { variant: 0, factor }.brief();
        assert_eq!(cold(3.0), cold(4.0), "said once for several variants");
    }
}
