//! Variants: the same command on another allocator, and the proof that it ran on it.
//!
//! A [`Variant`] is what a user names (`jemalloc:narenas:2`). Against a [`Program`] it becomes a [`Prepared`]: the
//! environment that brings it about, or a [`Obstacle`] that says why it cannot. A [`Watch`] then looks at the process
//! itself, at its entry point: a variant that did not take is an error, never a run of something else. Nothing here runs
//! a program of its own accord, prints or exits.
#![forbid(unsafe_code)]

mod error;
mod prepare;
mod program;
mod scope;
mod settings;
mod store;
mod variant;
mod watch;

pub use error::{NotTaken, Obstacle, VariantError};
pub use prepare::{Change, Inherit, Prepared, Statistics, prepare};
pub use program::{CLibrary, Program, Stage};
pub use scope::Scope;
pub use settings::Setting;
pub use store::{Store, StoreError};
pub use variant::{Choice, Variant, VariantList};
pub use watch::{Verdict, Watch};
