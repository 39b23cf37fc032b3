//! What a package installed: results taken out of the build folder, links, and the part of it that goes into an image.

use super::{Package, build, digest};
use crate::ImageError;
use crate::recipe::{RecipeError, Resolved, matches};
use crate::store::{Store, settle};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Raised when the same packages give another root.
const FORMAT: u32 = 1;
/// For developers and readers, and so in no image unless a recipe names it.
const NOT_IN_IMAGES: [&str; 10] = [
    "usr/include/*",
    "usr/lib/pkgconfig/*",
    "usr/share/pkgconfig/*",
    "usr/share/man/*",
    "usr/share/doc/*",
    "usr/share/info/*",
    "usr/share/aclocal/*",
    "usr/share/locale/*",
    "usr/lib/cmake/*",
    "usr/share/bash-completion/*",
];

/// Takes results out of the build folder and makes links.
pub(super) fn fill(recipe: &Resolved, source: &Path, stage: &Path) -> Result<(), ImageError> {
    for (to, from) in &recipe.take {
        let file = source.join(from.value.trim_start_matches('/'));
        let place =
            inside(stage, to).ok_or_else(|| RecipeError::of(&from.origin, format!("`{to}` leaves the image")))?;
        if !file.is_file() {
            let reason = format!("the build made no file `{}`, which [take] names", from.value);
            return Err(RecipeError::of(&from.origin, reason).into());
        }
        parent(&place)?;
        fs::copy(&file, &place).map_err(ImageError::io(&place))?;
        let mode = file.metadata().map_or(0o644, |data| data.permissions().mode());
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).map_err(ImageError::io(&place))?;
    }
    for (at, to) in &recipe.links {
        let place = inside(stage, at).ok_or_else(|| RecipeError::of(&to.origin, format!("`{at}` leaves the image")))?;
        parent(&place)?;
        if place.symlink_metadata().is_ok() {
            fs::remove_file(&place).map_err(ImageError::io(&place))?;
        }
        symlink(&to.value, &place).map_err(ImageError::io(&place))?;
    }
    for glob in &recipe.image {
        if !walk(stage)?.iter().any(|path| matches(&glob.value, &path.to_string_lossy())) {
            let reason = format!("`{}` selects nothing of what was installed", glob.value);
            return Err(RecipeError::of(&glob.origin, reason).into());
        }
    }
    Ok(())
}

fn inside(stage: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path.trim_start_matches('/'));
    path.components().all(|part| matches!(part, Component::Normal(_))).then(|| stage.join(path))
}

fn parent(path: &Path) -> Result<(), ImageError> {
    path.parent().map_or(Ok(()), |folder| fs::create_dir_all(folder).map_err(ImageError::io(folder)))
}

/// Files and links below a folder, sorted.
pub(super) fn walk(folder: &Path) -> Result<Vec<PathBuf>, ImageError> {
    let (mut folders, mut all) = (vec![folder.to_owned()], Vec::new());
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current).map_err(ImageError::io(&current))? {
            let entry = entry.map_err(ImageError::io(&current))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                all.push(path.strip_prefix(folder).unwrap_or(&path).to_owned());
            }
        }
    }
    all.sort();
    Ok(all)
}

/// The files of a package that go into an image.
///
/// # Errors
/// If the package's folder cannot be read.
pub(super) fn of_image(package: &Package) -> Result<Vec<PathBuf>, ImageError> {
    let globs = &package.recipe.image;
    let mut all = walk(&package.stage)?;
    all.retain(|path| {
        let text = path.to_string_lossy();
        if globs.is_empty() {
            let static_library = text.ends_with(".a") || text.ends_with(".la");
            !static_library && !NOT_IN_IMAGES.iter().any(|glob| matches(glob, &text))
        } else {
            globs.iter().any(|glob| matches(&glob.value, &text))
        }
    });
    Ok(all)
}

/// The root file system of some packages, as a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rooted {
    /// Programs, by their path in the folder.
    pub programs: Vec<PathBuf>,
    /// Every file of the image, and which package it is from: without a slash in front.
    pub owners: BTreeMap<PathBuf, String>,
}

