//! Where objects on board are written out so that a loader can map them: a private folder, by content.
//!
//! A folder counts only if it and its files belong to this user and no other may write to them, if it may be executed
//! from, and if its path can be put into LD_PRELOAD. A file is used only if its bytes are those of the object, compared
//! each time; it is made under another name and renamed, so that no process ever maps half of it.

use crate::on_board::Object;
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder for objects.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// There is no suitable folder.
#[derive(Debug, thiserror::Error)]
#[error("no place to write the allocator's object to ({}); set XDG_CACHE_HOME to a folder of yours that programs may be mapped from", reasons.join("; "))]
pub struct StoreError {
    /// One sentence for each folder that was tried.
    pub reasons: Vec<String>,
}

/// Mode bits of others that may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

impl Store {
    /// The places in their order: `$XDG_CACHE_HOME/underpin`, `~/.cache/underpin`, a folder of this user in `$TMPDIR`
    /// or `/tmp`.
    #[must_use]
    pub fn usual_places() -> Vec<PathBuf> {
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        let shared = set("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
        let user = our_id().map_or_else(|_| "unknown".to_owned(), |id| id.to_string());
        cache.map(|cache| cache.join("underpin")).into_iter().chain([shared.join(format!("underpin-{user}"))]).collect()
    }

    /// The first of these folders that is suitable, made if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`] with what is wrong with each.
    pub fn open(places: &[PathBuf]) -> Result<Store, StoreError> {
        let mut reasons = Vec::new();
        for place in places {
            match usable(place) {
                Ok(()) => return Ok(Store { folder: place.clone() }),
                Err(reason) => reasons.push(format!("{}: {reason}", place.display())),
            }
        }
        Err(StoreError { reasons })
    }

    /// Writes an object out, unless a file with exactly its bytes is there already, and returns its path.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written.
    pub fn write(&self, object: &Object) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(format!("{}-{}.so", object.name, object.sha256));
        if holds(&path, object.bytes) {
            return Ok(path);
        }
        self.replace(&path, object.bytes)
            .map(|()| path.clone())
            .map_err(|error| StoreError { reasons: vec![format!("{}: {error}", path.display())] })
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let new = self.folder.join(format!(".new-{}", std::process::id()));
        // Left by a killed run whose process had the same id.
        let _ = fs::remove_file(&new);
        let result = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(&new)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&new, path));
        if result.is_err() {
            let _ = fs::remove_file(&new);
        }
        result
    }
}

/// Whether a file of ours holds exactly these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let open = || -> io::Result<bool> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let metadata = file.metadata()?;
        let ours = metadata.is_file() && metadata.uid() == our_id()? && metadata.mode() & WRITABLE_BY_OTHERS == 0;
        Ok(ours && metadata.len() == bytes.len() as u64 && same(file, bytes)?)
    };
    open().unwrap_or(false)
}

fn same(file: File, bytes: &[u8]) -> io::Result<bool> {
    let mut held = Vec::with_capacity(bytes.len() + 1);
    file.take(bytes.len() as u64 + 1).read_to_end(&mut held)?;
    Ok(held == bytes)
}

fn usable(folder: &Path) -> Result<(), String> {
    let text = folder.as_os_str().as_encoded_bytes();
    if text.iter().any(|byte| b" \t\n\r\x0b\x0c:$".contains(byte)) {
        return Err("LD_PRELOAD has no way to write a path with a space, a colon or a dollar sign".to_owned());
    }
    let said = |error: io::Error| error.to_string();
    let us = our_id().map_err(said)?;
    if fs::symlink_metadata(folder).is_err() {
        make(folder, us)?;
    }
    let metadata = fs::symlink_metadata(folder).map_err(said)?;
    if !metadata.is_dir() {
        return Err("not a folder".to_owned());
    }
    if metadata.uid() != us || metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!(
            "belongs to user {} with mode {:o}, and must be ours alone to write",
            metadata.uid(),
            metadata.mode() & 0o7777
        ));
    }
    let system = statvfs(folder).map_err(|error| error.to_string())?;
    if system.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err("on a file system mounted noexec".to_owned());
    }
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("on a file system mounted read-only".to_owned());
    }
    Ok(())
}

/// Makes a folder below one that is ours, or in which every user may make folders. With another user's HOME in the
/// environment (`sudo`), nothing is made there.
fn make(folder: &Path, us: u32) -> Result<(), String> {
    let above = folder.ancestors().skip(1).find_map(|above| fs::metadata(above).ok()).ok_or("no folder above it")?;
    if above.uid() != us && above.mode() & STICKY == 0 {
        return Err(format!("the folder above it belongs to user {}", above.uid()));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| error.to_string())
}

/// This process's effective user.
pub(crate) fn our_id() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const OBJECT: Object = Object { name: "some", sha256: "0123", bytes: b"the bytes" };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn an_object_is_written_once_and_a_changed_one_is_replaced() {
        let dir = folder();
        let store = Store::open(&[dir.path().join("a/b")]).unwrap();
        let path = store.write(&OBJECT).unwrap();
        let first = fs::metadata(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), OBJECT.bytes);
        assert_eq!(store.write(&OBJECT).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino(), "written again");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"other bytes").unwrap();
        store.write(&OBJECT).unwrap();
        assert_eq!(fs::read(&path).unwrap(), OBJECT.bytes);
        let left: Vec<_> = fs::read_dir(dir.path().join("a/b")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn a_link_in_the_objects_place_is_not_followed() {
        let dir = folder();
        let store = Store::open(&[dir.path().to_owned()]).unwrap();
        let path = store.write(&OBJECT).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, OBJECT.bytes).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&elsewhere, &path).unwrap();
        store.write(&OBJECT).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_passed_over() {
        let dir = folder();
        let (open, private) = (dir.path().join("open"), dir.path().join("private"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let link = dir.path().join("link");
        symlink(dir.path(), &link).unwrap();
        let odd = dir.path().join("with a space");
        let error = Store::open(&[open.clone(), link.clone(), odd.clone()]).unwrap_err();
        assert_eq!(error.reasons.len(), 3, "{error}");
        assert!(!odd.exists());
        let store = Store::open(&[open, link, odd, private.clone()]).unwrap();
        assert_eq!(store.folder, private);
        assert_eq!(fs::metadata(private).unwrap().mode() & 0o777, 0o700);
    }
}
