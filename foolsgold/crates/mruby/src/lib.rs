//! mruby in an arena of its own.
//!
//! An [`Interpreter`] lives entirely inside one memory region: its heap, its symbols, its stacks. So its memory has a
//! limit, dropping it is one `munmap`, and its state can be saved and restored byte for byte (a snapshot), which makes
//! an isolated interpreter for each request as cheap as a shared one. A run can be stopped from another thread,
//! whatever the Ruby code rescues.
//!
//! Invariants: no Rust frame is ever crossed by a longjmp (each call into C is protected there; each call from C
//! returns a status, and C raises); no panic unwinds into C; an interpreter stays on the thread that made it. This
//! isolates state; it is not a sandbox against memory errors in mruby itself: never load untrusted bytecode.

// In a static program mruby copies memory with these functions instead of musl's.
use underpin_overlay as _;

mod bulk;
mod code;
mod error;
mod host;
mod interpreter;
mod name;
mod native;
mod objects;
mod pages;
mod region;
mod ruby;
mod snapshot;
mod stop;
mod sys;
mod track;
mod value;

pub use bulk::Field;
pub use error::{Error, Exception, Outcome, Raise};
pub use interpreter::{Interpreter, Limits, Memory};
pub use name::{Name, Sym};
pub use native::Args;
pub use objects::Kept;
pub use pages::give_back_code;
pub use ruby::{Bytes, Ruby};
pub use snapshot::{Method, Restored};
pub use stop::Stopper;
pub use value::{Kind, Value};

/// The version of mruby that is built in.
pub const MRUBY_VERSION: &str = "3.2.0";
