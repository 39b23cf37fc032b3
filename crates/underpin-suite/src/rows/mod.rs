//! The tables of rows. The figures of the originals are those of `seeds/openeuler-musl.rst`.

pub mod alloc;
pub mod cpu;
pub mod libc;
pub mod os;
pub mod system;

use crate::row::{Figures, Measure, Original, Row, Suite};

/// A row that is shown as time and has no original.
const fn time(suite: Suite, group: &'static str, name: &'static str, label: &'static str) -> Row {
    Row { suite, name, label, group, measure: Measure::Time, original: None, baseline: None }
}

impl Row {
    /// The same, made after a row of another suite.
    const fn after(self, name: &'static str) -> Row {
        Row { original: Some(Original { name, figures: None }), ..self }
    }

    /// The same, whose original has these figures.
    const fn with(self, name: &'static str, glibc: f64, musl: f64) -> Row {
        Row { original: Some(Original { name, figures: Some(Figures { glibc, musl }) }), ..self }
    }

    /// The same, shown in another way.
    const fn shown_as(self, measure: Measure) -> Row {
        Row { measure, ..self }
    }

    /// The same with a score that has the index 10.
    const fn against(self, baseline: f64) -> Row {
        Row { baseline: Some(baseline), ..self }
    }
}
