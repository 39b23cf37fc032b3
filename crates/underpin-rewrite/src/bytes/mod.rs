//! One file's bytes: changes of strings become patches and an appended tail, and back.
//!
//! Pure: no disk, no clock. A [`Rewrite`] is data that can be shown before it is applied. The record of how to undo it
//! is part of the rewritten file, a note in a section of its own, so it travels with every copy.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod block;
mod builder;
mod choose;
mod cut;
mod dead;
mod gaps;
mod image;
mod names;
mod note;
mod padding;
mod record;
mod refusal;
mod refuse;
mod rewrite;
mod room;
mod sections;
mod segment;
mod shift;
mod sizes;
mod table;
mod tags;
mod tail;
mod view;
mod wanted;
mod wire;

pub use crate::edits::{BoundObject, Edits, Rename, RewriteOptions, SearchPathEdit, Strategy};
pub use choose::rewrite;
pub use names::Names;
pub use note::{record, record_of, undo};
pub use record::{Inverse, MovedRange, RecordError, UndoError, UndoRecord};
pub use refusal::Refusal;
pub use rewrite::{Caution, LoadCost, Patch, PlacedString, Rewrite};
