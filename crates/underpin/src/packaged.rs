//! A folder or a wheel as a set of objects: which names each needs from outside. Nothing in it is run, and a wheel is
//! unpacked into a private folder that is removed afterwards.

use crate::object::{self, Object};
use anyhow::{Context, bail};
use bstr::{BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use underpin_resolve::compat::{NotAProgram, ObjectFacts, Packaged};
use underpin_resolve::{Closure, Depth, EdgeKind, Environment, HostRoot, Outcome, Resolver};

/// The most bytes that a wheel may unpack to: the largest on the package index have a few gigabytes.
const MOST_BYTES: u64 = 16 << 30;

/// A set of objects, read.
#[derive(Debug)]
pub struct Set {
    /// The objects, in the order of their paths; named relative to the set.
    pub objects: Vec<Packaged>,
    /// Platform tags in the file name of a wheel, with the processor.
    pub claims: Vec<String>,
}

/// Whether a path is to be treated as a set: a folder, or a file with the name of a wheel.
#[must_use]
pub fn is_set(path: &Path) -> bool {
    path.is_dir() || path.extension() == Some(OsStr::new("whl"))
}

impl Set {
    /// Reads a folder or a wheel.
    ///
    /// # Errors
    /// If it cannot be read, is not a wheel inside, or has libraries where a wheel must not have any.
    pub fn read(path: &Path) -> anyhow::Result<Set> {
        if path.is_dir() {
            let folder = path.canonicalize().with_context(|| path.display().to_string())?;
            return Ok(Set { objects: objects(&folder)?, claims: Vec::new() });
        }
        let claims = claims(path)?;
        let unpacked = unpack(path)?;
        // The temporary folder may itself be behind a link; paths are compared by prefix.
        let folder = unpacked.path().canonicalize().with_context(|| unpacked.path().display().to_string())?;
        let objects = objects(&folder).with_context(|| path.display().to_string())?;
        if let Some(pure) = objects.iter().find(|object| in_purelib(&object.facts.name)) {
            bail!(
                "{}: {} is a library among pure Python files (purelib); build it as a platform wheel (platlib)",
                path.display(),
                pure.facts.name
            );
        }
        Ok(Set { objects, claims })
    }
}

/// The platform tags of a file name: `NAME-VERSION(-BUILD)?-PYTHON-ABI-PLATFORM.whl`, the last part separated by dots
/// (the binary distribution format, PEP 427 and 425).
fn claims(path: &Path) -> anyhow::Result<Vec<String>> {
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let parts: Vec<&str> = stem.split('-').collect();
    match parts[..] {
        [_, _, _, _, platform] | [_, _, _, _, _, platform] => Ok(platform.split('.').map(str::to_owned).collect()),
        _ => bail!(
            "{}: not the name of a wheel: expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl; unpack it and name the folder",
            path.display()
        ),
    }
}

fn in_purelib(name: &BString) -> bool {
    let folder = name.rfind_byte(b'/').map_or(&[][..], |slash| &name[..slash]);
    folder.split_str("/").any(|part| part == b"purelib")
}

fn unpack(path: &Path) -> anyhow::Result<TempDir> {
    let of = || path.display().to_string();
    let file = File::open(path).with_context(of)?;
    let mut archive = zip::ZipArchive::new(file)
        .map_err(|error| anyhow::anyhow!("{}: not a wheel: {error}; fetch or build it again", path.display()))?;
    let folder = tempfile::Builder::new().prefix("underpin-wheel-").tempdir().context("a folder to unpack into")?;
    let mut left = MOST_BYTES;
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|error| anyhow::anyhow!("{}: entry {index}: {error}; fetch or build it again", path.display()))?;
        // Wheels contain regular files; a name that leads out of the folder is not one of theirs.
        let Some(name) = entry.enclosed_name() else {
            bail!("{}: the entry {:?} leads out of the wheel; it is not unpacked", path.display(), entry.name());
        };
        if entry.is_file() && wanted(&name) {
            left = write_entry(&mut entry, &folder.path().join(&name), left)
                .with_context(|| format!("{}: {}", path.display(), name.display()))?;
        }
    }
    Ok(folder)
}

