//! The phrases of a comparison that every rendering shares: figures, changes, verdicts, method.

use crate::styled::Role;
use crate::units::{count, size, thousands, time};
use underpin_bench::{
    Analysis, Change, Comparison, Direction, GateOutcome, GateResult, Interval, LEVEL, LimitReport, NoiseFloor,
    Stopped, Unit,
};

/// A figure in its unit.
pub(crate) fn figure_words(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(figure),
        Unit::Bytes if figure < 0.0 => format!("-{}", memory_words(-figure)),
        Unit::Bytes => memory_words(figure),
        Unit::Count => thousands(figure.round() as u64),
        Unit::PerSecond if figure < 100.0 => format!("{figure:.1} /s"),
        Unit::PerSecond => format!("{} /s", thousands(figure.round() as u64)),
    }
}

/// Memory in KiB up to 10 MiB: small programs differ by pages.
fn memory_words(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    if bytes < 10.0 * KIB * KIB {
        format!("{} KiB", thousands((bytes / KIB).round() as u64))
    } else {
        size(bytes as u64)
    }
}

/// A ratio as a change: `+7.1 %`; what rounds to nothing has no sign.
pub(crate) fn change_words(ratio: f64, decimals: usize) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() >= 1000.0 {
        return match ratio {
            far if far >= 1e6 => format!("x{:.1}M", far / 1e6),
            far if far >= 1e4 => format!("x{:.1}k", far / 1e3),
            far if far >= 100.0 => format!("x{far:.0}"),
            near => format!("x{near:.1}"),
        };
    }
    let words = format!("{percent:+.decimals$} %");
    if words.contains(|digit: char| ('1'..='9').contains(&digit)) { words } else { words[1..].to_owned() }
}

/// How many decimals an interval of a change deserves.
pub(crate) fn change_decimals(ratio: &Interval) -> usize {
    match (ratio.high - ratio.low) * 100.0 {
        _ if !ratio.is_confident() => 0,
        width if width < 0.2 => 2,
        width if width < 10.0 => 1,
        _ => 0,
    }
}

/// `[+5.1, +9.0]`; a dash if there were too few runs for an interval.
pub(crate) fn change_interval(ratio: &Interval) -> String {
    if !ratio.is_confident() {
        return NO_INTERVAL.to_owned();
    }
    let decimals = change_decimals(ratio);
    let end = |bound: f64| change_words(bound, decimals).trim_end_matches(" %").to_owned();
    format!("[{}, {}]", end(ratio.low), end(ratio.high))
}

/// Shown in place of an interval that does not exist.
pub(crate) const NO_INTERVAL: &str = "-";

/// The title above some intervals: the confidence that all of them have, in whole per cent.
pub(crate) fn confidence_title<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> String {
    let confident = intervals.into_iter().filter(|interval| interval.is_confident());
    match confident.map(|interval| interval.confidence).min_by(f64::total_cmp) {
        Some(least) => format!("{:.0} %", (least * 100.0 + 1e-6).floor()),
        None => "interval".to_owned(),
    }
}

/// A verdict as a word.
pub(crate) const fn verdict_word(verdict: Change) -> &'static str {
    match verdict {
        Change::Less => "less",
        Change::More => "more",
        Change::Same => "same",
        Change::Undecided => "?",
    }
}

/// The result of a comparison as a word: its verdict, or on which side the difference probably is.
pub(crate) fn comparison_word(comparison: &Comparison) -> &'static str {
    match comparison.likely() {
        Some(Change::Less) => "less?",
        Some(Change::More) => "more?",
        _ => verdict_word(comparison.verdict),
    }
}

/// The level of a claim: `1 %`, `0.2 %`.
pub(crate) fn level_words(level: f64) -> String {
    format!("{} %", (level * 1e5).round() / 1e3)
}

/// The role of a verdict: a claimed difference is good or bad depending on the direction that is better for the figure.
pub(crate) const fn verdict_role(verdict: Change, direction: Option<Direction>) -> Role {
    match (verdict, direction) {
        (Change::Same | Change::Undecided, _) => Role::Dim,
        (Change::More, Some(Direction::HigherIsBetter)) => Role::Good,
        (Change::Less, Some(Direction::HigherIsBetter)) | (Change::More, _) => Role::Bad,
        (Change::Less, _) => Role::Good,
    }
}

/// How much was measured, in a line.
pub(crate) fn runs_words(document: &Analysis) -> String {
    let method = &document.method;
    let runs = document.variants.iter().map(|variant| variant.runs.len()).min().unwrap_or(0);
    let watched = document.variants.iter().map(|variant| variant.memory_runs.len()).min().unwrap_or(0);
    let mut words = format!("{} each", count(runs, "run", "runs"));
    if document.variants.len() > 1 {
        words.push_str(&format!(", interleaved in {}", count(method.blocks, "block", "blocks")));
    }
    if watched > 0 {
        words.push_str(&format!("; {} watched for memory", thousands(watched as u64)));
    }
    if let Some(took) = method.took_seconds {
        words.push_str(&format!("; {} in all", time(took)));
    }
    words.push_str(match method.stopped {
        Stopped::Budget => ", the budget",
        Stopped::Narrow => ", until narrow enough",
        Stopped::Interrupted => "; interrupted",
        Stopped::Runs | Stopped::Time => "",
    });
    words
}

