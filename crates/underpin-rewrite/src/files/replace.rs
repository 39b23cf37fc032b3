//! Replaces the bytes of one file: written beside it, given its attributes, verified, then renamed over it.
//!
//! The target is held by an open descriptor and an exclusive flock(2) from before it is read until after the rename, so
//! that two underpins never work on one file; that no other process changed it meanwhile is checked last, right before
//! the rename. Any failure leaves the old file and no temporary.

use super::attributes::Attributes;
use super::temporary::Temporary;
use super::{Disagreement, FileIdentity, HardLinks, Keep, ReplaceError, Replaced, Times, own};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A lock that another thread of this process has released remains for a moment in a child that was just forked, until
/// its exec; this is how often the lock is tried.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_WAIT: Duration = Duration::from_millis(5);

/// A file that is held for a change: read it, make new bytes of it, replace it.
#[derive(Debug)]
pub struct HeldFile {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
}

impl HeldFile {
    /// Opens the file behind `path` (symbolic links are followed and stay) and takes its lock; if `planned` is given,
    /// only if the file is still in that state.
    ///
    /// # Errors
    /// [`ReplaceError::Busy`], [`ReplaceError::Changed`], [`ReplaceError::NotAFile`], or the error of open(2).
    pub fn open(path: &Path, planned: Option<&FileIdentity>) -> Result<HeldFile, ReplaceError> {
        let real = fs::canonicalize(path).map_err(ReplaceError::io(path, "finding it"))?;
        if !fs::symlink_metadata(&real).is_ok_and(|metadata| metadata.is_file()) {
            return Err(ReplaceError::NotAFile { path: real });
        }
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(&real)
            .map_err(ReplaceError::io(&real, "opening it"))?;
        if !lock(&file) {
            return Err(ReplaceError::Busy { path: real });
        }
        let metadata = file.metadata().map_err(ReplaceError::io(&real, "reading its status"))?;
        if !metadata.is_file() {
            return Err(ReplaceError::NotAFile { path: real });
        }
        let target = HeldFile { identity: FileIdentity::of(&metadata), path: real, file };
        target.unchanged_since(planned.unwrap_or(&target.identity))?;
        Ok(target)
    }

    /// The file, symbolic links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its state when it was opened.
    #[must_use]
    pub fn identity(&self) -> &FileIdentity {
        &self.identity
    }

