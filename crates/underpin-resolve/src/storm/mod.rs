//! What a start costs at scale: from the predicted calls of a closure to operations of a file server, and from those to
//! the time in which a job of many nodes has started.
//!
//! Three steps, each usable alone. [`Node`] turns calls into [`Operations`] through the caches of one node's kernel, as
//! a [`Client`] describes them. [`FileSystem`] is such a client with a [`Server`] behind it: parameters with their
//! sources and uncertainties, from a data file. [`estimate`] lets all processes of a [`StormJob`] queue there.
//! Nothing here measures or runs anything.

mod client;
mod estimate;
mod filesystem;
mod node;
mod queue;

pub use client::{Client, Mountpoints, Operations, Retention};
pub use estimate::{Estimate, Limit, MODEL_DOUBT, NodeDemand, StormJob, estimate};
pub use filesystem::{FileSystem, FileSystemError, FileSystemTable, ParameterSource, Server, Serves};
pub use node::Node;
