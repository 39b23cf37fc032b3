//! Foundations as variants of a benchmark: an allocator beneath a command, a program bound to its libraries.
//!
//! Each comes with its proof, taken from the process itself. Nothing here runs a command.

mod allocator;
mod binding;

pub use allocator::on_allocator;
pub use binding::{Binding, ProgramCopy, bound_copy};
