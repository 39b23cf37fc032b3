//! An image as a folder: kernel, initramfs, a lock of what was fetched, and a manifest that says what is in it.
//!
//! The manifest is written last and has the checksums of the rest: a folder in which a run was killed is built again. It also has a
//! key, the checksum of everything that the image is made from; if that is the same, nothing is written.

use crate::plan::{Because, Plan};
use crate::store::{Kernel, Package, hex, settle, sha256_of};
use crate::write::cpio;
use crate::{Content, ImageError, Kind, Target};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Raised when the same input makes other bytes.
const FORMAT: u32 = 1;
const MANIFEST: &str = "image.json";
const LOCK: &str = "image.lock";
const KERNEL: &str = "vmlinuz";
const INITRAMFS: &str = "initramfs.cpio";

/// What an image holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Which form of manifest.
    pub format: u32,
    /// The target's name.
    pub target: String,
    /// The checksum of everything that the image is made from.
    pub key: String,
    /// The time of all files, in seconds since 1970.
    pub time: u32,
    /// Where the program is that runs if nothing else is asked for.
    pub command: String,
    /// The kernel.
    pub kernel: ManifestKernel,
    /// The initramfs.
    pub initramfs: ManifestFile,
    /// Its archives.
    pub layers: Vec<ManifestLayer>,
    /// What was built for it from recipes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<ManifestPackage>,
}

/// A package that was built from a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestPackage {
    /// The recipe.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub licence: String,
    /// Where its sources are from.
    pub source: String,
    /// Their checksum; absent for a local folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_sha256: Option<String>,
    /// The checksum of everything that it is made from.
    pub key: String,
    /// The files of the layers that changed it: appends and patches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<ManifestChange>,
}

/// A file that changed a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestChange {
    /// As messages name it.
    pub file: String,
    /// Of its content.
    pub sha256: String,
}

/// One file of the image's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its name in the folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Of its content.
    pub sha256: String,
}

/// The kernel of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestKernel {
    /// Its file.
    #[serde(flatten)]
    pub file: ManifestFile,
    /// The package that it is from; absent for a file of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
    /// Its licence.
    pub licence: String,
}

/// One archive of an initramfs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestLayer {
    /// What it is called.
    pub name: String,
    /// Where it begins.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// What is in it, except directories.
    pub entries: Vec<ManifestEntry>,
}

/// One entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Where it is in the guest.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Of its content; absent for links and devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Where it was taken from; absent for what is underpin's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Why it is there.
    pub because: String,
    /// Its licence, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// An image that was built.
#[derive(Clone, Debug)]
pub struct Image {
    folder: PathBuf,
    /// What it holds.
    pub manifest: Manifest,
}

/// What [`Image::build`] did.
#[derive(Clone, Debug)]
pub struct Built {
    /// The image.
    pub image: Image,
    /// Whether nothing had to be written: the same was there.
    pub unchanged: bool,
}

#[derive(Serialize, Deserialize)]
struct Lock {
    format: u32,
    kernel: Package,
}

/// The kernel's package that an image's folder names; `None` if there is no lock.
///
/// # Errors
/// If there is a lock that cannot be read.
pub fn locked(folder: &Path) -> Result<Option<Package>, ImageError> {
    let path = folder.join(LOCK);
    let Ok(text) = fs::read(&path) else { return Ok(None) };
    let damaged = |error: serde_json::Error| ImageError::Malformed {
        path: path.clone(),
        offset: error.column() as u64,
        reason: format!("not a lock ({error}): remove it, or build with --update"),
    };
    let lock: Lock = serde_json::from_slice(&text).map_err(damaged)?;
    Ok(Some(lock.kernel))
}

