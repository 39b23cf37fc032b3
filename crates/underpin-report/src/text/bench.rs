//! The screen of `underpin bench`: one table for each figure, one row for each variant, and the doubt.

use super::load;
use crate::document::bench::{
    BenchComparison, BenchDocument, BenchVariant, GateRecord, IntervalRecord, LimitResult, MetricRecord, StoppedRecord,
    UnitRecord, VerdictRecord,
};
use crate::layout::{Align, Table, View, shorten, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size, thousands, time};
use underpin_bench::Metric;

/// Figures of the short form.
const SHORT: [Metric; 4] = [Metric::Wall, Metric::Cpu, Metric::Rss, Metric::RssGrowth];

fn short(document: &BenchDocument) -> &'static [Metric] {
    if document.load.is_some() { &load::SHORT } else { &SHORT }
}

/// Workloads under variants.
///
/// Verbosity 0 shows time, processor time and peak memory, 1 every figure, 2 also the ranges and the p-values.
#[must_use]
pub fn bench(document: &BenchDocument, view: &View) -> Text {
    let mut text = Text::new();
    header(&mut text, document, view);
    for metric in Metric::all().filter(|metric| view.verbosity > 0 || short(document).contains(metric)) {
        figure(&mut text, document, metric, view);
    }
    load::answer_times(&mut text, document, view);
    if view.verbosity == 0 {
        rest(&mut text, document, view);
    }
    baseline(&mut text, document, view);
    gate(&mut text, document, view);
    doubt(&mut text, document, view);
    text
}

fn header(text: &mut Text, document: &BenchDocument, view: &View) {
    let method = &document.method;
    let names = document.variants.iter().filter(|variant| !variant.is_copy).count();
    let title = match document.variants.as_slice() {
        [only] => only.command.join(" "),
        _ => {
            let reference = document.variants.iter().find(|variant| variant.is_reference);
            format!("{}, against {}", count(names, "variant", "variants"), reference.map_or("", |one| &one.name))
        }
    };
    text.push(Line::new().with(Role::Heading, shorten(&title, view.usable())));
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
        StoppedRecord::Budget => ", the budget",
        StoppedRecord::Narrow => ", until narrow enough",
        StoppedRecord::Interrupted => "; interrupted",
        StoppedRecord::Runs | StoppedRecord::Time => "",
    });
    text.append(wrap(Line::new(), &[Span::new(Role::Dim, words)], view.usable()));
    if let Some(load) = &document.load {
        text.append(wrap(Line::new(), &[Span::new(Role::Dim, load::load_words(load))], view.usable()));
    }
}

