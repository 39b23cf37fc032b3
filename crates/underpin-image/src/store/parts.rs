//! What a disk or a card needs besides the kernel: modules that find it, the board's device tree and firmware.

use super::debs::read_files;
use super::{Access, Kernel, Package, Store, apt, hex};
use crate::{Content, ImageError, Target};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The package of Raspberry Pi's firmware.
const FIRMWARE_PACKAGE: &str = "raspi-firmware";
/// What the board's own loader reads: the firmware, what fits memory to it, and what may be done with them.
const FIRMWARE_FILES: [&str; 3] = ["start4.elf", "fixup4.dat", "copyright"];
const DEVICE_TREE: &str = "bcm2711-rpi-4-b.dtb";
/// Lists the drivers that are built into the kernel and so have no file.
const BUILT_IN: &str = "modules.builtin";

/// Kernel modules in the order in which they are loaded, and whether a kernel may be without: newer ones have it elsewhere.
fn modules(target: Target) -> &'static [(&'static str, bool)] {
    match target {
        Target::QemuX86_64 | Target::QemuAarch64 => &[("virtio_blk", false)],
        Target::Rpi4 => &[
            ("crc16", true),
            ("crc32c_generic", true),
            ("mbcache", false),
            ("jbd2", false),
            ("ext4", false),
            ("sdhci", false),
            ("sdhci-pltfm", false),
            ("sdhci-iproc", false),
            // Turns the board off.
            ("bcm2835_wdt", true),
        ],
    }
}

/// Firmware of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// The package that it is from.
    pub package: Package,
    /// Its files, by the names that the board's loader looks for.
    pub files: Vec<(&'static str, PathBuf)>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Name and content of each module, in the order of loading.
    pub modules: Vec<(&'static str, Content)>,
    /// The board's device tree.
    pub device_tree: Option<PathBuf>,
    /// The board's firmware.
    pub firmware: Option<Firmware>,
}

pub(super) fn get(
    store: &Store,
    target: Target,
    kernel: &Kernel,
    locked: Option<&Package>,
    access: Access,
) -> Result<Parts, ImageError> {
    let board = target == Target::Rpi4;
    let Some(package) = &kernel.package else {
        if !board {
            return Ok(Parts::default());
        }
        let reason = "its device tree and modules come with Debian's kernel: build without --kernel".to_owned();
        return Err(ImageError::Unpack { path: kernel.path.clone(), what: reason });
    };
    let wanted: Vec<&str> = modules(target).iter().map(|(name, _)| *name).collect();
    let wanted = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_module = name.split_once(".ko").is_some_and(|(stem, _)| wanted.contains(&stem));
        is_module || name == BUILT_IN || board && name == DEVICE_TREE
    };
    let folder = files(store, package, &format!("kernel of {target}"), &wanted, access)?;
    let modules = load_order(&folder, modules(target))?;
    if !board {
        return Ok(Parts { modules, ..Parts::default() });
    }
    let device_tree = folder.join(DEVICE_TREE);
    if !device_tree.exists() {
        return Err(ImageError::Unpack { path: folder, what: format!("the kernel's package has no {DEVICE_TREE}") });
    }
    Ok(Parts { modules, device_tree: Some(device_tree), firmware: Some(firmware(store, locked, access)?) })
}

fn firmware(store: &Store, locked: Option<&Package>, access: Access) -> Result<Firmware, ImageError> {
    let package = match locked {
        Some(package) => package.clone(),
        None => {
            let _lock = store.lock()?;
            apt::Archive::with_index(&store.folder, apt::FIRMWARE, Target::Rpi4.debian(), access)?
                .named(FIRMWARE_PACKAGE)?
        }
    };
    let wanted = |path: &Path| FIRMWARE_FILES.iter().any(|name| path.ends_with(name));
    let folder = files(store, &package, "firmware of rpi4", &wanted, access)?;
    let files: Vec<_> = FIRMWARE_FILES.iter().map(|name| (*name, folder.join(name))).collect();
    match files.iter().find(|(_, path)| !path.exists()) {
        None => Ok(Firmware { package, files }),
        Some((name, _)) => Err(ImageError::Unpack { path: folder, what: format!("{FIRMWARE_PACKAGE} has no {name}") }),
    }
}

