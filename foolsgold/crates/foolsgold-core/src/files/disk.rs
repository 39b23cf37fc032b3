//! A folder on disk.
//!
//! Every call looks at the disk, so development mode sees a changed file at the next load. No path leads out of the
//! folder lexically (by `..`); a symlink may, since deployments link shared folders into an application.

use super::{Content, FileError, Files, MAX_FILE, VPath};
use bytes::Bytes;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The files below one folder, under their own paths.
#[derive(Debug)]
pub struct Disk {
    root: VPath,
}

impl Disk {
    /// Opens a folder; symlinks in its path are resolved.
    ///
    /// # Errors
    /// If it does not exist, or its path is not UTF-8.
    pub fn new(folder: &Path) -> std::io::Result<Disk> {
        let folder = folder.canonicalize()?;
        let root = VPath::from_disk(&folder).ok_or_else(|| std::io::Error::other("its name is not UTF-8"))?;
        Ok(Disk { root })
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &VPath {
        &self.root
    }
}

impl Files for Disk {
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
        if path.below(&self.root).is_none() {
            return Ok(None);
        }
        let failed = |error| FileError::Read { path: path.clone(), error };
        // Checked before opening: opening a FIFO would wait for its writer.
        match std::fs::metadata(path.as_str()) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Ok(None),
            Err(error) if absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let mut bytes = Vec::new();
        let file = File::open(path.as_str()).map_err(failed)?;
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        let size = bytes.len() as u64;
        if size > MAX_FILE {
            return Err(FileError::TooLarge { path: path.clone(), size });
        }
        Ok(Some(Content::Plain(Bytes::from(bytes))))
    }

    fn identity(&self, path: &VPath) -> Option<VPath> {
        path.below(&self.root)?;
        let real = Path::new(path.as_str()).canonicalize().ok()?;
        real.is_file().then(|| VPath::from_disk(&real))?
    }

    fn real_folder(&self, path: &VPath) -> VPath {
        let real = Path::new(path.as_str()).canonicalize().ok().and_then(|real| VPath::from_disk(&real));
        // A folder outside the root could not be read under its real path.
        real.filter(|real| *real == self.root || real.below(&self.root).is_some()).unwrap_or_else(|| path.clone())
    }

    fn on_disk(&self, path: &VPath) -> Option<PathBuf> {
        (*path == self.root || path.below(&self.root).is_some()).then(|| PathBuf::from(path.as_str()))
    }
}

fn absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Disk) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        std::fs::write(folder.path().join("app/a.rb"), "1").unwrap();
        std::fs::write(folder.path().join("secret"), "2").unwrap();
        let disk = Disk::new(&folder.path().join("app")).unwrap();
        (folder, disk)
    }

    #[test]
    fn a_file_is_read_and_a_folder_or_nothing_is_no_file() {
        let (_folder, disk) = folder();
        let read = |name: &str| disk.read(&disk.root().join(name).unwrap()).unwrap();
        assert_eq!(read("a.rb"), Some(Content::Plain(Bytes::from_static(b"1"))));
        assert_eq!(read("."), None);
        assert_eq!(read("b.rb"), None);
        assert_eq!(read("a.rb/b"), None);
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder_but_a_link_can() {
        let (folder, disk) = folder();
        let outside = disk.root().join("../secret").unwrap();
        assert_eq!(disk.read(&outside).unwrap(), None);
        assert_eq!(disk.identity(&outside), None);
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("app/shared")).unwrap();
        let shared = disk.root().join("shared").unwrap();
        assert_eq!(disk.read(&shared).unwrap(), Some(Content::Plain(Bytes::from_static(b"2"))));
    }

    #[test]
    fn a_fifo_is_no_file_and_nobody_waits_for_its_writer() {
        let (folder, disk) = folder();
        let status = std::process::Command::new("mkfifo").arg(folder.path().join("app/fifo.rb")).status().unwrap();
        assert!(status.success());
        assert_eq!(disk.read(&disk.root().join("fifo.rb").unwrap()).unwrap(), None);
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_unread() {
        let (folder, disk) = folder();
        File::create(folder.path().join("app/big")).unwrap().set_len(MAX_FILE + 5).unwrap();
        let refused = disk.read(&disk.root().join("big").unwrap()).unwrap_err();
        assert!(refused.to_string().contains("at most 67108864"), "{refused}");
    }
}
