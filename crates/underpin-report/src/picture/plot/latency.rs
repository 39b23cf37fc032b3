//! Answer times of servers: the time that a share of the requests does not exceed, with the slow tail visible.

use super::axis::Axis;
use super::{CHARACTER, WIDTH, keys, left_axis, picture, scale_hint, style};
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::words::figure_words;
use underpin_bench::stats::median;
use underpin_bench::{Analysis, LoadFigures, Unit, VariantSummary};

const HEIGHT: f64 = 220.0;
/// The smallest share that can be drawn: one request in this many.
const RAREST: f64 = 1e5;
const TICKS: [(f64, &str); 5] = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];

/// Answer times by the share of requests, each the median over a variant's runs; `None` if there are none.
pub(crate) fn latency_picture(document: &Analysis) -> Option<Picture> {
    let curves: Vec<(usize, Vec<(f64, f64)>)> = document
        .variants
        .iter()
        .enumerate()
        .map(|(index, variant)| (index, curve(variant)))
        .filter(|(_, curve)| curve.len() > 1)
        .collect();
    let times = || curves.iter().flat_map(|(_, curve)| curve.iter().map(|(_, seconds)| *seconds));
    if curves.is_empty() {
        return None;
    }
    let least = times().fold(f64::INFINITY, f64::min);
    let up = Axis::range(Unit::Seconds, least, times().fold(0.0, f64::max), HEIGHT, 8.0);
    let ticks = up.ticks();
    let left = ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(1) as f64 * CHARACTER + 10.0;
    let rarest = curves.iter().flat_map(|(_, curve)| curve.iter().map(|(share, _)| depth(*share))).fold(1.0, f64::max);
    let across = |share: f64| left + depth(share) / rarest * (WIDTH - 20.0 - left);
    let words = curves.iter().map(|(index, curve)| {
        let at = |share: f64| curve.iter().find(|(one, _)| *one >= share).map_or(0.0, |(_, seconds)| *seconds);
        let figure = |share: f64| figure_words(at(share), Unit::Seconds);
        format!("{}: half up to {}, 99 % up to {}", document.variants[*index].name, figure(0.5), figure(0.99))
    });
    let note = words.collect::<Vec<_>>().join("; ");
    let mut svg = Svg::plot(WIDTH, HEIGHT + 22.0, "Answer time that a share of the requests does not exceed", &note);
    for (share, words) in TICKS.into_iter().filter(|(share, _)| depth(*share) <= rarest) {
        let x = across(share);
        svg.line("grid", [x, 8.0, x, HEIGHT]);
        svg.text("axis", x, HEIGHT + 17.0, Anchor::Middle, words);
    }
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    for (index, curve) in &curves {
        svg.open(&style(document, *index), &[("v", *index)], &document.variants[*index].name);
        let points: Vec<(f64, f64)> = curve.iter().map(|(share, time)| (across(*share), up.at(*time))).collect();
        svg.path("line", &points, false);
        svg.close();
    }
    let mut legend = keys(document, curves.iter().map(|(index, _)| *index));
    legend.push(Key::hint("So much of all requests is answered within the time; the median over the runs."));
    legend.extend(scale_hint(&up));
    Some(picture("Answer times", svg, legend))
}

/// How deep in the tail a share is: each further nine takes the same room.
fn depth(share: f64) -> f64 {
    -(1.0 - share).max(1.0 / RAREST).log10()
}

/// The median answer time over a variant's runs for each share; the longest time is a single request and is only in the
/// tables.
fn curve(variant: &VariantSummary) -> Vec<(f64, f64)> {
    let runs: Vec<_> = variant.runs.iter().filter_map(|run| run.load.as_ref()).collect();
    let shares: Vec<f64> =
        runs.first().map(|load| load.answer_times.iter().map(|one| one.share).collect()).unwrap_or_default();
    let at = |share: f64| {
        let of =
            |one: &&LoadFigures| one.answer_times.iter().find(|point| point.share == share).map(|point| point.seconds);
        median(&runs.iter().filter_map(of).collect::<Vec<_>>())
    };
    let mut curve: Vec<(f64, f64)> =
        shares.into_iter().filter(|share| *share < 1.0).filter_map(|share| Some((share, at(share)?))).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
}
