//! Variants of a benchmark: a command on another allocator, a program bound to its libraries, a program built in
//! several ways, commits of a repository.
//!
//! What a variant changes comes with its proof, taken from the process itself. Nothing here runs a benchmarked command.

mod allocator;
mod binding;
mod built;
mod commits;
mod git;

pub use allocator::on_allocator;
pub use binding::{Binding, bound_copy, fused_copy};
pub use built::{Build, BuiltProgram};
pub use commits::{Commit, CommitError, Commits};
