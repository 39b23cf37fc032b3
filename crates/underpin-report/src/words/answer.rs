//! The result of a comparison, in a sentence for each variant, and the variants on the Pareto front.

use super::comparison::{capital, change_interval, figure_words, interval_words, level_words, verdict_role};
use crate::layout::{labels, shorten};
use crate::styled::{Role, Span};
use underpin_bench::{Analysis, Change, Comparison, Metric, Pareto, VariantSummary};

/// The figures that matter most: for a server what its clients notice, otherwise time; then memory.
pub(crate) fn main_metrics(document: &Analysis) -> Vec<Metric> {
    const COMMAND: [Metric; 4] = [Metric::Wall, Metric::Cpu, Metric::Rss, Metric::RssGrowth];
    const SERVER: [Metric; 4] = [Metric::Rps, Metric::P99, Metric::RssEnd, Metric::RssGrowth];
    let wanted: &[Metric] = match &document.load {
        None => &COMMAND,
        // At a fixed rate the number of answers is the rate.
        Some(load) if load.rate.is_some() => &SERVER[1..],
        Some(_) => &SERVER,
    };
    wanted.iter().copied().filter(|metric| document.has(*metric)).collect()
}

/// The figures of the answer: time, memory, and, if it differs, the memory that a process keeps.
fn answer_metrics(document: &Analysis) -> Vec<Metric> {
    const COMMAND: &[Metric] = &[Metric::Wall, Metric::Rss];
    const SERVER: &[Metric] = &[Metric::Rps, Metric::P99, Metric::RssEnd];
    let answers = if document.load.is_some() { SERVER } else { COMMAND };
    let told = |of: Metric| document.comparisons.iter().any(|one| one.metric == of && one.verdict.is_claimed());
    let wanted = |of: &Metric| answers.contains(of) || (*of == Metric::RssGrowth && told(*of));
    main_metrics(document).into_iter().filter(wanted).collect()
}

/// The name of a figure after "more" or "less".
pub(crate) fn noun(document: &Analysis, metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "time",
        Metric::Rss => "memory",
        Metric::RssEnd if document.load.is_some() => "memory",
        Metric::RssGrowth => "growth",
        Metric::Rps => "requests/s",
        Metric::P50 => "median answer",
        Metric::P99 => "p99 answer time",
        _ if metric.label().len() < 24 => metric.label(),
        _ => metric.name(),
    }
}

/// A sentence for each variant besides the reference: gains first, then losses, then what is the same or undecided. For
/// a single variant: what a run takes.
pub(crate) fn answer(document: &Analysis) -> Vec<Vec<Span>> {
    if let [only] = document.variants.as_slice() {
        return alone(document, only).into_iter().collect();
    }
    document.variants.iter().filter(|variant| !variant.is_copy).filter_map(|one| sentence(document, one)).collect()
}

fn alone(document: &Analysis, variant: &VariantSummary) -> Option<Vec<Span>> {
    let mut spans: Vec<Span> = Vec::new();
    for name in answer_metrics(document) {
        let Some(record) = variant.metric(name) else { continue };
        let before = if spans.is_empty() { capital(record.label) } else { format!(", {}", record.label) };
        spans.push(Span::new(Role::Plain, format!("{before} ")));
        spans.push(Span::new(Role::Number, figure_words(record.median.estimate, record.unit)));
        if record.median.is_confident() {
            spans.push(Span::new(Role::Dim, format!(" [{}]", interval_words(&record.median, record.unit))));
        }
    }
    (!spans.is_empty()).then_some(spans)
}

fn sentence(document: &Analysis, variant: &VariantSummary) -> Option<Vec<Span>> {
    let mut parts: Vec<(u8, Role, String)> = Vec::new();
    for name in answer_metrics(document) {
        let Some(one) = document.comparison(&variant.name, name).filter(|one| !is_untold(one)) else { continue };
        let role = verdict_role(one.verdict, Some(name.direction()));
        let rank = match (role, one.verdict) {
            (Role::Good, _) => 0,
            (Role::Bad, _) => 1,
            (_, Change::Same) => 2,
            _ => 3,
        };
        parts.push((rank, role, change_phrase(one, noun(document, name))));
    }
    parts.sort_by_key(|part| part.0);
    let untold = answer_metrics(document)
        .into_iter()
        .filter(|name| document.comparison(&variant.name, *name).is_some_and(is_untold));
    let untold: Vec<&str> = untold.map(|name| noun(document, name)).collect();
    if let Some((last, others)) = untold.split_last() {
        let before = if others.is_empty() { String::new() } else { others.join(", the ") + " and the " };
        parts.push((3, Role::Dim, format!("too few runs to compare the {before}{last}")));
    }
    if parts.is_empty() {
        return None;
    }
    let mut spans = vec![Span::new(Role::Name, label(document, &variant.name)), Span::fixed(Role::Plain, ": ")];
    for (index, (_, role, words)) in parts.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::fixed(Role::Plain, ", "));
        }
        spans.push(Span::new(role, words));
    }
    Some(spans)
}

/// Whether there were too few runs for an interval, and so for any statement about the difference.
fn is_untold(one: &Comparison) -> bool {
    one.verdict == Change::Undecided && one.likely().is_none() && !one.ratio.is_confident()
}

/// Columns of a name in a sentence.
const NAME: usize = 40;

