//! Plans, applies, verifies and undoes the binding of a program to its libraries: as data first, as bytes in the file
//! last.
//!
//! Four layers, each usable alone. [`bytes`] turns changes of strings ([`Edits`]) into patches of one file's bytes
//! ([`Rewrite`]) and back ([`undo`]), without touching a disk. [`plan`] decides on the strings, from the resolver's
//! closures and a [`plan::Policy`]. [`files`] replaces a file so that at every instant either the old or the new one is
//! there, and asks the real loader before it does. [`bundle`] ships a program with its whole closure.
//!
//! Invariants: an object's own DT_SONAME is never changed; DT_NEEDED and the `vn_file` of its versions stay in step;
//! the loader itself is never bound; a rewritten file holds what is needed to restore the original byte for byte.
#![forbid(unsafe_code)]

pub mod bundle;
pub mod bytes;
mod edits;
pub mod files;
pub mod plan;

pub use bytes::{Caution, LoadCost, Patch, PlacedString, Refusal, Rewrite, UndoRecord};
pub use bytes::{Names, RecordError, UndoError, record, record_of, rewrite, undo};
pub use edits::{BoundObject, Edits, Rename, RewriteOptions, SearchPathEdit, Strategy};
