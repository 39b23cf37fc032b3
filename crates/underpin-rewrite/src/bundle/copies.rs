//! The bytes of each file of a bundle: unchanged, or with the few strings replaced that would lead out of it.

use super::graft::{Charsets, Graft, Named, Source, Stored, alignment, loaded_size};
use super::model::{BundlePlan, Form, IncludedBecause, Item, file_name, read_error};
use super::{BundleError, eager, hooks, scan};
use crate::bytes::{Edits, Rename, RewriteOptions, SearchPathEdit, rewrite};
use bstr::{BString, ByteSlice};
use underpin_elf::{Elf, Machine};
use underpin_resolve::{LoaderKind, Root};

/// A file larger than this is not copied: it would not fit the memory of most machines either.
const LIMIT: u64 = 16 << 30;

/// An item's bytes as they go into the bundle; for the program, those without its launcher.
pub(super) fn bytes(root: &dyn Root, item: &Item) -> Result<Vec<u8>, BundleError> {
    if let Some(content) = &item.content {
        return Ok(content.clone());
    }
    let bytes = root.read(item.source.as_ref(), LIMIT).map_err(|error| read_error(item.source.as_ref(), error))?;
    let Ok(elf) = Elf::read(&bytes[..]) else { return Ok(bytes) };
    let edits = edits(item, &elf);
    if edits.is_empty() {
        return Ok(bytes);
    }
    let options = RewriteOptions { without_record: true, ..RewriteOptions::default() };
    match rewrite(&bytes, &edits, &options) {
        Ok(rewrite) => Ok(rewrite.apply(&bytes)),
        Err(refusal) => Err(BundleError::Library { path: item.source.clone(), refusal }),
    }
}

/// What changes in an object: its names, as planned, and its search path.
///
/// An object without DT_RUNPATH is covered by the program's DT_RPATH, which leads into the bundle (glibc
/// `elf/dl-load.c`); one with its own would search the host. Entries relative to `$ORIGIN` are kept for an object that
/// keeps its place.
fn edits(item: &Item, elf: &Elf) -> Edits {
    let renames = item.renames.iter().map(|(from, to)| Rename { from: from.clone(), to: to.clone() }).collect();
    let mut edits = Edits { renames, ..Edits::default() };
    let dynamic = elf.dynamic.as_ref();
    let path = dynamic.and_then(|dynamic| dynamic.runpath.as_ref().or(dynamic.rpath.as_ref()));
    let untouched =
        matches!(item.reason, IncludedBecause::Program | IncludedBecause::Loader | IncludedBecause::Charset);
    if let Some(path) = path.filter(|_| !untouched) {
        let own = |entry: &&[u8]| entry.starts_with(b"$ORIGIN") || entry.starts_with(b"${ORIGIN}");
        let kept: Vec<&[u8]> = path.split_str(":").filter(own).collect();
        edits.search_path = match bstr::join(":", kept) {
            kept if kept.is_empty() || item.name.is_some() => SearchPathEdit::Remove,
            kept => SearchPathEdit::Rpath(kept.into()),
        };
    }
    edits
}

/// The program with its launcher, in the directory form.
pub(super) fn program_of_directory(plan: &BundlePlan, root: &dyn Root) -> Result<Vec<u8>, BundleError> {
    let source = Source::Directory {
        up: 2,
        loader: loader(plan)?.place.clone(),
        libraries: "lib".into(),
        more: plan.search.clone(),
    };
    let named: Vec<Named> = plan.closure().map(|item| named(item, item.place.clone(), Stored::default())).collect();
    let charsets = if plan.has_charsets() { charsets(plan, root)? } else { None };
    let bytes = bytes(root, program(plan)?)?;
    graft(plan, &bytes, named, source, charsets)
}

/// The complete file of the file form: the program with its launcher, its loader and its libraries.
pub(super) fn program_of_file(plan: &BundlePlan, root: &dyn Root) -> Result<Vec<u8>, BundleError> {
    let own = bytes(root, program(plan)?)?;
    let loader = loader(plan)?;
    let mut parts = vec![(loader, bytes(root, loader)?)];
    let later = plan.opened_later().filter(|_| plan.mapped);
    for item in plan.closure().chain(later) {
        parts.push((item, bytes(root, item)?));
    }
    match plan.launcher.hooks().filter(|_| plan.mapped) {
        Some(handler) => mapped_file(plan, &own, parts, handler),
        None => copied_file(plan, &own, parts),
    }
}

