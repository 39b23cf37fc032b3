//! The C library that recipes and SDKs are built with, out of the packages of the release that images have their kernel from.

use crate::store::{Access, Package, Store};
use crate::{ImageError, Target};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_build::toolchain::{CompilerFamily, Musl, Sysroot};
use underpin_build::{CLibrary, Kit, Linkage, Spec};

/// Its folder, in the SDK's.
pub const FOLDER: &str = "sysroot";
/// The package with clang's functions for the target, and the version in its paths. Another clang of the machine links them too:
/// what compilers call does not change.
const BUILTINS: (&str, &str) = ("libclang-rt-19-dev", "19");
/// Lists what a sysroot is made of; written last.
const LIST: &str = "packages.json";

/// For what a C library is wanted.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    /// The machine.
    pub target: Target,
    /// What is built.
    pub spec: &'a Spec,
    /// By which compiler.
    pub family: CompilerFamily,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Made {
    /// From which packages.
    pub packages: Vec<Package>,
    /// What to link with.
    pub sysroot: Option<Sysroot>,
}

/// A sysroot that is kept in the store for recipes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    packages: Vec<Package>,
}

/// Where the store has the sysroot of recipes, and what is in it; it need not be there yet ([`keep`]). `None` if the
/// compiler needs none.
#[must_use]
pub fn kept(wanted: For<'_>, store: &Store) -> Option<Sysroot> {
    let links = Kit::needs_musl(wanted.family, wanted.spec.libc);
    links.then(|| parts(wanted, &place(wanted, store)))
}

fn place(wanted: For<'_>, store: &Store) -> PathBuf {
    store.folder().join("sysroot").join(format!("{}-{}", wanted.spec.gnu_triple(), wanted.family.name()))
}

/// Makes the sysroot of recipes unless it is there; its packages.
///
/// # Errors
/// If one has to be fetched and cannot be.
pub fn keep(wanted: For<'_>, store: &Store, access: Access) -> Result<Vec<Package>, ImageError> {
    let place = place(wanted, store);
    let list = place.join(LIST);
    if let Some(kept) = fs::read(&list).ok().and_then(|text| serde_json::from_slice::<Kept>(&text).ok()) {
        return Ok(kept.packages);
    }
    fs::create_dir_all(store.folder()).map_err(ImageError::io(store.folder()))?;
    let staged = tempfile::Builder::new().prefix("sysroot-").tempdir_in(store.folder());
    let staged = staged.map_err(ImageError::io(store.folder()))?;
    let made = make(wanted, staged.path(), store, access)?;
    let root = staged.path().join(FOLDER);
    let text = serde_json::to_vec_pretty(&Kept { packages: made.packages.clone() }).unwrap_or_default();
    fs::write(root.join(LIST), text).map_err(ImageError::io(&root))?;
    // Two runs that make it at once make the same; a half-made one of a killed run has another name.
    if list.is_file() {
        return Ok(made.packages);
    }
    if place.exists() {
        fs::remove_dir_all(&place).map_err(ImageError::io(&place))?;
    }
    crate::store::settle(&root, &place)?;
    Ok(made.packages)
}

/// The parts of a sysroot in a folder.
fn parts(wanted: For<'_>, root: &Path) -> Sysroot {
    let (libraries, headers) = (root.join("usr/lib"), root.join("usr/include"));
    let builtins = libraries.join(builtins(wanted));
    Sysroot {
        musl: Musl { processor: wanted.spec.processor, libraries, headers, version: None, kernel: Vec::new() },
        builtins: (wanted.family == CompilerFamily::Clang).then_some(builtins),
    }
}

fn builtins(wanted: For<'_>) -> String {
    format!("libclang_rt.builtins-{}.a", wanted.spec.processor)
}

/// Writes what the compiler has not, and what dynamic programs are run with, into a folder of `sdk`.
///
/// # Errors
/// If a package has to be fetched and cannot be, or a file cannot be written.
pub fn make(wanted: For<'_>, sdk: &Path, store: &Store, access: Access) -> Result<Made, ImageError> {
    let spec = wanted.spec;
    let is_dynamic = spec.linkage == Linkage::Dynamic;
    let links = Kit::needs_musl(wanted.family, spec.libc);
    let mut names: Vec<&str> = Vec::new();
    match spec.libc {
        CLibrary::Musl => {
            names.extend(is_dynamic.then_some("musl"));
            names.extend(["musl-dev", "linux-libc-dev"].into_iter().filter(|_| links));
            names.extend((links && wanted.family == CompilerFamily::Clang).then_some(BUILTINS.0));
        }
        CLibrary::Glibc(_) if is_dynamic => {
            names.push("libc6");
            names.extend(["libgcc-s1", "libstdc++6"].into_iter().filter(|_| wanted.family != CompilerFamily::Zig));
        }
        CLibrary::Glibc(_) => {}
    }
    let (root, mut made) = (sdk.join(FOLDER), Made::default());
    for name in names {
        let (package, files) = store.unpacked(wanted.target, name, access)?;
        take(wanted, &package, &files, &root)?;
        if name == "musl-dev" {
            let mut sysroot = parts(wanted, &root);
            sysroot.musl.version = package.version.split('-').next().map(str::to_owned);
            made.sysroot = Some(sysroot);
        }
        made.packages.push(package);
    }
    Ok(made)
}

/// Copies what is needed of a package, without Debian's folders for several processors.
fn take(wanted: For<'_>, package: &Package, files: &Path, root: &Path) -> Result<(), ImageError> {
    let processor = wanted.spec.processor;
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
        name if name == BUILTINS.0 => {
            let folder = format!("usr/lib/llvm-{0}/lib/clang/{0}/lib/linux", BUILTINS.1);
            let file = builtins(wanted);
            copy(&files.join(folder).join(&file), &libraries.join(&file))
        }
        _ => {
            let is_library = |path: &Path| path.file_name().is_some_and(|name| contains(name, ".so"));
            tree(&files.join("usr/lib").join(&gnu), &libraries, &|path| {
                path.parent().is_some_and(|folder| folder.ends_with(&gnu)) && is_library(path)
            })?;
            let loader = wanted.spec.loader();
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
