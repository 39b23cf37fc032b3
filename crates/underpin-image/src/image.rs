//! An image as a folder: kernel, initramfs, perhaps a disk or a card, a lock of what was fetched, and a manifest that says what is in it.
//!
//! The manifest is written last and has the checksums of the rest: a folder in which a run was killed is built again. It also has a
//! key, the checksum of everything that the image is made from; if that is the same, nothing is written.

mod disk;
mod files;
mod manifest;
pub mod size;
mod spdx;

pub use disk::ManifestDisk;
pub use manifest::{
    Manifest, ManifestChange, ManifestEntry, ManifestFile, ManifestKernel, ManifestLayer, ManifestPackage,
    ManifestSource,
};

use crate::plan::{Because, Plan};
use crate::store::{Kernel, Package, Parts, hex, sha256_of};
use crate::target::Format;
use crate::write::cpio;
use crate::{Content, ImageError, Kind, Target};
use files::{Files, NEW};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Raised when the same input makes other bytes.
const FORMAT: u32 = 2;
const MANIFEST: &str = "image.json";
const LOCK: &str = "image.lock";
const KERNEL: &str = "vmlinuz";
const INITRAMFS: &str = "initramfs.cpio";
const SPDX: &str = "image.spdx.json";

/// What an image is made from besides its plan.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Modules, device tree and firmware, if the root is on a disk.
    pub parts: &'a Parts,
    /// What holds the root file system.
    pub format: Format,
    /// The disk's size in bytes, if it is not to be computed.
    pub size: Option<u64>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    firmware: Option<Package>,
}

/// What manifests of all forms have.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

/// The packages that an image's folder names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locked {
    /// The kernel's.
    pub kernel: Option<Package>,
    /// That of the board's firmware.
    pub firmware: Option<Package>,
}