/// A file whose libraries are copied to memory at each start.
fn copied_file(plan: &BundlePlan, own: &[u8], mut parts: Parts<'_>) -> Result<Vec<u8>, BundleError> {
    let fixups = by_path(plan, &mut parts)?;
    let align = alignment(plan.launcher.machine());
    // Names that the launcher writes into a library must not be in what it maps from the file.
    let partial = plan.loader == LoaderKind::Glibc && fixups.iter().all(Vec::is_empty);
    let eager = if partial { eager::sizes(own, parts.get(1..).unwrap_or_default()) } else { None };
    // A first pass determines the program's size with its launcher, which does not depend on the places.
    let stored = places(&parts, eager.as_deref(), 0, plan.launcher.machine());
    let size = place_all(plan, own, &parts, (&stored, &fixups), None)?.len() as u64;
    let stored = places(&parts, eager.as_deref(), size.next_multiple_of(align), plan.launcher.machine());
    let mut whole = place_all(plan, own, &parts, (&stored, &fixups), None)?;
    append(&mut whole, &parts, &stored);
    Ok(whole)
}

/// A file whose loader maps the libraries from it.
fn mapped_file(plan: &BundlePlan, own: &[u8], mut parts: Parts<'_>, handler: &[u8]) -> Result<Vec<u8>, BundleError> {
    let align = alignment(plan.launcher.machine());
    let table = |parts: &Parts<'_>, stored: &[Stored]| -> Vec<(BString, u64)> {
        let libraries = parts.iter().zip(stored).skip(1);
        let names = |item: &Item| item.name.iter().chain(&item.aliases).cloned().collect::<Vec<_>>();
        libraries.flat_map(|((item, _), stored)| names(item).into_iter().map(|name| (name, stored.offset))).collect()
    };
    let hook = |parts: &Parts<'_>, stored: &[Stored]| {
        let hooked = hooks::hook(&parts[0].1, handler, &table(parts, stored));
        hooked.ok_or_else(|| BundleError::program("its loader has changed meanwhile"))
    };
    let stored = places(&parts, None, 0, plan.launcher.machine());
    let area = hook(&parts, &stored)?.area.len() as u64;
    let size = place_all(plan, own, &parts, (&stored, &[]), Some((0, area)))?.len() as u64;
    let stored = places(&parts, None, size.next_multiple_of(align), plan.launcher.machine());
    let hooked = hook(&parts, &stored)?;
    parts[0].1 = hooked.loader;
    let end = parts.last().zip(stored.last()).map_or(size, |((_, bytes), stored)| stored.offset + bytes.len() as u64);
    let behind = end.next_multiple_of(align);
    let mut whole = place_all(plan, own, &parts, (&stored, &[]), Some((behind, area)))?;
    append(&mut whole, &parts, &stored);
    whole.resize(super::head::as_usize(behind), 0);
    whole.extend(hooked.area);
    Ok(whole)
}

/// The loader and the libraries, each with its item.
type Parts<'a> = Vec<(&'a Item, Vec<u8>)>;

fn append(whole: &mut Vec<u8>, parts: &Parts<'_>, stored: &[Stored]) {
    for ((_, part), stored) in parts.iter().zip(stored) {
        whole.resize(super::head::as_usize(stored.offset), 0);
        whole.extend_from_slice(part);
    }
}

/// Names in one library that refer to others: offset of the name, index of the other library.
type Fixups = Vec<(u64, usize)>;

/// Lets libraries name each other by paths that the launcher fills in, if a soname does not work: musl knows a library
/// that was opened by its path only by that path (musl `ldso/dynlink.c`, `load_library`), and so does glibc if it has
/// no soname. The loader is the first part.
fn by_path(plan: &BundlePlan, parts: &mut [(&Item, Vec<u8>)]) -> Result<Vec<Fixups>, BundleError> {
    let by_path = |item: &Item| plan.loader == LoaderKind::Musl || !item.is_soname;
    let names: Vec<(BString, bool)> =
        plan.closure().map(|item| (item.name.clone().unwrap_or_default(), by_path(item))).collect();
    // As long as the longest path that the launcher may write there, and unique by its number.
    let path = |index: usize| BString::from(format!("/proc/self/fd/{index:010}"));
    let mut all = Vec::new();
    for (item, bytes) in parts.iter_mut().skip(1) {
        let elf = Elf::read(&bytes[..]).map_err(|error| read_error(item.source.as_ref(), error))?;
        let needed = elf.dynamic.iter().flat_map(|dynamic| &dynamic.needed);
        let known = needed
            .filter_map(|name| Some((name, names.iter().position(|(known, by_path)| known == name && *by_path)?)));
        let renames: Vec<Rename> = known.map(|(name, index)| Rename { from: name.clone(), to: path(index) }).collect();
        if renames.is_empty() {
            all.push(Vec::new());
            continue;
        }
        let options = RewriteOptions { without_record: true, ..RewriteOptions::default() };
        let rewrite = rewrite(bytes, &Edits { renames, ..Edits::default() }, &options)
            .map_err(|refusal| BundleError::Library { path: item.source.clone(), refusal })?;
        let target = |text: &BString| (0..names.len()).find(|&index| path(index) == *text);
        let placed = rewrite.placed.iter().filter_map(|placed| Some((placed.offset.0, target(&placed.text)?)));
        all.push(placed.collect());
        *bytes = rewrite.apply(bytes);
    }
    Ok(all)
}

