//! Golden figures are those of SciPy 1.17.1 (the call is beside each) and of R's `p.adjust`; intervals were also
//! enumerated by brute force over all signs and all assignments.

use super::normal::student_quantile;
use super::*;
use proptest::prelude::*;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

/// Hamilton depression scale before and after treatment: the example of Hollander and Wolfe (1973), p. 29.
const BEFORE: [f64; 9] = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
#[expect(clippy::approx_constant, reason = "a measurement that happens to look like pi")]
const AFTER: [f64; 9] = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
/// Permeability of membranes: the same book, p. 69.
const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

fn differences() -> Vec<f64> {
    BEFORE.iter().zip(AFTER).map(|(before, after)| before - after).collect()
}

#[test]
fn the_normal_tail_is_that_of_tables() {
    // scipy.stats.norm.sf
    let table = [
        (0.5, 0.308_537_538_725_986_9),
        (1.96, 0.024_997_895_148_220_435),
        (2.5, 0.006_209_665_325_776_132),
        (3.5, 0.000_232_629_079_035_525_02),
        (8.0, 6.220_960_574_271_74e-16),
    ];
    for (z, tail) in table {
        assert!((normal_tail(z) / tail - 1.0).abs() < 1e-12, "{z}: {}", normal_tail(z));
        close(normal_tail(-z), 1.0 - tail);
    }
    close(normal_quantile(0.975), 1.959_963_984_540_054);
}

#[test]
fn the_expansion_of_student_is_within_one_per_cent() {
    // scipy.stats.t.ppf(0.975, df)
    for (freedom, quantile) in [(5.0, 2.570_581_835_6), (9.0, 2.262_157_162_8), (30.0, 2.042_272_456_3)] {
        assert!((student_quantile(0.975, freedom) / quantile - 1.0).abs() < 0.01, "{freedom}");
    }
}

#[test]
fn quantiles_are_those_of_numpy() {
    let order = Order::new(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]);
    // numpy.quantile
    for (share, figure) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.5), (0.75, 5.25), (1.0, 9.0)] {
        close(order.quantile(share).unwrap(), figure);
    }
    // scipy.stats.median_abs_deviation(..., scale='normal'), which rounds the factor.
    assert!((order.spread().unwrap() - 2.965_204_437).abs() < 1e-4);
    assert_eq!(Order::new(&[]).median(), None);
    assert_eq!(Order::new(&[f64::NAN, 2.0]).median(), Some(2.0));
}

#[test]
fn signed_ranks_are_counted_exactly() {
    // scipy.stats.wilcoxon(BEFORE, AFTER, method='exact')
    let test = signed_rank(&differences());
    assert!(test.exact);
    close(test.statistic, 40.0);
    close(test.p_value, 0.039_062_5);
    // scipy.stats.wilcoxon(..., method=PermutationMethod): all 1024 signs, ties among the sizes.
    let tied = [1.0, -1.0, 2.0, 2.0, -2.0, 3.0, 4.0, 4.0, 5.0, -0.5];
    close(signed_rank(&tied).p_value, 0.058_593_75);
}

#[test]
fn many_signed_ranks_are_approximated() {
    let many: Vec<f64> = (0..80).map(|i| ((f64::from((i * 7919) % 101) / 10.0 - 4.2) * 10.0).round() / 10.0).collect();
    // scipy.stats.wilcoxon(many, method='approx', correction=True)
    let test = signed_rank(&many);
    assert!(!test.exact);
    assert!((test.p_value - 0.047_230_842_437_8).abs() < 1e-6, "{test:?}");
}

#[test]
fn u_is_counted_exactly() {
    // scipy.stats.mannwhitneyu(TERM, EARLY, method='exact')
    let test = mann_whitney(&TERM, &EARLY);
    close(test.statistic, 35.0);
    close(test.p_value, 0.254_412_254_412_254_4);
    // scipy.stats.mannwhitneyu with all 6435 assignments (PermutationMethod), ties within and across.
    let first = [1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 4.0, 5.0];
    let second = [2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 7.0];
    close(mann_whitney(&first, &second).p_value, 0.103_185_703_185_703_19);
}

