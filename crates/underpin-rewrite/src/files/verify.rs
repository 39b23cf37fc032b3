//! A rewritten file against what was before and what was planned: same objects, same order, nothing lost.

use super::{NotAsked, Opinion};
use std::path::PathBuf;
use underpin_resolve::Environment;

/// A name as it stands in the rewritten file, and the object to which it must lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundName {
    /// What the loader is asked for now.
    pub name: String,
    /// The object, by any path.
    pub object: PathBuf,
}

/// What a rewritten file is measured by.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// What the loader said of the original.
    pub before: Opinion,
    /// Names that were bound.
    pub bound: Vec<BoundName>,
    /// The surroundings under which the original was resolved.
    pub environment: Environment,
}

/// How a rewritten file was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The real loader and the model of it agree with what was before.
    Loader {
        /// Objects in the list.
        objects: usize,
    },
    /// The model alone: nobody else could be asked.
    ModelOnly {
        /// Why not.
        because: NotAsked,
        /// Objects in the list.
        objects: usize,
    },
}
