//! What goes into a bundle, where, and why: a plan as data, before any byte is written.

use super::head::is_dynamic_program;
use super::model::{BundlePlan, Form, IncludedBecause, Wish, read_error};
use super::taken::Taken;
use super::{BundleError, Launcher, collect, copies, hooks, locales, merge, plugins, tree};
use bstr::{BString, ByteSlice};
use underpin_elf::Elf;
use underpin_resolve::{Closure, Depth, LoaderKind, Outcome, Resolver, Root};

/// Decides what goes into a bundle.
///
/// # Errors
/// [`BundleError`]: the program cannot be bundled, and why.
pub fn plan(resolver: &Resolver<'_>, root: &dyn Root, wish: &Wish<'_>) -> Result<BundlePlan, BundleError> {
    let closure = resolver.resolve(wish.program.as_ref(), Depth::Findings)?;
    let opened = root.open(wish.program.as_ref()).map_err(|error| read_error(wish.program.as_ref(), error))?;
    let elf = Elf::read(&*opened.source).map_err(|error| BundleError::Program(error.to_string()))?;
    if !is_dynamic_program(&elf) {
        return Err(BundleError::Static(wish.program.clone()));
    }
    let machine = elf.ident.machine;
    let image = (wish.launcher)(machine).filter(|_| elf.ident.class == underpin_elf::Class::Elf64);
    let image = image.ok_or_else(|| BundleError::Machine { path: wish.program.clone(), machine: shown(&elf) })?;
    complete(&closure)?;
    let mut taken = Taken::default();
    taken.closure(&closure, wish)?;
    plugins::take(&mut taken, resolver, root, &closure, wish)?;
    tree::take(&mut taken, resolver, root, &closure, wish)?;
    let lacks_locale = locales::take(&mut taken, root, &closure, (machine, wish))?;
    let launcher = Launcher::new(image)?;
    let mapped = wish.form == Form::File && is_mapped(&taken, root, &launcher, closure.loader.kind);
    let mut notices = collect::collect(root, &closure, (&elf, mapped), &taken.items, wish);
    notices.extend(lacks_locale);
    let plan = BundlePlan {
        program: wish.program.clone(),
        name: wish.name.clone(),
        form: wish.form,
        loader: closure.loader.kind,
        items: taken.items,
        links: taken.links,
        notices,
        documents: Vec::new(),
        launcher,
        search: own_search(&elf),
        mapped,
        separate: None,
    };
    merge::merge(plan, &closure, wish)
}

/// Whether the loader can be changed so that it maps libraries from the bundle's file.
fn is_mapped(taken: &Taken, root: &dyn Root, launcher: &Launcher, kind: LoaderKind) -> bool {
    let loader = taken.items.iter().find(|item| item.reason == IncludedBecause::Loader);
    let bytes = loader.filter(|_| kind == LoaderKind::Glibc).and_then(|loader| copies::bytes(root, loader).ok());
    let hooked = bytes.zip(launcher.hooks()).and_then(|(bytes, handler)| hooks::hook(&bytes, handler, &[]));
    hooked.is_some()
}

fn shown(elf: &Elf) -> String {
    elf.ident.machine.name().map_or_else(|| format!("machine {}", elf.ident.machine.0), str::to_owned)
}

/// Entries relative to the program's own place stay valid in a bundle; absolute directories belong to this machine.
fn own_search(elf: &Elf) -> BString {
    let dynamic = elf.dynamic.as_ref();
    let path = dynamic.and_then(|dynamic| dynamic.runpath.as_ref().or(dynamic.rpath.as_ref()));
    let entries = path.iter().flat_map(|path| path.split_str(":"));
    let own = entries.filter(|entry| entry.starts_with(b"$ORIGIN") || entry.starts_with(b"${ORIGIN}"));
    own.fold(BString::default(), |all, entry| [all.as_slice(), b":", entry].concat().into())
}

fn complete(closure: &Closure) -> Result<(), BundleError> {
    let fails = |outcome: &Outcome| matches!(outcome, Outcome::Missing | Outcome::Fatal { .. });
    let Some(edge) = closure.edges.iter().find(|edge| fails(&edge.outcome)) else { return Ok(()) };
    let by = closure.objects.get(edge.from.0).map_or_else(BString::default, |object| object.path.clone());
    Err(BundleError::Missing { program: closure.program.clone(), name: edge.name.clone(), by })
}
