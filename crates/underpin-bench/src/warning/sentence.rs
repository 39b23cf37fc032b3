//! Warnings as sentences.

use super::WarningKind;
use crate::compare::BUSY_LEVEL;
use std::fmt;

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarningKind::FewBlocks { blocks, least, runs } => write!(
                f,
                "{blocks} {} of runs cannot show any difference in time; it takes at least {runs} runs of each ({least} blocks)",
                if *blocks == 1 { "block" } else { "blocks" }
            ),
            WarningKind::FailedRequests { count, of, reason, .. } => {
                write!(
                    f,
                    "{count} of {of} requests failed: {reason}; the answer times are those of the others and of time-outs"
                )
            }
            WarningKind::SentAgain { count, of, .. } => write!(
                f,
                "{count} of {of} requests were sent again: the server closed the connection before an answer; the time of \
                 both tries is in the answer times"
            ),
            WarningKind::Redirected { count, of, .. } => write!(
                f,
                "{count} of {of} answers had a status of 3xx: redirects are not followed; load the address that they \
                 point to"
            ),
            WarningKind::SampledPeak { every, seen, most, .. } => write!(
                f,
                "its processes were sampled every {:.0} ms together: {} MiB were seen, and a shorter peak was {} MiB at \
                 most (the sum of each one's own peak)",
                every * 1e3,
                seen >> 20,
                most >> 20
            ),
            WarningKind::FreedAtEnd { late, at_exit, .. } => write!(
                f,
                "it goes from {} to {} MiB right before it ends; memory at the end, and growth, are those of the last fifth \
                 of the run",
                late >> 20,
                at_exit >> 20
            ),
            WarningKind::Unsettled { settle, from, to, .. } => write!(
                f,
                "memory went from {} to {} MiB right after the {:.0} ms from which growth counts; --settle moves that moment",
                from >> 20,
                to >> 20,
                settle * 1e3
            ),
            WarningKind::Behind { count, .. } => write!(
                f,
                "the server did not keep up with the rate: {count} requests were never sent; their waiting is in the answer \
                 times; lower --rate or raise --connections"
            ),
            WarningKind::BusyGenerator { share, .. } => write!(
                f,
                "the load generator itself kept a processor busy for {:.0} % of the time: the figures may be its own \
                 limit; raise --load-threads",
                share * 100.0
            ),
            WarningKind::Unsound { ratio } => write!(
                f,
                "the reference differs from itself by {:+.1} %: this machine is too noisy now, do not trust any difference",
                (ratio - 1.0) * 100.0
            ),
            WarningKind::BelowNoise { floor, .. } => write!(
                f,
                "its difference is not above the noise floor of {:.1} % that the reference shows against itself",
                floor * 100.0
            ),
            WarningKind::Outliers { count, of, .. } => {
                write!(
                    f,
                    "{count} of {of} runs are far slower than the rest; medians and ratios are robust against them"
                )
            }
            WarningKind::Drift { change, .. } => write!(
                f,
                "the figures changed by {:+.0} % from the first third of the runs to the last; that affects the medians and \
                 not the ratios, since the runs were interleaved",
                (change - 1.0) * 100.0
            ),
            WarningKind::ColdStart { factor, .. } => {
                write!(
                    f,
                    "the first run took {factor:.1} times the median; caches were cold: add -w 3, or -p to make every run a cold one"
                )
            }
            WarningKind::Short { seconds, .. } => write!(
                f,
                "a run takes {:.2} ms; much of that is the start of a process, the same for every command",
                seconds * 1e3
            ),
            WarningKind::Failures { count, of, .. } => {
                write!(f, "{count} of {of} runs failed and are in the figures (-i)")
            }
            WarningKind::Load { hundredths, processors } => write!(
                f,
                "the load average was {:.2} on {processors} processors before the start: other work was running{}",
                *hundredths as f64 / 100.0,
                if *hundredths as f64 > 100.0 * *processors as f64 {
                    format!(", so a difference in time is claimed only at the level of {} %", BUSY_LEVEL * 100.0)
                } else {
                    String::new()
                }
            ),
            WarningKind::Governor(name) => write!(
                f,
                "the frequency governor is `{name}`: `sudo cpupower frequency-set -g performance` keeps the clock constant"
            ),
            WarningKind::Budget { runs } => {
                write!(f, "the budget was spent after {runs} runs, before the rules were met")
            }
            WarningKind::Interrupted => f.write_str("measuring was interrupted; these are the runs up to then"),
            WarningKind::Sampled { every, reason } => write!(
                f,
                "memory was sampled from outside, at best every {:.0} ms: peaks after the last sample of a process, and \
                 processes between two, are not seen ({reason})",
                every * 1e3
            ),
            WarningKind::LeftBehind { count, .. } => write!(
                f,
                "{count} processes outlived the command; in watched runs they were ended after a second, in timed runs \
                 they may have gone on beside the next run"
            ),
        }
    }
}