#[test]
fn a_large_u_is_approximated() {
    let first: Vec<f64> = (0..40).map(|i| f64::from((i * 37) % 97)).collect();
    let second: Vec<f64> = (0..45).map(|i| f64::from((i * 53) % 89 + 11)).collect();
    // scipy.stats.mannwhitneyu(first, second, method='asymptotic')
    let test = mann_whitney(&first, &second);
    assert!(!test.exact);
    close(test.statistic, 785.5);
    close(test.p_value, 0.315_471_544_225_725_9);
}

#[test]
fn equal_samples_have_nothing_to_tell() {
    close(signed_rank(&[0.0; 12]).p_value, 1.0);
    close(signed_rank(&[]).p_value, 1.0);
    close(mann_whitney(&[2.0; 50], &[2.0; 50]).p_value, 1.0);
    close(mann_whitney(&[], &[1.0]).p_value, 1.0);
}

#[test]
fn the_paired_interval_is_that_of_all_signs() {
    let interval = paired_shift(&differences()).unwrap();
    close(interval.estimate, 0.46);
    close(interval.low, 0.01);
    close(interval.high, 0.786);
    close(interval.confidence, 0.960_937_5);
    // It leaves out zero exactly if the test rejects.
    assert!(!interval.holds(0.0));
}

#[test]
fn the_interval_of_two_samples_is_that_of_all_assignments() {
    let interval = shift(&TERM, &EARLY).unwrap();
    close(interval.estimate, -0.305);
    close(interval.low, -0.76);
    close(interval.high, 0.15);
    close(interval.confidence, 0.960_039_960_039_960_1);
}

#[test]
fn too_few_pairs_say_what_confidence_they_have() {
    for (count, confidence) in [(1, 0.0), (2, 0.5), (4, 0.875), (5, 0.9375)] {
        let interval = paired_shift(&differences()[..count]).unwrap();
        close(interval.confidence, confidence);
        assert!(!interval.is_confident());
    }
    assert!(paired_shift(&differences()[..6]).unwrap().is_confident());
    assert_eq!(paired_shift(&[]), None);
}

#[test]
fn holm_corrects_as_r_does() {
    // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (ours, theirs) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        close(*ours, theirs);
    }
    assert!(holm(&[]).is_empty());
    close(holm(&[0.9, 0.8])[1], 1.0);
}

#[test]
fn outliers_lie_beyond_the_fences_of_tukey() {
    // By hand: the quartiles are 11.75 and 16.25, the fences -1.75, 5, 23 and 29.75.
    let figures = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 4.9, 24.0, 31.0, 14.5];
    let order = Order::new(&figures);
    close(order.quantile(0.25).unwrap(), 11.75);
    let found = order.outliers().unwrap();
    assert_eq!(found, Outliers { low_severe: 0, low_mild: 1, high_mild: 1, high_severe: 1, of: 12 });
    assert_eq!(Order::new(&[1.0, 2.0, 3.0]).outliers(), None);
    assert_eq!(Order::new(&[1.0; 9]).outliers().unwrap().count(), 0);
}

#[test]
fn q_values_are_those_of_benjamini_and_hochberg_where_little_is_to_be_found() {
    // p.adjust(c(0.01, 0.04, 0.9, 0.005, 0.6, 0.7), "BH"): three above one half of six estimate that none finds anything.
    let corrected = q_values(&[0.01, 0.04, 0.9, 0.005, 0.6, 0.7]);
    for (ours, theirs) in corrected.iter().zip([0.03, 0.08, 0.9, 0.03, 0.84, 0.84]) {
        close(*ours, theirs);
    }
    assert!(q_values(&[]).is_empty());
    close(q_values(&[0.0078])[0], 0.0078);
}

