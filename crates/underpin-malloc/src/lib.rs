//! The same command on another allocator, and the proof that it ran on it.
//!
//! A [`Malloc`] is what a user names (`jemalloc:narenas:2`). For a [`Program`] it becomes a [`Prepared`]: the
//! environment that puts it into effect, or an [`Obstacle`] that says why it cannot be. A [`Watch`] then checks the
//! process itself, at its entry point: an allocator that did not take effect is an error, never a run of something
//! else. Nothing here runs a program of its own accord, prints or exits. jemalloc, mimalloc and snmalloc are on board,
//! to preload ([`on_board`]) and to link in ([`linkable()`]).
#![forbid(unsafe_code)]

mod error;
mod linkable;
mod malloc;
mod on_board;
mod prepare;
mod program;
mod scope;
mod settings;
mod store;
mod watch;

pub use error::{MallocError, NotTaken, Obstacle};
pub use linkable::{Goal, Linkable, NotLinkable, glibc_static, linkable, takeover};
pub use malloc::{Choice, Malloc, MallocList};
pub use on_board::{AllocatorKind, Object, OnBoard, allocator, companion, on_board};
pub use prepare::{Inherit, Prepared, Statistics, VariableChange, prepare};
pub use program::{CLibrary, Program, Stage};
pub use scope::Scope;
pub use settings::Setting;
pub use store::{Store, StoreError};
pub use watch::{Confirmation, Watch};
