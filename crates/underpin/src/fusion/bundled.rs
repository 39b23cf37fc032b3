//! The libraries of a bundle merged into one file.

use super::WORTH;
use bstr::{BString, ByteSlice};
use underpin_fuse::{Closure, Content, Names, Plan, Refusal};
use underpin_resolve::{HostRoot, Root};
use underpin_rewrite::bundle::Merged;
use underpin_rewrite::record_of;

/// A larger file is not read.
const LIMIT: u64 = 2 << 30;

/// The libraries of a program merged into one that finds itself by their names in `folder`; `None` if fewer than ten can be,
/// or if something rules it out: a bundle with each library a file of its own does as well.
///
/// # Errors
/// If a library cannot be read.
pub fn merged(
    root: &HostRoot,
    resolved: &underpin_resolve::Closure,
    program: &str,
    folder: &str,
) -> Result<Option<Merged>, String> {
    let content = |object: &underpin_resolve::Object| {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", object.path);
        let modified = root.stat(object.path.as_ref()).map_or(0, |meta| meta.modified);
        let bytes = root.read(object.path.as_ref(), LIMIT).map_err(|error| failed(&error))?;
        Ok(Content { bytes, modified })
    };
    let contents: Vec<Content> = resolved.objects.iter().map(content).collect::<Result<_, String>>()?;
    // A merged copy of a bound library would keep its absolute paths.
    if contents.iter().any(|content| !matches!(record_of(content.bytes.as_slice()), Ok(None))) {
        return Ok(None);
    }
    let closure = closure(resolved, &contents);
    let names = Names { soname: format!("{program}.fused.so").into(), links: folder.into(), only_links: true };
    match fused(&closure, &names) {
        Ok((plan, _)) if plan.members.len() < WORTH => Ok(None),
        Ok((plan, fused)) => Ok(Some(described(&closure, &plan, fused, names.soname))),
        Err(_) => Ok(None),
    }
}

fn fused(closure: &Closure, names: &Names) -> Result<(Plan, underpin_fuse::Fused), Refusal> {
    let plan = underpin_fuse::plan(closure)?;
    let fused = underpin_fuse::fuse(closure, &plan, names)?;
    Ok((plan, fused))
}

/// The closure with the names first by which objects are known in a bundle: sonames, or names of files.
fn closure<'a>(resolved: &underpin_resolve::Closure, contents: &'a [Content]) -> Closure<'a> {
    let mut closure = Closure::new(resolved, contents);
    // Elsewhere nothing is at the paths of this system.
    closure.in_place = false;
    for (member, object) in closure.objects.iter_mut().zip(&resolved.objects) {
        let file = object.path.rsplit_str("/").next().unwrap_or_default();
        let name = object.soname.clone().filter(|name| !name.contains(&b'/')).unwrap_or_else(|| file.into());
        member.names.retain(|other| *other != name);
        member.names.insert(0, name);
    }
    closure
}

fn described(closure: &Closure, plan: &Plan, fused: underpin_fuse::Fused, name: BString) -> Merged {
    let path = |index: usize| closure.objects[index].path.clone();
    let bindings = fused.bindings.iter().filter_map(|binding| {
        let symbol = match binding.version.is_empty() {
            true => binding.name.to_string(),
            false => format!("{} [{}]", binding.name, binding.version),
        };
        // Nothing, for a weak reference: the loader does not tell of those.
        Some((path(binding.from), symbol, path(binding.to?)))
    });
    Merged {
        bindings: bindings.collect(),
        members: plan.members.iter().map(|&index| path(index)).collect(),
        names: fused.links,
        bytes: fused.bytes,
        name,
    }
}
