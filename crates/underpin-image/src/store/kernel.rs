//! The kernel of an image, out of its package.

use super::debs::read_files;
use super::{Access, Package, Store, apt, settle};
use crate::{ImageError, Target};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

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
        // By the index that was fetched last.
        None => apt::Archive::with_index(&store.folder, apt::SUITE, target.debian(), access)?.kernel(target)?,
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

/// Takes the kernel out of a package: `boot/vmlinuz-VERSION`, or `usr/lib/modules/VERSION/vmlinuz`.
fn unpack(package: &Path, staged: &Path, place: &Path) -> Result<(), ImageError> {
    let mut kernel = File::create(staged).map_err(ImageError::io(staged))?;
    let size = read_files(package, |mut archive| {
        let mut size = 0;
        for entry in archive.entries()? {
            let mut entry = entry?;
            let is_kernel = |name: &OsStr| name.as_encoded_bytes().starts_with(b"vmlinuz");
            if entry.header().entry_type().is_file() && entry.path()?.file_name().is_some_and(is_kernel) {
                size += std::io::copy(&mut entry, &mut kernel)?;
            }
        }
        Ok(size)
    })?;
    if size == 0 {
        return Err(ImageError::Unpack { path: package.to_owned(), what: "it holds no vmlinuz".to_owned() });
    }
    settle(staged, place)
}