/// A folder with some files of a package, by their own names; `purpose` is that of the choice.
fn files(
    store: &Store,
    package: &Package,
    purpose: &str,
    wanted: &dyn Fn(&Path) -> bool,
    access: Access,
) -> Result<PathBuf, ImageError> {
    let of = &hex(&Sha256::digest(purpose))[..8];
    let place = store.folder.join("files").join(format!("{}-{of}", package.sha256));
    if place.exists() {
        return Ok(place);
    }
    let _lock = store.lock()?;
    if place.exists() {
        return Ok(place);
    }
    let file = store.package(package, access)?;
    let staging = store.staging()?;
    read_files(&file, |archive| take(archive, &staging, wanted))?;
    fs::create_dir_all(store.folder.join("files")).map_err(ImageError::io(&store.folder))?;
    fs::rename(&staging, &place).map_err(ImageError::io(&place))?;
    Ok(place)
}

fn take(mut archive: tar::Archive<impl Read>, folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> std::io::Result<()> {
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        if let Some(name) = path.file_name().filter(|_| entry.header().entry_type().is_file() && wanted(&path)) {
            let mut file = fs::File::create(folder.join(name))?;
            std::io::copy(&mut entry, &mut file)?;
            file.sync_all()?;
        }
    }
    Ok(())
}

/// The modules, each with what it needs before it.
fn load_order(
    folder: &Path,
    wanted: &'static [(&'static str, bool)],
) -> Result<Vec<(&'static str, Content)>, ImageError> {
    let text = fs::read_to_string(folder.join(BUILT_IN)).unwrap_or_default();
    let stem = |line: &str| line.rsplit('/').next().unwrap_or(line).trim_end_matches(".ko").replace('-', "_");
    let mut known: HashMap<String, ()> = text.lines().map(|line| (stem(line), ())).collect();
    let failed = |what: String| ImageError::Unpack { path: folder.to_owned(), what };
    let mut modules = Vec::new();
    for &(name, optional) in wanted {
        if known.contains_key(&name.replace('-', "_")) {
            continue;
        }
        let Some(bytes) = module(folder, name)? else {
            if optional {
                continue;
            }
            return Err(failed(format!("the kernel's package has no module {name}, and it is not built in")));
        };
        let missing = needs(&bytes).into_iter().find(|needed| !known.contains_key(needed));
        if let Some(missing) = missing {
            return Err(failed(format!("the module {name} needs {missing}, which this underpin does not know of")));
        }
        known.insert(name.replace('-', "_"), ());
        modules.push((name, bytes.into()));
    }
    Ok(modules)
}

fn module(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, ImageError> {
    let plain = folder.join(format!("{name}.ko"));
    let packed = folder.join(format!("{name}.ko.xz"));
    if let Ok(bytes) = fs::read(&plain) {
        return Ok(Some(bytes));
    }
    let Ok(file) = fs::File::open(&packed) else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut reader = lzma_rust2::XzReader::new(std::io::BufReader::new(file), true);
    reader.read_to_end(&mut bytes).map_err(ImageError::io(&packed))?;
    Ok(Some(bytes))
}

/// What `modinfo` calls its dependencies.
fn needs(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = memchr::memmem::find(module, FIELD) else { return Vec::new() };
    let rest = &module[at + FIELD.len()..];
    let end = memchr::memchr(0, rest).unwrap_or(0);
    let text = String::from_utf8_lossy(&rest[..end]);
    text.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_whose_need_is_neither_before_it_nor_built_in_is_refused_here_and_not_in_the_guest() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("a.ko", "x\0depends=b-c,d\0y");
        put("modules.builtin", "kernel/lib/d.ko\n");
        let wanted: &[(&str, bool)] = &[("gone", true), ("a", false)];
        let error = load_order(folder.path(), wanted).unwrap_err().to_string();
        assert!(error.contains("a needs b_c"), "{error}");
        put("b-c.ko", "x\0depends=\0y");
        let found = load_order(folder.path(), &[("b-c", false), ("d", false), ("a", false)]).unwrap();
        assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["b-c", "a"]);
        assert!(load_order(folder.path(), &[("gone", false)]).is_err());
    }
}
