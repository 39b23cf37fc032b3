//! The objects that `build` links in, from the crates that carry them.

use anyhow::{Context, anyhow};
use underpin_build::{Allocator, CLibrary, Claim, Goal, Header, LinkObject, Processor, Spec};
use underpin_malloc::{AllocatorKind, Object};
use underpin_overlay::Part;

/// The allocator of a static musl build if none is named: the one for the goal, if it is built in for the processor.
pub fn usual_allocator(goal: Goal, processor: Processor) -> Allocator {
    let on_board = |kind: &AllocatorKind| underpin_malloc::linkable(*kind, named(goal), processor.name()).is_ok();
    match named(goal).allocator().filter(on_board) {
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

/// The same build without the overlay, if that is not built in for the processor and was not requested (`asked`).
pub fn without_absent(spec: Spec, asked: Option<bool>) -> Spec {
    let on_board = Part::Strings.object(spec.processor.name()).is_ok();
    Spec { overlay: spec.overlay && (on_board || asked == Some(true)), ..spec }
}

/// What a static musl build goes without because it is not built in for its processor.
pub fn absent(spec: &Spec) -> Option<String> {
    let replaceable = spec.libc == CLibrary::Musl && spec.linkage.is_static();
    let processor = spec.processor.name();
    let none = Part::Strings.object(processor).is_err()
        && underpin_malloc::linkable(AllocatorKind::Mimalloc, named(spec.goal), processor).is_err();
    let what = format!(
        "for {processor} no allocator and no overlay is on board: musl's own malloc and string functions serve"
    );
    (replaceable && none).then_some(what)
}

/// The objects of a build, in the order of the link line. `rust`: the program may bring an allocator as Rust crates do.
///
/// # Errors
/// If one is not built in, with the reason.
pub fn objects(spec: &Spec, rust: bool) -> anyhow::Result<Vec<LinkObject>> {
    let mut objects = if spec.overlay { overlay(spec)? } else { Vec::new() };
    // The string functions alone are before the allocator, beside the code that starts a program and calls them: one stretch of
    // the file fewer is mapped before main (docs/bench/build.md).
    let strings = objects.len().min(1);
    objects.splice(strings..strings, allocator(spec, rust)?);
    Ok(objects)
}

/// The overlay's objects. They are of one version: the first has the claim for all of them.
fn overlay(spec: &Spec) -> anyhow::Result<Vec<LinkObject>> {
    let processor = spec.processor.name();
    // Larger buffers are memory.
    let wanted = |part: &Part| *part != Part::Streams || spec.goal != Goal::Memory;
    let (mut objects, mut named, mut version) = (Vec::new(), Vec::new(), "");
    for part in Part::ALL.into_iter().filter(wanted) {
        let object = part.object(processor).map_err(|reason| anyhow!(reason));
        let object = object.with_context(|| format!("the overlay cannot be linked in for {processor}"))?;
        version = object.version;
        named.push(part.words());
        let (bytes, is_optional) = (object.bytes.to_vec(), part.is_optional());
        objects.push(LinkObject { name: part.name().to_owned(), bytes, claim: None, is_optional });
    }
    if let Some(first) = objects.first_mut() {
        first.claim = Some(Claim::new("overlay", format!("{version} ({})", named.join(", "))));
    }
    Ok(objects)
}

/// The headers of the overlay, which need no object: a program that was compiled with them links with musl as before.
pub fn headers(spec: &Spec) -> Vec<Header> {
    let versions = underpin_overlay::STDIO_VERSIONS.map(str::to_owned).to_vec();
    let stdio = Header { name: "stdio.h".to_owned(), text: underpin_overlay::STDIO.to_owned(), versions };
    if spec.overlay { vec![stdio] } else { Vec::new() }
}

/// The overlay's layout of musl's memory, if that is the goal.
pub fn layout(spec: &Spec) -> Option<String> {
    (spec.overlay && spec.goal == Goal::Memory).then(|| underpin_overlay::LAYOUT.to_owned())
}

/// The allocator, and what comes with it.
fn allocator(spec: &Spec, rust: bool) -> anyhow::Result<Vec<LinkObject>> {
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
    let mut objects = Vec::new();
    if rust {
        // First: calls to an allocator that the program brings are redirected to the one behind it. C programs bring
        // none by these names, and their linkers would keep the entries all the same.
        let takeover = underpin_malloc::takeover(processor).map_err(|reason| anyhow!(reason)).with_context(missing)?;
        objects.push(object("takeover", takeover));
    }
    objects.push(LinkObject { claim: Some(Claim::new("allocator", words)), ..object("allocator", linkable.object) });
    if matches!(spec.libc, CLibrary::Glibc(_)) && spec.linkage.is_static() {
        let beside =
            underpin_malloc::glibc_static(processor).map_err(|reason| anyhow!(reason)).with_context(missing)?;
        objects.push(object("glibc_static", beside));
    }
    Ok(objects)
}

fn object(name: &str, object: &Object) -> LinkObject {
    LinkObject { name: name.to_owned(), bytes: object.bytes.to_vec(), claim: None, is_optional: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_build::Linkage;
    use underpin_test_support::skip;

    #[test]
    fn the_claim_names_the_objects_that_are_linked_in() {
        for (goal, has_streams) in [(Goal::Balanced, true), (Goal::Memory, false)] {
            let spec = Spec {
                processor: Processor::X86_64,
                libc: CLibrary::Musl,
                linkage: Linkage::StaticPie,
                allocator: Allocator::System,
                goal,
                overlay: true,
            };
            let objects = match overlay(&spec) {
                Ok(objects) => objects,
                Err(error) => return skip(&format!("{error:#}")),
            };
            let claims: Vec<&Claim> = objects.iter().filter_map(|object| object.claim.as_ref()).collect();
            assert_eq!(claims.len(), 1);
            assert_eq!(claims[0].value.contains(", streams)"), has_streams, "{}", claims[0].value);
            assert_eq!(objects.iter().any(|object| object.name == "streams"), has_streams);
        }
    }
}