/// A figure in its unit.
pub(crate) fn figure_words(figure: f64, unit: UnitRecord) -> String {
    match unit {
        UnitRecord::Seconds => time(figure),
        UnitRecord::Bytes if figure < 0.0 => format!("-{}", memory_words(-figure)),
        UnitRecord::Bytes => memory_words(figure),
        UnitRecord::Count => thousands(figure.round() as u64),
        UnitRecord::PerSecond if figure < 100.0 => format!("{figure:.1} /s"),
        UnitRecord::PerSecond => format!("{} /s", thousands(figure.round() as u64)),
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

/// A ratio as a change: `+7.1 %`.
pub(crate) fn change_words(ratio: f64, decimals: usize) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() >= 1000.0 { format!("x{ratio:.1}") } else { format!("{percent:+.decimals$} %") }
}

/// How many decimals an interval of a change deserves.
pub(crate) fn change_decimals(ratio: &IntervalRecord) -> usize {
    match (ratio.high - ratio.low) * 100.0 {
        width if width < 0.2 => 2,
        width if width < 10.0 => 1,
        _ => 0,
    }
}

/// `[+5.1, +9.0]`.
pub(crate) fn change_interval(ratio: &IntervalRecord) -> String {
    let decimals = change_decimals(ratio);
    let end = |bound: f64| change_words(bound, decimals).trim_end_matches(" %").to_owned();
    format!("[{}, {}]", end(ratio.low), end(ratio.high))
}

pub(crate) const fn verdict_word(verdict: VerdictRecord) -> (&'static str, Role) {
    match verdict {
        VerdictRecord::Less => ("less", Role::Good),
        VerdictRecord::More => ("more", Role::Bad),
        VerdictRecord::Same => ("same", Role::Dim),
        VerdictRecord::Undecided => ("?", Role::Dim),
    }
}

fn figure(text: &mut Text, document: &BenchDocument, metric: Metric, view: &View) {
    let rows: Vec<(&BenchVariant, MetricRecord)> = document
        .variants
        .iter()
        .filter_map(|variant| Some((variant, document.metric(variant, metric.name())?)))
        .collect();
    if rows.is_empty() {
        return;
    }
    text.heading(capital(metric.label()));
    let several = document.variants.len() > 1;
    let ranges = view.verbosity >= 2 || !several;
    let mut columns = vec![("variant", Align::Left), ("median", Align::Right), ("95 %", Align::Left)];
    columns.extend(ranges.then_some([("least", Align::Right), ("most", Align::Right)]).into_iter().flatten());
    if several {
        columns.extend([("change", Align::Right), ("95 %", Align::Left), ("", Align::Left)]);
    }
    columns.extend((several && view.verbosity >= 2).then_some(("p", Align::Right)));
    let mut table = Table::new(&columns).flexible(0);
    for (variant, record) in &rows {
        let mut row = vec![
            Span::new(Role::Name, &variant.name),
            Span::new(Role::Number, figure_words(record.median.estimate, record.unit)),
            Span::new(Role::Dim, interval_words(&record.median, record.unit)),
        ];
        if ranges {
            let words = |figure: f64| Span::new(Role::Dim, figure_words(figure, record.unit));
            row.extend([words(record.min), words(record.max)]);
        }
        if several {
            row.extend(change_cells(variant, document.comparison(&variant.name, metric.name()), view));
        }
        table.row(row);
    }
    text.append(table.lines(view.usable()));
}

fn change_cells(variant: &BenchVariant, comparison: Option<&BenchComparison>, view: &View) -> Vec<Span> {
    let Some(comparison) = comparison else {
        let word = if variant.is_reference { "reference" } else { "-" };
        return vec![Span::fixed(Role::Dim, word)];
    };
    let (word, role) = verdict_word(comparison.verdict);
    let mut cells = vec![
        Span::new(role, change_words(comparison.ratio.estimate, change_decimals(&comparison.ratio))),
        Span::new(Role::Dim, change_interval(&comparison.ratio)),
        Span::fixed(role, word),
    ];
    if view.verbosity >= 2 {
        cells.push(Span::new(Role::Dim, format!("{:.1e}", comparison.p_corrected)));
    }
    cells
}

/// `50.6 … 51.2 ms`: the unit once where both ends have the same.
fn interval_words(interval: &IntervalRecord, unit: UnitRecord) -> String {
    let (low, high) = (figure_words(interval.low, unit), figure_words(interval.high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((figure, one)), Some((_, other))) if one == other => format!("{figure} … {high}"),
        _ if low == high => low,
        _ => format!("{low} … {high}"),
    }
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The figures that the short form leaves out.
fn rest(text: &mut Text, document: &BenchDocument, view: &View) {
    let shown = |name: &str| short(document).iter().any(|metric| metric.name() == name);
    let names: Vec<&str> = document
        .variants
        .first()
        .map(|variant| variant.metrics.iter().map(|one| one.metric.as_str()).filter(|name| !shown(name)).collect())
        .unwrap_or_default();
    if !names.is_empty() {
        text.gap();
        let words = format!("-v shows {}", names.join(", "));
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Dim, words)], view.usable()));
    }
}

