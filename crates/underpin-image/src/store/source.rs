//! Source packages: a folder for each, named by the SHA-256 of its `.dsc`, which has the checksums of the other files.

use super::{Access, Package, Store, apt, settle, sha256_of};
use crate::ImageError;
use std::fs;
use std::path::{Path, PathBuf};

impl Store {
    /// The `.dsc` of a source package, its other files beside it. `suite`: whose index has it, if not that of the kernels.
    ///
    /// # Errors
    /// If it has to be fetched and cannot be, or has another checksum.
    pub fn source(
        &self,
        name: &str,
        version: &str,
        sha256: &str,
        suite: Option<&str>,
        access: Access,
    ) -> Result<PathBuf, ImageError> {
        let place = self.folder.join("sources").join(sha256);
        if let Some(dsc) = dsc_in(&place) {
            return Ok(dsc);
        }
        let what = format!("{name} {version}");
        if access == Access::Offline {
            return Err(ImageError::Offline { what: format!("the source package {what}") });
        }
        let _lock = self.lock()?;
        if let Some(dsc) = dsc_in(&place) {
            return Ok(dsc);
        }
        let archive = apt::Archive::sources(&self.folder, suite.unwrap_or(apt::SUITE))?;
        let staging = self.staging()?;
        archive.download_source(name, version, &staging)?;
        let dsc =
            dsc_in(&staging).ok_or_else(|| ImageError::NoApt { reason: format!("it fetched no .dsc of {what}") })?;
        let found = sha256_of(&dsc)?;
        if found != sha256 {
            return Err(ImageError::Checksum { what: format!("{what} (.dsc)"), expected: sha256.to_owned(), found });
        }
        check_files(&dsc)?;
        if place.exists() {
            fs::remove_dir_all(&place).map_err(ImageError::io(&place))?;
        }
        settle(&staging, &place)?;
        dsc_in(&place).ok_or_else(|| ImageError::NoApt { reason: format!("it fetched no .dsc of {what}") })
    }

    /// Versions of a source package that the suite has now, with the SHA-256 of their `.dsc`. The last is the newest.
    ///
    /// # Errors
    /// If the archive cannot be reached.
    pub fn source_versions(&self, name: &str, refresh: bool) -> Result<Vec<(String, String)>, ImageError> {
        let _lock = self.lock()?;
        let archive = apt::Archive::sources(&self.folder, apt::SUITE)?;
        if refresh || !archive.has_index() {
            archive.update()?;
        }
        archive.source_versions(name)
    }

    /// The file of a binary package of Debian's.
    ///
    /// # Errors
    /// If it has to be fetched and cannot be, or has another checksum.
    pub fn deb(
        &self,
        name: &str,
        version: &str,
        architecture: &str,
        sha256: &str,
        access: Access,
    ) -> Result<PathBuf, ImageError> {
        let package = Package {
            name: name.to_owned(),
            version: version.to_owned(),
            architecture: architecture.to_owned(),
            suite: apt::SUITE.to_owned(),
            sha256: sha256.to_owned(),
            source: String::new(),
        };
        let _lock = self.lock()?;
        self.package(&package, access)
    }

    /// What the suite has now of a binary package.
    ///
    /// # Errors
    /// If the archive cannot be reached.
    pub fn newest_deb(&self, name: &str, architecture: &str) -> Result<Package, ImageError> {
        let _lock = self.lock()?;
        let archive = apt::Archive::open(&self.folder, apt::SUITE, architecture)?;
        archive.update()?;
        archive.named(name)
    }
}

fn dsc_in(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "dsc"))
}

/// Every file that a `.dsc` names has the checksum that it says.
fn check_files(dsc: &Path) -> Result<(), ImageError> {
    let text = fs::read(dsc).map_err(ImageError::io(dsc))?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().skip_while(|line| !line.starts_with("Checksums-Sha256:")).skip(1);
    for line in lines.take_while(|line| line.starts_with(' ')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [expected, _, name] = words.as_slice() else { continue };
        let path = dsc.with_file_name(name);
        let found = sha256_of(&path)?;
        if found != *expected {
            return Err(ImageError::Checksum { what: (*name).to_owned(), expected: (*expected).to_owned(), found });
        }
    }
    Ok(())
}
