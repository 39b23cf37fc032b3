//! What figures have to be read with: each doubt found in the record itself, with the figure that raised it.

use crate::analysis::Analysis;
use crate::compare::{Verdict, least_blocks};
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
            Doubt::FewBlocks { blocks, least } => write!(
                f,
                "{blocks} blocks of runs cannot tell any difference in time; {} runs of each ({least} blocks) are the least",
                2 * least
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
                "times went by {:+.0} % from the first third of the runs to the last; that is in the medians and not in \
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
                "the load average was {:.2} on {processors} processors before the start: other work was running",
                *hundredths as f64 / 100.0
            ),
            Doubt::Governor(name) => write!(
                f,
                "the frequency governor is `{name}`: `sudo cpupower frequency-set -g performance` holds the clock still"
            ),
            Doubt::Budget { runs } => write!(f, "the budget was spent after {runs} runs, before the rules were met"),
            Doubt::Interrupted => f.write_str("measuring was interrupted; these are the runs up to then"),
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
/// Outliers beyond this share of the runs are worth a word.
const OUTLIERS: f64 = 0.05;

/// The doubts of a record, the gravest first.
pub(crate) fn doubts(record: &Record, analysis: &Analysis) -> Vec<Doubt> {
    let mut found = Vec::new();
    match &record.end {
        None => found.push(Doubt::Interrupted),
        Some(end) if end.stopped == Stopped::Budget => {
            let runs = analysis.variants.iter().map(|variant| variant.runs).min().unwrap_or(0);
            let rules = &record.header.rules;
            if rules.until.is_some() || runs < rules.runs.unwrap_or(rules.min_runs) as usize {
                found.push(Doubt::Budget { runs });
            }
        }
        Some(_) => {}
    }
    found.extend(noise_doubts(record, analysis));
    found.extend(few_blocks(record, analysis));
    found.extend(strongest_drift(record));
    found.extend(most_outliers(record));
    found.extend(shortest(analysis));
    for variant in 0..record.header.variants.len() {
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
        one.metric == Metric::Wall
            && !record.header.variants[one.variant].is_copy
            && matches!(one.verdict(), Verdict::Less | Verdict::More)
            && (one.ratio.estimate - 1.0).abs() < noise.floor
    });
    claimed.map(|one| Doubt::BelowNoise { variant: one.variant, floor: noise.floor }).collect()
}

fn few_blocks(record: &Record, analysis: &Analysis) -> Option<Doubt> {
    let compared = record.header.variants.iter().filter(|variant| !variant.is_copy).count().saturating_sub(1);
    let least = least_blocks(compared);
    let blocks = analysis.comparisons.iter().filter(|one| one.metric == Metric::Wall).map(|one| one.count).min()?;
    (blocks < least).then_some(Doubt::FewBlocks { blocks, least })
}

fn strongest_drift(record: &Record) -> Option<Doubt> {
    let trends = (0..record.header.variants.len()).filter_map(|variant| {
        let trend = trend(&record.figures(Metric::Wall, variant))?;
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
