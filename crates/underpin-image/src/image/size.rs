//! How many bytes of an image each package is, read from the manifest alone.

use super::{Manifest, ManifestEntry, ManifestFile, disk};
use crate::plan::Because;
use crate::target::Format;
use crate::{Image, ImageError, init};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;

/// What a part of an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// The kernel, and the device tree that is of its package.
    Kernel,
    /// The kernel's modules.
    Modules,
    /// A board's firmware.
    Firmware,
    /// The C library: loader and libraries.
    CLibrary,
    /// A package that was built from a recipe.
    Recipe,
    /// A package that the building machine has.
    Installed,
    /// Programs given by path, from no package that is known.
    Programs,
    /// What those programs need.
    Needed,
    /// Files that were added by name.
    Added,
    /// underpin's own: the first process, and what it and the board's loader read.
    Underpin,
}

/// A part of an image: a package, or files that are from none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The package, or what is meant.
    pub name: String,
    /// The package's version.
    pub version: Option<String>,
    /// How many files.
    pub files: u64,
    /// Of their content.
    pub bytes: u64,
}

/// A file as it is handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name in the folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// With gzip; absent for a kernel that is compressed already, as those for x86-64 are.
    pub gzip: Option<u64>,
}

/// The parts of an image, the largest first.
///
/// Bytes are those of the files' content: what archives and file systems add is only in the files that are handed on.
#[must_use]
pub fn parts(manifest: &Manifest) -> Vec<Part> {
    let mut parts = Parts::new(manifest);
    let kernel = manifest.kernel.package.as_ref();
    let name = kernel.map_or("kernel given by path", |package| package.name.as_str());
    let of_kernel = (PartKind::Kernel, name.to_owned(), kernel.map(|package| package.version.clone()));
    parts.add(of_kernel.clone(), manifest.kernel.file.bytes);
    let disk = manifest.disk.iter().flat_map(|disk| &disk.entries);
    for entry in manifest.layers.iter().flat_map(|layer| &layer.entries).chain(disk) {
        let part = parts.of(entry);
        parts.add(part, entry.bytes);
    }
    for entry in manifest.disk.iter().flat_map(|disk| &disk.boot) {
        let part = match entry.path.trim_start_matches('/') {
            // Those were counted.
            super::KERNEL | super::INITRAMFS => continue,
            disk::BOARD_TREE => of_kernel.clone(),
            "config.txt" | "cmdline.txt" => (PartKind::Underpin, OWN.to_owned(), None),
            _ => {
                let package = manifest.firmware.as_ref();
                let name = package.map_or("the board's firmware", |package| package.name.as_str());
                (PartKind::Firmware, name.to_owned(), package.map(|package| package.version.clone()))
            }
        };
        parts.add(part, entry.bytes);
    }
    parts.sorted()
}

/// The files that are handed on: what a machine starts with, or a card.
///
/// # Errors
/// If one cannot be read.
pub fn shipped(image: &Image) -> Result<Vec<Shipped>, ImageError> {
    let manifest = &image.manifest;
    let compressed = |file: &ManifestFile| -> Result<Shipped, ImageError> {
        Ok(Shipped { file: file.file.clone(), bytes: file.bytes, gzip: Some(gzip(image, file)?) })
    };
    if let Some(disk) = manifest.disk.as_ref().filter(|disk| disk.format == Format::Sd.name()) {
        return Ok(vec![compressed(&disk.file)?]);
    }
    let kernel = &manifest.kernel.file;
    let mut all = vec![compressed(kernel)?, compressed(&manifest.initramfs)?];
    // Compressed data loses next to nothing by it.
    all[0].gzip = all[0].gzip.filter(|size| *size < kernel.bytes / 10 * 9);
    if let Some(disk) = &manifest.disk {
        all.push(compressed(&disk.file)?);
    }
    Ok(all)
}

/// What is underpin's own.
const OWN: &str = "underpin's init";

/// Kind, name and version.
type Key = (PartKind, String, Option<String>);

struct Parts<'a> {
    manifest: &'a Manifest,
    /// The packages that are a C library, by name and version.
    libraries: Vec<&'a str>,
    sums: BTreeMap<Key, (u64, u64)>,
}

impl Parts<'_> {
    fn new(manifest: &Manifest) -> Parts<'_> {
        let disk = manifest.disk.iter().flat_map(|disk| &disk.entries);
        let entries = manifest.layers.iter().flat_map(|layer| &layer.entries).chain(disk);
        let libraries = entries.filter(|entry| is_loader(&entry.path)).filter_map(|entry| entry.package.as_deref());
        Parts { manifest, libraries: libraries.collect(), sums: BTreeMap::new() }
    }

    fn add(&mut self, key: Key, bytes: u64) {
        let sum = self.sums.entry(key).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
    }

    fn of(&self, entry: &ManifestEntry) -> Key {
        let plain = |kind, name: &str| (kind, name.to_owned(), None);
        if let Some(package) = &entry.package {
            let (name, version) = package.split_once(' ').unwrap_or((package, ""));
            let kind = if self.libraries.contains(&package.as_str()) {
                PartKind::CLibrary
            } else if self.manifest.packages.iter().any(|known| known.name == name && known.version == version) {
                PartKind::Recipe
            } else {
                PartKind::Installed
            };
            return (kind, name.to_owned(), Some(version.to_owned()));
        }
        match &entry.because {
            _ if entry.path.starts_with("/.underpin/modules/") => plain(PartKind::Modules, "modules of the kernel"),
            _ if entry.is_own() || entry.path == init::PATH => plain(PartKind::Underpin, OWN),
            _ if is_library(&entry.path) => plain(PartKind::CLibrary, "C library"),
            because if *because == Because::Added.to_string() => plain(PartKind::Added, "files added by name"),
            because if *because == Because::Program.to_string() => plain(PartKind::Programs, "programs given"),
            _ => plain(PartKind::Needed, "what they need"),
        }
    }

    fn sorted(self) -> Vec<Part> {
        let parts = self.sums.into_iter().map(|((kind, name, version), (files, bytes))| {
            let version = version.filter(|version| !version.is_empty());
            Part { kind, name, version, files, bytes }
        });
        let mut parts: Vec<Part> = parts.collect();
        // Parts of one size keep the order of their kinds and names.
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        parts
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a file is a loader: each C library has one.
fn is_loader(path: &str) -> bool {
    name(path).starts_with("ld-") && name(path).contains(".so")
}

/// Whether a file is of a C library, by its name.
fn is_library(path: &str) -> bool {
    const NAMES: [&str; 13] = [
        "libc",
        "libm",
        "libpthread",
        "libdl",
        "librt",
        "libresolv",
        "libutil",
        "libmvec",
        "libanl",
        "libnsl",
        "libnss_files",
        "libnss_dns",
        "libnss_compat",
    ];
    is_loader(path) || name(path).split_once(".so").is_some_and(|(stem, _)| NAMES.contains(&stem))
}

/// Counts what passes.
struct Count(u64);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn gzip(image: &Image, file: &ManifestFile) -> Result<u64, ImageError> {
    let path = image.folder.join(&file.file);
    let mut from = File::open(&path).map_err(ImageError::io(&path))?;
    let mut out = flate2::write::GzEncoder::new(Count(0), flate2::Compression::default());
    io::copy(&mut from, &mut out).and_then(|_| out.finish()).map(|count| count.0).map_err(ImageError::io(&path))
}
