//! An earlier record beside this one.

use super::Analysis;
use crate::compare::{Comparison, compare_records};
use crate::metric::Metric;
use crate::record::BenchRecord;
use schemars::JsonSchema;
use serde::Serialize;

/// An earlier run that this one is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// When it was measured.
    pub started_unix_seconds: u64,
    /// Each variant compared with the variant of the same name in the earlier run.
    pub comparisons: Vec<Comparison>,
    /// What differs between the two runs, a clause each.
    pub differences: Vec<String>,
}

impl Analysis {
    /// Adds an earlier record: each variant beside the one of its name then, or beside the only one if both have one.
    #[must_use]
    pub fn with_baseline(mut self, name: &str, earlier: &BenchRecord, record: &BenchRecord) -> Analysis {
        let mut comparisons = Vec::new();
        for (index, now) in record.header.variants.iter().enumerate() {
            let Some(then) = counterpart(earlier, &names(record), index).filter(|_| !now.is_copy) else { continue };
            comparisons
                .extend(Metric::all().filter_map(|one| compare_records((earlier, then), (record, index), one).ok()));
        }
        let differences = differences(earlier, record);
        let started_unix_seconds = earlier.header.started;
        self.baseline = Some(Baseline { name: name.to_owned(), started_unix_seconds, comparisons, differences });
        self
    }

    /// Whether any of these variants can be compared with one of an earlier record.
    #[must_use]
    pub fn comparable(earlier: &BenchRecord, names: &[&str]) -> bool {
        (0..names.len()).any(|index| counterpart(earlier, names, index).is_some())
    }
}

/// The names of a record's variants.
pub(super) fn names(record: &BenchRecord) -> Vec<&str> {
    record.header.variants.iter().map(|variant| variant.name.as_str()).collect()
}

/// The index in an earlier record of the variant that a variant of this record is compared with.
pub(super) fn counterpart(earlier: &BenchRecord, names: &[&str], index: usize) -> Option<usize> {
    let name = names.get(index)?;
    let same = earlier.header.variants.iter().position(|variant| variant.name == *name);
    let alone = names.len() == 1 && earlier.header.variants.len() == 1;
    same.or(alone.then_some(0))
}

fn differences(earlier: &BenchRecord, record: &BenchRecord) -> Vec<String> {
    let (then, now) = (&earlier.header.machine, &record.header.machine);
    let pairs = [
        ("processor", then.processor.clone(), now.processor.clone()),
        ("number of processors", then.processors.to_string(), now.processors.to_string()),
        ("kernel", then.kernel.clone(), now.kernel.clone()),
        ("system", then.system.clone(), now.system.clone()),
        ("underpin", earlier.header.underpin.clone(), record.header.underpin.clone()),
    ];
    let changed = pairs.into_iter().filter(|(_, then, now)| then != now);
    changed.map(|(what, then, now)| format!("{what}: {then} then, {now} now")).collect()
}
