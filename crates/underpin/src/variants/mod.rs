//! Variants of a benchmark: a command on another allocator, a program bound to its libraries.
//!
//! What a variant changes comes with its proof, taken from the process itself. Nothing here runs a benchmarked command.

mod allocator;
mod binding;

pub use allocator::on_allocator;
pub use binding::{Binding, ProgramCopy, bound_copy};
