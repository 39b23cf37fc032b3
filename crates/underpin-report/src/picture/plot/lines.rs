//! Line plots: the share of runs below a figure, runs in their order, memory over time.

use super::axis::{Axis, Extent};
use super::{CHARACTER, Shown, WIDTH, bottom_axis, keys, left_axis, picture, scale_hint, shown, style};
use crate::picture::svg::Svg;
use crate::picture::{Key, Picture};
use crate::units::{count, time};
use crate::words::capital;
use underpin_bench::stats::{Order, median};
use underpin_bench::{Analysis, MemoryAt, MemoryRunFigures, Metric, Unit};

/// Height of a line plot, without its axis.
const HEIGHT: f64 = 220.0;
/// The most steps of a distribution and points of a line: more than the drawing can resolve.
const POINTS: usize = 240;
/// The most runs drawn as dots, over all variants.
const DOTS: usize = 1200;
/// Groups of runs whose medians form a line.
const GROUPS: usize = 40;

/// The share of runs that are at most a figure, for each variant; `None` if no variant has two runs.
pub(crate) fn distribution_picture(document: &Analysis, metric: Metric) -> Option<Picture> {
    let rows: Vec<Shown<'_>> = shown(document, metric).into_iter().filter(|row| row.figures.len() > 1).collect();
    let about = rows.first()?.record;
    let extents: Vec<Extent> = rows.iter().map(Shown::extent).collect();
    let left = 44.0;
    let axis = Axis::new(about.unit, &extents, left, WIDTH - 8.0);
    let height = |share: f64| 8.0 + (1.0 - share) * (HEIGHT - 8.0);
    let words = format!("Share of runs whose {} is at most so much", about.label);
    let medians = rows.iter().map(|row| {
        let figure = |share: f64| {
            crate::words::figure_words(Order::new(&row.figures).quantile(share).unwrap_or(0.0), about.unit)
        };
        format!(
            "{}: a quarter up to {}, half up to {}, nine tenths up to {}",
            row.variant.name,
            figure(0.25),
            figure(0.5),
            figure(0.9)
        )
    });
    let mut svg = Svg::plot(WIDTH, HEIGHT + 22.0, &words, &medians.collect::<Vec<_>>().join("; "));
    bottom_axis(&mut svg, &axis, 8.0, HEIGHT);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (height(share), format!("{:.0} %", share * 100.0)));
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    for row in &rows {
        svg.open(&style(document, row.index), &[("v", row.index)], &row.variant.name);
        svg.path("line", &steps(&row.figures, &axis, &height), false);
        svg.close();
    }
    let mut legend = keys(document, rows.iter().map(|row| row.index));
    if rows.iter().any(|row| row.figures.iter().any(|figure| axis.is_beyond(*figure))) {
        legend.push(Key::hint("The largest figures are beyond the right end."));
    }
    legend.extend(scale_hint(&axis));
    Some(picture(&format!("Distribution of {}", about.label), svg, legend))
}

/// The empirical distribution function as steps, up to the end of the axis.
fn steps(figures: &[f64], axis: &Axis, height: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let order = Order::new(figures);
    let sorted = order.figures();
    let count = sorted.len();
    let every = count.div_ceil(POINTS);
    let mut points = vec![(axis.at(sorted[0]), height(0.0))];
    let mut share = 0.0;
    for last in (0..count).step_by(every).map(|first| (first + every).min(count) - 1) {
        if axis.is_beyond(sorted[last]) {
            points.push((axis.at(sorted[last]), height(share)));
            return points;
        }
        let x = axis.at(sorted[last]);
        points.push((x, height(share)));
        share = (last + 1) as f64 / count as f64;
        points.push((x, height(share)));
    }
    points
}

