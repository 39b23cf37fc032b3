//! The variants in time and memory, each with its intervals, and the front of those that no other variant beats.

use super::axis::Axis;
use super::place::{Taken, area, place};
use super::{CHARACTER, Shown, WIDTH, bottom_axis, left_axis, picture, shown, style};
use crate::layout::shorten;
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::words::{capital, figure_words, noun};
use underpin_bench::{Analysis, Direction, MetricSummary, Unit};

const TOP: f64 = 24.0;
const BOTTOM: f64 = 264.0;
/// Columns of a name before it is shortened.
const NAME: usize = 24;
/// How far from its point a name may be, in lines.
const RINGS: u8 = 40;

/// One variant in the picture.
struct Point<'a> {
    time: Shown<'a>,
    memory: Shown<'a>,
    x: f64,
    y: f64,
    on_front: bool,
}

/// The Pareto picture; `None` if there is no front.
pub(crate) fn pareto_picture(document: &Analysis) -> Option<Picture> {
    let pareto = document.pareto.as_ref()?;
    let [time, memory] = pareto.metrics;
    let mut memories = shown(document, memory);
    let pairs: Vec<(Shown<'_>, Shown<'_>)> = shown(document, time)
        .into_iter()
        .filter(|one| !one.variant.is_copy)
        .filter_map(|one| {
            let at = memories.iter().position(|other| other.index == one.index)?;
            Some((one, memories.swap_remove(at)))
        })
        .collect();
    let (first_time, first_memory) = pairs.first().map(|(time, memory)| (time.record, memory.record))?;
    let up = axis(pairs.iter().map(|(_, memory)| memory.record), BOTTOM, TOP);
    let ticks = up.ticks();
    let left = ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(1) as f64 * CHARACTER + 10.0;
    let across = axis(pairs.iter().map(|(time, _)| time.record), left + 8.0, WIDTH - 14.0);
    let points: Vec<Point<'_>> = pairs
        .into_iter()
        .map(|(time, memory)| Point {
            x: across.at(time.record.median.estimate),
            y: up.at(memory.record.median.estimate),
            on_front: pareto.front.contains(&time.variant.name),
            time,
            memory,
        })
        .collect();
    let label = format!("Variants by {} and {}", first_time.label, first_memory.label);
    let mut svg = Svg::plot(WIDTH, BOTTOM + 22.0, &label, &description(&points));
    bottom_axis(&mut svg, &across, TOP - 4.0, BOTTOM);
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    let upward = if first_memory.direction == Direction::LowerIsBetter { "↑" } else { "↓" };
    svg.text("axis", left, TOP - 12.0, Anchor::Start, &format!("{upward} {}", first_memory.label));
    let words = match first_time.direction {
        Direction::LowerIsBetter => format!("{} →", first_time.label),
        Direction::HigherIsBetter => format!("← {}", first_time.label),
    };
    svg.text("axis", WIDTH - 8.0, TOP - 12.0, Anchor::End, &words);
    draw_front(&mut svg, &points, left);
    let mut taken: Vec<Taken> = points.iter().flat_map(|point| point.area((&across, &up))).collect();
    for point in &points {
        draw_point(&mut svg, document, point, (&across, &up), left, &mut taken);
    }
    let mut legend = vec![
        Key::fixed("front", "on the front: none is better in both"),
        Key::fixed("beaten", "beaten by another"),
        Key::hint("The nearer to the lower left, the better."),
    ];
    if across.is_logarithmic() || up.is_logarithmic() {
        legend.push(Key::hint("An axis whose ticks are factors is logarithmic."));
    } else if !across.starts_at_zero() || !up.starts_at_zero() {
        legend.push(Key::hint("Axes without a 0 do not start there."));
    }
    let title = format!("{} against {}", capital(noun(document, time)), noun(document, memory));
    Some(picture(&title, svg, legend))
}

