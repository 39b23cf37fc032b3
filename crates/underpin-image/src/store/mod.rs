//! Fetched packages, by content: what an image is made from and this host does not have.
//!
//! Debian's packages come through apt with folders of its own: apt checks the suite's signed index, and the index has the
//! SHA-256 of every package. A file gets its name only when its bytes are checked and on the disk, so that a run that is killed leaves
//! nothing half-made. An image's lock names the package again; with it, and the file, no network is asked.

mod apt;
mod debs;
mod kernel;
mod parts;
mod source;

pub use apt::meta_package;
pub use kernel::Kernel;
pub use parts::{Firmware, Parts};

use crate::{ImageError, lock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use underpin_build::WorkLock;

/// Whether the network may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For what is missing.
    Online,
    /// What is missing is an error.
    Offline,
}

/// A package of Debian's archive, exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Debian's name of the processor.
    pub architecture: String,
    /// The release of Debian that has it.
    pub suite: String,
    /// Of the whole package, as the signed index has it.
    pub sha256: String,
    /// The source package, with its version.
    pub source: String,
}

/// The folder of everything that was fetched.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Store {
        Store { folder: folder.into() }
    }

    /// The kernel for a processor: the one that is locked, or the newest of the suite.
    ///
    /// # Errors
    /// If it has to be fetched and cannot be, or the archive no longer has the locked one.
    pub fn kernel(
        &self,
        target: crate::Target,
        locked: Option<&Package>,
        access: Access,
    ) -> Result<Kernel, ImageError> {
        kernel::get(self, target, locked, access)
    }

    /// What a disk or card with this kernel needs besides it; `locked` is the firmware's package, if the image names one.
    ///
    /// # Errors
    /// As for [`Store::kernel`], and if a package lacks a part.
    pub fn parts(
        &self,
        target: crate::Target,
        kernel: &Kernel,
        locked: Option<&Package>,
        access: Access,
    ) -> Result<Parts, ImageError> {
        parts::get(self, target, kernel, locked, access)
    }

    /// The newest kernel of the suite as the archive has it now.
    ///
    /// # Errors
    /// If the archive cannot be reached.
    pub fn newest_kernel(&self, target: crate::Target) -> Result<Package, ImageError> {
        let _lock = self.lock()?;
        let archive = apt::Archive::open(&self.folder, apt::SUITE, target.debian())?;
        archive.update()?;
        archive.kernel(target)
    }

    /// The file of a package, fetched if it is not there; call it under the lock.
    fn package(&self, package: &Package, access: Access) -> Result<PathBuf, ImageError> {
        let path = self.folder.join("packages").join(format!("{}.deb", package.sha256));
        if path.exists() {
            return Ok(path);
        }
        let name = || format!("{} {}", package.name, package.version);
        if access == Access::Offline {
            return Err(ImageError::Offline { what: name() });
        }
        let archive = apt::Archive::open(&self.folder, &package.suite, &package.architecture)?;
        let staging = self.staging()?;
        let file = archive.download(package, &staging)?;
        let found = sha256_of(&file)?;
        if found != package.sha256 {
            return Err(ImageError::Checksum { what: name(), expected: package.sha256.clone(), found });
        }
        settle(&file, &path)?;
        let _ = fs::remove_dir_all(&staging);
        Ok(path)
    }

    /// An empty folder for what is not checked yet. What a killed run left there is gone; call it under the lock.
    fn staging(&self) -> Result<PathBuf, ImageError> {
        let folder = self.folder.join("incoming");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(ImageError::io(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(ImageError::io(&folder))?;
        Ok(folder)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Held while something is fetched: a second run waits, and finds it there.
    fn lock(&self) -> Result<WorkLock, ImageError> {
        lock::take(&self.folder.join("lock"))
    }
}

/// Gives a file that is whole its name: its bytes are on the disk before.
pub(crate) fn settle(from: &Path, to: &Path) -> Result<(), ImageError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    }
    File::open(from).and_then(|file| file.sync_all()).map_err(ImageError::io(from))?;
    fs::rename(from, to).map_err(ImageError::io(to))
}

/// In hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// SHA-256 of a file.
pub(crate) fn sha256_of(path: &Path) -> Result<String, ImageError> {
    let mut file = File::open(path).map_err(ImageError::io(path))?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&sum.finalize())),
            Ok(read) => sum.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(ImageError::Io { path: path.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests;
