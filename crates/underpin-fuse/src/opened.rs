//! Libraries that something may open by name to ask for a symbol of their own.
//!
//! dlsym of a library's handle begins in that library. Inside the fused file it begins with the first member, so that a name
//! that two of them define leads to the first definition whichever was opened. What opens a library has its name in its
//! data; names that come from outside (a script, a configuration file) are not seen.

use crate::answers::{self, Question};
use crate::members::KeptBecause;
use crate::object::{Object, SHN_ABS, STB_GNU_UNIQUE, STB_WEAK, Symbol};
use crate::tables::{HIDDEN, is_offered};
use crate::{Closure, Member};
use bstr::ByteSlice;
use std::collections::HashMap;

/// What a linker defines in each library, and no one asks for.
const LINKERS: [&[u8]; 8] =
    [b"_init", b"_fini", b"_edata", b"_end", b"__bss_start", b"__bss_start__", b"__bss_end__", b"__end__"];
/// No name of a library is longer.
const LONGEST: usize = 255;

/// The libraries that have no reason to stay shared yet, are named in the data of another object, and define what an
/// earlier library defines too.
pub(crate) fn find(
    closure: &Closure,
    objects: &[Object],
    is_kept: &dyn Fn(usize) -> bool,
) -> Vec<(usize, KeptBecause)> {
    let named = named(closure, objects, is_kept);
    let mut candidates: Vec<usize> = named.keys().copied().collect();
    candidates.sort_unstable();
    let because = |(object, symbol): (usize, &[u8])| {
        (object, KeptBecause::OpenedByName { by: named[&object], symbol: symbol.into() })
    };
    doubled(objects, &candidates).into_iter().map(because).collect()
}

/// Those of some libraries that define what an earlier library defines too, and one such symbol of each.
pub(crate) fn doubled<'a>(objects: &[Object<'a>], candidates: &[usize]) -> Vec<(usize, &'a [u8])> {
    let Some(last) = candidates.iter().max() else { return Vec::new() };
    // By name, each library that defines it, in the order of the scope, and whether weakly.
    let mut defined: HashMap<&[u8], Vec<(usize, bool)>> = HashMap::new();
    for (object, facts) in objects.iter().enumerate().take(last + 1).skip(1) {
        for symbol in facts.symbols.iter().skip(1).filter(|symbol| is_asked_for(symbol)) {
            defined.entry(symbol.name).or_default().push((object, symbol.binding() == STB_WEAK));
        }
    }
    let other = |object: usize| {
        objects[object].symbols.iter().skip(1).filter(|symbol| is_asked_for(symbol)).find(|symbol| {
            // Two weak ones are one inline function of C++ in two libraries.
            let own = symbol.binding() == STB_WEAK;
            let all = defined.get(symbol.name).map_or(&[][..], Vec::as_slice);
            all.iter().any(|(other, weak)| *other < object && !(own && *weak))
        })
    };
    candidates.iter().filter_map(|&object| Some((object, other(object)?.name))).collect()
}

/// Whether dlsym without a version finds it.
fn is_asked_for(symbol: &Symbol) -> bool {
    is_offered(symbol)
        && symbol.section != SHN_ABS
        && symbol.binding() != STB_GNU_UNIQUE
        && symbol.version.is_none_or(|version| version & HIDDEN == 0)
        && !LINKERS.contains(&symbol.name)
}

/// The libraries whose names are in the data of another object, and one such object for each.
fn named(closure: &Closure, objects: &[Object], is_kept: &dyn Fn(usize) -> bool) -> HashMap<usize, usize> {
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    for (index, member) in closure.objects.iter().enumerate().skip(1).filter(|(index, _)| !is_kept(*index)) {
        names.extend(own_names(member).map(|name| (name, index)));
    }
    let mut found = HashMap::new();
    // A library that asks for its own path may open itself.
    let opens = |object: &Object| answers::asks(object) && answers::imports(object, Question::Open.name());
    let itself = (1..objects.len()).filter(|&index| !is_kept(index) && opens(&objects[index]));
    found.extend(itself.map(|index| (index, index)));
    for (by, object) in objects.iter().enumerate() {
        for bytes in data(object) {
            for at in bytes.find_iter(b".so") {
                let name = name_around(bytes, at);
                if let Some(index) = names.get(name).filter(|index| **index != by) {
                    found.entry(*index).or_insert(by);
                }
            }
        }
    }
    found
}

/// The names of a library that are not paths.
pub(crate) fn own_names<'m>(member: &'m Member) -> impl Iterator<Item = &'m [u8]> {
    member.names.iter().map(|name| name.as_slice()).filter(|name| !name.contains(&b'/'))
}

/// What an object has in memory, its names for the loader left out.
pub(crate) fn data<'a>(object: &Object<'a>) -> Vec<&'a [u8]> {
    let strings = object.elf.dynamic.as_ref().and_then(|dynamic| dynamic.string_table);
    let mut parts = Vec::new();
    for load in object.loads() {
        let Ok(bytes) = object.memory(load.vaddr.0, load.file_size) else { continue };
        let hole = strings.and_then(|(at, size)| {
            let start = usize::try_from(at.0.checked_sub(load.vaddr.0)?).ok()?;
            (start < bytes.len()).then(|| (start, start.saturating_add(size as usize).min(bytes.len())))
        });
        let (start, end) = hole.unwrap_or((bytes.len(), bytes.len()));
        parts.extend([&bytes[..start], &bytes[end..]]);
    }
    parts
}

/// The file name that has the byte at a position in it.
fn name_around(bytes: &[u8], at: usize) -> &[u8] {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+');
    let before = bytes[at.saturating_sub(LONGEST)..at].iter().rev().take_while(|byte| is_name(byte)).count();
    let after = bytes[at..].iter().take(LONGEST).take_while(|byte| is_name(byte)).count();
    &bytes[at - before..at + after]
}
