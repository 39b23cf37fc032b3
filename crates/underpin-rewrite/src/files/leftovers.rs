//! What killed runs left behind: removed, or completed if a half-done change is worse than either state.
//!
//! A leftover of one file is only a copy that was never renamed into place. A file with several names takes several
//! renames; killed between two of them, some names lead to the new file and some to the old one, and a program that
//! loads it by both would map it twice. The links for the other names are all made before the first rename, so the next
//! run can do the rest: if the leftover and its target are the two sides of one binding, proven by the record, the
//! leftover takes its place.

use super::ReplaceError;
use super::farm::MARKER;
use super::temporary::{Claim, is_temporary, target_of};
use crate::bytes::{record, undo};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What was found, and what was done with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Temporary files that were removed.
    pub removed: Vec<PathBuf>,
    /// Names that lead to the new file now, as its other names do.
    pub finished: Vec<PathBuf>,
}

/// Handles what killed runs left in a directory (`.NAME.underpin-PID-N` that no process holds).
///
/// # Errors
/// If the directory cannot be read. A leftover that cannot be removed stays.
pub fn clean(directory: &Path) -> Result<Leftovers, ReplaceError> {
    let failed = || ReplaceError::io(directory, "looking for temporary files of earlier runs");
    let mut found = Leftovers::default();
    for entry in fs::read_dir(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        if is_temporary(&entry.file_name()) {
            // What cannot be handled is left to the next run.
            let _ = deal_with(&entry, &mut found);
        }
    }
    Ok(found)
}

fn deal_with(entry: &DirEntry, found: &mut Leftovers) -> io::Result<()> {
    let (kind, path) = (entry.file_type()?, entry.path());
    if !(kind.is_file() || kind.is_dir() && holds_links_only(&path)) {
        return Ok(());
    }
    // The lock is held until all is done, so that a maker that has only just started sees what happened.
    let Some(claim) = Claim::of(&path, kind.is_dir())? else { return Ok(()) };
    if kind.is_dir() {
        fs::remove_dir_all(&path)?;
        found.removed.push(path);
        return Ok(());
    }
    let target = target_of(&entry.file_name()).map(|name| path.with_file_name(name));
    let links = claim.links()?;
    match target.filter(|target| was_complete(links, target) && counterparts(&path, target)) {
        Some(target) => {
            fs::rename(&path, &target)?;
            found.finished.push(target);
        }
        None => {
            fs::remove_file(&path)?;
            found.removed.push(path);
        }
    }
    Ok(())
}

/// Whether the links for all names had been made, that is, whether the renames had or could have begun: each rename
/// takes a name from the old file, and the new file has as many names as the old one ever had.
fn was_complete(links: u64, target: &Path) -> bool {
    links > 1 && fs::symlink_metadata(target).is_ok_and(|old| links >= old.nlink())
}

/// Whether two files are the original and the bound one of a single binding: then either can be made from the other,
/// and no byte is lost when one replaces the other.
fn counterparts(one: &Path, other: &Path) -> bool {
    let is_file = fs::symlink_metadata(other).is_ok_and(|status| status.is_file());
    let (Ok(one), true, Ok(other)) = (fs::read(one), is_file, fs::read(other)) else { return false };
    let is_bound = |bytes: &[u8]| matches!(record(bytes), Ok(Some(_)));
    let leads_to = |bound: &[u8], original: &[u8]| {
        is_bound(bound) && !is_bound(original) && undo(bound).is_ok_and(|undone| undone == original)
    };
    leads_to(&one, &other) || leads_to(&other, &one)
}

/// Whether a directory is an unfinished farm: it holds links, and at most the description.
fn holds_links_only(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| entry.file_name() == MARKER || entry.file_type().is_ok_and(|kind| kind.is_symlink()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::temporary::Temporary;
    use super::*;

    #[test]
    fn a_leftover_is_removed_and_a_held_temporary_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("prog");
        let (held, _writer) = Temporary::beside(&target).unwrap();
        fs::write(dir.path().join(".prog.underpin-1-7"), "left").unwrap();
        fs::write(dir.path().join("prog"), "kept").unwrap();
        // flock belongs to the open file: another descriptor of this process counts like another process.
        let found = clean(dir.path()).unwrap();
        assert_eq!(found.removed, [dir.path().join(".prog.underpin-1-7")]);
        assert!(held.path().exists() && target.exists());
        let path = held.path().to_path_buf();
        drop(held);
        assert!(!path.exists());
    }
}
