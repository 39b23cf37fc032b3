//! Temporary files beside their targets: a name that is recognised, and a lock that says whether it is still in use.
//!
//! `.NAME.underpin-PID-N` is in the target's directory, so that `$ORIGIN` is the same and the rename stays on one file
//! system. Its maker holds a shared flock(2) on it, which ends with the process however that ends; a file that no
//! process holds is a leftover and may be removed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const MARK: &[u8] = b".underpin-";
/// The longest file name of nearly every file system (`NAME_MAX`, limits.h).
const NAME_MAX: usize = 255;
/// How many names are tried if another process takes the same one at the same moment.
const ATTEMPTS: usize = 64;

/// A temporary file; removed when it is dropped, unless it was renamed to its target.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    /// Holds the lock. Open for reading only: a file that is open for writing cannot be executed (ETXTBSY).
    lock: File,
    placed: bool,
}

impl Temporary {
    /// Makes an empty one beside `target`, with the descriptor to write it. Only the owner may read it until it is
    /// finished.
    pub(super) fn beside(target: &Path) -> io::Result<(Temporary, File)> {
        for _ in 0..ATTEMPTS {
            let path = name_beside(target);
            let writer = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            // Removed by a cleaner between the creation and the lock: another name then.
            match mark(&path) {
                Ok(Some(lock)) if same(&lock, &writer) => {
                    return Ok((Temporary { path, lock, placed: false }, writer));
                }
                Ok(_) => {}
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
    }

    /// Another name for the same file, beside another target.
    pub(super) fn also_beside(&self, target: &Path) -> io::Result<Temporary> {
        for _ in 0..ATTEMPTS {
            let path = name_beside(target);
            match fs::hard_link(&self.path, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Temporary { path, lock: self.lock.try_clone()?, placed: false }),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
    }

    /// A further name, beside `target`, of a file that is elsewhere: to restore an old file.
    pub(super) fn of_existing(file: &Path, target: &Path) -> io::Result<Temporary> {
        let path = name_beside(target);
        fs::hard_link(file, &path)?;
        let lock = File::open(&path)?;
        Ok(Temporary { path, lock, placed: false })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.lock
    }

    /// Renames it to `target` in one step (rename(2)).
    pub(super) fn place(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.placed {
            // If this fails, it is left to the next run.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A temporary directory that holds nothing but underpin's files; removed when it is dropped, unless it was renamed.
#[derive(Debug)]
pub(super) struct TemporaryDirectory {
    path: PathBuf,
    lock: File,
    placed: bool,
}

impl TemporaryDirectory {
    /// Makes an empty one beside `target`.
    pub(super) fn beside(target: &Path) -> io::Result<TemporaryDirectory> {
        for _ in 0..ATTEMPTS {
            let path = name_beside(target);
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other?,
            }
            if let Ok(Some(lock)) = mark(&path) {
                return Ok(TemporaryDirectory { path, lock, placed: false });
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary directory"))
    }

    /// Moves a directory away from its place; it is removed when this is dropped.
    pub(super) fn instead_of(directory: &Path) -> io::Result<TemporaryDirectory> {
        let path = name_beside(directory);
        fs::rename(directory, &path)?;
        let lock = File::open(&path)?;
        Ok(TemporaryDirectory { path, lock, placed: false })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it to disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.lock.sync_all()
    }

    /// Renames it to a path where nothing is.
    pub(super) fn place(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.placed = true;
        Ok(())
    }

    /// Exchanges it with another directory in one step; this then holds the other one.
    pub(super) fn exchange(&mut self, target: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, &self.path, CWD, target, RenameFlags::EXCHANGE)?)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Whether a name is that of a temporary file.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let Some(at) = name.windows(MARK.len()).rposition(|part| part == MARK) else { return false };
    let number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = name[at + MARK.len()..].split(|&byte| byte == b'-');
    name.starts_with(b".")
        && at > 1
        && parts.next().is_some_and(number)
        && parts.next().is_some_and(number)
        && parts.next().is_none()
}

/// The name of the file that a temporary is for; `None` if it is not a temporary, or the name did not fit.
pub(super) fn target_of(name: &OsStr) -> Option<&OsStr> {
    let bytes = name.as_bytes();
    let at = bytes.windows(MARK.len()).rposition(|part| part == MARK)?;
    (is_temporary(name) && bytes.len() < NAME_MAX).then(|| OsStr::from_bytes(&bytes[1..at]))
}

fn name_beside(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mark = [MARK, format!("{}-{count}", std::process::id()).as_bytes()].concat();
    let name = target.file_name().unwrap_or_default().as_bytes();
    let room = NAME_MAX - mark.len() - 1;
    let name = [b".", &name[..name.len().min(room)], &mark].concat();
    target.with_file_name(OsString::from_vec(name))
}

/// Opens what was just made and marks it as in use, with a shared lock: an exclusive one needs a descriptor for writing
/// on NFS (flock(2)), and a file that is open for writing cannot be executed. On a file system without locks there is
/// none, and leftovers stay. `None` if a cleaner was quicker and the name now leads nowhere, or elsewhere.
fn mark(path: &Path) -> io::Result<Option<File>> {
    let file = match open(path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    Ok(still_there(&file, path)?.then_some(file))
}

/// A leftover that no other process uses, locked until this is dropped.
#[derive(Debug)]
pub(super) struct Claim(File);

impl Claim {
    /// Claims a leftover; `None` if it is still in use, or if that is unknown.
    pub(super) fn of(path: &Path, is_directory: bool) -> io::Result<Option<Claim>> {
        let file = match open(path, !is_directory) {
            // Not writable here: then, on NFS too, only its owner, who opens it another way, can find out.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(path, false)?,
            // It is being executed, so it is in use.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => return Ok(None),
            other => other?,
        };
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let claim = Claim(file);
        Ok(still_there(&claim.0, path)?.then_some(claim))
    }

    /// How many names the file has.
    pub(super) fn links(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.nlink())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting has the descriptor until it calls exec,
        // and with it the lock (flock(2)). The next name of the same file would then look as if it were in use.
        let _ = self.0.unlock();
    }
}

fn open(path: &Path, write: bool) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).write(write).custom_flags(flags.bits() as i32).open(path)
}

fn still_there(file: &File, path: &Path) -> io::Result<bool> {
    let here = file.metadata()?;
    Ok(fs::symlink_metadata(path).is_ok_and(|there| (here.dev(), here.ino()) == (there.dev(), there.ino())))
}

fn same(one: &File, other: &File) -> bool {
    matches!((one.metadata(), other.metadata()), (Ok(one), Ok(other)) if (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_temporary() {
        for name in [".libx.so.1.underpin-12-0", ".a.underpin-1-2", ".b.underpin-x.underpin-3-4"] {
            assert!(is_temporary(OsStr::new(name)), "{name}");
        }
        for name in
            ["libx.so.underpin-12-0", ".underpin-1-2", ".a.underpin-1", ".a.underpin-1-2-3", ".a.underpin-1-x", ".a"]
        {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_name_of_the_greatest_length_still_has_a_temporary() {
        let long = "n".repeat(NAME_MAX);
        let beside = name_beside(&Path::new("/d").join(&long));
        assert_eq!(beside.file_name().unwrap().len(), NAME_MAX);
        assert!(is_temporary(beside.file_name().unwrap()));
        assert_eq!(target_of(beside.file_name().unwrap()), None, "it does not say whose it is");
        assert_eq!(target_of(OsStr::new(".a.b.underpin-1-2")), Some(OsStr::new("a.b")));
    }

    #[test]
    fn a_claim_ends_when_it_is_dropped_also_while_a_starting_child_has_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".prog.underpin-1-0");
        fs::write(&path, "left").unwrap();
        let claim = Claim::of(&path, false).unwrap().unwrap();
        // What a child inherits by fork: the same open file.
        let _in_the_child = claim.0.try_clone().unwrap();
        assert!(Claim::of(&path, false).unwrap().is_none(), "claimed twice");
        drop(claim);
        assert!(Claim::of(&path, false).unwrap().is_some(), "the lock outlived the claim");
    }
}
