//! Many tests at once: the chance that one of them errs is kept at the level of one.

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
