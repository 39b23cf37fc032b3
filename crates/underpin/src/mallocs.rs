//! Which of the objects that a program's loader would load here defines `malloc`, in load order.

use bstr::ByteSlice;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_elf::{Details, Elf, FileSource, LinkFacts};
use underpin_resolve::compat::MallocProvider;
use underpin_resolve::{Closure, Depth, Environment, HostRoot, Object, Resolver};

/// The first object besides the program that defines `malloc`, where a loader here would find it: calls bind to that
/// one. `None` if the program has no loader, or no object found defines it. `environment`: empty for the program by
/// itself, this shell's for a start from here.
pub fn provider(path: &Path, environment: Environment) -> Option<MallocProvider> {
    let root = HostRoot::new();
    let resolver = Resolver::new(&root, environment);
    let closure = resolver.resolve(path.as_os_str().as_bytes().as_bstr(), Depth::Load).ok()?;
    closure.objects.iter().skip(1).find_map(|object| provided_by(object, &closure))
}

fn provided_by(object: &Object, closure: &Closure) -> Option<MallocProvider> {
    let file = File::open(object.path.to_path().ok()?).ok()?;
    let source = FileSource::new(file).ok()?;
    let elf = Elf::read(&source).ok()?;
    if !LinkFacts::defines(&source, &elf, b"malloc").ok()? {
        return None;
    }
    let details = Details::read(&source, &elf).ok()?;
    let last = object.path.rsplit_str("/").next().unwrap_or_default();
    let needed_by = object.requested_by.and_then(|id| closure.objects.get(id.0)).map(|object| object.path.clone());
    Some(MallocProvider {
        soname: object.soname.clone().unwrap_or_else(|| last.into()),
        needed_by: needed_by.unwrap_or_default(),
        kind: details.identity.allocators.first().map(|allocator| allocator.kind),
    })
}