/// What the lock of an image's folder names; nothing if there is no lock.
///
/// # Errors
/// If there is a lock that cannot be read.
pub fn locked(folder: &Path) -> Result<Locked, ImageError> {
    let path = folder.join(LOCK);
    let Ok(text) = fs::read(&path) else { return Ok(Locked::default()) };
    let damaged = |error: serde_json::Error| ImageError::Malformed {
        path: path.clone(),
        offset: error.column() as u64,
        reason: format!("not a lock ({error}): remove it, or build with --update"),
    };
    let lock: Lock = serde_json::from_slice(&text).map_err(damaged)?;
    Ok(Locked { kernel: Some(lock.kernel), firmware: lock.firmware })
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
            reason: if folder.join("oci-layout").exists() {
                "it is an image for containers, and this takes images of machines (--target qemu-x86_64, ...)"
                    .to_owned()
            } else {
                format!("it holds no {MANIFEST}, so no image was built there, or not to the end")
            },
        })?;
        let damaged = |reason: String| ImageError::Damaged { path: path.clone(), reason };
        // Another form may lack any other field.
        let Form { format } = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if format != FORMAT {
            return Err(damaged(format!("form {format} of an image, and this underpin knows {FORMAT}")));
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
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
    pub fn build(plan: &Plan, material: &Material<'_>, folder: &Path) -> Result<Built, ImageError> {
        let kernel = material.kernel;
        let sums = Sums::new(plan, material)?;
        if let Ok(image) = Image::open(folder)
            && image.manifest.key == sums.key
            // These are no part of the key: the same bytes make the same image wherever they are from.
            && image.manifest.installed == plan.installed
            && image.manifest.spdx.is_some()
            && image.is_whole()
        {
            return Ok(Built { image, unchanged: true });
        }
        prepare(folder)?;
        let files = Files { folder };
        let (initramfs, layers, disk) = match material.format {
            Format::Initramfs => {
                let (initramfs, layers) = initramfs(plan, &sums, &files)?;
                (initramfs, layers, None)
            }
            Format::Ext4 | Format::Sd => {
                let (initramfs, layer) = starter(plan, material, &sums, &files)?;
                let disk = disk::write(plan, material, &sums, &files, &folder.join(INITRAMFS))?;
                (initramfs, vec![layer], Some(disk))
            }
        };
        let vmlinuz = files.write(KERNEL, |out, to| Content::host(&kernel.path)?.copy(out, to))?;
        let tree = material.parts.device_tree.as_deref().map(disk::emulator_tree).transpose()?;
        let tree = tree.map(|bytes| files.write(disk::DEVICE_TREE, |out, to| Content::from(bytes).copy(out, to)));
        let firmware = material.parts.firmware.as_ref().map(|firmware| firmware.package.clone());
        let mut manifest = Manifest {
            format: FORMAT,
            target: plan.target.name().to_owned(),
            key: sums.key,
            time: plan.time(),
            command: plan.command.display().to_string(),
            kernel: ManifestKernel {
                file: vmlinuz,
                package: kernel.package.clone(),
                licence: "GPL-2.0-only WITH Linux-syscall-note".to_owned(),
            },
            initramfs,
            layers,
            packages: plan.packages.clone(),
            disk,
            device_tree: tree.transpose()?,
            firmware: firmware.clone(),
            installed: plan.installed.clone(),
            spdx: None,
        };
        if let Some(package) = &kernel.package {
            files.json(LOCK, &Lock { format: FORMAT, kernel: package.clone(), firmware })?;
        }
        manifest.spdx = Some(files.json(SPDX, &spdx::document(&manifest))?);
        files.json(MANIFEST, &manifest)?;
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

    /// The disk or card with the root file system, if there is one.
    #[must_use]
    pub fn disk(&self) -> Option<PathBuf> {
        self.manifest.disk.as_ref().map(|disk| self.folder.join(&disk.file.file))
    }

    /// The device tree for an emulator, if the board has one.
    #[must_use]
    pub fn device_tree(&self) -> Option<PathBuf> {
        self.manifest.device_tree.as_ref().map(|file| self.folder.join(&file.file))
    }

    fn files(&self) -> impl Iterator<Item = &ManifestFile> {
        let disk = self.manifest.disk.as_ref().map(|disk| &disk.file);
        let always = [&self.manifest.kernel.file, &self.manifest.initramfs];
        always.into_iter().chain(disk).chain(self.manifest.device_tree.as_ref()).chain(self.manifest.spdx.as_ref())
    }

    fn is_whole(&self) -> bool {
        let same = |file: &&ManifestFile| sha256_of(&self.folder.join(&file.file)).is_ok_and(|sum| sum == file.sha256);
        self.files().all(|file| same(&file))
    }
}

/// The folder, with nothing in it that says it is an image.
fn prepare(folder: &Path) -> Result<(), ImageError> {
    let manifest = folder.join(MANIFEST);
    let known = [MANIFEST, LOCK, SPDX, KERNEL, INITRAMFS, disk::ROOT, disk::CARD, disk::DEVICE_TREE];
    fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    for entry in fs::read_dir(folder).map_err(ImageError::io(folder))? {
        let name = entry.map_err(ImageError::io(folder))?.file_name();
        let ours = name.to_str().is_some_and(|name| known.contains(&name.trim_end_matches(NEW)));
        if !ours && !manifest.exists() {
            return Err(ImageError::NotImage { folder: folder.to_owned() });
        }
    }
    // The manifest first; then what another form of image left.
    for path in [manifest, folder.join(disk::ROOT), folder.join(disk::CARD), folder.join(disk::DEVICE_TREE)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ImageError::Io { path, source: error });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The archive that finds the disk.
fn starter(
    plan: &Plan,
    material: &Material<'_>,
    sums: &Sums,
    files: &Files<'_>,
) -> Result<(ManifestFile, ManifestLayer), ImageError> {
    let tree = disk::starter(plan, material, &sums.key)?;
    let file = files.write(INITRAMFS, |out, to| cpio::write(&tree, out, to).map(|_| ()))?;
    let entries = tree.entries().filter_map(|(path, entry)| {
        let Kind::File(content) = &entry.kind else { return None };
        let Content::Bytes(bytes) = content else { return None };
        let because = disk::because(path, material);
        let sum = hex(&Sha256::digest(bytes));
        Some(ManifestEntry { because, ..manifest_entry(plan, path, &entry.kind, Some(sum)) })
    });
    let layer = ManifestLayer { name: "start".to_owned(), offset: 0, bytes: file.bytes, entries: entries.collect() };
    Ok((file, layer))
}

/// One archive after the other, each readable alone.
fn initramfs(plan: &Plan, sums: &Sums, files: &Files<'_>) -> Result<(ManifestFile, Vec<ManifestLayer>), ImageError> {
    let mut layers = Vec::new();
    let file = files.write(INITRAMFS, |out, to| {
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
    let package = plan.package(path);
    let of = |known: &&ManifestPackage| package == Some(format!("{} {}", known.name, known.version).as_str());
    ManifestEntry {
        path: Path::new("/").join(path).display().to_string(),
        bytes,
        sha256,
        from,
        because: because.to_string(),
        licence: match because {
            Because::Init => Some("MIT OR Apache-2.0".to_owned()),
            _ => plan.packages.iter().find(of).map(|package| package.licence.clone()),
        },
        package: package.map(str::to_owned),
    }
}

/// Checksums of all that an image is made from.
struct Sums {
    key: String,
    /// For each layer, for each entry.
    layers: Vec<Vec<Option<String>>>,
    by_path: BTreeMap<PathBuf, String>,
}

impl Sums {
    /// Of a file of the root.
    fn of(&self, path: &Path) -> Option<String> {
        self.by_path.get(path).cloned()
    }

    fn new(plan: &Plan, material: &Material<'_>) -> Result<Sums, ImageError> {
        let mut key = Sha256::new();
        let (mut layers, mut by_path) = (Vec::new(), BTreeMap::new());
        let mut part = |bytes: &[u8]| {
            key.update((bytes.len() as u64).to_le_bytes());
            key.update(bytes);
        };
        part(&FORMAT.to_le_bytes());
        part(plan.target.name().as_bytes());
        part(plan.command.as_os_str().as_bytes());
        part(sha256_of(&material.kernel.path)?.as_bytes());
        for package in &plan.packages {
            part(format!("{package:?}").as_bytes());
        }
        part(material.format.name().as_bytes());
        part(&material.size.unwrap_or_default().to_le_bytes());
        for (name, content) in &material.parts.modules {
            part(name.as_bytes());
            part(content_sum(content)?.as_bytes());
        }
        let firmware = material.parts.firmware.iter().flat_map(|firmware| firmware.files.iter().map(|(_, path)| path));
        for path in material.parts.device_tree.iter().chain(firmware) {
            part(sha256_of(path)?.as_bytes());
        }
        for layer in &plan.layers {
            let mut sums = Vec::new();
            part(&layer.tree.time().to_le_bytes());
            for (path, entry) in layer.tree.entries() {
                let sum = match &entry.kind {
                    Kind::File(content) => Some(content_sum(content)?),
                    _ => None,
                };
                by_path.extend(sum.clone().map(|sum| (path.to_owned(), sum)));
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
        Ok(Sums { key: hex(&key.finalize()), layers, by_path })
    }
}

fn content_sum(content: &Content) -> Result<String, ImageError> {
    match content {
        Content::Bytes(bytes) => Ok(hex(&Sha256::digest(bytes))),
        Content::Host { path, .. } => sha256_of(path),
    }
}
