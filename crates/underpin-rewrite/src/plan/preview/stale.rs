//! Compares search paths of bound files with those of their originals: if a library was added to a directory of the old
//! list, or removed from it, the new one answers differently.

use super::originals::undone;
use crate::bytes::record_of;
use crate::plan::decide::facts::directory_of;
use crate::plan::decide::search::expand;
use crate::plan::decide::shelves::{Held, Shelves};
use bstr::{BStr, BString};
use std::collections::BTreeMap;
use underpin_elf::{Class, Dynamic, Elf, Endian, Machine};
use underpin_resolve::{FileId, Root};

/// What the search path of a bound file answers differently from that of its original, one sentence each. `lib` is the
/// value of `$LIB`. Empty if both are the same list, or if the original cannot be restored.
#[must_use]
pub fn stale_search(root: &dyn Root, path: &BStr, lib: Option<&BStr>) -> Vec<String> {
    let Ok(opened) = root.open(path) else { return Vec::new() };
    let Some(Ok(original)) = undone(&*opened.source) else { return Vec::new() };
    let Ok(elf) = Elf::read(&*opened.source) else { return Vec::new() };
    let machine = (elf.ident.machine, elf.ident.class, elf.ident.endian);
    let bound = record_of(&*opened.source).ok().flatten().map(|record| record.bound).unwrap_or_default();
    let now = elf.dynamic;
    let before = Elf::read(original.as_slice()).ok().and_then(|elf| elf.dynamic);
    let (Some(now), Some(before)) = (now, before) else { return Vec::new() };
    let (Some(old), Some(new)) = (list(&before), list(&now)) else { return Vec::new() };
    if old == new {
        return Vec::new();
    }
    let shelves = Shelves::new(root);
    let origin = directory_of(path);
    let answers = |list| answers(&shelves, list, origin, lib, machine);
    let (Some(old), Some(new)) = (answers(old), answers(new)) else {
        return Vec::new();
    };
    let mut stale = Vec::new();
    // Names of the closure are bound: their links lead to what serves the program, whichever list found it.
    let is_bound = |name: &BString| bound.iter().any(|bound| *name == bound.name.as_str());
    for (name, (directory, id)) in old.iter().filter(|(name, _)| !is_bound(name)) {
        let sentence = match new.get(name) {
            Some((_, found)) if found == id => continue,
            Some((other, _)) => {
                format!("{name} is found in {other} now, and the search before found it in {directory}")
            }
            None => format!("{name} came to {directory}, which is no longer searched"),
        };
        stale.push(format!("{sentence}: bind again"));
    }
    stale
}

fn list(dynamic: &Dynamic) -> Option<&BString> {
    dynamic.runpath.as_ref().or(dynamic.rpath.as_ref())
}

/// The first directory of a list that holds each name, and the file there.
fn answers(
    shelves: &Shelves,
    list: &BString,
    origin: &BStr,
    lib: Option<&BStr>,
    machine: (Machine, Class, Endian),
) -> Option<BTreeMap<BString, (BString, FileId)>> {
    let mut answers: BTreeMap<BString, (BString, FileId)> = BTreeMap::new();
    for entry in expand(list.as_ref(), origin, lib)? {
        for (name, (held, id)) in &shelves.of(entry.directory.as_ref()).files {
            let foreign = matches!(held, Held::Odd) || matches!(held, Held::Elf(a, b, c) if (*a, *b, *c) != machine);
            if let Some(id) = id.filter(|_| !foreign) {
                answers.entry(name.clone()).or_insert_with(|| (entry.directory.clone(), id));
            }
        }
    }
    Some(answers)
}
