//! The index of a suite, row by row in the form of UnixBench's report.

use crate::units::thousands;
use underpin_suite::{Indexed, Measure, SuiteSummary};

/// The index of one build.
#[derive(Debug)]
pub(crate) struct IndexTable {
    /// For each row its name, the baseline, the score with its unit, the index.
    pub rows: Vec<[String; 4]>,
    /// The index over all.
    pub index: String,
}

/// The rows of an index. A row is named as the original names it, if it has one.
pub(crate) fn index_table(suite: &SuiteSummary, indexed: &Indexed) -> IndexTable {
    let rows = indexed.rows.iter().map(|one| {
        let row = suite.rows.iter().find(|row| row.row == one.row);
        let name = row.and_then(|row| row.original).map_or(one.row.as_str(), |original| original.name);
        let unit = match row.map(|row| row.measure) {
            Some(Measure::Rate { unit, .. }) => format!(" {unit}"),
            _ => String::new(),
        };
        let baseline = 10.0 * one.score / one.index;
        [name.to_owned(), score(baseline), format!("{}{unit}", score(one.score)), format!("{:.1}", one.index)]
    });
    IndexTable { rows: rows.collect(), index: format!("{:.1}", indexed.index) }
}

/// A score with one digit after the point, as UnixBench prints it.
fn score(figure: f64) -> String {
    let tenths = (figure * 10.0).round().max(0.0) as u64;
    format!("{}.{}", thousands(tenths / 10), tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn scores_have_one_digit_after_the_point() {
        assert_eq!([653.9, 6_244_531.8, 0.04, f64::NAN].map(score), ["653.9", "6,244,531.8", "0.0", "0.0"]);
    }
}
