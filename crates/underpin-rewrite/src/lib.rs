//! Plan, apply, verify, undo: what a program is bound to, written into the file as data first and as bytes last.
//!
//! Four layers, each usable alone. [`bytes`] turns a wish in strings ([`Edits`]) into patches of one file's bytes
//! ([`Rewrite`]) and back ([`undo`]), without touching a disk. [`plan`] says which strings: it takes closures of the
//! resolver and a [`plan::Policy`]. [`files`] puts bytes in the place of a file so that at every instant the old or
//! the new one is there, and asks the real loader before it does. Bundles carry a closure along.
//!
//! What always holds: an object's own DT_SONAME is never changed; DT_NEEDED and the `vn_file` of its versions stay in
//! step; the loader itself is never bound; a rewritten file holds what is needed to restore the original byte for byte.
#![forbid(unsafe_code)]

pub mod bundle;
pub mod bytes;
mod edits;
pub mod files;
pub mod plan;

pub use bytes::{Caution, LoadCost, Patch, PlacedString, Refusal, Rewrite, UndoRecord};
pub use bytes::{Names, RecordError, UndoError, record, record_of, rewrite, undo};
pub use edits::{BoundObject, Edits, Rename, RewriteOptions, SearchPathEdit, Strategy};
