//! The objects that `build` links in, from the crates that carry them.

use underpin_build::{Allocator, LinkObject, Spec};

/// The objects of a build, in the order of the link line.
///
/// # Errors
/// If one is not on board, with the reason.
pub fn objects(spec: &Spec) -> anyhow::Result<Vec<LinkObject>> {
    if spec.allocator != Allocator::System {
        anyhow::bail!("{} is not on board as an object to link in", spec.allocator.name());
    }
    Ok(Vec::new())
}
