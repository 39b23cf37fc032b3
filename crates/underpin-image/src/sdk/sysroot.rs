//! The C library of an SDK, out of the packages of the release that images have their kernel from.

use super::Wanted;
use crate::ImageError;
use crate::store::{Access, Package, Store};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use underpin_build::toolchain::{CompilerFamily, Musl};
use underpin_build::{CLibrary, Kit, Linkage};

/// Its folder, in the SDK's.
pub const FOLDER: &str = "sysroot";

/// What was written.
#[derive(Debug, Default)]
pub struct Sysroot {
    /// From which packages.
    pub packages: Vec<Package>,
    /// A musl to link with.
    pub musl: Option<Musl>,
}

/// Writes what the compiler has not, and what dynamic programs are run with.
pub fn make(wanted: &Wanted, sdk: &Path, store: &Store, access: Access) -> Result<Sysroot, ImageError> {
    let spec = &wanted.request.spec;
    let is_dynamic = spec.linkage == Linkage::Dynamic;
    let links = Kit::needs_musl(wanted.family, spec.libc);
    let mut names: Vec<&str> = Vec::new();
    match spec.libc {
        CLibrary::Musl => {
            names.extend(is_dynamic.then_some("musl"));
            names.extend(["musl-dev", "linux-libc-dev"].into_iter().filter(|_| links));
        }
        CLibrary::Glibc(_) if is_dynamic => {
            names.push("libc6");
            names.extend(["libgcc-s1", "libstdc++6"].into_iter().filter(|_| wanted.family != CompilerFamily::Zig));
        }
        CLibrary::Glibc(_) => {}
    }
    let (root, mut sysroot) = (sdk.join(FOLDER), Sysroot::default());
    for name in names {
        let (package, files) = store.unpacked(wanted.target, name, access)?;
        take(wanted, &package, &files, &root)?;
        if name == "musl-dev" {
            let version = package.version.split('-').next().map(str::to_owned);
            let (libraries, headers) = (root.join("usr/lib"), root.join("usr/include"));
            sysroot.musl = Some(Musl { processor: spec.processor, libraries, headers, version });
        }
        sysroot.packages.push(package);
    }
    Ok(sysroot)
}

/// Copies what is needed of a package, without Debian's folders for several processors.
fn take(wanted: &Wanted, package: &Package, files: &Path, root: &Path) -> Result<(), ImageError> {
    let processor = wanted.request.spec.processor;
    let (musl, gnu) = (format!("{processor}-linux-musl"), format!("{processor}-linux-gnu"));
    let (libraries, headers) = (root.join("usr/lib"), root.join("usr/include"));
    match package.name.as_str() {
        "musl" => {
            let file = files.join("usr/lib").join(&musl).join("libc.so");
            copy(&file, &root.join("lib").join(format!("ld-musl-{processor}.so.1")))?;
            copy(&file, &libraries.join("libc.so"))
        }
        "musl-dev" => {
            tree(&files.join("usr/lib").join(&musl), &libraries, &|_| true)?;
            tree(&files.join("usr/include").join(&musl), &headers, &|_| true)
        }
        "linux-libc-dev" => {
            let from = files.join("usr/include");
            for name in ["linux", "asm-generic", "mtd", "sound", "scsi", "rdma", "drm", "misc"] {
                tree(&from.join(name), &headers.join(name), &|_| true)?;
            }
            tree(&from.join(&gnu).join("asm"), &headers.join("asm"), &|_| true)
        }
        _ => {
            let is_library = |path: &Path| path.file_name().is_some_and(|name| contains(name, ".so"));
            tree(&files.join("usr/lib").join(&gnu), &libraries, &|path| {
                path.parent().is_some_and(|folder| folder.ends_with(&gnu)) && is_library(path)
            })?;
            let loader = wanted.request.spec.loader();
            let file = Path::new(&loader).file_name().unwrap_or_default();
            let held = libraries.join(file);
            if package.name == "libc6" && held.is_file() {
                copy(&held, &root.join(loader.trim_start_matches('/')))?;
            }
            Ok(())
        }
    }
}

fn contains(name: &OsStr, part: &str) -> bool {
    name.to_str().is_some_and(|name| name.contains(part))
}

/// A file, and not a link to it: the folder may be moved.
fn copy(from: &Path, to: &Path) -> Result<(), ImageError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    }
    fs::copy(from, to).map(drop).map_err(ImageError::io(from))
}

/// The files below a folder that are wanted. A link that leads out of the package is left out.
fn tree(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), ImageError> {
    for entry in fs::read_dir(from).map_err(ImageError::io(from))? {
        let entry = entry.map_err(ImageError::io(from))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let Ok(data) = fs::metadata(&path) else { continue };
        if data.is_dir() {
            tree(&path, &place, wanted)?;
        } else if wanted(&path) {
            copy(&path, &place)?;
        }
    }
    Ok(())
}
