//! Which warnings a record calls for, each found in the record itself.

use super::Analysis;
use crate::compare::{least_blocks_at, level};
use crate::metric::Metric;
use crate::record::{BenchRecord, Stopped};
use crate::stats::{Order, trend};
use crate::warning::{Warning, WarningKind};

/// By chance one sound machine in a hundred differs from itself at the level of the claims; this is half of that.
const UNSOUND: f64 = 0.005;
/// A first run that is slower than the median by this factor is mentioned.
const COLD: f64 = 1.5;
/// The least drift that is mentioned, as a share.
const DRIFT: f64 = 0.05;
/// Runs shorter than this are mostly the start of a process.
const SHORT_SECONDS: f64 = 0.002;
/// A generator that is busier than this may be what is measured.
const BUSY: f64 = 0.9;
/// Two sizes are far apart if the larger is more than this share above the smaller, and by more than these bytes.
const FAR: f64 = 0.1;
const FAR_BYTES: u64 = 4 << 20;
/// Outliers are mentioned beyond this share of the runs.
const OUTLIERS: f64 = 0.05;

/// The warnings of a record, the most serious first.
pub(super) fn of(record: &BenchRecord, analysis: &Analysis) -> Vec<Warning> {
    let mut found = Found { record, warnings: Vec::new() };
    ended(&mut found, analysis);
    noise(&mut found, analysis);
    few_blocks(&mut found, analysis);
    strongest_drift(&mut found);
    most_outliers(&mut found);
    shortest(&mut found, analysis);
    for variant in 0..record.header.variants.len() {
        of_load(&mut found, variant);
        of_memory(&mut found, variant);
        of_variant(&mut found, analysis, variant);
    }
    of_machine(&mut found);
    found.warnings
}

/// A record, and what was found in it so far.
struct Found<'a> {
    record: &'a BenchRecord,
    warnings: Vec<Warning>,
}

impl Found<'_> {
    /// A warning about the whole record.
    fn overall(&mut self, kind: WarningKind) {
        self.warnings.push(Warning { variant: None, kind });
    }

    /// A warning about one variant.
    fn about(&mut self, variant: usize, kind: WarningKind) {
        let name = self.record.header.variants.get(variant).map(|variant| variant.name.clone());
        self.warnings.push(Warning { variant: name, kind });
    }
}

fn ended(found: &mut Found<'_>, analysis: &Analysis) {
    let record = found.record;
    match &record.end {
        None => found.overall(WarningKind::Interrupted),
        Some(end) if end.stopped == Stopped::Interrupted => found.overall(WarningKind::Interrupted),
        Some(end) if end.stopped == Stopped::Budget => {
            let runs = analysis.variants.iter().map(|variant| variant.runs.len()).min().unwrap_or(0);
            let rules = &record.header.rules;
            if rules.until.is_some() || runs < rules.runs.unwrap_or(rules.min_runs) as usize {
                found.overall(WarningKind::Budget { runs });
            }
        }
        Some(_) => {}
    }
    if let (Some(sampled), false) = (record.end.as_ref().and_then(|end| end.sampled.clone()), record.memory.is_empty())
    {
        found.overall(WarningKind::Sampled { every: sampled.every_ns.seconds(), reason: sampled.reason });
    }
}

fn noise(found: &mut Found<'_>, analysis: &Analysis) {
    let Some(noise) = &analysis.noise_floor else { return };
    let is_copy = |index: usize| found.record.header.variants.get(index).is_some_and(|variant| variant.is_copy);
    let primary = |index: usize| {
        let variant = analysis.variants.get(index)?;
        analysis.comparison(&variant.name, found.record.primary())
    };
    let variants = || 0..analysis.variants.len();
    let itself = variants().filter(|&index| is_copy(index)).find_map(primary);
    if let Some(one) = itself.filter(|one| one.verdict.is_claimed() && one.p_value <= UNSOUND) {
        return found.overall(WarningKind::Unsound { ratio: one.ratio.estimate });
    }
    let below = |index: &usize| {
        let claimed = primary(*index).filter(|one| one.verdict.is_claimed());
        claimed.is_some_and(|one| (one.ratio.estimate - 1.0).abs() < noise.floor)
    };
    let below: Vec<usize> = variants().filter(|&index| !is_copy(index)).filter(below).collect();
    below.into_iter().for_each(|variant| found.about(variant, WarningKind::BelowNoise { floor: noise.floor }));
}

fn few_blocks(found: &mut Found<'_>, analysis: &Analysis) {
    let record = found.record;
    let compared = record.header.variants.iter().filter(|variant| !variant.is_copy).count().saturating_sub(1);
    let least = least_blocks_at(compared, level(&record.header.machine, record.primary()));
    let primary = analysis.comparisons.iter().filter(|one| one.metric == record.primary());
    let Some(blocks) = primary.map(|one| one.count).min() else { return };
    let runs = if record.header.load.is_some() { least } else { 2 * least };
    if blocks < least {
        found.overall(WarningKind::FewBlocks { blocks, least, runs });
    }
}

fn strongest_drift(found: &mut Found<'_>) {
    let record = found.record;
    let trends = (0..record.header.variants.len()).filter_map(|variant| {
        let trend = trend(&record.figures(record.primary(), variant))?;
        (trend.p_value < 0.01 && (trend.change - 1.0).abs() > DRIFT).then_some((variant, trend.change))
    });
    if let Some((variant, change)) = trends.max_by(|a, b| (a.1 - 1.0).abs().total_cmp(&(b.1 - 1.0).abs())) {
        found.about(variant, WarningKind::Drift { change });
    }
}

