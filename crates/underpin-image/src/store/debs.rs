//! Packages by name, unpacked: parts of a C library.

use super::{Access, Package, Store, apt};
use crate::{ImageError, Target};
use std::path::PathBuf;
use std::process::{Command, Stdio};

impl Store {
    /// The newest package of a name by the index that was fetched last, and the folder with its files.
    ///
    /// # Errors
    /// If it has to be fetched and cannot be, or dpkg-deb cannot unpack it.
    pub fn unpacked(&self, target: Target, name: &str, access: Access) -> Result<(Package, PathBuf), ImageError> {
        let _lock = self.lock()?;
        let archive = apt::Archive::open(&self.folder, apt::SUITE, target.debian())?;
        if !archive.has_index() {
            if access == Access::Offline {
                let what = format!("the index of Debian {} for {}", apt::SUITE, target.debian());
                return Err(ImageError::Offline { what });
            }
            archive.update()?;
        }
        let package = archive.package(&archive.show(name)?)?;
        let folder = self.folder.join("unpacked").join(&package.sha256);
        if !folder.exists() {
            let file = self.package(&package, access)?;
            let staged = self.staging()?.join(&package.name);
            let status = Command::new("dpkg-deb").arg("-x").arg(&file).arg(&staged).stdin(Stdio::null()).status();
            let failed = |what: String| ImageError::Unpack { path: file.clone(), what };
            match status {
                Ok(status) if status.success() => {}
                Ok(_) => return Err(failed("dpkg-deb cannot unpack it".to_owned())),
                Err(error) => return Err(failed(format!("dpkg-deb: {error}"))),
            }
            let parent = self.folder.join("unpacked");
            std::fs::create_dir_all(&parent).map_err(ImageError::io(&parent))?;
            std::fs::rename(&staged, &folder).map_err(ImageError::io(&folder))?;
        }
        Ok((package, folder))
    }
}
