//! Strip plots: a row for each variant with every run, the median and its interval.

use super::axis::Axis;
use super::{CHARACTER, Shown, WIDTH, bottom_axis, picture, scale_hint, shown, style};
use crate::layout::shorten;
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::units::{count, thousands};
use crate::words::{capital, figure_words, interval_words};
use underpin_bench::{Analysis, Metric};

/// Height of a row: a line of text above the runs.
const ROW: f64 = 48.0;
/// Half the height available for the runs of a row.
const HALF: f64 = 9.0;
/// More runs than this are drawn as a shape.
const DOTS: usize = 300;
/// Runs closer than this would cover each other.
const GRAIN: f64 = 3.2;

/// Every run of every variant in one figure; `None` if there are no runs.
pub(crate) fn strip_picture(document: &Analysis, metric: Metric) -> Option<Picture> {
    let rows = shown(document, metric);
    let about = rows.first()?.record;
    let extents: Vec<_> = rows.iter().map(Shown::extent).collect();
    let full = Axis::new(about.unit, &extents, 4.0, WIDTH - 4.0);
    let longest = rows.iter().filter_map(|row| beyond(row, &full)).map(|words| words.chars().count()).max();
    let axis =
        longest.map_or(full, |longest| Axis::new(about.unit, &extents, 4.0, WIDTH - 10.0 - longest as f64 * CHARACTER));
    let bottom = rows.len() as f64 * ROW + 4.0;
    let label = format!("{} of each run", capital(about.label));
    let mut svg = Svg::plot(WIDTH, bottom + 22.0, &label, &description(&rows));
    bottom_axis(&mut svg, &axis, 0.0, bottom);
    for (place, row) in rows.iter().enumerate() {
        draw_row(&mut svg, document, row, &axis, place as f64 * ROW);
    }
    let shape = rows.iter().any(|row| row.figures.len() > DOTS);
    let mut legend = vec![if shape {
        Key::hint("The shape is the higher, the more runs there are; the bar is the median with its 95 % interval.")
    } else {
        Key::hint("A dot is a run; the bar is the median with its 95 % interval.")
    }];
    legend.extend(scale_hint(&axis));
    Some(picture(&capital(about.label), svg, legend))
}

fn description(rows: &[Shown<'_>]) -> String {
    let words = rows.iter().map(|row| format!("{}: {}", row.variant.name, words(row)));
    words.collect::<Vec<_>>().join("; ")
}

fn words(row: &Shown<'_>) -> String {
    let record = row.record;
    format!(
        "{}, from {} to {}; median {}, 95 % {}",
        count(row.figures.len(), "run", "runs"),
        figure_words(record.min, record.unit),
        figure_words(record.max, record.unit),
        figure_words(record.median.estimate, record.unit),
        interval_words(&record.median, record.unit)
    )
}

fn draw_row(svg: &mut Svg, document: &Analysis, row: &Shown<'_>, axis: &Axis, top: f64) {
    let record = row.record;
    let middle = top + 17.0 + HALF;
    svg.open(&style(document, row.index), &[("v", row.index)], &format!("{}: {}", row.variant.name, words(row)));
    let value = figure_words(record.median.estimate, record.unit);
    let room = ((WIDTH - 24.0) / CHARACTER) as usize - value.chars().count();
    svg.text("name", 4.0, top + 12.0, Anchor::Start, &shorten(&row.variant.name, room));
    svg.text("value strong", WIDTH - 4.0, top + 12.0, Anchor::End, &value);
    let places: Vec<f64> =
        row.figures.iter().filter(|figure| !axis.is_beyond(**figure)).map(|figure| axis.at(*figure)).collect();
    if row.figures.len() > DOTS {
        svg.path("area", &shape(&places, middle), true);
    } else {
        svg.dots("runs", &stacked(&places, middle));
    }
    let (low, high) = (axis.at(record.median.low), axis.at(record.median.high));
    let below = middle + HALF + 3.0;
    svg.line("span", [low, below, high.max(low + 0.5), below]);
    let at = axis.at(record.median.estimate);
    svg.line("median", [at, middle - HALF, at, below + 3.0]);
    if let Some(words) = beyond(row, axis) {
        svg.text("axis", WIDTH - 4.0, middle + 4.0, Anchor::End, &words);
    }
    svg.close();
}

/// How many runs are beyond the axis, and how far.
fn beyond(row: &Shown<'_>, axis: &Axis) -> Option<String> {
    let runs = row.figures.iter().filter(|figure| axis.is_beyond(**figure)).count();
    (runs > 0).then(|| format!("{} up to {} ▸", thousands(runs as u64), figure_words(row.record.max, row.record.unit)))
}

/// How many runs are in each column of the drawing.
fn columns(places: &[f64], grain: f64) -> Vec<usize> {
    let mut columns = vec![0; (WIDTH / grain) as usize + 2];
    for place in places {
        columns[(place / grain) as usize] += 1;
    }
    columns
}

/// Runs of one column above and below each other, packed closer if there are many.
fn stacked(places: &[f64], middle: f64) -> Vec<(f64, f64)> {
    let most = columns(places, GRAIN).into_iter().max().unwrap_or(1);
    let distance = (2.0 * HALF / (most.max(2) - 1) as f64).min(GRAIN);
    let mut taken = vec![0usize; (WIDTH / GRAIN) as usize + 2];
    let dot = |place: &f64| {
        let column = (place / GRAIN) as usize;
        let nth = taken[column];
        taken[column] += 1;
        let away = nth.div_ceil(2) as f64 * distance;
        (*place, if nth % 2 == 1 { middle - away } else { middle + away })
    };
    places.iter().map(dot).collect()
}

/// A shape as high as runs are frequent, symmetric about the middle.
fn shape(places: &[f64], middle: f64) -> Vec<(f64, f64)> {
    const FINE: f64 = 2.0;
    let columns = columns(places, FINE);
    let most = columns.iter().copied().max().unwrap_or(1).max(1) as f64;
    let first = columns.iter().position(|count| *count > 0).unwrap_or(0);
    let last = columns.iter().rposition(|count| *count > 0).unwrap_or(0);
    let half = |column: usize| (columns[column] as f64 / most).sqrt() * HALF;
    let edge = |column: usize, sign: f64| {
        let (left, right) = (column as f64 * FINE, (column + 1) as f64 * FINE);
        let y = middle + sign * half(column);
        [(left, y), (right, y)]
    };
    let upper = (first..=last).flat_map(|column| edge(column, -1.0));
    let lower = (first..=last).rev().flat_map(|column| {
        let [left, right] = edge(column, 1.0);
        [right, left]
    });
    upper.chain(lower).collect()
}