#[test]
fn a_table_of_equal_things_claims_at_most_its_level_and_one_of_different_things_most_of_them() {
    // Eight blocks a row, as few as can show anything at 1 %: the least p-value is 2 / 2^8.
    let mut random = Random::new(77);
    let mut table = |rows: usize, shift: f64| -> usize {
        let row = |random: &mut Random| -> Vec<f64> { (0..8).map(|_| random.unit() - 0.5 + shift).collect() };
        let p_values: Vec<f64> = (0..rows).map(|_| signed_rank(&row(&mut random)).p_value).collect();
        q_values(&p_values).iter().filter(|q| **q <= 0.01).count()
    };
    let falsely = (0..200).filter(|_| table(150, 0.0) > 0).count();
    assert!(falsely <= 4, "{falsely} of 200 tables of equal things");
    assert!((0..20).all(|_| table(150, 0.6) == 150));
}

#[test]
fn a_trend_is_found_and_its_size_told() {
    // scipy.stats.spearmanr, p by the normal approximation.
    let found = trend(&[5.0, 3.0, 4.0, 6.0, 8.0, 7.0, 9.0, 12.0, 10.0, 11.0]).unwrap();
    close(found.correlation, 0.915_151_515_151_515_2);
    close(found.p_value, 0.006_042_713_772_034_345);
    close(found.change, 11.0 / 4.0);
    assert_eq!(trend(&[1.0; 20]), None);
    assert_eq!(trend(&[1.0, 2.0]), None);
}

/// A time as a busy machine has it: skewed to the right, with now and then a far outlier.
fn busy(random: &mut Random) -> f64 {
    let outlier = if random.unit() < 0.05 { 2.0 } else { 0.0 };
    1.0 + 0.05 * -random.unit().ln() + outlier * random.unit()
}

/// The true median of [`busy`], from a million draws.
fn true_median() -> f64 {
    let mut random = Random::new(77);
    median(&(0..1_000_000).map(|_| busy(&mut random)).collect::<Vec<_>>()).unwrap()
}

#[test]
fn bootstrap_intervals_of_the_median_hold_it_nearly_as_often_as_they_say() {
    let truth = true_median();
    for (blocks, per_block) in [(6, 2), (10, 2), (20, 2), (40, 1)] {
        let mut random = Random::new(blocks as u64);
        let trials = 600;
        let held = (0..trials).filter(|&trial| {
            let sample: Vec<Vec<f64>> =
                (0..blocks).map(|_| (0..per_block).map(|_| busy(&mut random)).collect()).collect();
            median_interval(&sample, Bootstrap { resamples: 400, seed: trial }).unwrap().holds(truth)
        });
        let coverage = held.count() as f64 / trials as f64;
        // Three standard errors of the trial itself are 2.7 points.
        assert!((0.925..=0.99).contains(&coverage), "{blocks} blocks: {coverage}");
    }
}

#[test]
fn blocks_that_differ_from_one_another_widen_the_interval() {
    // Runs of a block are equal: 20 blocks of 2 carry no more information than 20 runs.
    let mut random = Random::new(5);
    let singles: Vec<Vec<f64>> = (0..20).map(|_| vec![busy(&mut random)]).collect();
    let doubled: Vec<Vec<f64>> = singles.iter().map(|block| vec![block[0]; 2]).collect();
    let scattered: Vec<Vec<f64>> = doubled.concat().into_iter().map(|one| vec![one]).collect();
    let width = |blocks: &[Vec<f64>]| {
        let interval = median_interval(blocks, Bootstrap::default()).unwrap();
        interval.high - interval.low
    };
    assert!(width(&doubled) > 1.1 * width(&scattered), "{} {}", width(&doubled), width(&scattered));
}

