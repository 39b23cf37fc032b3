//! The changes against the reference with their intervals: a group of rows for each variant, a row for each figure.
//!
//! Distances are factors, so that half and twice are as far from "no change".

use super::factors::{Factors, tick_words};
use super::{WIDTH, picture};
use crate::layout::shorten;
use crate::picture::svg::{Anchor, Svg};
use crate::picture::{Key, Picture};
use crate::words::{capital, change_decimals, change_interval, change_words, noun, verdict_role};
use underpin_bench::{Analysis, Change, Comparison, Metric};

const ROW: f64 = 17.0;
const HEAD: f64 = 20.0;
/// Where the names of figures end and intervals begin.
const LEFT: f64 = 100.0;
/// Where intervals end and text begins.
const RIGHT: f64 = 218.0;
/// Changes beyond these factors are cut off.
const MOST: f64 = 64.0;

/// The changes of all variants in some figures; `None` if nothing is compared.
pub(crate) fn forest_picture(document: &Analysis, metrics: &[Metric]) -> Option<Picture> {
    let of = |name: &str| -> Vec<&Comparison> {
        metrics.iter().filter_map(|metric| document.comparison(name, *metric)).collect()
    };
    let groups: Vec<(usize, Vec<&Comparison>)> = document
        .variants
        .iter()
        .enumerate()
        .map(|(index, variant)| (index, of(&variant.name)))
        .filter(|(_, changes)| !changes.is_empty())
        .collect();
    if groups.is_empty() {
        return None;
    }
    let all = || groups.iter().flat_map(|(_, changes)| changes.iter().copied());
    let bounds = all().map(|change| (change.ratio.low, change.ratio.high));
    let scale = Factors::of(bounds, MOST, [LEFT + 6.0, RIGHT - 6.0]);
    let rows = all().count() as f64;
    let bottom = rows * ROW + groups.len() as f64 * HEAD + 6.0;
    let reference = document.reference().map_or("", |one| one.name.as_str());
    let label = format!("Changes against {reference}");
    let words = all().map(|one| format!("{}, {}: {}", one.variant, noun(document, one.metric), words(one)));
    let mut svg = Svg::plot(WIDTH, bottom + 22.0, &label, &words.collect::<Vec<_>>().join("; "));
    scale.draw(&mut svg, 0.0, bottom, tick_words);
    let mut y = 0.0;
    for (index, changes) in &groups {
        svg.open("v", &[("v", *index)], "");
        svg.text("name strong", 4.0, y + 14.0, Anchor::Start, &shorten(&document.variants[*index].name, 54));
        y += HEAD;
        for change in changes {
            draw_row(&mut svg, document, change, &scale, y);
            y += ROW;
        }
        svg.close();
    }
    let legend = vec![
        Key::fixed("gain", "claimed better"),
        Key::fixed("loss", "claimed worse"),
        Key::fixed("untold", "same within 1 %, or undecided"),
    ];
    Some(picture(&format!("Change against {}", shorten(reference, 40)), svg, legend))
}

fn words(change: &Comparison) -> String {
    format!(
        "{} {}",
        change_words(change.ratio.estimate, change_decimals(&change.ratio)),
        change_interval(&change.ratio)
    )
}

fn draw_row(svg: &mut Svg, document: &Analysis, change: &Comparison, scale: &Factors, top: f64) {
    let middle = top + ROW / 2.0 - 1.0;
    let direction = Some(change.metric.direction());
    let class = match (change.verdict, verdict_role(change.verdict, direction)) {
        (Change::Same | Change::Undecided, _) => "untold",
        (_, crate::styled::Role::Good) => "gain",
        _ => "loss",
    };
    let label = shorten(&capital(noun(document, change.metric)), 15);
    svg.open(class, &[], &format!("{}: {}", change.variant, words(change)));
    svg.text("axis", LEFT - 8.0, middle + 4.0, Anchor::End, &label);
    if change.ratio.is_confident() {
        let (low, high) = (scale.at(change.ratio.low), scale.at(change.ratio.high));
        svg.line("bar", [low, middle, high.max(low + 1.0), middle]);
    }
    svg.circle("spot", scale.at(change.ratio.estimate), middle, 3.5);
    svg.text("value", RIGHT + 8.0, middle + 4.0, Anchor::Start, &words(change));
    svg.close();
}
