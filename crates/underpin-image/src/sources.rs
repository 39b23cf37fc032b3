//! The sources of an image: what its packages were built from, with their recipes, appends and patches, in a folder.
//!
//! Layers are read as they are now, and only bytes that have the checksum of the manifest are taken from them. The folder gets its
//! name when all is in it.

mod layers;
mod missing;

pub use layers::LayerFiles;
pub use missing::{Missing, missing};

use crate::image::{Manifest, ManifestPackage, ManifestSource};
use crate::layer::Layers;
use crate::store::{Access, Store, sha256_of};
use crate::{Image, ImageError};
use serde::Serialize;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What the folder of sources is known by.
const LIST: &str = "sources.json";
const LICENCES: &str = "licences.txt";
/// Folders in a folder of the user's sources.
const DEEPEST: usize = 64;

/// Where sources are taken from.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Files of layers.
    pub files: &'a LayerFiles,
    /// The same as recipes.
    pub layers: &'a Layers,
    /// What was fetched.
    pub store: &'a Store,
    /// Whether the rest may be fetched.
    pub access: Access,
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// The image's key.
    image: String,
    /// Packages that were built from recipes.
    pub packages: Vec<Sources>,
    /// What there is no source of here, and why.
    pub missing: Vec<Missing>,
    /// Of all files.
    pub bytes: u64,
}

/// The sources of a package.
#[derive(Clone, Debug, Serialize)]
pub struct Sources {
    /// The package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub licence: String,
    /// Its files, by their paths in the folder.
    pub files: Vec<String>,
}

/// Writes the sources of an image into a folder, which is made or, if it has sources of an image, replaced.
///
/// # Errors
/// If the folder holds anything else, or something cannot be fetched, read or written. The folder is then as it was.
pub fn write(image: &Image, from: &Places<'_>, folder: &Path) -> Result<Written, ImageError> {
    let replaced = check(folder)?;
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(above).map_err(ImageError::io(above))?;
    let scratch = tempfile::Builder::new().prefix(".sources-").suffix(".underpin-new").tempdir_in(above);
    let scratch = scratch.map_err(ImageError::io(above))?;
    let new = scratch.path().join("new");
    fs::create_dir(&new).map_err(ImageError::io(&new))?;
    let manifest = &image.manifest;
    let mut writer = Writer { from, folder: &new, bytes: 0, missing: missing(manifest) };
    let packages = manifest.packages.iter().map(|package| writer.package(package)).collect::<Result<_, _>>()?;
    let Writer { bytes, missing, .. } = writer;
    let written = Written { image: manifest.key.clone(), packages, missing, bytes };
    lists(manifest, &written, &new)?;
    if replaced {
        let old = scratch.path().join("old");
        fs::rename(folder, &old).map_err(ImageError::io(folder))?;
    }
    fs::rename(&new, folder).map_err(ImageError::io(folder))?;
    Ok(written)
}

/// Whether the folder is there and ours.
fn check(folder: &Path) -> Result<bool, ImageError> {
    if folder.symlink_metadata().is_err() {
        return Ok(false);
    }
    let mut entries = fs::read_dir(folder).map_err(ImageError::io(folder))?;
    match entries.next() {
        None => Ok(false),
        Some(_) if folder.join(LIST).is_file() => Ok(true),
        Some(_) => Err(ImageError::NotSources { folder: folder.to_owned() }),
    }
}

/// What is in the folder: for programs, and the licences for people.
fn lists(manifest: &Manifest, written: &Written, folder: &Path) -> Result<(), ImageError> {
    let path = folder.join(LIST);
    let json = serde_json::to_string_pretty(written);
    let json = json.map_err(|error| ImageError::Damaged { path: path.clone(), reason: error.to_string() })?;
    fs::write(&path, json + "\n").map_err(ImageError::io(&path))?;
    let mut text = String::new();
    for package in &manifest.packages {
        text.push_str(&format!("{} {}: {}\n", package.name, package.version, package.licence));
    }
    for missing in &written.missing {
        text.push_str(&format!("{}: {} (not here: {})\n", missing.what, missing.licence_words(), missing.why));
    }
    let path = folder.join(LICENCES);
    fs::write(&path, text).map_err(ImageError::io(&path))
}

struct Writer<'a> {
    from: &'a Places<'a>,
    folder: &'a Path,
    bytes: u64,
    missing: Vec<Missing>,
}