#[test]
fn the_same_work_twice_differs_in_one_trial_of_twenty() {
    // The noise of a block is shared by both: that is what interleaving is for.
    for blocks in [8, 25, 80] {
        let mut random = Random::new(1000 + blocks);
        let trials = 2000;
        let claimed = (0..trials)
            .filter(|_| {
                let pairs: Vec<f64> = (0..blocks).map(|_| (busy(&mut random) / busy(&mut random)).ln()).collect();
                let (test, interval) = (signed_rank(&pairs), paired_shift(&pairs).unwrap());
                // An approximated test and its interval may disagree at the very edge.
                assert!(!test.exact || (test.p_value <= 0.05) != interval.holds(0.0), "{test:?} {interval:?}");
                test.p_value <= 0.05
            })
            .count() as f64
            / f64::from(trials);
        assert!((0.02..=0.066).contains(&claimed), "{blocks} blocks: {claimed}");
    }
}

#[test]
fn a_true_difference_of_three_per_cent_is_found() {
    let mut random = Random::new(9);
    let found = (0..200)
        .filter(|_| {
            let pairs: Vec<f64> = (0..300).map(|_| (1.03 * busy(&mut random) / busy(&mut random)).ln()).collect();
            paired_shift(&pairs).unwrap().low > 0.0
        })
        .count();
    assert!(found >= 195, "{found} of 200");
}

proptest! {
    #[test]
    fn an_interval_holds_its_estimate_and_scales(
        figures in prop::collection::vec(-1e3..1e3f64, 1..40),
        factor in 0.1..10.0f64,
    ) {
        let interval = paired_shift(&figures).unwrap();
        prop_assert!(interval.low <= interval.estimate && interval.estimate <= interval.high);
        let scaled: Vec<f64> = figures.iter().map(|figure| figure * factor).collect();
        let scaled = paired_shift(&scaled).unwrap();
        for (a, b) in [(interval.low, scaled.low), (interval.estimate, scaled.estimate), (interval.high, scaled.high)] {
            prop_assert!((a * factor - b).abs() < 1e-6, "{} {}", a * factor, b);
        }
    }

    #[test]
    fn selection_by_counting_finds_what_sorting_finds(
        first in prop::collection::vec(-50i32..50, 1..12),
        second in prop::collection::vec(-50i32..50, 1..12),
    ) {
        let float = |figures: &[i32]| figures.iter().map(|&figure| f64::from(figure)).collect::<Vec<_>>();
        let (first, second) = (float(&first), float(&second));
        let all: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| b - a)).collect();
        prop_assert!((shift(&first, &second).unwrap().estimate - median(&all).unwrap()).abs() < 1e-9);
        let walsh: Vec<f64> =
            (0..first.len()).flat_map(|i| (i..first.len()).map(move |j| (i, j))).map(|(i, j)| f64::midpoint(first[i], first[j])).collect();
        prop_assert!((paired_shift(&first).unwrap().estimate - median(&walsh).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn holm_never_lowers_a_p_value_and_keeps_the_order(p_values in prop::collection::vec(0.0..1.0f64, 0..12)) {
        let corrected = holm(&p_values);
        for (raw, one) in p_values.iter().zip(&corrected) {
            prop_assert!(one >= raw && *one <= 1.0);
        }
        for (i, j) in (0..p_values.len()).flat_map(|i| (0..p_values.len()).map(move |j| (i, j))) {
            prop_assert!(p_values[i] >= p_values[j] || corrected[i] <= corrected[j]);
        }
    }

    #[test]
    fn q_values_never_lower_a_p_value_and_keep_the_order(p_values in prop::collection::vec(0.0..1.0f64, 0..40)) {
        let corrected = q_values(&p_values);
        for (raw, one) in p_values.iter().zip(&corrected) {
            prop_assert!(one >= raw && *one <= 1.0);
        }
        for (i, j) in (0..p_values.len()).flat_map(|i| (0..p_values.len()).map(move |j| (i, j))) {
            prop_assert!(p_values[i] >= p_values[j] || corrected[i] <= corrected[j]);
        }
    }
}
