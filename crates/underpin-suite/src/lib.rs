//! The suites of `underpin bench --suite`: what their rows are, and what the records of a whole run say.
//!
//! [`Suite`] -> [`Row`]s, each measured as an experiment of `underpin-bench` -> [`SuiteRun`] -> [`summarise`] ->
//! [`Summary`], which is the body of the document `underpin.suite/1`. The programs themselves are C and Rust, in `suites/`
//! and `workloads/broker`; [`sources`] has them as text, so that an installed underpin can build them. Nothing here runs or
//! prints.
#![forbid(unsafe_code)]

mod gate;
mod guest;
mod index;
pub mod original;
mod row;
mod rows;
pub mod sources;
mod summary;

pub use gate::{RowGate, RowLimit};
pub use guest::{
    BootFigure, Guest, GuestBoot, GuestCell, GuestFigure, GuestFigureName, GuestUp, Outcome, Repeats, STEADY, Said,
    Unsteady, guest_figure, guest_name, guest_rows, repeats, rows_of, why_failed,
};
pub use index::{Indexed, IndexedRow, index, kept_passes, row_score};
pub use row::{Figures, Measure, Original, Row, Suite, UnknownSuite, find, matches, rows};
pub use summary::{
    Build, Cell, Comparisons, Failure, Means, Memory, MemoryMeans, RowRun, RowSummary, SuiteRun, SuiteSummary, Summary,
    Worst, summarise,
};
