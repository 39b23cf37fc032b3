//! The kernel of an image, out of its package.

use super::{Access, Package, Store, apt, settle};
use crate::{ImageError, Target};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kernel that QEMU can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its file.
    pub path: PathBuf,
    /// The package that it is from; `None` for a file of the user's.
    pub package: Option<Package>,
}

pub(super) fn get(
    store: &Store,
    target: Target,
    locked: Option<&Package>,
    access: Access,
) -> Result<Kernel, ImageError> {
    // What is there needs neither the lock nor apt.
    if let Some(package) = locked
        && let Some(kernel) = unpacked(store, package)
    {
        return Ok(kernel);
    }
    let _lock = store.lock()?;
    let package = match locked {
        Some(package) => package.clone(),
        None => newest_known(store, target, access)?,
    };
    if let Some(kernel) = unpacked(store, &package) {
        return Ok(kernel);
    }
    let file = store.package(&package, access)?;
    let path = place(store, &package);
    unpack(&file, &store.staging()?.join("vmlinuz"), &path)?;
    Ok(Kernel { path, package: Some(package) })
}

fn place(store: &Store, package: &Package) -> PathBuf {
    store.folder.join("kernels").join(&package.sha256).join("vmlinuz")
}

fn unpacked(store: &Store, package: &Package) -> Option<Kernel> {
    let path = place(store, package);
    path.exists().then(|| Kernel { path, package: Some(package.clone()) })
}

/// The newest one by the index that was fetched last; it is fetched if there is none.
fn newest_known(store: &Store, target: Target, access: Access) -> Result<Package, ImageError> {
    let archive = apt::Archive::open(&store.folder, apt::SUITE, target.debian())?;
    if !archive.has_index() {
        if access == Access::Offline {
            return Err(ImageError::Offline {
                what: format!("the index of Debian {} for {}", apt::SUITE, target.debian()),
            });
        }
        archive.update()?;
    }
    archive.kernel(target)
}

/// Takes the kernel out of a package: `boot/vmlinuz-VERSION`, or `usr/lib/modules/VERSION/vmlinuz`.
fn unpack(package: &Path, staged: &Path, place: &Path) -> Result<(), ImageError> {
    let failed = |what: &str| ImageError::Unpack { path: package.to_owned(), what: what.to_owned() };
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&format!("dpkg-deb: {error}")))?;
    let archive = reader.stdout.take().ok_or_else(|| failed("dpkg-deb has no output"))?;
    let kernel = File::create(staged).map_err(ImageError::io(staged))?;
    let status = Command::new("tar")
        .args(["--extract", "--to-stdout", "--wildcards", "*/vmlinuz*"])
        .stdin(archive)
        .stdout(kernel)
        .stderr(Stdio::null())
        .status();
    let read = reader.wait().map_err(|error| failed(&format!("dpkg-deb: {error}")))?;
    let status = status.map_err(|error| failed(&format!("tar: {error}")))?;
    let size = staged.metadata().map_or(0, |data| data.len());
    if !status.success() || !read.success() || size == 0 {
        return Err(failed("it holds no vmlinuz that dpkg-deb and tar can take out"));
    }
    settle(staged, place)
}
