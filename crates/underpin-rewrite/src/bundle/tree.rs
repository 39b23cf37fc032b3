//! What the user includes in addition: library names, files, whole directories, patterns.
//!
//! A file keeps its place relative to the program's prefix, since that is how relocatable programs find their data:
//! what is in `/usr/share/app` for `/usr/bin/app` goes to `share/app` of the bundle.

use super::model::{Form, IncludedBecause, Item, Wish, file_name, read_error};
use super::taken::Taken;
use super::{BundleError, plugins};
use crate::plan::Pattern;
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::{Elf, FileType};
use underpin_resolve::root::FileKind;
use underpin_resolve::{Closure, Resolver, Root};

/// Includes all of it.
pub(super) fn take(
    taken: &mut Taken,
    resolver: &Resolver<'_>,
    root: &dyn Root,
    closure: &Closure,
    wish: &Wish<'_>,
) -> Result<(), BundleError> {
    let program = root.real_path(wish.program.as_ref()).unwrap_or_else(|_| wish.program.clone());
    let directories = plugins::directories(closure);
    taken.homes = homes(root, closure);
    for argument in &wish.include {
        let reason = IncludedBecause::Included { by: argument.clone() };
        if !argument.contains(&b'/') {
            let path = plugins::locate(root, &directories, argument.as_ref());
            let path = path.ok_or_else(|| BundleError::NotIncluded(argument.clone()))?;
            taken.library(resolver, path.as_ref(), &reason, wish)?;
            continue;
        }
        let files = files(root, argument)?;
        if files.is_empty() {
            return Err(BundleError::NotIncluded(argument.clone()));
        }
        // The argument is the file itself, not a directory.
        let alone = files.len() == 1 && files[0] == *argument;
        for path in files {
            file(taken, resolver, root, (&path, &program), (&reason, alone), wish)?;
        }
    }
    Ok(())
}

