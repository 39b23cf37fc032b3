//! Binary packages, unpacked whole (parts of a C library) or read file by file.

use super::{Access, Package, Store, apt};
use crate::{ImageError, Target};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use underpin_sys::{CHORE_LIMIT, Limits, Watchdog, answer};

impl Store {
    /// The newest package of a name by the index that was fetched last, and the folder with its files.
    ///
    /// # Errors
    /// If it has to be fetched and cannot be, or dpkg-deb cannot unpack it.
    pub fn unpacked(&self, target: Target, name: &str, access: Access) -> Result<(Package, PathBuf), ImageError> {
        let _lock = self.lock()?;
        let package = apt::Archive::with_index(&self.folder, apt::SUITE, target.debian(), access)?.named(name)?;
        let folder = self.folder.join("unpacked").join(&package.sha256);
        if !folder.exists() {
            let file = self.package(&package, access)?;
            let staged = self.staging()?.join(&package.name);
            let status = answer(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&staged), CHORE_LIMIT);
            let failed = |what: String| ImageError::Unpack { path: file.clone(), what };
            match status {
                Ok(output) if output.status.success() => {}
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

/// Reads the files of a package as dpkg-deb hands them over: all of them, since it fails if nobody takes the rest.
pub(super) fn read_files<T>(
    package: &Path,
    read: impl FnOnce(tar::Archive<ChildStdout>) -> std::io::Result<T>,
) -> Result<T, ImageError> {
    let failed = |what: String| ImageError::Unpack { path: package.to_owned(), what };
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("dpkg-deb: {error}")))?;
    let archive = reader.stdout.take().ok_or_else(|| failed("dpkg-deb has no output".to_owned()))?;
    // What it hands over is read as it comes: if nothing comes any more, its end is the end of the archive.
    let watchdog = Watchdog::new(reader.id().cast_signed(), Limits::time(CHORE_LIMIT));
    let watchdog = watchdog.map_err(|error| failed(error.to_string()))?;
    let taken = read(tar::Archive::new(archive)).map_err(|error| failed(error.to_string()));
    drop(watchdog);
    let status = reader.wait().map_err(|error| failed(format!("dpkg-deb: {error}")))?;
    let taken = taken?;
    if status.success() { Ok(taken) } else { Err(failed("dpkg-deb cannot read it".to_owned())) }
}