fn most_outliers(found: &mut Found<'_>) {
    let shares = (0..found.record.header.variants.len()).filter_map(|variant| {
        let times = found.record.figures(Metric::Wall, variant);
        let (count, of) = (Order::new(&times).far_above(), times.len());
        (count > 1 && count as f64 > OUTLIERS * of as f64).then_some((variant, count, of))
    });
    if let Some((variant, count, of)) = shares.max_by_key(|(_, count, _)| *count) {
        found.about(variant, WarningKind::Outliers { count, of });
    }
}

fn shortest(found: &mut Found<'_>, analysis: &Analysis) {
    let medians = analysis.variants.iter().enumerate();
    let medians = medians.filter_map(|(variant, one)| Some((variant, one.metric(Metric::Wall)?.median.estimate)));
    match medians.min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((variant, seconds)) if seconds < SHORT_SECONDS => found.about(variant, WarningKind::Short { seconds }),
        _ => {}
    }
}

fn of_load(found: &mut Found<'_>, variant: usize) {
    let record = found.record;
    let samples =
        || record.samples.iter().filter(|sample| sample.variant == variant).filter_map(|one| one.load.as_ref());
    let failed: u64 = samples().map(|load| load.errors.total()).sum();
    let requests: u64 = samples().map(|load| load.requests).sum();
    if failed > 0 {
        let reason = samples().find_map(|load| load.first_failure.clone()).unwrap_or_default();
        found.about(variant, WarningKind::FailedRequests { count: failed, of: requests + failed, reason });
    }
    let answered = requests + failed;
    let again: u64 = samples().map(|load| load.sent_again).sum();
    if again > 0 {
        found.about(variant, WarningKind::SentAgain { count: again, of: answered });
    }
    let redirected: u64 = samples().map(|load| load.redirected).sum();
    if redirected > 0 {
        found.about(variant, WarningKind::Redirected { count: redirected, of: requests });
    }
    let unsent: u64 = samples().map(|load| load.unsent).sum();
    if unsent > 0 {
        found.about(variant, WarningKind::Behind { count: unsent });
    }
    let busiest = samples().map(|load| load.busy_thousandths).max().map_or(0.0, |busy| f64::from(busy) / 1000.0);
    if busiest > BUSY {
        found.about(variant, WarningKind::BusyGenerator { share: busiest });
    }
}

/// The warnings from a variant's watched runs: of each kind, the run in which it is strongest.
fn of_memory(found: &mut Found<'_>, variant: usize) {
    let record = found.record;
    let runs = || record.memory.iter().filter(|run| run.variant == variant);
    let far = |less: u64, more: u64| {
        let gap = more.saturating_sub(less);
        (gap > FAR_BYTES && gap as f64 > FAR * more as f64).then_some(gap)
    };
    let sampled = runs().filter(|run| run.process_count > 1).filter_map(|run| {
        let (seen, most, every) = (run.peak_rss.0, run.peak_bound?.0, run.step_ns?.seconds());
        Some((far(seen, most)?, WarningKind::SampledPeak { every, seen, most }))
    });
    let freed = runs().filter(|run| run.process_count == 1).filter_map(|run| {
        let (late, at_exit) = (run.at_end?.rss.0, run.at_exit?.rss.0);
        Some((far(at_exit, late)?, WarningKind::FreedAtEnd { late, at_exit }))
    });
    let settle = record.header.rules.settle_ns;
    let moving = runs().filter(|run| record.header.load.is_none() && !run.series.is_empty()).filter_map(|run| {
        let start = run.at_start?;
        let later = run.series.iter().find(|point| point.at_ns.0 >= start.at_ns.0 + settle.0.max(1))?;
        let (from, to) = (start.held().0, later.held().0);
        let gap = far(from.min(to), from.max(to))?;
        Some((gap, WarningKind::Unsettled { settle: settle.seconds(), from, to }))
    });
    let moving: Vec<_> = moving.filter(|_| settle.0 > 0).collect();
    type Candidates<'a> = &'a mut dyn Iterator<Item = (u64, WarningKind)>;
    let largest = |found: Candidates<'_>| found.max_by_key(|(gap, _)| *gap).map(|(_, kind)| kind);
    let kinds = [largest(&mut { sampled }), largest(&mut { freed }), largest(&mut moving.into_iter())];
    kinds.into_iter().flatten().for_each(|kind| found.about(variant, kind));
}

fn of_variant(found: &mut Found<'_>, analysis: &Analysis, variant: usize) {
    let record = found.record;
    let times = record.figures(Metric::Wall, variant);
    let summary = &analysis.variants[variant];
    if summary.failures > 0 {
        found.about(variant, WarningKind::Failures { count: summary.failures, of: summary.runs.len() });
    }
    let left_behind = record.memory.iter().filter(|run| run.variant == variant).map(|run| run.left_behind).max();
    if let Some(count @ 1..) = left_behind {
        found.about(variant, WarningKind::LeftBehind { count });
    }
    let (Some(median), order) = (summary.metric(Metric::Wall).map(|wall| wall.median.estimate), Order::new(&times))
    else {
        return;
    };
    let factor = times[0] / median;
    if factor > COLD && record.header.rules.warmup == 0 && order.greatest() == Some(times[0]) {
        found.about(variant, WarningKind::ColdStart { factor });
    }
}

fn of_machine(found: &mut Found<'_>) {
    let machine = &found.record.header.machine;
    if let Some(hundredths) = machine.load_hundredths
        && hundredths as f64 > 50.0 * machine.processors as f64
    {
        found.overall(WarningKind::Load { hundredths, processors: machine.processors });
    }
    if let Some(governor) = machine.governor.as_ref().filter(|governor| *governor != "performance") {
        found.overall(WarningKind::Governor(governor.clone()));
    }
}