    /// All its bytes.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn read(&self) -> Result<Vec<u8>, ReplaceError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.identity.size).unwrap_or(0));
        let mut file = &self.file;
        io::Seek::rewind(&mut file).map_err(ReplaceError::io(&self.path, "reading it"))?;
        file.read_to_end(&mut bytes).map_err(ReplaceError::io(&self.path, "reading it"))?;
        Ok(bytes)
    }

    /// Replaces it with `new`. `verify` is called with the path of the finished copy, which is in the same directory
    /// and has every attribute; a rejected copy is never renamed into place.
    ///
    /// # Errors
    /// [`ReplaceError`]; the old file is there then, and no temporary is left.
    pub fn replace(
        &self,
        new: &[u8],
        keep: &Keep,
        verify: impl FnOnce(&Path) -> Result<(), Disagreement>,
    ) -> Result<Replaced, ReplaceError> {
        if own::is_own(self.identity.device, self.identity.inode) {
            return Err(ReplaceError::OwnFile { path: self.path.clone() });
        }
        let metadata = self.file.metadata().map_err(ReplaceError::io(&self.path, "reading its status"))?;
        let others = self.other_names(metadata.nlink(), keep)?;
        let attributes = Attributes::read(&self.file, &metadata, &self.path)?;
        let copy = self.copy(new, &attributes, keep)?;
        verify(copy.path()).map_err(|disagreement| ReplaceError::Rejected { path: self.path.clone(), disagreement })?;
        // After the verification, which takes its time, and right before the rename: a change made meanwhile by a
        // process that takes no lock is not overwritten.
        self.unchanged_since(&self.identity)?;
        self.place(copy, others)
    }

    /// Lets `look` examine other bytes of this file: in a copy that is in the same directory, has every attribute and
    /// is removed afterwards.
    ///
    /// # Errors
    /// If no copy can be made.
    pub fn beside<R>(&self, bytes: &[u8], look: impl FnOnce(&Path) -> R) -> Result<R, ReplaceError> {
        let metadata = self.file.metadata().map_err(ReplaceError::io(&self.path, "reading its status"))?;
        let attributes = Attributes::read(&self.file, &metadata, &self.path)?;
        let copy = self.copy(bytes, &attributes, &Keep::default())?;
        Ok(look(copy.path()))
    }

    /// The finished copy, closed for writing so that it can be executed.
    fn copy(&self, new: &[u8], attributes: &Attributes, keep: &Keep) -> Result<Temporary, ReplaceError> {
        let failed = |step| move |error| self.failure(step, error, new.len());
        let (copy, mut writer) = Temporary::beside(&self.path).map_err(failed("making a file beside it"))?;
        writer.write_all(new).map_err(failed("writing the file beside it"))?;
        // After the bytes: write(2) removes set-user-ID and capabilities from a file.
        attributes.apply(&writer, &self.path)?;
        if keep.times == Times::Kept {
            attributes.apply_times(&writer, &self.path)?;
        }
        // Before the rename, or a crash could leave an empty file under the old name.
        writer.sync_all().map_err(failed("writing the file beside it to disk"))?;
        Ok(copy)
    }

    fn failure(&self, step: &'static str, error: io::Error, size: usize) -> ReplaceError {
        let path = self.path.clone();
        match error.kind() {
            io::ErrorKind::PermissionDenied => ReplaceError::ReadOnlyDirectory { path },
            io::ErrorKind::ReadOnlyFilesystem => ReplaceError::ReadOnlyFileSystem { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                ReplaceError::NoSpace { path, size: size as u64 }
            }
            _ => ReplaceError::Io { path, step, source: error },
        }
    }

    fn unchanged_since(&self, then: &FileIdentity) -> Result<(), ReplaceError> {
        let changed = |what: String| ReplaceError::Changed { path: self.path.clone(), what };
        let metadata = fs::symlink_metadata(&self.path).map_err(|error| changed(error.to_string()))?;
        match then.difference(&FileIdentity::of(&metadata)) {
            Some(what) => Err(changed(what.into())),
            None => Ok(()),
        }
    }

    /// The other names that must lead to the new file too.
    fn other_names(&self, links: u64, keep: &Keep) -> Result<Vec<PathBuf>, ReplaceError> {
        let known = match &keep.hard_links {
            HardLinks::Break => return Ok(Vec::new()),
            _ if links <= 1 => return Ok(Vec::new()),
            HardLinks::Refuse => &[][..],
            HardLinks::Relink(names) => names,
        };
        let same = |path: &Path| FileIdentity::at(path).is_ok_and(|other| other.same_file(&self.identity));
        let names: BTreeSet<PathBuf> = known
            .iter()
            .filter_map(|name| spelled_once(name))
            .filter(|name| *name != self.path && same(name))
            .collect();
        let known = names.len() as u64 + 1;
        if known < links {
            return Err(ReplaceError::HardLinks { path: self.path.clone(), links, known });
        }
        Ok(names.into_iter().collect())
    }

    /// The rename, and those of the other names.
    fn place(&self, mut copy: Temporary, others: Vec<PathBuf>) -> Result<Replaced, ReplaceError> {
        let failed = |step| move |error| self.failure(step, error, 0);
        // Everything that can fail for lack of space or rights comes before the first rename.
        let linked = others
            .iter()
            .map(|name| copy.also_beside(name))
            .collect::<io::Result<Vec<Temporary>>>()
            .map_err(failed("linking the new file to another name"))?;
        copy.place(&self.path).map_err(failed("renaming the new file into its place"))?;
        let mut done = vec![self.path.clone()];
        for (mut temporary, name) in linked.into_iter().zip(&others) {
            if let Err(error) = temporary.place(name) {
                take_back(&done, name);
                return Err(self.failure("renaming the new file into the place of another name", error, 0));
            }
            done.push(name.clone());
        }
        for directory in done.iter().filter_map(|name| name.parent()).collect::<BTreeSet<_>>() {
            sync_directory(directory)
                .map_err(ReplaceError::io(&self.path, "it was replaced, but syncing its directory"))?;
        }
        let now =
            copy.file().metadata().map_err(ReplaceError::io(&self.path, "it was replaced, but reading its status"))?;
        Ok(Replaced { path: self.path.clone(), now: FileIdentity::of(&now), relinked: others })
    }
}

/// Takes the lock of a file; `false` if another process holds it. A file system without locks does not prevent the
/// change: that the file is unchanged is checked before the rename in any case.
fn lock(file: &File) -> bool {
    let mut attempts = 0;
    while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        if attempts == LOCK_ATTEMPTS {
            return false;
        }
        attempts += 1;
        std::thread::sleep(LOCK_WAIT);
    }
    true
}

/// Replaces the file at `target` with `new` if it is still as `planned`: [`HeldFile::open`] and [`HeldFile::replace`]
/// in one.
///
/// # Errors
/// As for those two.
pub fn replace(
    target: &Path,
    planned: &FileIdentity,
    new: &[u8],
    keep: &Keep,
    verify: impl FnOnce(&Path) -> Result<(), Disagreement>,
) -> Result<Replaced, ReplaceError> {
    HeldFile::open(target, Some(planned))?.replace(new, keep, verify)
}

/// Makes names lead back to the old file, to which `still_old` leads. They were renamed a moment ago, so only a further
/// failure of the same file system can leave one of them new.
fn take_back(names: &[PathBuf], still_old: &Path) {
    for name in names {
        let _ = Temporary::of_existing(still_old, name).and_then(|mut old| old.place(name));
    }
}

/// A path with its directory's symbolic links resolved and its own last component unchanged.
fn spelled_once(path: &Path) -> Option<PathBuf> {
    let name: &OsStr = path.file_name()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let path = fs::canonicalize(parent).ok()?.join(name);
    fs::symlink_metadata(&path).ok()?.is_file().then_some(path)
}

/// Makes a rename survive a crash. Some network file systems have no fsync of directories and return EINVAL.
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}