/// An axis on which the better figures come first.
fn axis<'a>(records: impl Iterator<Item = &'a MetricSummary> + Clone, start: f64, end: f64) -> Axis {
    let low = records.clone().map(|record| record.median.low).fold(f64::INFINITY, f64::min);
    let high = records.clone().map(|record| record.median.high).fold(f64::NEG_INFINITY, f64::max);
    let (unit, direction) = records
        .clone()
        .next()
        .map_or((Unit::Count, Direction::LowerIsBetter), |record| (record.unit, record.direction));
    match direction {
        Direction::LowerIsBetter => Axis::range(unit, low, high, start, end),
        Direction::HigherIsBetter => Axis::range(unit, low, high, end, start),
    }
}

fn description(points: &[Point<'_>]) -> String {
    let words = points.iter().map(|point| {
        let words = |record: &MetricSummary| figure_words(record.median.estimate, record.unit);
        format!(
            "{}: {} and {}{}",
            point.time.variant.name,
            words(point.time.record),
            words(point.memory.record),
            if point.on_front { ", on the front" } else { "" }
        )
    });
    words.collect::<Vec<_>>().join("; ")
}

/// The stairs below which there is no variant.
fn draw_front(svg: &mut Svg, points: &[Point<'_>], left: f64) {
    let mut front: Vec<(f64, f64)> =
        points.iter().filter(|point| point.on_front).map(|point| (point.x, point.y)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (Some(first), Some(last)) = (front.first().copied(), front.last().copied()) else { return };
    let mut stairs = vec![(first.0, TOP), first];
    for pair in front.windows(2) {
        let lowest = stairs.last().map_or(pair[0].1, |end| end.1);
        stairs.push((pair[1].0, lowest));
        // A variant that is on the front only because the runs do not decide may be above the stairs.
        stairs.push((pair[1].0, lowest.max(pair[1].1)));
    }
    let lowest = stairs.last().map_or(last.1, |end| end.1);
    stairs.push((WIDTH - 8.0, lowest));
    stairs.iter_mut().for_each(|(x, _)| *x = x.max(left));
    svg.path("stairs", &stairs, false);
}

fn draw_point(
    svg: &mut Svg,
    document: &Analysis,
    point: &Point<'_>,
    (across, up): (&Axis, &Axis),
    left: f64,
    taken: &mut Vec<Taken>,
) {
    let (time, memory) = (point.time.record, point.memory.record);
    let title = format!(
        "{}: {}, {}",
        point.time.variant.name,
        figure_words(time.median.estimate, time.unit),
        figure_words(memory.median.estimate, memory.unit)
    );
    svg.open(&style(document, point.time.index), &[("v", point.time.index)], &title);
    svg.line("interval", [across.at(time.median.low), point.y, across.at(time.median.high), point.y]);
    svg.line("interval", [point.x, up.at(memory.median.low), point.x, up.at(memory.median.high)]);
    svg.circle(if point.on_front { "spot" } else { "spot hollow" }, point.x, point.y, 5.0);
    let name = shorten(&point.time.variant.name, NAME);
    let width = name.chars().count() as f64 * CHARACTER;
    let bounds = [left, TOP - 6.0, WIDTH - 2.0, BOTTOM];
    let (x, y) = place((point.x, point.y), width, RINGS, bounds, taken).unwrap_or_else(|| {
        let over = (point.x.min(WIDTH - width).max(left), point.y);
        taken.push(area(over, width));
        over
    });
    let far = (x - point.x).abs().max((y - point.y).abs()) > 60.0 || (y - 4.0 - point.y).abs() > 18.0;
    if far {
        svg.line("leader", [point.x, point.y, x, y - 4.0]);
    }
    svg.text("name", x, y, Anchor::Start, &name);
    svg.close();
}

impl Point<'_> {
    /// The areas of its dot and its intervals.
    fn area(&self, (across, up): (&Axis, &Axis)) -> [Taken; 3] {
        let (time, memory) = (&self.time.record.median, &self.memory.record.median);
        let [left, right] = [time.low, time.high].map(|figure| across.at(figure));
        let [bottom, top] = [memory.low, memory.high].map(|figure| up.at(figure));
        let (x, y) = (self.x, self.y);
        [
            [x - 7.0, y - 7.0, x + 7.0, y + 7.0],
            [left.min(right), y - 1.0, left.max(right), y + 1.0],
            [x - 1.0, bottom.min(top), x + 1.0, bottom.max(top)],
        ]
    }
}