impl Image {
    /// The image in a folder.
    ///
    /// # Errors
    /// If there is none, or a file of it is missing or has another size.
    pub fn open(folder: &Path) -> Result<Image, ImageError> {
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).map_err(|_| ImageError::Damaged {
            path: folder.to_owned(),
            reason: format!("it holds no {MANIFEST}, so no image was built there, or not to the end"),
        })?;
        let damaged = |reason: String| ImageError::Damaged { path: path.clone(), reason };
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(damaged(format!("form {} of an image, and this underpin knows {FORMAT}", manifest.format)));
        }
        let image = Image { folder: folder.to_owned(), manifest };
        for file in image.files() {
            let path = folder.join(&file.file);
            let found = fs::metadata(&path).map_or(0, |data| data.len());
            if found != file.bytes {
                let reason = format!("it has {found} bytes, and the manifest says {}", file.bytes);
                return Err(ImageError::Damaged { path, reason });
            }
        }
        Ok(image)
    }

    /// Writes a plan's image into a folder, unless the same is there.
    ///
    /// # Errors
    /// If something cannot be read or written, or the folder holds what is not an image.
    pub fn build(plan: &Plan, kernel: &Kernel, folder: &Path) -> Result<Built, ImageError> {
        let sums = Sums::new(plan, kernel)?;
        if let Ok(image) = Image::open(folder)
            && image.manifest.key == sums.key
            && image.is_whole()
        {
            return Ok(Built { image, unchanged: true });
        }
        prepare(folder)?;
        let time = plan.layers.first().map_or(0, |layer| layer.tree.time());
        let (initramfs, layers) = initramfs(plan, &sums, folder)?;
        let vmlinuz = write(folder, KERNEL, |out, to| Content::host(&kernel.path)?.copy(out, to))?;
        let manifest = Manifest {
            format: FORMAT,
            target: plan.target.name().to_owned(),
            key: sums.key,
            time,
            command: plan.command.display().to_string(),
            kernel: ManifestKernel {
                file: vmlinuz,
                package: kernel.package.clone(),
                licence: "GPL-2.0-only WITH Linux-syscall-note".to_owned(),
            },
            initramfs,
            layers,
            packages: plan.packages.clone(),
        };
        if let Some(package) = &kernel.package {
            json(folder, LOCK, &Lock { format: FORMAT, kernel: package.clone() })?;
        }
        json(folder, MANIFEST, &manifest)?;
        Ok(Built { image: Image { folder: folder.to_owned(), manifest }, unchanged: false })
    }

    /// The machine that it is for.
    ///
    /// # Errors
    /// If the manifest names none that is known.
    pub fn target(&self) -> Result<Target, ImageError> {
        let unknown = |error: crate::target::UnknownTarget| ImageError::Damaged {
            path: self.folder.join(MANIFEST),
            reason: error.to_string(),
        };
        self.manifest.target.parse().map_err(unknown)
    }

    /// The kernel's file.
    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.folder.join(&self.manifest.kernel.file.file)
    }

    /// The initramfs.
    #[must_use]
    pub fn initramfs(&self) -> PathBuf {
        self.folder.join(&self.manifest.initramfs.file)
    }

    fn files(&self) -> [&ManifestFile; 2] {
        [&self.manifest.kernel.file, &self.manifest.initramfs]
    }

    fn is_whole(&self) -> bool {
        let same = |file: &&ManifestFile| sha256_of(&self.folder.join(&file.file)).is_ok_and(|sum| sum == file.sha256);
        self.files().iter().all(same)
    }
}

/// The folder, with nothing in it that says it is an image.
fn prepare(folder: &Path) -> Result<(), ImageError> {
    let manifest = folder.join(MANIFEST);
    let known = [MANIFEST, LOCK, KERNEL, INITRAMFS];
    fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    for entry in fs::read_dir(folder).map_err(ImageError::io(folder))? {
        let name = entry.map_err(ImageError::io(folder))?.file_name();
        let ours = name.to_str().is_some_and(|name| known.contains(&name.trim_end_matches(NEW)));
        if !ours && !manifest.exists() {
            return Err(ImageError::NotImage { folder: folder.to_owned() });
        }
    }
    match fs::remove_file(&manifest) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ImageError::Io { path: manifest, source: error })
        }
        _ => Ok(()),
    }
}

/// What a file is called until it is whole.
const NEW: &str = ".underpin-new";

/// Takes everything that is written, and adds up size and checksum.
struct Summed<W> {
    out: W,
    sum: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn write(
    folder: &Path,
    name: &str,
    content: impl FnOnce(&mut dyn Write, &Path) -> Result<(), ImageError>,
) -> Result<ManifestFile, ImageError> {
    let (new, place) = (folder.join(format!("{name}{NEW}")), folder.join(name));
    let file = File::create(&new).map_err(ImageError::io(&new))?;
    let mut out = Summed { out: BufWriter::with_capacity(1 << 16, file), sum: Sha256::new(), bytes: 0 };
    content(&mut out, &new)?;
    out.flush().map_err(ImageError::io(&new))?;
    let (bytes, sum) = (out.bytes, hex(&out.sum.finalize()));
    settle(&new, &place)?;
    Ok(ManifestFile { file: name.to_owned(), bytes, sha256: sum })
}

fn json(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), ImageError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|error| ImageError::Damaged { path: folder.join(name), reason: error.to_string() })?;
    let with_end = |out: &mut dyn Write, to: &Path| {
        out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(ImageError::io(to))
    };
    write(folder, name, with_end).map(|_| ())
}

