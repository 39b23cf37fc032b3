//! The files of an application's folder, to be packed.
//!
//! Links to a file in the folder stay links, so that one file is loaded once under any name; a link to a folder becomes
//! links to its files. Names that begin with a dot are left out, except `.well-known`: they hold secrets and version
//! histories.

use super::PackError;
use foolsgold_pack::fit;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The most files.
pub const MAX_FILES: usize = 100_000;
/// The most bytes of files.
pub const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// One file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Here on disk.
    File(PathBuf),
    /// Another name of a file, which is packed under this name.
    Link(String),
}

/// The files found so far, and what is excluded.
pub struct Collection<'a> {
    folder: PathBuf,
    exclude: &'a [String],
    /// The output, which may be inside the folder.
    output: Option<PathBuf>,
    bytes: u64,
    /// What was found, by its name relative to the folder.
    pub items: BTreeMap<String, Item>,
    /// Names that begin with a dot and were left out.
    pub hidden: usize,
}

/// Everything below a folder except `exclude` (names relative to the folder, of files or whole folders) and the output.
///
/// # Errors
/// At the first entry that cannot be packed.
pub fn collect<'a>(folder: &Path, exclude: &'a [String], output: &Path) -> Result<Collection<'a>, PackError> {
    let folder = folder.canonicalize().map_err(PackError::system("read", folder))?;
    let output = output.canonicalize().ok();
    let mut collection =
        Collection { folder: folder.clone(), exclude, output, bytes: 0, items: BTreeMap::new(), hidden: 0 };
    collection.walk(&folder, "", &mut vec![folder.clone()])?;
    collection.links_to_files_left_out();
    Ok(collection)
}

impl Collection<'_> {
    /// `above` are the real paths of the folders that contain this one, and its own.
    fn walk(&mut self, folder: &Path, below: &str, above: &mut Vec<PathBuf>) -> Result<(), PackError> {
        for entry in fs::read_dir(folder).map_err(PackError::system("read", folder))? {
            let entry = entry.map_err(PackError::system("read", folder))?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_str().map(|name| format!("{below}{name}"));
            let name = name.filter(|name| fit(name)).ok_or_else(|| PackError::Name(path.clone()))?;
            if self.stays_out(&name, &path) {
                continue;
            }
            let real = path.canonicalize().map_err(PackError::system("follow", &path))?;
            if self.output.as_ref() == Some(&real) {
                continue;
            }
            if !real.starts_with(&self.folder) {
                return Err(PackError::Outside { link: path, folder: self.folder.clone() });
            }
            let metadata = fs::metadata(&real).map_err(PackError::system("read", &path))?;
            if metadata.is_dir() {
                if above.contains(&real) {
                    return Err(PackError::Loop(path));
                }
                above.push(real.clone());
                self.walk(&path, &format!("{name}/"), above)?;
                above.pop();
            } else if metadata.is_file() {
                self.add(name, &path, real, metadata.len())?;
            } else {
                return Err(PackError::Special(path));
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, path: &Path, real: PathBuf, length: u64) -> Result<(), PackError> {
        let below = real.strip_prefix(&self.folder).ok().and_then(Path::to_str);
        let below = below.ok_or_else(|| PackError::Name(path.to_owned()))?.to_owned();
        let item = if below == name {
            self.bytes += length;
            Item::File(real)
        } else {
            Item::Link(below)
        };
        self.items.insert(name, item);
        let what = if self.bytes > MAX_BYTES {
            format!("{MAX_BYTES} bytes")
        } else if self.items.len() > MAX_FILES {
            format!("{MAX_FILES} files")
        } else {
            return Ok(());
        };
        Err(PackError::TooMuch { folder: self.folder.clone(), what })
    }

    fn stays_out(&mut self, name: &str, path: &Path) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        let hidden = last.starts_with('.') && last != ".well-known";
        self.hidden += usize::from(hidden);
        hidden
            || self.exclude.iter().any(|one| one.trim_end_matches('/') == name)
            || self.output.as_deref() == Some(path)
    }

    /// A link may name a file that was itself left out (a hidden one): the link then becomes that file.
    fn links_to_files_left_out(&mut self) {
        let missing: Vec<(String, String)> = self
            .items
            .iter()
            .filter_map(|(name, item)| match item {
                Item::Link(target) if !self.items.contains_key(target) => Some((name.clone(), target.clone())),
                _ => None,
            })
            .collect();
        let mut first = BTreeMap::new();
        for (name, target) in missing {
            let item = match first.get(&target) {
                Some(there) => Item::Link(String::clone(there)),
                None => {
                    first.insert(target.clone(), name.clone());
                    Item::File(self.folder.join(&target))
                }
            };
            self.items.insert(name, item);
        }
    }
}