/// The place of every part; the loader is first, and the sizes to copy are those of the libraries after it.
fn places(parts: &[(&Item, Vec<u8>)], eager: Option<&[u64]>, start: u64, machine: Machine) -> Vec<Stored> {
    let mut offset = start;
    let mut places = Vec::new();
    for (index, (_, bytes)) in parts.iter().enumerate() {
        let size = bytes.len() as u64;
        let elf = Elf::read(&bytes[..]).ok();
        let needed_size = elf.as_ref().map_or(size, |elf| loaded_size(elf).min(size));
        let dynamic = elf.as_ref().and_then(|elf| elf.dynamic.as_ref());
        let writes_code = dynamic.is_none_or(|dynamic| dynamic.text_relocations);
        let eager = index.checked_sub(1).and_then(|index| eager?.get(index).copied());
        let eager_size = eager.map_or(needed_size, |eager| eager.min(needed_size));
        places.push(Stored { offset, needed_size, eager_size, writes_code });
        offset = (offset + size).next_multiple_of(alignment(machine));
    }
    places
}

fn place_all(
    plan: &BundlePlan,
    own: &[u8],
    parts: &[(&Item, Vec<u8>)],
    (stored, fixups): (&[Stored], &[Fixups]),
    hooks: Option<(u64, u64)>,
) -> Result<Vec<u8>, BundleError> {
    let mut both = parts.iter().zip(stored);
    let Some(((loader, _), place)) = both.next() else { return Err(BundleError::program("no loader")) };
    let source = Source::File { loader: loader.source.clone(), stored: *place, hooks };
    let place = |item: &Item| {
        let name = item.name.clone().unwrap_or_default();
        if hooks.is_some() { format!("{}/{name}", hooks::FOLDER).into() } else { name }
    };
    let both = both.take(plan.closure().count());
    let mut all: Vec<Named> = both.map(|((item, _), stored)| named(item, place(item), *stored)).collect();
    for (named, fixups) in all.iter_mut().zip(fixups) {
        named.fixups.clone_from(fixups);
    }
    graft(plan, own, all, source, None)
}

fn named(item: &Item, place: BString, stored: Stored) -> Named {
    let name = item.name.clone().unwrap_or_else(|| file_name(item.place.as_ref()).into());
    Named { name, place, stored, is_soname: item.is_soname, fixups: Vec::new() }
}

fn graft(
    plan: &BundlePlan,
    program: &[u8],
    named: Vec<Named>,
    source: Source,
    charsets: Option<Charsets>,
) -> Result<Vec<u8>, BundleError> {
    let elf = Elf::read(program).map_err(|error| BundleError::Program(error.to_string()))?;
    let flatten = plan.loader == LoaderKind::Glibc;
    Graft { program, elf: &elf, launcher: &plan.launcher, named, flatten, source, charsets }.bytes()
}

fn program(plan: &BundlePlan) -> Result<&Item, BundleError> {
    plan.items
        .iter()
        .find(|item| item.reason == IncludedBecause::Program)
        .ok_or_else(|| BundleError::program("not in the plan"))
}

fn loader(plan: &BundlePlan) -> Result<&Item, BundleError> {
    plan.items
        .iter()
        .find(|item| item.reason == IncludedBecause::Loader)
        .ok_or_else(|| BundleError::program("no loader"))
}

/// Functions of the C library that the launcher calls to make it read the bundle's list of charset modules.
const CHARSET_FUNCTIONS: [&str; 4] = ["setenv", "unsetenv", "iconv_open", "iconv_close"];

fn charsets(plan: &BundlePlan, root: &dyn Root) -> Result<Option<Charsets>, BundleError> {
    let is_libc = |item: &&Item| item.name.as_ref().is_some_and(|name| name.starts_with(b"libc.so"));
    let Some((library, item)) = plan.closure().enumerate().find(|(_, item)| is_libc(item)) else { return Ok(None) };
    let bytes = bytes(root, item)?;
    let elf = Elf::read(&bytes[..]).map_err(|error| read_error(item.source.as_ref(), error))?;
    let functions = scan::functions(&bytes, &elf, CHARSET_FUNCTIONS);
    Ok(functions.map(|functions| Charsets { library, place: "lib/gconv".into(), functions }))
}

/// Whether the plan's form is a file.
pub(super) fn is_file(plan: &BundlePlan) -> bool {
    plan.form == Form::File
}
