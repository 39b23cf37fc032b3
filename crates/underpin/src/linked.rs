//! The objects that `build` links in, from the crates that carry them.

use anyhow::{Context, anyhow};
use underpin_build::{Allocator, CLibrary, Claim, Goal, LinkObject, Spec};
use underpin_malloc::{AllocatorKind, Object};

/// The allocator of a static musl build if none is named.
pub fn usual_allocator(goal: Goal) -> Allocator {
    match named(goal).allocator() {
        None => Allocator::System,
        Some(AllocatorKind::Jemalloc) => Allocator::Jemalloc,
        Some(AllocatorKind::Mimalloc) => Allocator::Mimalloc,
        Some(AllocatorKind::Snmalloc) => Allocator::Snmalloc,
    }
}

fn named(goal: Goal) -> underpin_malloc::Goal {
    match goal {
        Goal::Speed => underpin_malloc::Goal::Speed,
        Goal::Memory => underpin_malloc::Goal::Memory,
        Goal::Balanced => underpin_malloc::Goal::Balanced,
    }
}

/// The objects of a build, in the order of the link line.
///
/// # Errors
/// If one is not on board, with the reason.
pub fn objects(spec: &Spec) -> anyhow::Result<Vec<LinkObject>> {
    let kind = match spec.allocator {
        Allocator::System => return Ok(Vec::new()),
        Allocator::Jemalloc => AllocatorKind::Jemalloc,
        Allocator::Mimalloc => AllocatorKind::Mimalloc,
        Allocator::Snmalloc => AllocatorKind::Snmalloc,
    };
    let (name, processor) = (kind.name(), spec.processor.name());
    let missing = || format!("{name} cannot be linked in for {processor}");
    let linkable = underpin_malloc::linkable(kind, named(spec.goal), processor).with_context(missing)?;
    let words = format!("{name} {} ({})", linkable.version, linkable.settings);
    let mut objects = vec![
        // First: what a program brings is led to the allocator behind it.
        object(
            "takeover",
            underpin_malloc::takeover(processor).map_err(|reason| anyhow!(reason)).with_context(missing)?,
        ),
        LinkObject { claim: Some(Claim::new("allocator", words)), ..object("allocator", linkable.object) },
    ];
    if matches!(spec.libc, CLibrary::Glibc(_)) && spec.linkage.is_static() {
        let beside =
            underpin_malloc::glibc_static(processor).map_err(|reason| anyhow!(reason)).with_context(missing)?;
        objects.push(object("glibc_static", beside));
    }
    Ok(objects)
}

fn object(name: &str, object: &Object) -> LinkObject {
    LinkObject { name: name.to_owned(), bytes: object.bytes.to_vec(), claim: None }
}
