//! Farms on disk: a directory of links appears whole or not at all, and only farms made by underpin are replaced or
//! removed.
//!
//! A farm is built in a directory beside its place and renamed there; an existing one is exchanged in one step
//! (renameat2(2)), so that a program that starts meanwhile finds either the old links or the new ones. The file
//! `.underpin-farm.json` in it says that it is a farm, and for which program.

use super::temporary::TemporaryDirectory;
use crate::plan::{FARMS, Farm};
use bstr::ByteSlice;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, FileSource};

/// The file that identifies a farm; it holds the [`Farm`].
pub(super) const MARKER: &str = ".underpin-farm.json";

/// What was done to a farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmMade {
    /// It was not there.
    New,
    /// It was there, with other links.
    Renewed,
    /// It was there already, with the same links.
    Already,
}

/// Why a farm was not made or removed. What was there is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FarmError {
    /// Something is there that underpin did not make, or that holds other files.
    #[error("{}: exists, and was not made by underpin or holds other files too; move it away or choose another place", directory.display())]
    InTheWay {
        /// The directory.
        directory: PathBuf,
    },
    /// A link's name is not a file name.
    #[error("{}: a link cannot be called {name:?}", directory.display())]
    Name {
        /// The directory.
        directory: PathBuf,
        /// The name.
        name: String,
    },
    /// A system call failed.
    #[error("{}: {step} failed: {source}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// What was being done.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// Makes a farm, or renews an existing one.
///
/// # Errors
/// [`FarmError`].
pub fn make_farm(farm: &Farm) -> Result<FarmMade, FarmError> {
    let directory = PathBuf::from(&farm.directory);
    let failed = |step| failure(&directory, step);
    let mut all = farm.clone();
    let there = match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed("looking at its place")(error)),
        Ok(_) => true,
    };
    if there {
        match farm_at(&directory).filter(|old| holds_just(&directory, old)) {
            None => return Err(FarmError::InTheWay { directory }),
            Some(old) if old.serves(farm) => return Ok(FarmMade::Already),
            Some(old) if old.links == farm.links => all.users.extend(old.users),
            Some(_) => {}
        }
    }
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed("making the directories above it"))?;
    }
    let mut made = TemporaryDirectory::beside(&directory).map_err(failed("making a directory beside it"))?;
    for link in &farm.links {
        if !is_file_name(&link.name) {
            return Err(FarmError::Name { directory, name: link.name.clone() });
        }
        symlink(&link.target, made.path().join(&link.name)).map_err(failed("making a link"))?;
    }
    all.users.sort();
    all.users.dedup();
    let text = serde_json::to_vec_pretty(&all).map_err(io::Error::from).map_err(failed("writing its description"))?;
    fs::write(made.path().join(MARKER), text).map_err(failed("writing its description"))?;
    made.sync().map_err(failed("writing it to disk"))?;
    if there {
        made.exchange(&directory).map_err(failed("exchanging it for the old one"))?;
        Ok(FarmMade::Renewed)
    } else {
        made.place(&directory).map_err(failed("renaming it into its place"))?;
        Ok(FarmMade::New)
    }
}

/// Removes a farm; `false` if nothing is there.
///
/// # Errors
/// [`FarmError::InTheWay`] if it is not a farm or holds more than its links.
pub fn remove_farm(directory: &Path) -> Result<bool, FarmError> {
    if fs::symlink_metadata(directory).is_err() {
        return Ok(false);
    }
    match farm_at(directory) {
        Some(farm) if holds_just(directory, &farm) => {
            // Moved away in one step first, so that half of it is never seen.
            let away = TemporaryDirectory::instead_of(directory).map_err(failure(directory, "taking it away"))?;
            drop(away);
            Ok(true)
        }
        _ => Err(FarmError::InTheWay { directory: directory.into() }),
    }
}

/// The farm at a directory; `None` if there is none.
#[must_use]
pub fn farm_at(directory: &Path) -> Option<Farm> {
    if !fs::symlink_metadata(directory).ok()?.is_dir() {
        return None;
    }
    serde_json::from_slice(&fs::read(directory.join(MARKER)).ok()?).ok()
}

/// Farms that these files search.
#[must_use]
pub fn farms_of(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    files.iter().flat_map(|file| search_path(file)).filter(|folder| farm_at(folder).is_some()).collect()
}

/// Removes those of these farms that no file searches any more: a farm is removed with its last user.
///
/// # Errors
/// Those that cannot be removed, each with its reason.
pub fn remove_unused(farms: &BTreeSet<PathBuf>) -> Vec<FarmError> {
    let is_used = |folder: &PathBuf| {
        let users = farm_at(folder).map(|farm| farm.users).unwrap_or_default();
        users.iter().any(|user| search_path(&folder.join(user)).iter().any(|searched| same_place(searched, folder)))
    };
    let remove = |folder: &&PathBuf| {
        let removed = remove_farm(folder);
        // The directory for the farms of a tree is removed with the last of them.
        if let Some(above) = folder.parent().filter(|above| above.file_name() == Some(FARMS.as_ref())) {
            let _ = fs::remove_dir(above);
        }
        removed.err()
    };
    farms.iter().filter(|folder| !is_used(folder)).filter_map(|folder| remove(&folder)).collect()
}

fn same_place(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// The directories of a file's own search path, `$ORIGIN` expanded.
pub(super) fn search_path(file: &Path) -> Vec<PathBuf> {
    let elf = File::open(file).ok().and_then(|file| Elf::read(&FileSource::new(file).ok()?).ok());
    let Some(dynamic) = elf.and_then(|elf| elf.dynamic) else { return Vec::new() };
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let origin = real.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes();
    let lists = [dynamic.rpath, dynamic.runpath].into_iter().flatten();
    let entries = lists.flat_map(|list| {
        list.split(|&byte| byte == b':').map(|entry| entry.replace("$ORIGIN", origin)).collect::<Vec<_>>()
    });
    entries.map(|entry| PathBuf::from(OsStr::from_bytes(&entry))).collect()
}

/// Whether a directory holds the links of a farm, its description and nothing else.
pub(super) fn holds_just(directory: &Path, farm: &Farm) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.retain(|name| name != MARKER);
    let is_there = |name: &str, target: &str| {
        names.iter().any(|known| known == name)
            && fs::read_link(directory.join(name)).is_ok_and(|link| link == Path::new(target))
    };
    names.len() == farm.links.len() && farm.links.iter().all(|link| is_there(&link.name, &link.target))
}

fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | ".." | MARKER) && !name.contains(['/', '\0'])
}

fn failure(directory: &Path, step: &'static str) -> impl FnOnce(io::Error) -> FarmError {
    let directory = directory.to_path_buf();
    move |source| FarmError::Io { directory, step, source }
}