impl Writer<'_> {
    fn package(&mut self, package: &ManifestPackage) -> Result<Sources, ImageError> {
        let mut files = Vec::new();
        for change in package.recipe.iter().chain(&package.changed_by) {
            let (path, bytes) = self.from.files.of(&change.sha256).ok_or_else(|| ImageError::OtherLayer {
                file: change.file.clone().into(),
                package: package.name.clone(),
            })?;
            files.push(self.write(&path, &change.sha256, bytes)?);
            if let Some((path, bytes)) = self.from.files.head(&change.sha256) {
                files.push(self.write(&path, "", bytes)?);
            }
        }
        let place = PathBuf::from(name_of(&package.name, &package.version));
        match &package.from {
            Some(ManifestSource::Debian(name)) => self.debian(package, name, &place, &mut files)?,
            Some(ManifestSource::Folder(below)) => self.own(package, below, &place, &mut files)?,
            other => self.missing.push(Missing::of(package, other.as_ref())),
        }
        files.sort();
        files.dedup();
        let (name, version) = (package.name.clone(), package.version.clone());
        Ok(Sources { name, version, licence: package.licence.clone(), files })
    }

    /// The `.dsc` and what it names, each with its checksum.
    fn debian(
        &mut self,
        package: &ManifestPackage,
        name: &str,
        place: &Path,
        files: &mut Vec<String>,
    ) -> Result<(), ImageError> {
        let sum = package.source_sha256.as_deref().unwrap_or_default();
        let dsc = self.from.store.source(name, &package.version, sum, package.suite.as_deref(), self.from.access)?;
        let text = fs::read(&dsc).map_err(ImageError::io(&dsc))?;
        let own = dsc.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut wanted = vec![(sum.to_owned(), own)];
        wanted.extend(named(&String::from_utf8_lossy(&text)));
        for (expected, name) in wanted {
            let from = dsc.with_file_name(&name);
            let found = sha256_of(&from)?;
            if found != expected {
                return Err(ImageError::Checksum { what: name, expected, found });
            }
            files.push(self.copy(&from, &place.join(&name))?);
        }
        Ok(())
    }

    /// A folder beside the recipe, as it is now.
    fn own(
        &mut self,
        package: &ManifestPackage,
        below: &str,
        place: &Path,
        files: &mut Vec<String>,
    ) -> Result<(), ImageError> {
        let recipe = self.from.layers.recipe(&package.name).and_then(|recipe| recipe.folder.as_ref());
        let folder = recipe
            .map(|folder| folder.join(below))
            .ok_or_else(|| ImageError::OtherLayer { file: below.into(), package: package.name.clone() })?;
        let mut folders = vec![(folder.clone(), 0)];
        while let Some((current, depth)) = folders.pop() {
            for entry in fs::read_dir(&current).map_err(ImageError::io(&current))? {
                let entry = entry.map_err(ImageError::io(&current))?;
                let (path, name) = (entry.path(), entry.file_name());
                let kind = entry.file_type().map_err(ImageError::io(&path))?;
                // As a build of it takes them.
                if kind.is_dir() && name != ".git" && name != "target" && depth < DEEPEST {
                    folders.push((path, depth + 1));
                } else if kind.is_file() {
                    let to = place.join(path.strip_prefix(&folder).unwrap_or(&path));
                    files.push(self.copy(&path, &to)?);
                }
            }
        }
        Ok(())
    }

    fn place(&self, path: &Path) -> Result<PathBuf, ImageError> {
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain {
            let reason = "a name in an image's manifest leaves the folder: build the image again";
            return Err(ImageError::Name { path: path.to_owned(), reason });
        }
        let to = self.folder.join(path);
        let above = to.parent().unwrap_or(self.folder);
        fs::create_dir_all(above).map_err(ImageError::io(above))?;
        Ok(to)
    }

    /// Writes a file of a layer, as it is in the layer.
    fn write(&mut self, path: &Path, sha256: &str, bytes: &[u8]) -> Result<String, ImageError> {
        let mut path = Path::new("layers").join(path);
        // Two layers may have one name.
        if fs::read(self.folder.join(&path)).is_ok_and(|there| there != bytes) {
            path = Path::new("layers").join(sha256.get(..8).unwrap_or("other")).join(path);
        }
        let to = self.place(&path)?;
        if !to.exists() {
            self.bytes += bytes.len() as u64;
            fs::write(&to, bytes).map_err(ImageError::io(&to))?;
        }
        Ok(path.display().to_string())
    }

    fn copy(&mut self, from: &Path, path: &Path) -> Result<String, ImageError> {
        let to = self.place(path)?;
        self.bytes += fs::copy(from, &to).map_err(ImageError::io(from))?;
        Ok(path.display().to_string())
    }
}

/// A folder's name: an epoch's colon and a slash are for no file name.
fn name_of(name: &str, version: &str) -> String {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    format!("{name}-{version}").replace(['/', ':'], "_")
}

/// Checksums and names of the other files of a `.dsc`.
fn named(dsc: &str) -> Vec<(String, String)> {
    let lines = dsc.lines().skip_while(|line| !line.starts_with("Checksums-Sha256:")).skip(1);
    let words = lines.take_while(|line| line.starts_with(' ')).map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter_map(|words| match words.as_slice() {
            [sum, _, name] => Some(((*sum).to_owned(), (*name).to_owned())),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsc_names_its_files_with_their_checksums() {
        let dsc = "Format: 3.0\nChecksums-Sha1:\n aa 1 x.orig.tar.gz\nChecksums-Sha256:\n bb 12 x.orig.tar.gz\n \
                   cc 3 x.debian.tar.xz\nFiles:\n dd 12 x.orig.tar.gz\n";
        let expected = [("bb", "x.orig.tar.gz"), ("cc", "x.debian.tar.xz")];
        assert_eq!(named(dsc), expected.map(|(sum, name)| (sum.to_owned(), name.to_owned())));
        assert_eq!(name_of("busybox", "1:1.37.0-6"), "busybox-1.37.0-6");
    }
}
