//! The rows of a suite beside the reference: how much faster each build is in each row, with its interval.

use super::factors::{Factors, tick_words};
use super::{CHARACTER, WIDTH, colour, picture};
use crate::layout::shorten;
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::words::suite::{build_names, difference_interval, difference_word, difference_words, gain, groups};
use std::collections::BTreeSet;
use underpin_bench::Comparison;
use underpin_suite::{RowSummary, SuiteSummary, Summary};

/// Height of a row with one build, and what each further build adds.
const ROW: f64 = 16.0;
const MORE: f64 = 7.0;
/// Height of the title of a group.
const HEAD: f64 = 20.0;
/// Height of the line that says which side is which.
const TOP: f64 = 18.0;
/// Where the names of rows end and intervals begin.
const LEFT: f64 = 150.0;
/// Columns of a row's name.
const NAME: usize = 21;
/// Differences beyond this factor are cut off.
const MOST: f64 = 64.0;

/// A row of the picture: the row, and its comparison for each build that has one.
type Line<'a> = (&'a RowSummary, Vec<(usize, &'a Comparison)>);

/// The rows of a suite; `None` if none is compared.
pub(crate) fn rows_picture(document: &Summary, suite: &SuiteSummary) -> Option<Picture> {
    let groups: Vec<(&str, Vec<Line<'_>>)> = groups(suite)
        .into_iter()
        .map(|(group, rows)| (group, rows.into_iter().map(line).filter(|(_, all)| !all.is_empty()).collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let all = || groups.iter().flat_map(|(_, rows)| rows.iter().flat_map(|(_, all)| all.iter()));
    let builds = distinct(all().map(|(build, _)| *build));
    let names = build_names(document, 24);
    let reference = names.first().filter(|_| !builds.is_empty())?;
    let bounds = all().map(|(_, one)| gain(one)).map(|gain| (gain.low, gain.high));
    let scale = Factors::of(bounds, MOST, [LEFT + 6.0, WIDTH - 12.0]).centred();
    let height = ROW + MORE * (builds.len() - 1) as f64;
    let rows: usize = groups.iter().map(|(_, rows)| rows.len()).sum();
    let bottom = TOP + rows as f64 * height + groups.len() as f64 * HEAD + 4.0;
    let label = format!("{}: each row against {reference}", suite.suite);
    let words = groups.iter().flat_map(|(_, rows)| rows.iter().map(|row| description(&names, row)));
    let mut svg = Svg::plot(WIDTH, bottom + 22.0, &label, &words.collect::<Vec<_>>().join("; "));
    scale.draw(&mut svg, TOP, bottom, tick_words);
    svg.text("axis", LEFT + 6.0, TOP - 6.0, Anchor::Start, "← slower");
    svg.text("axis", WIDTH - 12.0, TOP - 6.0, Anchor::End, "faster →");
    let mut y = TOP;
    for (group, rows) in &groups {
        svg.text("axis strong", 4.0, y + 14.0, Anchor::Start, &shorten(group, 52));
        y += HEAD;
        for row in rows {
            draw_row(&mut svg, &names, row, &builds, &scale, [y, height]);
            y += height;
        }
    }
    let mut legend = keys_of(&names, &builds);
    legend.push(Key::hint("Filled: certain to differ; open: not certain. The scale is logarithmic."));
    Some(picture(&format!("Each row against {reference}"), svg, legend))
}

/// The builds of some figures, each once, in order.
pub(super) fn distinct(builds: impl Iterator<Item = usize>) -> Vec<usize> {
    builds.collect::<BTreeSet<usize>>().into_iter().collect()
}

/// The colours of builds.
pub(super) fn keys_of(names: &[String], builds: &[usize]) -> Vec<Key> {
    builds.iter().map(|build| Key::of_variant(colour(build - 1), &names[*build], *build)).collect()
}

fn line(row: &RowSummary) -> Line<'_> {
    (row, row.cells.iter().enumerate().filter_map(|(build, cell)| Some((build, &cell.compared()?.time))).collect())
}

fn words(name: &str, row: &RowSummary, one: &Comparison) -> String {
    format!("{}, {name}: {} {} {}", row.row, difference_words(one), difference_interval(one), difference_word(one))
}

fn description(names: &[String], (row, all): &Line<'_>) -> String {
    all.iter().map(|(build, one)| words(&names[*build], row, one)).collect::<Vec<_>>().join("; ")
}

/// The name of a row, and below each other a dot with its interval for each build.
fn draw_row(svg: &mut Svg, names: &[String], (row, all): &Line<'_>, builds: &[usize], scale: &Factors, at: [f64; 2]) {
    let [top, height] = at;
    svg.text("name", LEFT - 6.0, top + height / 2.0 + 4.0, Anchor::End, &shorten(&row.row, NAME));
    let first = top + height / 2.0 - MORE * (builds.len() - 1) as f64 / 2.0;
    for (build, one) in all {
        let place = builds.iter().position(|other| other == build).unwrap_or(0);
        let (y, gain) = (first + place as f64 * MORE, gain(one));
        svg.open(&colour(build - 1), &[("v", *build)], &words(&names[*build], row, one));
        if gain.is_confident() {
            let (low, high) = (scale.at(gain.low), scale.at(gain.high));
            svg.line("interval", [low, y, high.max(low + 1.0), y]);
        }
        let x = scale.at(gain.estimate);
        svg.circle(if one.verdict.is_claimed() { "spot" } else { "spot hollow" }, x, y, 3.2);
        if !scale.holds(gain.estimate) {
            let words = difference_words(one);
            let room = words.chars().count() as f64 * CHARACTER + 8.0;
            svg.text("value", if gain.estimate > 1.0 { x - room } else { x + 8.0 }, y + 4.0, Anchor::Start, &words);
        }
        svg.close();
    }
}
