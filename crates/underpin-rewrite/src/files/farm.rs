//! Farms on the disk: a directory of links appears whole or not at all, and only what was made here is replaced or
//! removed.
//!
//! A farm is built in a directory beside its place and renamed there; one that is there already is exchanged in one
//! step (renameat2(2)), so that a program that starts meanwhile finds the old links or the new ones. The file
//! `.underpin-farm.json` in it says that it is one, and for whom.

use super::temporary::TemporaryDirectory;
use crate::plan::Farm;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The file by which a farm is known; it holds the [`Farm`].
pub(super) const MARKER: &str = ".underpin-farm.json";

/// What became of a farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmMade {
    /// It was not there.
    New,
    /// It was there, with other links.
    Renewed,
    /// It was there just so.
    Already,
}

/// Why a farm was not made or removed. What stood there stands there still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FarmError {
    /// Something stands there that was not made here, or that somebody else put something into.
    #[error("{}: exists, and was not made by underpin or holds other files too; move it away or choose another place", directory.display())]
    InTheWay {
        /// The directory.
        directory: PathBuf,
    },
    /// A link's name is no file name.
    #[error("{}: a link cannot be called {name:?}", directory.display())]
    Name {
        /// The directory.
        directory: PathBuf,
        /// The name.
        name: String,
    },
    /// A system call failed.
    #[error("{}: {step}: {source}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Makes a farm, or renews one that was made here.
///
/// # Errors
/// [`FarmError`].
pub fn make_farm(farm: &Farm) -> Result<FarmMade, FarmError> {
    let directory = PathBuf::from(&farm.directory);
    let failed = |step| failure(&directory, step);
    let there = match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed("looking at its place")(error)),
        Ok(_) => true,
    };
    if there {
        match farm_at(&directory).filter(|old| holds_just(&directory, old)) {
            None => return Err(FarmError::InTheWay { directory }),
            Some(old) if old == *farm => return Ok(FarmMade::Already),
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
    let text = serde_json::to_vec_pretty(farm).map_err(io::Error::from).map_err(failed("writing its description"))?;
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

/// Removes a farm that was made here; `false` where nothing stands there.
///
/// # Errors
/// [`FarmError::InTheWay`] where it was not made here or holds more than its links.
pub fn remove_farm(directory: &Path) -> Result<bool, FarmError> {
    if fs::symlink_metadata(directory).is_err() {
        return Ok(false);
    }
    match farm_at(directory) {
        Some(farm) if holds_just(directory, &farm) => {
            // First out of its place in one step, so that no half of it is ever seen.
            let away = TemporaryDirectory::instead_of(directory).map_err(failure(directory, "taking it away"))?;
            drop(away);
            Ok(true)
        }
        _ => Err(FarmError::InTheWay { directory: directory.into() }),
    }
}

/// The farm that stands at a directory; `None` where there is none that was made here.
#[must_use]
pub fn farm_at(directory: &Path) -> Option<Farm> {
    if !fs::symlink_metadata(directory).ok()?.is_dir() {
        return None;
    }
    serde_json::from_slice(&fs::read(directory.join(MARKER)).ok()?).ok()
}

/// Whether a directory holds the links of a farm, its description and nothing else.
fn holds_just(directory: &Path, farm: &Farm) -> bool {
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