/// What [`root`] makes, in the store: links to hundreds of files take longer than all the rest of a build with nothing to do. The
/// folders `all` and `rest` are in the folder that is returned; in `all`, what was built for the packages lies [`beside`] them.
///
/// # Errors
/// As for [`root`].
pub fn kept_root(store: &Store, packages: &[&Package], needed: &[&Package]) -> Result<(Rooted, PathBuf), ImageError> {
    let keys = |packages: &[&Package]| packages.iter().map(|package| package.key.clone()).collect::<String>();
    let name = digest(&[&FORMAT.to_le_bytes(), keys(packages).as_bytes(), keys(needed).as_bytes()]);
    let place = store.folder().join("roots").join(&name);
    if place.is_dir() {
        return Ok((selected(packages)?, place));
    }
    let short = format!("root-{}", &name[..build::SHORT]);
    let _lock = build::lock(store, &short)?;
    if !place.is_dir() {
        let work = store.folder().join("work").join(&short);
        build::remove(&work)?;
        root(packages, &work.join("all"), &work.join("rest"))?;
        needed.iter().try_for_each(|package| beside(package, &work.join("all")))?;
        build::sync(&work)?;
        settle(&work, &place)?;
    }
    Ok((selected(packages)?, place))
}

/// Copies the files that packages put into an image to one folder, and those that are not programs to a second folder as well.
/// The caller names folders that do not exist yet.
///
/// # Errors
/// If two packages have one file, one has nothing, or a file cannot be written.
pub fn root(packages: &[&Package], folder: &Path, rest: &Path) -> Result<Rooted, ImageError> {
    let rooted = selected(packages)?;
    fs::create_dir_all(rest).map_err(ImageError::io(rest))?;
    for package in packages {
        for (path, _) in rooted.owners.iter().filter(|(_, owner)| **owner == package.recipe.name) {
            let from = package.stage.join(path);
            let rest = (!rooted.programs.contains(path)).then_some(rest);
            for folder in [Some(folder), rest].into_iter().flatten() {
                let to = folder.join(path);
                parent(&to)?;
                place(&from, &to)?;
            }
        }
    }
    Ok(rooted)
}

/// The files that packages put into an image; writes nothing.
fn selected(packages: &[&Package]) -> Result<Rooted, ImageError> {
    let mut rooted = Rooted::default();
    for package in packages {
        let name = &package.recipe.name;
        let files = of_image(package)?;
        if files.is_empty() {
            let reason = format!("{name} selects nothing: it puts no file into an image, name a package that uses it");
            return Err(RecipeError::of(&package.recipe.version.origin, reason).into());
        }
        for path in files {
            if let Some(other) = rooted.owners.insert(path.clone(), name.clone()) {
                let reason =
                    format!("{name} and {other} both have /{}: choose with `image` what each gives", path.display());
                return Err(RecipeError::of(&package.recipe.version.origin, reason).into());
            }
            if is_program(&package.stage.join(&path)) {
                rooted.programs.push(path);
            }
        }
    }
    Ok(rooted)
}

/// Puts a package's files where loaders look for them, for those that programs turn out to need.
///
/// # Errors
/// If a file cannot be written.
pub fn beside(library: &Package, folder: &Path) -> Result<(), ImageError> {
    sysroot(&[library], folder)?;
    for name in ["lib", "lib64"] {
        let (link, to) = (folder.join(name), Path::new("usr").join(name));
        if link.symlink_metadata().is_err() && folder.join(&to).is_dir() {
            symlink(&to, &link).map_err(ImageError::io(&link))?;
        }
    }
    Ok(())
}

/// A link in the folder for a link, else the file itself under a second name, or a copy of it.
pub(super) fn place(from: &Path, to: &Path) -> Result<(), ImageError> {
    let data = from.symlink_metadata().map_err(ImageError::io(from))?;
    if data.is_symlink() {
        let target = fs::read_link(from).map_err(ImageError::io(from))?;
        return symlink(target, to).map_err(ImageError::io(to));
    }
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).map_err(ImageError::io(to))?;
    }
    Ok(())
}

/// Whether a file is an executable of ELF.
fn is_program(path: &Path) -> bool {
    use std::io::Read;
    let Ok(data) = path.symlink_metadata() else { return false };
    let mut head = [0; 18];
    let read = data.is_file()
        && data.permissions().mode() & 0o111 != 0
        && fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    let is_library = path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
    read && head.starts_with(b"\x7fELF") && !is_library && matches!(head[16], 2 | 3)
}

/// What needed packages installed, in one folder.
pub(super) fn sysroot(needs: &[&Package], folder: &Path) -> Result<(), ImageError> {
    fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    for package in needs {
        // libtool's files name the folders of the finished system: with one it links this machine's library of that name.
        let is_libtool = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "la");
        for path in walk(&package.stage)?.into_iter().filter(|path| !is_libtool(path)) {
            let to = folder.join(&path);
            parent(&to)?;
            if to.symlink_metadata().is_err() {
                place(&package.stage.join(&path), &to)?;
            }
        }
    }
    Ok(())
}
