//! Many tests at once: a few claims none of which may err (Holm), or many of which a known share may (q-values).

/// The p-values as Holm (1979) corrects them, in the order given: reject those that are at most the level.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut running = 0.0f64;
    for (step, &index) in order.iter().enumerate() {
        running = running.max((p_values.len() - step) as f64 * p_values[index]).min(1.0);
        corrected[index] = running;
    }
    corrected
}

/// From here on, p-values are counted to estimate how many of the tests have nothing to find.
const LAMBDA: f64 = 0.5;

/// The q-value of each test, in the order given: among the tests whose q-value is at most the level, at most that share
/// is expected to claim a difference where there is none. Never below the p-value, so one test alone is not corrected.
///
/// Benjamini and Hochberg's bound (1995), times the share of tests that have nothing to find, estimated as Storey, Taylor
/// and Siegmund do (2004, equation 6): where most of a hundred tests find something, Holm's correction and Benjamini and
/// Hochberg's own ask for several times the runs.
#[must_use]
pub fn q_values(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len() as f64;
    let high = p_values.iter().filter(|p| **p > LAMBDA).count() as f64;
    let nothing = ((high + 1.0) / (1.0 - LAMBDA)).min(count);
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[b].total_cmp(&p_values[a]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut running = 1.0f64;
    for (step, &index) in order.iter().enumerate() {
        let as_low = p_values.len() - step;
        running = running.min(nothing * p_values[index] / as_low as f64);
        corrected[index] = running.max(p_values[index]);
    }
    corrected
}