/// Most files of many wheels are Python sources, which are never objects.
fn wanted(name: &Path) -> bool {
    !matches!(name.extension().and_then(OsStr::to_str), Some("py" | "pyi" | "pyc"))
}

/// Writes one entry if it is an ELF file, and returns how many more bytes are allowed.
fn write_entry(entry: &mut impl Read, to: &Path, left: u64) -> anyhow::Result<u64> {
    let mut magic = [0; 4];
    if entry.read_exact(&mut magic).is_err() || &magic != b"\x7fELF" {
        return Ok(left);
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let mut file = File::create(to)?;
    let written = io::copy(&mut (&magic[..]).chain(entry).take(left), &mut file)?;
    if written == left {
        bail!("the wheel unpacks to more than {MOST_BYTES} bytes");
    }
    Ok(left - written)
}

fn objects(folder: &Path) -> anyhow::Result<Vec<Packaged>> {
    let mut found: Vec<(PathBuf, ObjectFacts)> = Vec::new();
    for path in object::elf_files_below(folder)? {
        let relative = path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_bytes();
        match Object::read(&path, relative) {
            Ok(object) => found.push((path, object.facts)),
            // Object files and detached debug symbols: nothing loads them.
            Err(error) if error.is::<NotAProgram>() => {}
            Err(error) => return Err(error),
        }
    }
    let mut outside = outside(folder, &found);
    let packaged = |(path, facts)| Packaged { outside: outside.remove(&path).into_iter().flatten().collect(), facts };
    Ok(found.into_iter().map(packaged).collect())
}

/// For each object, the names that the set does not provide in any closure. A library is found by the search path of
/// the object that needs it, so the closures start from what nothing in the set needs by name.
fn outside(folder: &Path, objects: &[(PathBuf, ObjectFacts)]) -> BTreeMap<PathBuf, BTreeSet<BString>> {
    let needed: BTreeSet<&[u8]> =
        objects.iter().flat_map(|(_, facts)| &facts.needed).map(|name| name.as_slice()).collect();
    let file_name = |path: &Path| path.file_name().unwrap_or_default().as_bytes().to_owned();
    let mut found: BTreeMap<PathBuf, BTreeSet<BString>> = BTreeMap::new();
    let root = HostRoot::new();
    for (path, facts) in objects.iter().filter(|(path, _)| !needed.contains(file_name(path).as_slice())) {
        let resolver = Resolver::new(&root, Environment::empty());
        match resolver.resolve(path.as_os_str().as_bytes().as_bstr(), Depth::Load) {
            Ok(closure) => leaving(&closure, folder, &mut found),
            // Without a loader, nothing is known to be provided by the set.
            Err(_) => found.entry(path.clone()).or_default().extend(facts.needed.iter().cloned()),
        }
    }
    found
}

/// Requests of objects in the folder that nothing in it satisfies.
fn leaving(closure: &Closure, folder: &Path, found: &mut BTreeMap<PathBuf, BTreeSet<BString>>) {
    let inside = |index: usize| {
        let object = closure.objects.get(index)?;
        let path = object.real_path.as_ref().unwrap_or(&object.path).to_path().ok()?;
        path.starts_with(folder).then(|| path.to_owned())
    };
    for edge in closure.edges.iter().filter(|edge| edge.kind == EdgeKind::Needed) {
        let served = matches!(&edge.outcome, Outcome::Loaded { object, .. } if inside(object.0).is_some());
        if let (false, Some(from)) = (served, inside(edge.from.0)) {
            found.entry(from).or_default().insert(edge.name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platforms_of_a_name_are_its_last_part() {
        let of = |name: &str| claims(Path::new(name)).map_err(|error| error.to_string());
        assert_eq!(
            of("numpy-2.1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl").unwrap(),
            ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]
        );
        assert_eq!(of("a-1-2-py3-none-any.whl").unwrap(), ["any"]);
        assert!(of("a.whl").unwrap_err().contains("NAME-VERSION"));
    }

    #[test]
    fn purelib_is_a_folder_and_not_a_file() {
        assert!(in_purelib(&"a-1.data/purelib/b/c.so".into()));
        assert!(!in_purelib(&"a/purelib".into()));
    }
}
