//! Variants of a benchmark: a command on another allocator, a program bound to its libraries, commits of a repository.
//!
//! What a variant changes comes with its proof, taken from the process itself. Nothing here runs a benchmarked command.

mod allocator;
mod binding;
mod commits;
mod git;

pub use allocator::on_allocator;
pub use binding::{Binding, ProgramCopy, bound_copy};
pub use commits::{Commit, CommitError, Commits};
