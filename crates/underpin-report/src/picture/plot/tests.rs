//! What a picture of a comparison shows, and what only the tables show.

use super::*;
use crate::testing::{emulated_suite, hostile_suite, lone_bench, sample_bench, sample_suite, served_bench, wide_suite};
use underpin_bench::{Analysis, Change, Comparison, Direction, Unit};

fn sample() -> Analysis {
    sample_bench().1
}

/// The elements of one kind with a class, each from its name to the end of its tag.
fn elements<'a>(svg: &'a str, start: &'a str) -> Vec<&'a str> {
    svg.split(start).skip(1).map(|rest| rest.split('>').next().unwrap_or_default()).collect()
}

/// The points of a path.
fn points(path: &str) -> Vec<(f64, f64)> {
    let d = path.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
    let number = |text: &str| text.trim_end_matches("h0").parse::<f64>().unwrap();
    d.split(['M', 'L', 'Z'])
        .filter(|step| !step.is_empty())
        .map(|step| step.split_once(' ').map(|(x, y)| (number(x), number(y))).unwrap())
        .collect()
}

#[test]
fn every_run_is_a_dot_and_every_variant_a_row() {
    let document = sample();
    let picture = strip_picture(&document, Metric::Wall).unwrap();
    let rows = elements(&picture.svg, "<path class=\"runs\"");
    assert_eq!(rows.len(), document.variants.len());
    let beyond: usize = picture.svg.matches(" ▸").count();
    assert!(rows.iter().all(|row| points(row).len() == 20) || beyond > 0);
    assert!(strip_picture(&document, Metric::Rps).is_none());
}

#[test]
fn many_runs_are_a_shape_and_few_of_them_are_left_beyond_the_axis() {
    let mut document = sample();
    let variant = &mut document.variants[0];
    let run = variant.runs[0].clone();
    variant.runs = (0..10_000)
        .map(|index| {
            let mut run = run.clone();
            let slow = if index % 1000 == 0 { 40.0 } else { 0.0 };
            run.figures.insert("wall", 0.5 + f64::from(index % 97) * 1e-3 + slow);
            run
        })
        .collect();
    variant.metrics[0].max = 40.5;
    let picture = strip_picture(&document, Metric::Wall).unwrap();
    assert_eq!(elements(&picture.svg, "<path class=\"area\"").len(), 1);
    assert!(picture.svg.contains("10 up to 40.5 s ▸"), "what is beyond is said");
    assert!(picture.svg.len() < 40_000, "{}", picture.svg.len());
    assert!(order_picture(&document, Metric::Wall).unwrap().svg.len() < 20_000);
}

#[test]
fn a_distribution_climbs_from_none_to_all() {
    let picture = distribution_picture(&sample(), Metric::Cpu).unwrap();
    let lines = elements(&picture.svg, "<path class=\"line\"");
    assert_eq!(lines.len(), 4);
    for line in lines {
        let points = points(line);
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 >= pair[1].1), "{points:?}");
        assert!((points[0].1 - 220.0).abs() < 0.1, "it begins at the bottom");
    }
}

#[test]
fn a_variant_has_one_colour_in_all_pictures() {
    let document = sample();
    let styles: Vec<String> = (0..4).map(|index| style(&document, index)).collect();
    assert_eq!(styles, ["v v0", "v v1", "v v2", "v v0 again"]);
    let pictures = [
        strip_picture(&document, Metric::Wall),
        distribution_picture(&document, Metric::Wall),
        order_picture(&document, Metric::Wall),
        memory_picture(&document),
        pareto_picture(&document),
    ];
    for picture in pictures {
        let svg = picture.unwrap().svg;
        assert!(svg.contains("class=\"v v1\" data-v=\"1\"") && svg.contains("class=\"v v2\" data-v=\"2\""), "{svg}");
        assert!(svg.contains("<desc>") && svg.contains("jemalloc"), "it says itself in words");
    }
}