/// One archive after the other, each readable alone.
fn initramfs(plan: &Plan, sums: &Sums, folder: &Path) -> Result<(ManifestFile, Vec<ManifestLayer>), ImageError> {
    let mut layers = Vec::new();
    let file = write(folder, INITRAMFS, |out, to| {
        let mut offset = 0;
        for (layer, sums) in plan.layers.iter().zip(&sums.layers) {
            let bytes = cpio::write(&layer.tree, out, to)?;
            let entries = layer.tree.entries().zip(sums).filter(|((_, entry), _)| entry.kind != Kind::Directory);
            let entries = entries.map(|((path, entry), sum)| manifest_entry(plan, path, &entry.kind, sum.clone()));
            layers.push(ManifestLayer { name: layer.name.to_owned(), offset, bytes, entries: entries.collect() });
            offset += bytes;
        }
        Ok(())
    })?;
    Ok((file, layers))
}

fn manifest_entry(plan: &Plan, path: &Path, kind: &Kind, sha256: Option<String>) -> ManifestEntry {
    let (bytes, from) = match kind {
        Kind::File(Content::Host { path, size }) => (*size, Some(path.display().to_string())),
        Kind::File(Content::Bytes(bytes)) => (bytes.len() as u64, None),
        Kind::Symlink(target) => (target.as_os_str().len() as u64, None),
        Kind::Directory | Kind::Device { .. } => (0, None),
    };
    let because = plan.reason(path);
    // A package's file comes from its package, wherever the store is.
    let from = from.filter(|_| !matches!(because, Because::Package { .. }));
    ManifestEntry {
        path: Path::new("/").join(path).display().to_string(),
        bytes,
        sha256,
        from,
        because: because.to_string(),
        licence: match because {
            Because::Init => Some("MIT OR Apache-2.0".to_owned()),
            Because::Package { name } => {
                let of = |package: &&ManifestPackage| *name == format!("{} {}", package.name, package.version);
                plan.packages.iter().find(of).map(|package| package.licence.clone())
            }
            _ => None,
        },
    }
}

/// Checksums of all that an image is made from.
struct Sums {
    key: String,
    /// For each layer, for each entry.
    layers: Vec<Vec<Option<String>>>,
}

impl Sums {
    fn new(plan: &Plan, kernel: &Kernel) -> Result<Sums, ImageError> {
        let mut key = Sha256::new();
        let mut layers = Vec::new();
        let mut part = |bytes: &[u8]| {
            key.update((bytes.len() as u64).to_le_bytes());
            key.update(bytes);
        };
        part(&FORMAT.to_le_bytes());
        part(plan.target.name().as_bytes());
        part(plan.command.as_os_str().as_bytes());
        part(sha256_of(&kernel.path)?.as_bytes());
        for package in &plan.packages {
            part(format!("{package:?}").as_bytes());
        }
        for layer in &plan.layers {
            let mut sums = Vec::new();
            part(&layer.tree.time().to_le_bytes());
            for (path, entry) in layer.tree.entries() {
                let sum = match &entry.kind {
                    Kind::File(Content::Bytes(bytes)) => Some(hex(&Sha256::digest(bytes))),
                    Kind::File(Content::Host { path, .. }) => Some(sha256_of(path)?),
                    _ => None,
                };
                part(path.as_os_str().as_bytes());
                let what = match &entry.kind {
                    Kind::File(_) => sum.clone().unwrap_or_default().into_bytes(),
                    Kind::Directory => b"directory".to_vec(),
                    Kind::Symlink(target) => [b"link ", target.as_os_str().as_bytes()].concat(),
                    device @ Kind::Device { .. } => format!("{device:?}").into_bytes(),
                };
                part(&what);
                part(format!("{:o} {} {}", entry.mode, entry.uid, entry.gid).as_bytes());
                sums.push(sum);
            }
            layers.push(sums);
        }
        Ok(Sums { key: hex(&key.finalize()), layers })
    }
}
