//! The checksum of everything that a package is made from.

use super::Tools;
use crate::ImageError;
use crate::recipe::{Given, RecipeError, Resolved, Source, System};
use crate::store::{hex, sha256_of};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Raised when the same recipe is built in another way.
const FORMAT: u32 = 2;

/// A key for each recipe; each recipe is after what it needs.
///
/// # Errors
/// If a local source cannot be read.
pub fn keys(recipes: &[Resolved], tools: &Tools) -> Result<Vec<String>, ImageError> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut all = Vec::new();
    for recipe in recipes {
        let key = key(recipe, tools, &known)?;
        known.insert(&recipe.name, key.clone());
        all.push(key);
    }
    Ok(all)
}

/// A checksum of some bytes, each part by itself.
#[must_use]
pub fn digest(all: &[&[u8]]) -> String {
    let mut parts = Parts(Sha256::new());
    all.iter().for_each(|bytes| parts.add(bytes));
    hex(&parts.0.finalize())
}

struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn list(&mut self, name: &str, list: &[Given<String>]) {
        self.add(name);
        self.add((list.len() as u64).to_le_bytes());
        list.iter().for_each(|item| self.add(&item.value));
    }

    fn map(&mut self, name: &str, map: &BTreeMap<String, Given<String>>) {
        self.add(name);
        self.add((map.len() as u64).to_le_bytes());
        for (key, item) in map {
            self.add(key);
            self.add(&item.value);
        }
    }
}

fn key(recipe: &Resolved, tools: &Tools, needs: &BTreeMap<&str, String>) -> Result<String, ImageError> {
    let mut parts = Parts(Sha256::new());
    parts.add(FORMAT.to_le_bytes());
    for text in [&tools.libc, &tools.processor, &tools.identity, &recipe.name, &recipe.version.value] {
        parts.add(text);
    }
    parts.add(recipe.system.value.name());
    if let (System::Cargo, Some(rust)) = (recipe.system.value, &tools.rust) {
        parts.add(&rust.identity);
    }
    match &recipe.source.value {
        Source::Debian { name, sha256 } => [name, sha256].iter().for_each(|text| parts.add(text)),
        Source::Crate(name) => parts.add(name),
        Source::Deb { name, sha256 } => {
            parts.add(name);
            parts.add(sha256.get(&tools.debian).map_or("", String::as_str));
        }
        Source::Folder(_) => {
            let folder = local_folder(recipe)?;
            for (path, file) in files_below(&folder)? {
                parts.add(path.to_string_lossy().as_bytes());
                parts.add(sha256_of(&file)?);
            }
        }
    }
    for (name, list) in [
        ("c", &recipe.c_flags),
        ("ld", &recipe.ld_flags),
        ("make", &recipe.make),
        ("install", &recipe.install),
        ("image", &recipe.image),
    ] {
        parts.list(name, list);
    }
    for (name, map) in
        [("config", &recipe.config), ("cache", &recipe.cache), ("take", &recipe.take), ("links", &recipe.links)]
    {
        parts.map(name, map);
    }
    for (path, content) in &recipe.files {
        parts.add(path);
        parts.add(&content.value);
    }
    recipe.patches.iter().for_each(|patch| parts.add(&patch.value.bytes));
    for need in &recipe.needs {
        parts.add(needs.get(need.value.as_str()).map_or("", String::as_str));
    }
    Ok(hex(&parts.0.finalize()))
}

/// The folder that a recipe has its sources from.
pub(super) fn local_folder(recipe: &Resolved) -> Result<PathBuf, ImageError> {
    let Source::Folder(path) = &recipe.source.value else { return Ok(PathBuf::new()) };
    let fail = |reason: String| ImageError::from(RecipeError::of(&recipe.source.origin, reason));
    let base = recipe.folder.as_ref().ok_or_else(|| {
        fail("`folder` is for layers of this machine (--layer), not for those that underpin carries".to_owned())
    })?;
    let folder = base.join(path);
    if folder.is_dir() { Ok(folder) } else { Err(fail(format!("{} is not a folder", folder.display()))) }
}

/// Regular files below a folder, sorted; what version control keeps is no source.
pub(super) fn files_below(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>, ImageError> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(current) = folders.pop() {
        for entry in std::fs::read_dir(&current).map_err(ImageError::io(&current))? {
            let entry = entry.map_err(ImageError::io(&current))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(ImageError::io(entry.path()))?);
            if entry.file_name() == ".git" || entry.file_name() == "target" {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.push((path.strip_prefix(folder).unwrap_or(&path).to_owned(), path));
            }
        }
    }
    files.sort();
    Ok(files)
}