#[test]
fn servers_show_their_answer_times_up_to_the_slow_tail() {
    let (_, document) = served_bench();
    let svg = latency_picture(&document).unwrap().svg;
    let lines = elements(&svg, "<path class=\"line\"");
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(points(line).windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1), "{line}");
    }
    assert!(svg.contains("99.9 %") && !svg.contains("99.99 %"), "no further than was measured");
    assert!(latency_picture(&sample()).is_none(), "a command answers nobody");
    assert!(pareto_picture(&document).unwrap().svg.contains("requests per second"));
}

#[test]
fn the_strong_line_of_memory_is_the_run_in_the_middle() {
    let svg = memory_picture(&sample()).unwrap().svg;
    assert_eq!(elements(&svg, "<path class=\"line\"").len(), 4);
    assert_eq!(elements(&svg, "<path class=\"line faint\"").len(), 4 * 5);
    let mut document = sample();
    document.variants.iter_mut().for_each(|variant| variant.memory_runs.clear());
    assert!(memory_picture(&document).is_none(), "nothing was watched");
}

#[test]
fn the_better_side_of_a_figure_is_the_lower_left_of_the_front() {
    let mut document = sample();
    let time_of = |document: &Analysis| {
        let svg = pareto_picture(document).unwrap().svg;
        let spots = elements(&svg, "<circle class=\"spot");
        let x = |spot: &str| spot.split("cx=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
        spots.into_iter().map(x).collect::<Vec<_>>()
    };
    let low = time_of(&document);
    assert!(low[0] < low[1], "less time is left");
    for variant in &mut document.variants {
        variant.metrics.iter_mut().filter(|one| one.metric == Metric::Wall).for_each(|one| {
            one.direction = Direction::HigherIsBetter;
            one.unit = Unit::Count;
        });
    }
    let high = time_of(&document);
    assert!(high[0] > high[1], "more of it is left");
}

#[test]
fn changes_have_the_looks_of_their_verdicts() {
    let document = sample();
    let svg = forest_picture(&document, &[Metric::Wall, Metric::Rss]).unwrap().svg;
    let drawn = |class: &str| svg.matches(&format!("<g class=\"{class}\"")).count();
    let said = |verdicts: &[Change]| {
        let of =
            |one: &&Comparison| [Metric::Wall, Metric::Rss].contains(&one.metric) && verdicts.contains(&one.verdict);
        document.comparisons.iter().filter(of).count()
    };
    assert!(drawn("gain") >= 2 && drawn("gain") == said(&[Change::Less]), "less memory");
    assert!(drawn("loss") >= 1 && drawn("loss") == said(&[Change::More]), "more time");
    assert_eq!(drawn("untold"), said(&[Change::Same, Change::Undecided]));
    assert!(forest_picture(&lone_bench().1, &[Metric::Wall]).is_none(), "nothing to compare");
}

#[test]
fn figures_without_a_number_draw_without_nonsense() {
    let mut document = sample();
    for variant in &mut document.variants {
        variant.metrics.iter_mut().for_each(|one| {
            (one.min, one.max, one.first_quartile, one.third_quartile) = (0.0, 0.0, 0.0, 0.0);
            (one.median.low, one.median.estimate, one.median.high) = (0.0, 0.0, 0.0);
        });
        variant.runs.iter_mut().for_each(|run| run.figures.values_mut().for_each(|figure| *figure = 0.0));
        variant.memory_runs.iter_mut().for_each(|run| run.figures.values_mut().for_each(|figure| *figure = 0.0));
    }
    document.comparisons.iter_mut().for_each(|one| one.ratio.high = f64::INFINITY);
    for metric in document.metrics() {
        let pictures = [
            strip_picture(&document, metric),
            distribution_picture(&document, metric),
            order_picture(&document, metric),
        ];
        let more = [pareto_picture(&document), forest_picture(&document, &[metric])];
        for picture in pictures.into_iter().chain(more).flatten() {
            assert!(!picture.svg.contains("NaN") && !picture.svg.contains("inf\""), "{}", picture.svg);
        }
    }
}

/// The middle of each dot of a build, and whether it is filled.
fn dots(svg: &str) -> Vec<(f64, bool)> {
    let x = |spot: &str| spot.split("cx=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
    elements(svg, "<circle class=\"spot").into_iter().map(|spot| (x(spot), !spot.contains("hollow"))).collect()
}

#[test]
fn every_compared_row_is_a_dot_on_its_side_of_the_middle() {
    let document = sample_suite().summary;
    let svg = rows_picture(&document, &document.suites[1]).unwrap().svg;
    let zero = elements(&svg, "<line class=\"zero\"")[0];
    let middle: f64 = zero.split("x1=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let dots = dots(&svg);
    // malloc-tiny1 and malloc-big2 are slower, strlen the same, strstr faster, memset undecided.
    assert_eq!(dots.len(), 5);
    let sides: Vec<(bool, bool)> = dots.iter().map(|(x, filled)| (*x > middle, *filled)).collect();
    assert_eq!(sides[..2], [(false, true), (false, true)]);
    assert_eq!((sides[2].1, sides[3], sides[4].1), (false, (true, true), false));
    let scale = [156.0, 364.0];
    assert!((middle - (scale[0] + scale[1]) / 2.0).abs() < 0.2, "1 is in the middle: {middle}");
}

#[test]
fn each_build_has_its_colour_in_both_pictures_of_a_suite() {
    let document = wide_suite().summary;
    let suite = &document.suites[1];
    for picture in [rows_picture(&document, suite), trade_picture(&document, suite)] {
        let picture = picture.unwrap();
        for build in 1..=3 {
            assert!(picture.svg.contains(&format!("class=\"v v{build}\" data-v=\"{build}\"")), "{}", picture.svg);
        }
        assert_eq!(picture.legend.iter().filter(|key| key.variant.is_some()).count(), 3);
        assert!(picture.svg.contains("<desc>pthread-create-minimal-1, "), "it says itself in words");
    }
}

#[test]
fn less_time_and_less_memory_are_the_lower_left() {
    let document = sample_suite().summary;
    let svg = trade_picture(&document, &document.suites[1]).unwrap().svg;
    let place = |name: &str, attribute: &str| -> f64 {
        let group = svg.split(&format!("<title>{name}, ")).nth(1).unwrap();
        group.split(&format!("{attribute}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert!(place("strstr-abcd", "cx") < place("malloc-big2", "cx"));
    assert!(place("strstr-abcd", "cy") > place("malloc-big2", "cy"));
}

#[test]
fn what_is_not_compared_is_in_no_picture() {
    let document = emulated_suite().summary;
    assert!(rows_picture(&document, &document.suites[0]).is_none());
    assert!(trade_picture(&document, &document.suites[0]).is_none());
}

#[test]
fn pictures_of_suites_have_no_nonsense_and_no_control_characters() {
    let mut strange = sample_suite();
    for cell in strange.summary.suites.iter_mut().flat_map(|suite| &mut suite.rows).flat_map(|row| &mut row.cells) {
        let underpin_suite::Cell::Measured { compared: Some(one), .. } = cell else { continue };
        (one.time.ratio.low, one.time.ratio.high, one.dirty) = (0.0, f64::INFINITY, Some(0.0));
    }
    for document in [strange, hostile_suite(), wide_suite()] {
        let document = document.summary;
        for suite in &document.suites {
            for picture in [rows_picture(&document, suite), trade_picture(&document, suite)].into_iter().flatten() {
                let svg = picture.svg;
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
                assert!(!svg.chars().any(|ch| ch.is_control() || ch == '\u{202e}'), "{svg}");
            }
        }
    }
}
