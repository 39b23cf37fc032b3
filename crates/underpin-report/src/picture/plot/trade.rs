//! Time against memory: each row of a suite under each build, both over the reference's, on scales of factors.

use super::factors::Factors;
use super::place::{Taken, place};
use super::rows::{distinct, keys_of};
use super::{CHARACTER, WIDTH, colour, left_axis, picture};
use crate::layout::shorten;
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::words::suite::{build_names, factor_words};
use underpin_suite::{Cell, SuiteSummary, Summary};

const TOP: f64 = 24.0;
const BOTTOM: f64 = 284.0;
/// Ratios beyond this factor are cut off.
const MOST: f64 = 2000.0;
/// The most points that have their names beside them.
const NAMED: usize = 8;

/// A row under a build.
struct Point<'a> {
    build: usize,
    row: &'a str,
    time: f64,
    dirty: f64,
    x: f64,
    y: f64,
}

/// The picture; `None` if no row has both ratios.
pub(crate) fn trade_picture(document: &Summary, suite: &SuiteSummary) -> Option<Picture> {
    let names = build_names(document, 24);
    let reference = names.first()?;
    let mut points = points(suite);
    if points.is_empty() {
        return None;
    }
    let left = 7.0 * CHARACTER + 10.0;
    let across = Factors::of(points.iter().map(|one| (one.time, one.time)), MOST, [left + 8.0, WIDTH - 14.0]);
    let up = Factors::of(points.iter().map(|one| (one.dirty, one.dirty)), MOST, [BOTTOM - 8.0, TOP + 4.0]);
    points.iter_mut().for_each(|one| (one.x, one.y) = (across.at(one.time), up.at(one.dirty)));
    let words: Vec<String> = points.iter().map(|one| words(&names, one)).collect();
    let label = format!("{}: time and dirty memory of each row over those of {reference}", suite.suite);
    let mut svg = Svg::plot(WIDTH, BOTTOM + 22.0, &label, &words.join("; "));
    across.draw(&mut svg, TOP, BOTTOM, tick);
    let ticks: Vec<(f64, String)> = up.ticks().into_iter().map(|ratio| (up.at(ratio), tick(ratio))).collect();
    left_axis(&mut svg, &ticks, left, WIDTH - 8.0);
    svg.line("zero", [left, up.at(1.0), WIDTH - 8.0, up.at(1.0)]);
    svg.text("axis", left, TOP - 10.0, Anchor::Start, "↑ dirty memory");
    svg.text("axis", WIDTH - 8.0, TOP - 10.0, Anchor::End, "time →");
    for (point, words) in points.iter().zip(&words) {
        svg.open(&colour(point.build - 1), &[("v", point.build)], words);
        svg.circle("spot", point.x, point.y, 4.0);
        svg.close();
    }
    draw_names(&mut svg, &points, (across.at(1.0), up.at(1.0)), left);
    let mut legend = keys_of(&names, &distinct(points.iter().map(|one| one.build)));
    legend.push(Key::hint("A dot is a row, over the reference's; the nearer to the lower left, the better."));
    legend.push(Key::hint("Both scales are logarithmic."));
    Some(picture("Time against dirty memory", svg, legend))
}

/// The rows that have both ratios.
fn points(suite: &SuiteSummary) -> Vec<Point<'_>> {
    let of = |(build, cell): (usize, &Cell)| {
        let one = cell.compared()?;
        Some((build, one.time.ratio.estimate, one.dirty?))
    };
    let rows = suite.rows.iter().flat_map(|row| row.cells.iter().enumerate().filter_map(of).map(|one| (&row.row, one)));
    rows.map(|(row, (build, time, dirty))| Point { build, row, time, dirty, x: 0.0, y: 0.0 }).collect()
}

fn words(names: &[String], point: &Point<'_>) -> String {
    let [time, dirty] = [point.time, point.dirty].map(factor_words);
    format!("{}, {}: {time} times the time, {dirty} times the dirty memory", point.row, names[point.build])
}

fn tick(ratio: f64) -> String {
    ratio.to_string()
}

/// The names of the points furthest from the reference, as far as there is room for them.
fn draw_names(svg: &mut Svg, points: &[Point<'_>], centre: (f64, f64), left: f64) {
    let away = |one: &Point<'_>| (one.x - centre.0).hypot(one.y - centre.1);
    let mut furthest: Vec<&Point<'_>> = points.iter().collect();
    furthest.sort_by(|one, other| away(other).total_cmp(&away(one)));
    let dot = |one: &Point<'_>| [one.x - 5.0, one.y - 5.0, one.x + 5.0, one.y + 5.0];
    let mut taken: Vec<Taken> = points.iter().map(dot).collect();
    let bounds = [left, TOP, WIDTH - 2.0, BOTTOM];
    for point in furthest.into_iter().take(NAMED) {
        let name = shorten(point.row, 24);
        let width = name.chars().count() as f64 * CHARACTER;
        if let Some((x, y)) = place((point.x, point.y), width, 2, bounds, &mut taken) {
            svg.text("name", x, y, Anchor::Start, &name);
        }
    }
}