/// Each run at the moment when it started: drift and disturbances are visible here. `None` if nothing was timed twice.
pub(crate) fn order_picture(document: &Analysis, metric: Metric) -> Option<Picture> {
    let rows: Vec<Shown<'_>> = shown(document, metric)
        .into_iter()
        .filter(|row| row.figures.len() > 1 && row.figures.len() == row.variant.runs.len())
        .collect();
    let about = rows.first()?.record;
    let extents: Vec<Extent> = rows.iter().map(Shown::extent).collect();
    let up = Axis::new(about.unit, &extents, HEIGHT, 8.0);
    let ticks = up.ticks();
    let left = room(&ticks);
    let moments = rows.iter().flat_map(|row| row.variant.runs.iter().map(|run| run.at_seconds));
    let end = moments.fold(0.0, f64::max);
    let across = Axis::from_zero(Unit::Seconds, end, left, WIDTH - 8.0);
    let words = format!("{} of each run, in the order in which they ran", capital(about.label));
    let runs: usize = rows.iter().map(|row| row.figures.len()).sum();
    let note = format!("{} over {}", count(runs, "run", "runs"), time(end));
    let mut svg = Svg::plot(WIDTH, HEIGHT + 22.0, &words, &note);
    bottom_axis(&mut svg, &across, 8.0, HEIGHT);
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    for row in &rows {
        let points: Vec<(f64, f64)> = row
            .variant
            .runs
            .iter()
            .zip(&row.figures)
            .map(|(run, figure)| (across.at(run.at_seconds), up.at(*figure)))
            .collect();
        svg.open(&style(document, row.index), &[("v", row.index)], &row.variant.name);
        if runs <= DOTS {
            svg.dots("runs", &points);
        }
        svg.path("line thin", &medians(&points), false);
        svg.close();
    }
    let mut legend = keys(document, rows.iter().map(|row| row.index));
    legend.push(Key::hint("A line of medians that climbs or falls is drift; runs beyond the top are drawn at it."));
    legend.extend(scale_hint(&up));
    Some(picture(&format!("{} in the order of the runs", capital(about.label)), svg, legend))
}

/// Room for the labels of a left axis.
fn room(ticks: &[(f64, String)]) -> f64 {
    ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(1) as f64 * CHARACTER + 10.0
}

/// Medians of consecutive runs: each run if there are few.
fn medians(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(GROUPS).max(if points.len() > 12 { 4 } else { 1 });
    let group = |points: &[(f64, f64)]| {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        (median(&x).unwrap_or(0.0), median(&y).unwrap_or(0.0))
    };
    points.chunks(size).map(group).collect()
}

/// Resident memory of the watched runs over time, with the middle run emphasised; `None` if no run has two samples.
pub(crate) fn memory_picture(document: &Analysis) -> Option<Picture> {
    let drawn: Vec<(usize, Vec<&MemoryRunFigures>)> = document
        .variants
        .iter()
        .enumerate()
        .map(|(index, variant)| (index, variant.memory_runs.iter().filter(|run| run.series.len() > 1).collect()))
        .filter(|(_, runs): &(usize, Vec<_>)| !runs.is_empty())
        .collect();
    let points = || drawn.iter().flat_map(|(_, runs)| runs.iter().flat_map(|run| &run.series));
    let end = points().map(|point| point.at_seconds).fold(0.0, f64::max);
    let most = points().map(|point| point.rss_bytes as f64).fold(0.0, f64::max);
    if drawn.is_empty() || end <= 0.0 {
        return None;
    }
    let up = Axis::from_zero(Unit::Bytes, most, HEIGHT, 8.0);
    let ticks = up.ticks();
    let left = room(&ticks);
    let across = Axis::from_zero(Unit::Seconds, end, left, WIDTH - 8.0);
    let words = drawn.iter().map(|(index, runs)| {
        let name = &document.variants[*index].name;
        format!(
            "{name}: {}, up to {}",
            count(runs.len(), "run", "runs"),
            crate::words::figure_words(peak(middle(runs)), Unit::Bytes)
        )
    });
    let note = words.collect::<Vec<_>>().join("; ");
    let mut svg = Svg::plot(WIDTH, HEIGHT + 22.0, "Resident memory of the process tree over time", &note);
    bottom_axis(&mut svg, &across, 8.0, HEIGHT);
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    for (index, runs) in &drawn {
        svg.open(&style(document, *index), &[("v", *index)], &document.variants[*index].name);
        let strong = middle(runs);
        for run in runs {
            let class = if std::ptr::eq(*run, strong) { "line" } else { "line faint" };
            svg.path(class, &curve(&run.series, &across, &up), false);
        }
        svg.close();
    }
    let mut legend = keys(document, drawn.iter().map(|(index, _)| *index));
    legend.push(Key::hint("The sum over the process tree; the strong line is the run with the median peak."));
    Some(picture("Resident memory over time", svg, legend))
}

fn peak(run: &MemoryRunFigures) -> f64 {
    run.series.iter().map(|point| point.rss_bytes).max().unwrap_or(0) as f64
}

/// The run with the median peak.
fn middle<'a>(runs: &[&'a MemoryRunFigures]) -> &'a MemoryRunFigures {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| peak(a).total_cmp(&peak(b)));
    sorted[(sorted.len() - 1) / 2]
}

/// A series; if it has many samples, the highest of each stretch.
fn curve(series: &[MemoryAt], across: &Axis, up: &Axis) -> Vec<(f64, f64)> {
    let every = series.len().div_ceil(POINTS);
    let highest = |points: &[MemoryAt]| points.iter().max_by_key(|point| point.rss_bytes).copied();
    let points = series.chunks(every).filter_map(highest);
    points.map(|point| (across.at(point.at_seconds), up.at(point.rss_bytes as f64))).collect()
}
