//! The folder of a build: one run at a time works in it, and what a killed run left is not trusted.

use crate::BuildError;
use crate::sdk::TOOLS;
use crate::toolchain::SUPPORT_ARCHIVE;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_sys::end_requests;

/// Locked by the run that works in the folder; its text names that process.
const LOCK: &str = "lock";
/// Exists while commands run. If the next run finds it, they were interrupted.
const UNFINISHED: &str = "unfinished";
/// What a killed run may leave as it is: cargo can tell a file that is whole from one that it was writing (`target`), and
/// the names of tools are written by [`write`] and [`link`] in one step, and read by builds that hold no lock (`tools`).
/// Nothing else is trusted: make goes by times alone, a copy may be missing files, and `ar` reads the archive that it adds to.
const TRUSTED: [&str; 4] = [LOCK, UNFINISHED, "target", TOOLS];

/// The lock on a folder or a file; it ends with this value, or with the process, however that ends.
#[derive(Debug)]
pub struct WorkLock {
    file: File,
}

impl WorkLock {
    /// Locks the file at a path, which is made if it is not there, or returns who has locked it.
    ///
    /// # Errors
    /// If the file cannot be written to.
    pub fn of(path: &Path) -> io::Result<Result<WorkLock, Holder>> {
        // Not truncated: the text is the holder's.
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                Ok(Err(Holder { process: text.trim().parse().ok() }))
            }
            // A file system without locks does not stop anybody: two runs at the same time are unlikely.
            Ok(()) | Err(TryLockError::Error(_)) => {
                file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()))?;
                Ok(Ok(WorkLock { file }))
            }
        }
    }
}

impl Drop for WorkLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting has the descriptor until it calls exec,
        // and with it the lock (flock(2)). Unlocking ends it for all who have the descriptor.
        let _ = self.file.unlock();
    }
}

/// The process that works in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process, as its own namespace numbers it.
    pub process: Option<u32>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another process"),
        }
    }
}

/// What waiting for a lock came to.
#[derive(Debug)]
pub enum Waited {
    /// It is held now.
    Locked(WorkLock),
    /// This process was asked to end.
    Ended,
    /// Who has it still has it.
    Late(Holder),
}

/// Time between the first two looks whether the holder has ended, doubled from look to look: threads of one run wait for each
/// other, too, most often for less than this.
const FIRST_LOOK: Duration = Duration::from_millis(1);
/// The most that it grows to.
const LONGEST_LOOK: Duration = Duration::from_millis(50);

impl Waited {
    /// Locks as `lock` does, if need be after the holder has ended, for as long as `patience`. Who is waited for is told once.
    ///
    /// # Errors
    /// Those of `lock`.
    pub fn for_lock<E>(
        patience: Duration,
        mut lock: impl FnMut() -> Result<Result<WorkLock, Holder>, E>,
        mut told: impl FnMut(&Holder),
    ) -> Result<Waited, E> {
        let (begun, mut look) = (Instant::now(), FIRST_LOOK);
        loop {
            let holder = match lock()? {
                Ok(lock) => return Ok(Waited::Locked(lock)),
                Err(holder) => holder,
            };
            if end_requests() > 0 {
                return Ok(Waited::Ended);
            }
            if begun.elapsed() >= patience {
                return Ok(Waited::Late(holder));
            }
            if look == FIRST_LOOK {
                told(&holder);
            }
            std::thread::sleep(look);
            look = (look * 2).min(LONGEST_LOOK);
        }
    }
}

/// Locks a folder, or returns who has locked it.
///
/// # Errors
/// If the folder cannot be written to.
pub(crate) fn lock(folder: &Path) -> Result<Result<WorkLock, Holder>, BuildError> {
    fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
    let path = folder.join(LOCK);
    WorkLock::of(&path).map_err(BuildError::io(&path))
}

/// Records that commands begin to write into the folder, after removing the results of a killed run.
///
/// # Errors
/// If a file cannot be written or removed.
pub(crate) fn begin(folder: &Path) -> Result<(), BuildError> {
    let mark = folder.join(UNFINISHED);
    if mark.exists() {
        for entry in fs::read_dir(folder).map_err(BuildError::io(folder))? {
            let entry = entry.map_err(BuildError::io(folder))?;
            if !TRUSTED.iter().any(|name| entry.file_name() == *name) {
                remove(&entry.path())?;
            }
        }
        // The one file there that a command makes.
        remove(&folder.join(TOOLS).join(SUPPORT_ARCHIVE))?;
    }
    fs::write(&mark, "").map_err(BuildError::io(&mark))
}

