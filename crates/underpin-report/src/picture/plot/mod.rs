//! Pictures of a comparison: each run, distributions, order, memory over time, changes, the Pareto front.
//!
//! All have the same width, so that a page places them side by side if there is room, and below each other otherwise. A
//! variant has the same colour in all of them. Every figure shown is in a table too.

mod axis;
mod factors;
mod forest;
mod latency;
mod lines;
mod pareto;
mod place;
mod rows;
mod strip;
mod trade;

pub(crate) use forest::forest_picture;
pub(crate) use latency::latency_picture;
pub(crate) use lines::{distribution_picture, memory_picture, order_picture};
pub(crate) use pareto::pareto_picture;
pub(crate) use rows::rows_picture;
pub(crate) use strip::strip_picture;
pub(crate) use trade::trade_picture;

use super::svg::{Anchor, Svg};
use super::{Key, Picture};
use axis::{Axis, Extent};
use underpin_bench::stats::Order;
use underpin_bench::{Analysis, Figures, Metric, MetricSummary, VariantSummary};

/// Width of a picture in user units: that of the page on a phone, so that no text is smaller there than here.
const WIDTH: f64 = 376.0;
/// Advance of a character of the 11-unit monospace font of names.
const CHARACTER: f64 = 6.7;
/// Colours besides that of the reference.
const COLOURS: usize = 8;

/// A variant that has a figure: its index in the document, itself, the summary, every run's figure.
pub(crate) struct Shown<'a> {
    index: usize,
    variant: &'a VariantSummary,
    record: &'a MetricSummary,
    figures: Vec<f64>,
}

impl Shown<'_> {
    /// The range that its figures need on an axis: all but those far above the others.
    fn extent(&self) -> Extent {
        let record = self.record;
        let box_width = (record.third_quartile - record.first_quartile).max(record.median.estimate.abs() * 0.02);
        let fence = record.third_quartile + 4.0 * box_width;
        // At most one run in fifty is left beyond.
        let fence = fence.max(Order::new(&self.figures).quantile(0.98).unwrap_or(fence));
        let within = self.figures.iter().copied().filter(|figure| *figure <= fence).fold(record.median.high, f64::max);
        Extent { least: record.min.min(record.median.low), wanted: within, greatest: record.max.max(within) }
    }
}

/// All variants that have a figure.
fn shown<'a>(document: &'a Analysis, metric: Metric) -> Vec<Shown<'a>> {
    let with = |(index, variant): (usize, &'a VariantSummary)| {
        let record = variant.metric(metric)?;
        Some(Shown { index, variant, record, figures: figures(variant, record) })
    };
    document.variants.iter().enumerate().filter_map(with).filter(|one| !one.figures.is_empty()).collect()
}

/// Every run's figure, in the order in which they ran: of the timed runs if these have it, else of the watched ones.
fn figures(variant: &VariantSummary, record: &MetricSummary) -> Vec<f64> {
    let of = |figures: &Figures| figures.get(record.metric.name()).copied();
    let timed: Vec<f64> = variant.runs.iter().filter_map(|run| of(&run.figures)).collect();
    if timed.is_empty() { variant.memory_runs.iter().filter_map(|run| of(&run.figures)).collect() } else { timed }
}

/// The classes of a variant's colour: the reference is grey, its repetition the same with a dashed line.
fn style(document: &Analysis, index: usize) -> String {
    let plain = |one: &&VariantSummary| !one.is_reference && !one.is_copy;
    match document.variants.get(index) {
        Some(one) if one.is_copy => "v v0 again".to_owned(),
        Some(one) if one.is_reference => "v v0".to_owned(),
        _ => colour(document.variants.iter().take(index).filter(plain).count()),
    }
}

/// The classes of a colour, by its number among those besides the reference.
fn colour(number: usize) -> String {
    let again = if (number / COLOURS) % 2 == 1 { " again" } else { "" };
    format!("v v{}{again}", number % COLOURS + 1)
}

/// The keys of a line plot.
fn keys(document: &Analysis, indices: impl Iterator<Item = usize>) -> Vec<Key> {
    let key = |index: usize| {
        let name = crate::layout::shorten(&document.variants[index].name, 60);
        Key::of_variant(format!("line {}", style(document, index)), &name, index)
    };
    indices.map(key).collect()
}

/// A hint that distances on an axis are factors, or that it does not start at zero, if that is so.
fn scale_hint(axis: &Axis) -> Option<Key> {
    match (axis.is_logarithmic(), axis.starts_at_zero()) {
        (true, _) => Some(Key::hint("The axis is logarithmic.")),
        (false, false) => Some(Key::hint("The axis does not start at 0.")),
        (false, true) => None,
    }
}

/// Vertical grid lines with their figures below, as far as there is room.
fn bottom_axis(svg: &mut Svg, axis: &Axis, top: f64, bottom: f64) {
    let mut free = f64::NEG_INFINITY;
    let mut ticks = axis.ticks();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (x, words) in ticks {
        svg.line("grid", [x, top, x, bottom]);
        let (anchor, width) = (anchor_at(x, &words), words.chars().count() as f64 * CHARACTER);
        let start = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        if start >= free {
            svg.text("axis", x, bottom + 17.0, anchor, &words);
            free = start + width + 6.0;
        }
    }
}

/// Horizontal grid lines with their figures at the left.
fn left_axis(svg: &mut Svg, ticks: &[(f64, String)], left: f64, right: f64) {
    for (y, words) in ticks {
        svg.line("grid", [left, *y, right, *y]);
        svg.text("axis", left - 6.0, y + 3.8, Anchor::End, words);
    }
}

/// Centred, unless the text would extend beyond the drawing.
fn anchor_at(x: f64, words: &str) -> Anchor {
    let half = words.chars().count() as f64 * CHARACTER / 2.0;
    match x {
        near if near < half => Anchor::Start,
        far if far > WIDTH - half => Anchor::End,
        _ => Anchor::Middle,
    }
}

/// A picture with a title.
fn picture(title: &str, svg: Svg, legend: Vec<Key>) -> Picture {
    Picture { svg: svg.finish(), title: Some(crate::styled::Span::new(crate::styled::Role::Heading, title)), legend }
}

#[cfg(test)]
mod tests;