fn baseline(text: &mut Text, document: &BenchDocument, view: &View) {
    let Some(baseline) = &document.baseline else { return };
    text.heading(format!("Against the saved run {}", baseline.name));
    let columns = [
        ("variant", Align::Left),
        ("figure", Align::Left),
        ("change", Align::Right),
        ("95 %", Align::Left),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(0);
    let short = |metric: &str| short(document).iter().any(|one| one.name() == metric);
    for comparison in baseline.comparisons.iter().filter(|one| view.verbosity > 0 || short(&one.metric)) {
        let (word, role) = verdict_word(comparison.verdict);
        table.row(vec![
            Span::new(Role::Name, &comparison.variant),
            Span::new(Role::Plain, &comparison.metric),
            Span::new(role, change_words(comparison.ratio.estimate, change_decimals(&comparison.ratio))),
            Span::new(Role::Dim, change_interval(&comparison.ratio)),
            Span::fixed(role, word),
        ]);
    }
    if table.is_empty() {
        text.push(Line::new().with(Role::Warn, "  no variant of that run has the name of one of these"));
    }
    text.append(table.lines(view.usable()));
    let apart = document.started_unix_seconds.saturating_sub(baseline.started_unix_seconds);
    let mut sentences = vec![format!(
        "The two were measured {} apart, not side by side: what changed on the machine between them is in the figures.",
        apart_words(apart)
    )];
    sentences.extend(baseline.differences.iter().cloned());
    for words in sentences {
        text.append(wrap(Line::new().plain("  "), &[Span::new(Role::Warn, words)], view.usable()));
    }
}

fn apart_words(seconds: u64) -> String {
    match seconds {
        0..=119 => count(seconds as usize, "second", "seconds"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn gate(text: &mut Text, document: &BenchDocument, view: &View) {
    let Some(GateRecord { passed, limits }) = &document.gate else { return };
    text.gap();
    text.push(if *passed {
        Line::new().with(Role::Good, "Gate passed")
    } else {
        Line::new().with(Role::Bad, "Gate failed")
    });
    for limit in limits {
        let (mark, role, words) = match limit.result {
            LimitResult::Kept => ("✓", Role::Good, "kept"),
            LimitResult::Unsure => ("!", Role::Warn, "not told by these runs: the interval reaches over it"),
            LimitResult::Failed => ("✗", Role::Bad, "the whole interval is past it"),
            LimitResult::NotMeasured => ("✗", Role::Bad, "nothing to compare it with"),
        };
        let ratio = limit.ratio.as_ref().map_or_else(String::new, |ratio| {
            format!(" {} {}", change_words(ratio.estimate, change_decimals(ratio)), change_interval(ratio))
        });
        let head = Line::new().plain("  ").with(role, mark).plain(" ");
        let words = format!("{} {}:{ratio} {words}", limit.variant, limit.limit);
        text.append(wrap(head, &[Span::new(Role::Plain, words)], view.usable()));
    }
}

fn doubt(text: &mut Text, document: &BenchDocument, view: &View) {
    text.heading("How far to trust this");
    let mut line = |role: Role, words: &str| {
        text.append(wrap(Line::new().plain("  "), &[Span::new(role, words)], view.usable()));
    };
    if let Some(noise) = &document.noise_floor {
        let words = format!(
            "Noise floor: the reference beside itself shows {} {}; differences below {:.1} % are not told by so many runs.",
            change_words(noise.ratio.estimate, change_decimals(&noise.ratio)),
            change_interval(&noise.ratio),
            noise.floor * 100.0
        );
        line(Role::Plain, &words);
    }
    if document.variants.len() > 1 {
        line(Role::Dim, &method_words(document));
    }
    for doubt in &document.doubts {
        let words = match &doubt.variant {
            Some(name) if document.variants.len() > 1 => format!("{name}: {}", doubt.message),
            _ => capital(&doubt.message),
        };
        line(Role::Warn, &words);
    }
    for (reason, names) in missing(document) {
        line(Role::Dim, &format!("Not measured: {}: {reason}", names.join(", ")));
    }
}

/// What the columns mean, in a sentence.
pub(crate) fn method_words(document: &BenchDocument) -> String {
    let asked = document.variants.iter().filter(|variant| !variant.is_reference && !variant.is_copy).count();
    let correction = if asked > 1 { " (corrected for the number of variants)" } else { "" };
    format!(
        "A change is the median over all pairs of blocks (of runs, for memory); `more` and `less` are claimed where a \
         rank test{correction} finds it at the level of 1 %, `same` where the whole 95 % interval is below 1 %, `?` where these \
         runs do not tell."
    )
}

/// Figures that are missing, by the reason.
pub(crate) fn missing(document: &BenchDocument) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in &document.missing {
        match reasons.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(&one.metric),
            None => reasons.push((&one.reason, vec![&one.metric])),
        }
    }
    reasons
}