/// A variant's name in a sentence: distinct from every other one of the document.
fn label(document: &Analysis, name: &str) -> String {
    let names: Vec<&str> = document.variants.iter().map(|variant| variant.name.as_str()).collect();
    let at = names.iter().position(|one| *one == name);
    at.and_then(|at| labels(&names, NAME).into_iter().nth(at)).unwrap_or_else(|| shorten(name, NAME))
}

/// `79 % less memory [77, 81]`, `2.3x the time [2.1, 2.5]`, `the same time within 1 %`.
fn change_phrase(one: &Comparison, noun: &str) -> String {
    let ratio = &one.ratio;
    let figures = |map: fn(f64) -> f64, swap: bool, unit: &str| {
        let (low, high) = if swap { (ratio.high, ratio.low) } else { (ratio.low, ratio.high) };
        let decimals = phrase_decimals(map(high) - map(low), map(ratio.estimate));
        let words = |figure: f64| format!("{:.decimals$}", map(figure));
        (format!("{}{unit}", words(ratio.estimate)), format!("[{},\u{a0}{}]", words(low), words(high)))
    };
    if let Some(likely) = one.likely() {
        let phrase = change_phrase(&Comparison { verdict: likely, ..one.clone() }, noun);
        return format!("likely {phrase}, not proven at the level of {}", level_words(one.level));
    }
    match one.verdict {
        Change::Less => {
            let (share, interval) = figures(|ratio| (1.0 - ratio) * 100.0, true, " %");
            format!("{share} less {noun} {interval}")
        }
        Change::More if ratio.estimate >= 2.0 => {
            let (factor, interval) = figures(|ratio| ratio, false, "x");
            format!("{factor} the {noun} {interval}")
        }
        Change::More => {
            let (share, interval) = figures(|ratio| (ratio - 1.0) * 100.0, false, " %");
            format!("{share} more {noun} {interval}")
        }
        Change::Same => format!("the same {noun} within 1 %"),
        Change::Undecided => {
            format!("{noun} undecided {}", change_interval(ratio).replace(", ", ",\u{a0}"))
        }
    }
}

/// The fewest decimals that still show where the interval ends.
fn phrase_decimals(width: f64, estimate: f64) -> usize {
    match width.abs() {
        _ if estimate.abs() < 1.0 => 2,
        narrow if narrow < 4.0 => 1,
        _ => 0,
    }
}

/// The variants on the front, and those that are not with the reason.
pub(crate) fn pareto_words(document: &Analysis) -> Option<Vec<Span>> {
    let pareto = document.pareto.as_ref()?;
    let [time, memory] = pareto.metrics.map(|metric| noun(document, metric));
    let mut spans = vec![Span::new(Role::Plain, format!("On the Pareto front of {time} and {memory}: "))];
    for (index, name) in pareto.front.iter().enumerate() {
        if index > 0 {
            spans.push(Span::fixed(Role::Plain, ", "));
        }
        spans.push(Span::new(Role::Name, label(document, name)));
    }
    spans.push(Span::fixed(Role::Plain, "."));
    for (index, (by, variants, claims)) in grouped(pareto).into_iter().enumerate() {
        spans.push(Span::fixed(Role::Plain, if index == 0 { " Not on it: " } else { "; " }));
        for (index, variant) in variants.iter().enumerate() {
            if index > 0 {
                spans.push(Span::fixed(Role::Plain, ", "));
            }
            spans.push(Span::new(Role::Name, label(document, variant)));
        }
        spans.push(Span::fixed(Role::Plain, " (beaten by "));
        spans.push(Span::new(Role::Name, label(document, by)));
        spans.push(Span::new(Role::Plain, format!(", {})", beaten_in(pareto, claims, [time, memory]))));
    }
    if !pareto.beaten.is_empty() {
        spans.push(Span::fixed(Role::Plain, "."));
    }
    Some(spans)
}

/// Groups of variants that one variant beats in the same way.
fn grouped(pareto: &Pareto) -> Vec<(&str, Vec<&str>, &[Metric])> {
    let mut groups: Vec<(&str, Vec<&str>, &[Metric])> = Vec::new();
    for one in &pareto.beaten {
        match groups.iter_mut().find(|(by, _, claims)| *by == one.by && *claims == one.claims) {
            Some((_, variants, _)) => variants.push(&one.variant),
            None => groups.push((&one.by, vec![&one.variant], &one.claims)),
        }
    }
    groups
}

fn beaten_in(pareto: &Pareto, claims: &[Metric], [time, memory]: [&str; 2]) -> String {
    match claims {
        [one] if *one == pareto.metrics[0] => format!("worse in {time}, no better in {memory}"),
        [_] => format!("worse in {memory}, no better in {time}"),
        _ => "worse in both".to_owned(),
    }
}

/// A variant's place as a table shows it: `on the front`, `beaten by jemalloc`.
pub(crate) fn place_words(pareto: &Pareto, variant: &str) -> Option<(Role, String)> {
    if pareto.front.iter().any(|name| name == variant) {
        return Some((Role::Plain, "on the front".to_owned()));
    }
    let beaten = pareto.beaten.iter().find(|one| one.variant == variant)?;
    Some((Role::Dim, format!("beaten by {}", shorten(&beaten.by, 30))))
}