/// How the reference compares with itself, in a sentence.
pub(crate) fn noise_words(noise: &NoiseFloor) -> String {
    if !noise.ratio.is_confident() {
        return "Noise floor: not known, too few runs of the reference against itself.".to_owned();
    }
    format!(
        "Noise floor: the reference against itself shows {} {}; so many runs cannot show differences below {:.1} %.",
        change_words(noise.ratio.estimate, change_decimals(&noise.ratio)),
        change_interval(&noise.ratio),
        noise.floor * 100.0
    )
}

/// A limit and its result: a mark, its role, the text.
pub(crate) fn limit_words(limit: &LimitReport) -> (&'static str, Role, String) {
    let LimitReport { variant, limit, ratio, result, runs_needed } = limit;
    let (mark, role, words) = result_words(*result, ratio.as_ref());
    let needed = runs_needed.map_or_else(String::new, |runs| match result {
        GateResult::TooFew => format!("; it takes at least {} of each", count(runs, "run", "runs")),
        _ => format!("; about {} of each would decide it", count(runs, "run", "runs")),
    });
    (mark, role, format!("{variant} {limit}:{words}{needed}"))
}

/// What came of a limit: a mark, its role, the text after a colon.
pub(crate) fn result_words(result: GateResult, ratio: Option<&Interval>) -> (&'static str, Role, String) {
    let (mark, role, words) = match result {
        GateResult::Kept => ("✓", Role::Good, "kept"),
        GateResult::Unsure => ("!", Role::Warn, "not decided, the interval includes it"),
        GateResult::TooFew => ("!", Role::Warn, "not decided, too few runs"),
        GateResult::Failed => ("✗", Role::Bad, "the whole interval is past it"),
        GateResult::NotMeasured => ("!", Role::Warn, "not decided, nothing to compare it with"),
    };
    let ratio = ratio.map_or_else(String::new, |ratio| {
        let interval = if ratio.is_confident() { format!(" {}", change_interval(ratio)) } else { String::new() };
        format!(" {}{interval},", change_words(ratio.estimate, change_decimals(ratio)))
    });
    (mark, role, format!("{ratio} {words}"))
}

/// The result of a gate, as a title.
pub(crate) const fn gate_words(outcome: GateOutcome) -> (Role, &'static str) {
    match outcome {
        GateOutcome::Passed => (Role::Good, "Gate passed"),
        GateOutcome::Failed => (Role::Bad, "Gate failed"),
        GateOutcome::NotDecided => (Role::Warn, "Gate not decided"),
    }
}

/// How this run differs from an earlier one, a sentence each.
pub(crate) fn baseline_words(document: &Analysis) -> Vec<String> {
    let Some(baseline) = &document.baseline else { return Vec::new() };
    let apart = document.started_unix_seconds.saturating_sub(baseline.started_unix_seconds);
    let mut sentences = vec![format!(
        "The two were measured {} apart, not side by side: what changed on the machine between them is in the figures.",
        apart_words(apart)
    )];
    sentences.extend(baseline.differences.iter().cloned());
    sentences
}

fn apart_words(seconds: u64) -> String {
    match seconds {
        0..=119 => count(seconds as usize, "second", "seconds"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// `50.6 … 51.2 ms`: the unit once if both ends have the same; a dash if there were too few runs for an interval.
pub(crate) fn interval_words(interval: &Interval, unit: Unit) -> String {
    interval_in(interval, |figure| figure_words(figure, unit))
}

/// The same for figures that are written in another way.
pub(crate) fn interval_in(interval: &Interval, words: impl Fn(f64) -> String) -> String {
    if !interval.is_confident() {
        return NO_INTERVAL.to_owned();
    }
    let (low, high) = (words(interval.low), words(interval.high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((figure, one)), Some((_, other))) if one == other => format!("{figure} … {high}"),
        _ if low == high => low,
        _ => format!("{low} … {high}"),
    }
}

/// A word with a capital.
pub(crate) fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The meaning of the columns, in a sentence.
pub(crate) fn method_words(document: &Analysis) -> String {
    let asked = document.variants.iter().filter(|variant| !variant.is_reference && !variant.is_copy).count();
    let correction = if asked > 1 { " (corrected for the number of variants)" } else { "" };
    let levels = || document.comparisons.iter().map(|one| one.level);
    let usual = levels().max_by(f64::total_cmp).unwrap_or(LEVEL);
    let strict = levels().min_by(f64::total_cmp).filter(|least| *least < usual);
    let busy = strict.map_or_else(String::new, |level| {
        format!(" ({} for times, since the machine was busy before the start)", level_words(level))
    });
    let usual = level_words(usual);
    format!(
        "A change is the median over all pairs of blocks (of runs, for memory); `more` and `less` are claimed if a \
         rank test{correction} finds it at the level of {usual}{busy}, `same` if the whole interval is below 1 %. `more?` \
         and `less?`: likely, since the interval leaves out no change, and not proven at that level; `?`: these runs do \
         not decide it."
    )
}

/// Figures that are missing, by reason.
pub(crate) fn missing(document: &Analysis) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in &document.missing {
        match reasons.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(one.metric.name()),
            None => reasons.push((&one.reason, vec![one.metric.name()])),
        }
    }
    reasons
}

/// The command, if all variants run the same.
pub(crate) fn common_command(document: &Analysis) -> Option<String> {
    let (first, rest) = document.variants.split_first()?;
    rest.iter().all(|one| one.command == first.command).then(|| first.command.join(" "))
}
