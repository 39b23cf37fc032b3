//! Suites and their rows.

use crate::rows as tables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A family of rows with one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Suite {
    /// What an allocator costs a Rust program, after the allocation benchmark of fossas/broker.
    Alloc,
    /// What a C library's functions cost in time and memory, after libc-bench.
    Libc,
    /// System calls, processes, files and sockets, after lmbench.
    Os,
    /// A whole system, with an index, after UnixBench.
    System,
    /// The processor alone, after CoreMark: the control, which a C library hardly changes.
    Cpu,
}

/// One row of a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its suite.
    pub suite: Suite,
    /// Its name, which its program takes as the first word.
    pub name: &'static str,
    /// What it does, in a few words.
    pub label: &'static str,
    /// The table of the suite that it stands in.
    pub group: &'static str,
    /// How its figure is shown.
    pub measure: Measure,
    /// What it was made after.
    pub original: Option<Original>,
    /// The score that has the index 10: UnixBench's `index.base`. In the unit of [`Measure::Rate`].
    pub baseline: Option<f64>,
}

/// How the time of one operation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Measure {
    /// As time: the less, the better.
    Time,
    /// As bytes in a second: the more, the better.
    Bandwidth,
    /// As operations in a time.
    Rate {
        /// The time, in seconds: 1, or 60 for a rate per minute.
        seconds: f64,
        /// The unit: `loops/s`.
        unit: &'static str,
    },
}

/// The row of another suite that one was made after, and what `seeds/openeuler-musl.rst` has of it: a Raspberry Pi 4 at
/// 600 MHz, both C libraries as they come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Original {
    /// Its name there.
    pub name: &'static str,
    /// Its figures there, if it is in the tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// A figure on both C libraries, in the unit of the row's measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// On glibc.
    pub glibc: f64,
    /// On musl.
    pub musl: f64,
}

impl Row {
    /// musl's time over glibc's in the figures of the original.
    #[must_use]
    pub fn time_ratio_of_original(&self) -> Option<f64> {
        let Figures { glibc, musl } = self.original?.figures?;
        Some(match self.measure {
            Measure::Time => musl / glibc,
            Measure::Bandwidth | Measure::Rate { .. } => glibc / musl,
        })
    }
}

impl Suite {
    /// All, in the order in which they run.
    pub const ALL: [Suite; 5] = [Suite::Alloc, Suite::Libc, Suite::Os, Suite::System, Suite::Cpu];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Alloc => "alloc",
            Suite::Libc => "libc",
            Suite::Os => "os",
            Suite::System => "system",
            Suite::Cpu => "cpu",
        }
    }

    /// What it measures, in a few words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Suite::Alloc => "what an allocator costs a Rust program",
            Suite::Libc => "what a C library's functions cost in time and memory",
            Suite::Os => "system calls, processes, files and sockets",
            Suite::System => "a whole system, with an index",
            Suite::Cpu => "the processor alone, which a C library hardly changes",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no suite has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown suite `{0}`: there are {names}, and all", names = Suite::ALL.map(Suite::name).join(", "))]
pub struct UnknownSuite(pub String);

impl FromStr for Suite {
    type Err = UnknownSuite;

    fn from_str(name: &str) -> Result<Suite, UnknownSuite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name).ok_or_else(|| UnknownSuite(name.to_owned()))
    }
}

/// The rows of a suite, in the order of its tables.
#[must_use]
pub fn rows(suite: Suite) -> &'static [Row] {
    match suite {
        Suite::Alloc => tables::alloc::ROWS,
        Suite::Libc => tables::libc::ROWS,
        Suite::Os => tables::os::ROWS,
        Suite::System => tables::system::ROWS,
        Suite::Cpu => tables::cpu::ROWS,
    }
}

/// A row by its names, as a record has them.
#[must_use]
pub fn find(suite: &str, row: &str) -> Option<&'static Row> {
    rows(suite.parse().ok()?).iter().find(|one| one.name == row)
}

/// Whether a row's name matches a pattern, in which `*` stands for any text; without one, a part of the name is enough.
/// `SUITE:PATTERN` is for that suite alone.
#[must_use]
pub fn matches(row: &Row, pattern: &str) -> bool {
    let (suite, pattern) = pattern.split_once(':').map_or((None, pattern), |(suite, rest)| (Some(suite), rest));
    if suite.is_some_and(|suite| suite != row.suite.name()) {
        return false;
    }
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return true };
    if !pattern.contains('*') {
        return row.name.contains(first);
    }
    let Some(mut rest) = row.name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_pattern_is_a_part_of_a_name_or_has_stars() {
        let row = Row { name: "malloc-big1", ..rows(Suite::Libc)[0] };
        for pattern in ["malloc", "big", "malloc-*", "*1", "m*c-b*1", "libc:big", "*", "libc:*"] {
            assert!(matches(&row, pattern), "{pattern}");
        }
        for pattern in ["malloc*2", "big*", "os:big", "*malloc", "1*b*1"] {
            assert!(!matches(&row, pattern), "{pattern}");
        }
    }

    #[test]
    fn every_row_is_found_by_its_names_and_has_words() {
        for suite in Suite::ALL {
            let names: BTreeSet<&str> = rows(suite).iter().map(|row| row.name).collect();
            assert_eq!(names.len(), rows(suite).len(), "{suite}: a name twice");
            for row in rows(suite) {
                assert_eq!(row.suite, suite);
                assert_eq!(find(suite.name(), row.name), Some(row));
                assert!(row.name.len() <= 24 && !row.label.is_empty() && !row.group.is_empty(), "{row:?}");
            }
        }
        assert!("libcs".parse::<Suite>().unwrap_err().to_string().contains("alloc, libc, os, system, cpu, and all"));
    }
}