/// Directories that the libraries of the closure come from, by every name, without those inside another.
fn homes(root: &dyn Root, closure: &Closure) -> Vec<BString> {
    let of =
        |path: &BString| path.rsplit_once_str("/").map_or_else(BString::default, |(directory, _)| directory.into());
    let libraries = || closure.objects.iter().skip(1).map(|object| &object.path);
    let real = libraries().map(|path| root.real_path(path.as_ref()).unwrap_or_else(|_| path.clone()));
    let mut homes: Vec<BString> = libraries().map(of).chain(real.map(|path| of(&path))).collect();
    homes.sort();
    homes.dedup();
    let inside =
        |one: &BString, other: &BString| one.strip_prefix(other.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
    let all = homes.clone();
    homes.retain(|home| !home.is_empty() && !all.iter().any(|other| inside(home, other)));
    homes
}

impl Taken {
    /// What was below a library's directory goes below `lib`, so that the library finds it relative to itself; a link
    /// keeps the path valid that is relative to the program. Anything else keeps its place.
    fn in_lib(&mut self, path: BString, program: &BStr) -> BString {
        for home in &self.homes {
            let home = place(home.as_ref(), program);
            let Some(rest) = path.strip_prefix(home.as_slice()).and_then(|rest| rest.strip_prefix(b"/")) else {
                continue;
            };
            if home == "lib" || home.starts_with(b"bin") {
                continue;
            }
            let up = "../".repeat(home.find_iter("/").count());
            let target =
                if home.starts_with(b"lib/") { up[3..].trim_end_matches('/').to_owned() } else { format!("{up}lib") };
            let target = BString::from(if target.is_empty() { "." } else { &target });
            if !self.links.iter().any(|(link, _)| *link == home) {
                self.links.push((home, target));
            }
            return [b"lib/", rest].concat().into();
        }
        path
    }
}

/// Regular files that an argument denotes, sorted: itself, all below it, or what a pattern matches.
fn files(root: &dyn Root, argument: &BString) -> Result<Vec<BString>, BundleError> {
    let mut found = Vec::new();
    let path = BString::from(argument.trim_end_with(|letter| letter == '/'));
    if root.stat(path.as_ref()).is_ok() {
        walk(root, &path, &mut found)?;
    } else if let Some(wild) = argument.find_byteset(b"*?[") {
        let start = argument[..wild].rsplit_once_str("/").map_or(BString::from("."), |(start, _)| start.into());
        walk(root, &start, &mut found)?;
        let pattern = Pattern(argument.to_string());
        found.retain(|path| pattern.covers(path.as_ref(), None, path.as_ref()));
    }
    found.sort();
    Ok(found)
}

/// Directories deeper than this are a cycle of links.
const DEPTH: usize = 64;

fn walk(root: &dyn Root, start: &BString, found: &mut Vec<BString>) -> Result<(), BundleError> {
    let mut pending = vec![(start.clone(), 0)];
    while let Some((path, depth)) = pending.pop() {
        let Ok(meta) = root.stat(path.as_ref()) else { continue };
        match meta.kind {
            FileKind::Regular => found.push(path),
            FileKind::Directory if depth < DEPTH => {
                let names = root.list(path.as_ref()).map_err(|error| read_error(path.as_ref(), error))?;
                let below =
                    |name: BString| (BString::from([path.as_slice(), b"/", name.as_slice()].concat()), depth + 1);
                pending.extend(names.into_iter().filter(|name| name != "." && name != "..").map(below));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Includes one file; `paths` are its own and the program's.
fn file(
    taken: &mut Taken,
    resolver: &Resolver<'_>,
    root: &dyn Root,
    paths: (&BString, &BString),
    (reason, alone): (&IncludedBecause, bool),
    wish: &Wish<'_>,
) -> Result<(), BundleError> {
    let (path, program) = paths;
    let excluded = |pattern: &Pattern| pattern.covers(file_name(path.as_ref()), None, path.as_ref());
    if path == program || wish.exclude.iter().any(excluded) {
        return Ok(());
    }
    let opened = root.open(path.as_ref()).map_err(|error| read_error(path.as_ref(), error))?;
    let elf = Elf::read(&*opened.source).ok();
    let library = elf.filter(|elf| elf.ident.file_type == FileType::Dynamic && elf.interpreter.is_none());
    let dynamic = library.and_then(|elf| elf.dynamic).filter(|dynamic| !dynamic.flags.pie());
    let has_soname = dynamic.as_ref().is_some_and(|dynamic| dynamic.soname.is_some());
    let is_library = dynamic.is_some();
    if wish.form == Form::File && !has_soname {
        let reason = "is opened by its path, and what is in one file has none";
        return Err(BundleError::NeedsDirectory { path: path.clone(), reason });
    }
    let place = taken.in_lib(place(path.as_ref(), program.as_ref()), program.as_ref());
    let in_lib = place.starts_with(b"lib/") && !place[4..].contains(&b'/');
    // A library with a soname that the user named directly is opened by name; a plugin keeps its place.
    let by_name = wish.form == Form::File || in_lib || alone && has_soname;
    if is_library && by_name {
        return taken.library(resolver, path.as_ref(), reason, wish);
    }
    if taken.items.iter().any(|item| item.place == place) {
        return Ok(());
    }
    taken.items.push(Item::file(path.clone(), place, reason.clone(), opened.meta.size));
    if is_library {
        taken.needs_of(resolver, path.as_ref(), wish)?;
    }
    Ok(())
}

/// Where a file goes: into `bin` if it is in or below the program's directory, relative to the top if it is below its
/// prefix, else by its whole path.
pub(super) fn place(path: &BStr, program: &BStr) -> BString {
    let directory = program.rsplit_once_str("/").map_or(&b""[..], |(directory, _)| directory);
    let below = |top: &[u8]| path.strip_prefix(top).and_then(|rest| rest.strip_prefix(b"/"));
    if let Some(rest) = below(directory) {
        return [b"bin/", rest].concat().into();
    }
    let prefix = directory.rsplit_once_str("/").map_or(&b""[..], |(prefix, _)| prefix);
    if let Some(rest) = below(prefix) {
        return rest.into();
    }
    path.trim_start_with(|letter| letter == '/').into()
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_file_keeps_its_place_relative_to_the_program() {
        let place = |path: &str| place(path.into(), "/usr/bin/app".into()).to_string();
        assert_eq!(place("/usr/share/app/data"), "share/app/data");
        assert_eq!(place("/usr/bin/helper"), "bin/helper");
        assert_eq!(place("/etc/app.conf"), "etc/app.conf");
    }
}
