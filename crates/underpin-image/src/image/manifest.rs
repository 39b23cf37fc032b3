//! The manifest of an image: its files, and what is in them, by path and by package.

use super::ManifestDisk;
use crate::installed::Installed;
use crate::store::Package;
use serde::{Deserialize, Serialize};

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
    /// The disk or card with the root file system, if that is not in the initramfs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<ManifestDisk>,
    /// The device tree with which an emulator starts a board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_tree: Option<ManifestFile>,
    /// The package of a board's firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Package>,
    /// What was built for it from recipes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<ManifestPackage>,
    /// Packages that the machine on which it was built has files of it from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installed: Vec<Installed>,
    /// The list of its packages for others: SPDX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spdx: Option<ManifestFile>,
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
    /// The same for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ManifestSource>,
    /// Debian's release that has them, if it is another than that of the kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Their checksum; absent for a local folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_sha256: Option<String>,
    /// The checksum of everything that it is made from.
    pub key: String,
    /// The recipe's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<ManifestChange>,
    /// The files of the layers that changed it: appends and patches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<ManifestChange>,
}

/// Where the sources of a recipe are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ManifestSource {
    /// A source package of Debian's, by its name.
    Debian(String),
    /// A binary package of Debian's, by its name.
    Deb(String),
    /// A published crate.
    Crate(String),
    /// A folder beside the recipe.
    Folder(String),
}

/// A file of a layer that a package is made from.
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
    /// Name and version of the package that it is from, if that is known: one of `packages` or `installed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
}

impl ManifestEntry {
    /// Whether it is underpin's own: its first process, what that needs, and the usual files of a machine.
    pub(crate) fn is_own(&self) -> bool {
        self.path.starts_with("/.underpin/") || self.sha256.is_some() && self.from.is_none()
    }
}
