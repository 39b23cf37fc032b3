//! What figures have to be read with: each doubt found in the record itself, with the figure that raised it.

use crate::analysis::Analysis;
use crate::compare::{BUSY_LEVEL, Verdict, least_blocks_at, level};
use crate::metric::Metric;
use crate::record::{Record, Stopped};
use crate::stats::{Order, trend};
use std::fmt;

/// Whom a doubt is about: the index of a variant, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The whole record.
    All,
    /// One variant.
    Variant(usize),
}

/// One reason for doubt; shown as a sentence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
    /// Too few blocks to tell any difference.
    FewBlocks {
        /// How many there are.
        blocks: usize,
        /// How many it would take for so many variants.
        least: usize,
        /// Runs of each variant that these are.
        runs: usize,
    },
    /// The reference differs from itself.
    Unsound {
        /// By this factor.
        ratio: f64,
    },
    /// Claims that are smaller than what the reference beside itself shows.
    BelowNoise {
        /// The variant.
        variant: usize,
        /// The noise floor, as a share.
        floor: f64,
    },
    /// Runs far outside the others.
    Outliers {
        /// The variant.
        variant: usize,
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// Requests that failed.
    FailedRequests {
        /// The variant.
        variant: usize,
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
        /// Why the first of them failed, a clause about the server.
        reason: String,
    },
    /// Requests that were sent twice, since the connection was closed before a byte of an answer.
    SentAgain {
        /// The variant.
        variant: usize,
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// Answers that send the client elsewhere.
    Redirected {
        /// The variant.
        variant: usize,
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// Several processes were there for less time than lies between two samples, or may have been.
    SampledPeak {
        /// The variant.
        variant: usize,
        /// The time between two samples, in seconds.
        every: f64,
        /// The largest sum of resident memory that was seen, in bytes.
        seen: u64,
        /// The most that it can have been, in bytes.
        most: u64,
    },
    /// Much of the memory is given back right before the end.
    FreedAtEnd {
        /// The variant.
        variant: usize,
        /// Resident memory late in the run, in bytes.
        late: u64,
        /// Right before the end, in bytes.
        at_exit: u64,
    },
    /// Memory moved fast at the moment from which growth counts.
    Unsettled {
        /// The variant.
        variant: usize,
        /// The moment, in seconds.
        settle: f64,
        /// Memory at that moment, in bytes.
        from: u64,
        /// At twice that time.
        to: u64,
    },
    /// A fixed rate that the server did not keep up with.
    Behind {
        /// The variant.
        variant: usize,
        /// Requests that were never sent, in all runs.
        count: u64,
    },
    /// The load generator itself had little time to spare.
    BusyGenerator {
        /// The variant.
        variant: usize,
        /// The share of the time.
        share: f64,
    },
    /// Times grow or shrink with the order of the runs.
    Drift {
        /// The variant in which it shows most.
        variant: usize,
        /// Last third over first third.
        change: f64,
    },
    /// The first run was much slower than the rest.
    ColdStart {
        /// The variant.
        variant: usize,
        /// First run over the median.
        factor: f64,
    },
    /// So short that starting the process is most of it.
    Short {
        /// The variant.
        variant: usize,
        /// Its median, in seconds.
        seconds: f64,
    },
    /// Runs that failed are in the figures.
    Failures {
        /// The variant.
        variant: usize,
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// Other work on the machine.
    Load {
        /// Load average before the start, in hundredths.
        hundredths: u64,
        /// Processors.
        processors: usize,
    },
    /// The processor's frequency is not held.
    Governor(String),
    /// The budget ended it before the rules were met.
    Budget {
        /// Runs of each variant.
        runs: usize,
    },
    /// It was interrupted.
    Interrupted,
    /// Memory was sampled from outside.
    Sampled {
        /// The shortest time between two samples, in seconds.
        every: f64,
        /// Why, a clause.
        reason: String,
    },
    /// Processes that the command left running.
    LeftBehind {
        /// The variant.
        variant: usize,
        /// How many.
        count: usize,
    },
}

impl Doubt {
    /// Whom it is about.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Doubt::BelowNoise { variant, .. }
            | Doubt::Outliers { variant, .. }
            | Doubt::FailedRequests { variant, .. }
            | Doubt::SentAgain { variant, .. }
            | Doubt::Redirected { variant, .. }
            | Doubt::SampledPeak { variant, .. }
            | Doubt::FreedAtEnd { variant, .. }
            | Doubt::Unsettled { variant, .. }
            | Doubt::Behind { variant, .. }
            | Doubt::BusyGenerator { variant, .. }
            | Doubt::Drift { variant, .. }
            | Doubt::ColdStart { variant, .. }
            | Doubt::Short { variant, .. }
            | Doubt::Failures { variant, .. }
            | Doubt::LeftBehind { variant, .. } => Scope::Variant(*variant),
            _ => Scope::All,
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::FewBlocks { blocks, least, runs } => write!(
                f,
                "{blocks} {} of runs cannot tell any difference in time; {runs} runs of each ({least} blocks) are the least",
                if *blocks == 1 { "block" } else { "blocks" }
            ),
            Doubt::FailedRequests { count, of, reason, .. } => {
                write!(
                    f,
                    "{count} of {of} requests failed: {reason}; the answer times are those of the others and of time-outs"
                )
            }
            Doubt::SentAgain { count, of, .. } => write!(
                f,
                "{count} of {of} requests were sent again: the server closed the connection before an answer; the time of \
                 both tries is in the answer times"
            ),
            Doubt::Redirected { count, of, .. } => write!(
                f,
                "{count} of {of} answers had a status of 3xx: they point elsewhere, and nothing followed them; load the \
                 address that does the work"
            ),
            Doubt::SampledPeak { every, seen, most, .. } => write!(
                f,
                "its processes were sampled every {:.0} ms together: {} MiB were seen, and a shorter peak was {} MiB at \
                 most (the sum of each one's own peak)",
                every * 1e3,
                seen >> 20,
                most >> 20
            ),
            Doubt::FreedAtEnd { late, at_exit, .. } => write!(
                f,
                "it goes from {} to {} MiB right before it ends; memory at the end, and growth, are those of the last fifth \
                 of the run",
                late >> 20,
                at_exit >> 20
            ),
            Doubt::Unsettled { settle, from, to, .. } => write!(
                f,
                "memory went from {} to {} MiB right after the {:.0} ms from which growth counts; --settle decides what it is",
                from >> 20,
                to >> 20,
                settle * 1e3
            ),
            Doubt::Behind { count, .. } => write!(
                f,
                "the server did not keep up with the rate: {count} requests were never sent; their waiting is in the answer \
                 times; --rate lower, or more --connections"
            ),
            Doubt::BusyGenerator { share, .. } => write!(
                f,
                "the load generator itself kept a processor for {:.0} % of the time: the figures may be its own limit; give \
                 it more --load-threads",
                share * 100.0
            ),
            Doubt::Unsound { ratio } => write!(
                f,
                "the reference differs from itself by {:+.1} %: this machine is too unquiet now, trust no difference",
                (ratio - 1.0) * 100.0
            ),
            Doubt::BelowNoise { floor, .. } => write!(
                f,
                "its difference is not above the noise floor of {:.1} % that the reference shows beside itself",
                floor * 100.0
            ),
            Doubt::Outliers { count, of, .. } => {
                write!(f, "{count} of {of} runs are far slower than the rest; medians and ratios hold against them")
            }
            Doubt::Drift { change, .. } => write!(
                f,
                "the figures went by {:+.0} % from the first third of the runs to the last; that is in the medians and not in \
                 the ratios, since the runs were interleaved",
                (change - 1.0) * 100.0
            ),
            Doubt::ColdStart { factor, .. } => {
                write!(
                    f,
                    "the first run took {factor:.1} times the median; caches were cold: add -w 3, or -p to chill all runs alike"
                )
            }
            Doubt::Short { seconds, .. } => write!(
                f,
                "a run takes {:.2} ms; much of that is the start of a process, the same for every command",
                seconds * 1e3
            ),
            Doubt::Failures { count, of, .. } => write!(f, "{count} of {of} runs failed and are in the figures (-i)"),
            Doubt::Load { hundredths, processors } => write!(
                f,
                "the load average was {:.2} on {processors} processors before the start: other work was running{}",
                *hundredths as f64 / 100.0,
                if *hundredths as f64 > 100.0 * *processors as f64 {
                    format!(", so a difference in time is claimed at the level of {} % only", BUSY_LEVEL * 100.0)
                } else {
                    String::new()
                }
            ),
            Doubt::Governor(name) => write!(
                f,
                "the frequency governor is `{name}`: `sudo cpupower frequency-set -g performance` holds the clock still"
            ),
            Doubt::Budget { runs } => write!(f, "the budget was spent after {runs} runs, before the rules were met"),
            Doubt::Interrupted => f.write_str("measuring was interrupted; these are the runs up to then"),
            Doubt::Sampled { every, reason } => write!(
                f,
                "memory was sampled from outside, at best every {:.0} ms: peaks after the last sample of a process, and \
                 processes between two, are not seen ({reason})",
                every * 1e3
            ),
            Doubt::LeftBehind { count, .. } => write!(
                f,
                "{count} processes outlived the command; in watched runs they were ended after a second, in timed runs \
                 they may have gone on beside the next run"
            ),
        }
    }
}

/// One honest machine in a hundred differs from itself at the level of the claims; this is half of that.
const UNSOUND: f64 = 0.005;
/// A first run that is so much slower is worth a word.
const COLD: f64 = 1.5;
/// Drift that is worth a word, as a share.
const DRIFT: f64 = 0.05;
/// Runs shorter than this are mostly the start of a process.
const SHORT_SECONDS: f64 = 0.002;
/// A generator that is busier than this may be what is measured.
const BUSY: f64 = 0.9;
/// Two sizes are far apart where the larger is more than this share above the smaller, and by more than these bytes.
const FAR: f64 = 0.1;
const FAR_BYTES: u64 = 4 << 20;
/// Outliers beyond this share of the runs are worth a word.
const OUTLIERS: f64 = 0.05;

/// The doubts of a record, the gravest first.
pub(crate) fn doubts(record: &Record, analysis: &Analysis) -> Vec<Doubt> {
    let mut found = Vec::new();
    match &record.end {
        None => found.push(Doubt::Interrupted),
        Some(end) if end.stopped == Stopped::Interrupted => found.push(Doubt::Interrupted),
        Some(end) if end.stopped == Stopped::Budget => {
            let runs = analysis.variants.iter().map(|variant| variant.runs).min().unwrap_or(0);
            let rules = &record.header.rules;
            if rules.until.is_some() || runs < rules.runs.unwrap_or(rules.min_runs) as usize {
                found.push(Doubt::Budget { runs });
            }
        }
        Some(_) => {}
    }
    if let (Some(sampled), false) = (record.end.as_ref().and_then(|end| end.sampled.clone()), record.memory.is_empty())
    {
        found.push(Doubt::Sampled { every: sampled.every_ns.seconds(), reason: sampled.reason });
    }
    found.extend(noise_doubts(record, analysis));
    found.extend(few_blocks(record, analysis));
    found.extend(strongest_drift(record));
    found.extend(most_outliers(record));
    found.extend(shortest(analysis));
    for variant in 0..record.header.variants.len() {
        load_doubts(record, variant, &mut found);
        found.extend(memory_doubts(record, variant));
        variant_doubts(record, analysis, variant, &mut found);
    }
    machine_doubts(record, &mut found);
    found
}

fn noise_doubts(record: &Record, analysis: &Analysis) -> Vec<Doubt> {
    let Some(noise) = &analysis.noise else { return Vec::new() };
    if matches!(noise.comparison.verdict(), Verdict::Less | Verdict::More) && noise.comparison.p_value <= UNSOUND {
        return vec![Doubt::Unsound { ratio: noise.comparison.ratio.estimate }];
    }
    let claimed = analysis.comparisons.iter().filter(|one| {
        one.metric == record.primary()
            && !record.header.variants[one.variant].is_copy
            && matches!(one.verdict(), Verdict::Less | Verdict::More)
            && (one.ratio.estimate - 1.0).abs() < noise.floor
    });
    claimed.map(|one| Doubt::BelowNoise { variant: one.variant, floor: noise.floor }).collect()
}

fn few_blocks(record: &Record, analysis: &Analysis) -> Option<Doubt> {
    let compared = record.header.variants.iter().filter(|variant| !variant.is_copy).count().saturating_sub(1);
    let least = least_blocks_at(compared, level(&record.header.machine, record.primary()));
    let primary = analysis.comparisons.iter().filter(|one| one.metric == record.primary());
    let blocks = primary.map(|one| one.count).min()?;
    let runs = if record.header.load.is_some() { least } else { 2 * least };
    (blocks < least).then_some(Doubt::FewBlocks { blocks, least, runs })
}

fn strongest_drift(record: &Record) -> Option<Doubt> {
    let trends = (0..record.header.variants.len()).filter_map(|variant| {
        let trend = trend(&record.figures(record.primary(), variant))?;
        (trend.p_value < 0.01 && (trend.change - 1.0).abs() > DRIFT).then_some((variant, trend.change))
    });
    let (variant, change) = trends.max_by(|a, b| (a.1 - 1.0).abs().total_cmp(&(b.1 - 1.0).abs()))?;
    Some(Doubt::Drift { variant, change })
}

fn most_outliers(record: &Record) -> Option<Doubt> {
    let shares = (0..record.header.variants.len()).filter_map(|variant| {
        let times = record.figures(Metric::Wall, variant);
        let (count, of) = (Order::new(&times).far_above(), times.len());
        (count > 1 && count as f64 > OUTLIERS * of as f64).then_some(Doubt::Outliers { variant, count, of })
    });
    shares.max_by_key(|doubt| if let Doubt::Outliers { count, .. } = doubt { *count } else { 0 })
}

fn shortest(analysis: &Analysis) -> Option<Doubt> {
    let medians = analysis.variants.iter().enumerate();
    let medians = medians.filter_map(|(variant, one)| Some((variant, one.metric(Metric::Wall)?.median.estimate)));
    let (variant, seconds) = medians.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (seconds < SHORT_SECONDS).then_some(Doubt::Short { variant, seconds })
}

fn load_doubts(record: &Record, variant: usize, found: &mut Vec<Doubt>) {
    let samples =
        || record.samples.iter().filter(|sample| sample.variant == variant).filter_map(|one| one.load.as_ref());
    let failed: u64 = samples().map(|load| load.errors.total()).sum();
    let requests: u64 = samples().map(|load| load.requests).sum();
    if failed > 0 {
        let reason = samples().find_map(|load| load.first_failure.clone()).unwrap_or_default();
        found.push(Doubt::FailedRequests { variant, count: failed, of: requests + failed, reason });
    }
    let answered = requests + failed;
    let again: u64 = samples().map(|load| load.sent_again).sum();
    if again > 0 {
        found.push(Doubt::SentAgain { variant, count: again, of: answered });
    }
    let redirected: u64 = samples().map(|load| load.redirected).sum();
    if redirected > 0 {
        found.push(Doubt::Redirected { variant, count: redirected, of: requests });
    }
    let unsent: u64 = samples().map(|load| load.unsent).sum();
    if unsent > 0 {
        found.push(Doubt::Behind { variant, count: unsent });
    }
    let busiest = samples().map(|load| load.busy_thousandths).max().map_or(0.0, |busy| f64::from(busy) / 1000.0);
    if busiest > BUSY {
        found.push(Doubt::BusyGenerator { variant, share: busiest });
    }
}

/// What the watched runs of a variant leave open: of each kind the run in which it shows most.
fn memory_doubts(record: &Record, variant: usize) -> Vec<Doubt> {
    let runs = || record.memory.iter().filter(|run| run.variant == variant);
    let far = |less: u64, more: u64| {
        let gap = more.saturating_sub(less);
        (gap > FAR_BYTES && gap as f64 > FAR * more as f64).then_some(gap)
    };
    let sampled = runs().filter(|run| run.process_count > 1).filter_map(|run| {
        let (seen, most, every) = (run.peak_rss.0, run.peak_bound?.0, run.step_ns?.seconds());
        Some((far(seen, most)?, Doubt::SampledPeak { variant, every, seen, most }))
    });
    let freed = runs().filter(|run| run.process_count == 1).filter_map(|run| {
        let (late, at_exit) = (run.at_end?.rss.0, run.at_exit?.rss.0);
        Some((far(at_exit, late)?, Doubt::FreedAtEnd { variant, late, at_exit }))
    });
    let settle = record.header.rules.settle_ns;
    let moving = runs().filter(|run| record.header.load.is_none() && !run.series.is_empty()).filter_map(|run| {
        let start = run.at_start?;
        let later = run.series.iter().find(|point| point.at_ns.0 >= start.at_ns.0 + settle.0.max(1))?;
        let (from, to) = (start.held().0, later.held().0);
        let gap = far(from.min(to), from.max(to))?;
        Some((gap, Doubt::Unsettled { variant, settle: settle.seconds(), from, to }))
    });
    let moving: Vec<_> = moving.filter(|_| settle.0 > 0).collect();
    let largest =
        |found: &mut dyn Iterator<Item = (u64, Doubt)>| found.max_by_key(|(gap, _)| *gap).map(|(_, doubt)| doubt);
    [largest(&mut { sampled }), largest(&mut { freed }), largest(&mut moving.into_iter())]
        .into_iter()
        .flatten()
        .collect()
}

fn variant_doubts(record: &Record, analysis: &Analysis, variant: usize, found: &mut Vec<Doubt>) {
    let times = record.figures(Metric::Wall, variant);
    let summary = &analysis.variants[variant];
    if summary.failures > 0 {
        found.push(Doubt::Failures { variant, count: summary.failures, of: summary.runs });
    }
    let left_behind = record.memory.iter().filter(|run| run.variant == variant).map(|run| run.left_behind).max();
    if let Some(count @ 1..) = left_behind {
        found.push(Doubt::LeftBehind { variant, count });
    }
    let (Some(median), order) = (summary.metric(Metric::Wall).map(|wall| wall.median.estimate), Order::new(&times))
    else {
        return;
    };
    let factor = times[0] / median;
    if factor > COLD && record.header.rules.warmup == 0 && order.greatest() == Some(times[0]) {
        found.push(Doubt::ColdStart { variant, factor });
    }
}

fn machine_doubts(record: &Record, found: &mut Vec<Doubt>) {
    let machine = &record.header.machine;
    if let Some(hundredths) = machine.load_hundredths
        && hundredths as f64 > 50.0 * machine.processors as f64
    {
        found.push(Doubt::Load { hundredths, processors: machine.processors });
    }
    if let Some(governor) = machine.governor.as_ref().filter(|governor| *governor != "performance") {
        found.push(Doubt::Governor(governor.clone()));
    }
}