/// Records that the commands have ended by themselves: what they left is whole.
pub(crate) fn finish(folder: &Path) {
    // If it stays, the next run builds more than it had to.
    let _ = fs::remove_file(folder.join(UNFINISHED));
}

/// Removes what is at a path, a folder with all that is in it; a link alone, not what it leads to.
pub(crate) fn remove(path: &Path) -> Result<(), BuildError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(BuildError::io(path))
}

/// Writes a file in one step: a build by variables (`--print-env`) reads it without a lock. Under the lock no other
/// process uses the temporary name, and what a killed run left of it is overwritten.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let new = beside(path);
    if fs::read(path).is_ok_and(|there| there == bytes) {
        let _ = fs::remove_file(&new);
        return Ok(());
    }
    fs::write(&new, bytes).map_err(BuildError::io(&new))?;
    fs::rename(&new, path).map_err(BuildError::io(path))
}

/// Makes a symbolic link in one step.
///
/// # Errors
/// If it cannot be made.
pub(crate) fn link(to: &Path, path: &Path) -> Result<(), BuildError> {
    let new = beside(path);
    let _ = fs::remove_file(&new);
    if fs::read_link(path).is_ok_and(|there| there == to) {
        return Ok(());
    }
    std::os::unix::fs::symlink(to, &new).map_err(BuildError::io(&new))?;
    fs::rename(&new, path).map_err(BuildError::io(path))
}

/// The name under which a file is written before it gets its own.
pub(crate) fn beside(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".underpin-new");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_holds_the_folder_and_gets_it_when_that_one_ends() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap().unwrap();
        let holder = lock(folder.path()).unwrap().unwrap_err();
        assert_eq!(holder.process, Some(std::process::id()));
        // What a child of another thread has between its fork and its exec.
        let inherited = first.file.try_clone().unwrap();
        drop(first);
        assert!(lock(folder.path()).unwrap().is_ok());
        drop(inherited);
    }

    #[test]
    fn who_is_waited_for_is_told_once_and_named_at_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let _first = lock(folder.path()).unwrap().unwrap();
        let mut told = 0;
        let waited = Waited::for_lock(FIRST_LOOK * 5, || lock(folder.path()), |_| told += 1).unwrap();
        assert!(matches!(waited, Waited::Late(holder) if holder.process == Some(std::process::id())));
        assert_eq!(told, 1);
    }

    #[test]
    fn of_what_a_killed_run_left_only_cargos_files_and_the_names_of_tools_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["source-12", "cmake-12", "install", "target", TOOLS] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("half.o"), "half").unwrap();
        }
        let archive = at(TOOLS).join(SUPPORT_ARCHIVE);
        for file in [at("source-12.list"), at("find_object.o"), archive.clone()] {
            fs::write(file, "half").unwrap();
        }
        begin(folder.path()).unwrap();
        finish(folder.path());
        begin(folder.path()).unwrap();
        assert!(at("source-12/half.o").exists() && archive.exists(), "the run before had finished");
        begin(folder.path()).unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| TRUSTED.iter().any(|trusted| name == trusted)), "{left:?}");
        assert!(at("target/half.o").exists() && at("tools/half.o").exists() && !archive.exists());
    }

    #[test]
    fn a_leftover_of_a_killed_write_is_gone_after_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.o");
        for _ in 0..2 {
            fs::write(beside(&path), "half").unwrap();
            write(&path, b"whole").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            assert!(!beside(&path).exists());
        }
        let link_path = folder.path().join("cc");
        for to in ["/a", "/b", "/b"] {
            std::os::unix::fs::symlink("/half", beside(&link_path)).unwrap();
            link(Path::new(to), &link_path).unwrap();
            assert_eq!(fs::read_link(&link_path).unwrap(), Path::new(to));
            assert!(fs::symlink_metadata(beside(&link_path)).is_err());
        }
    }
}
