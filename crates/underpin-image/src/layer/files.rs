//! The files of one layer, in memory: underpin's own are carried in the executable, a user's are read from the folder.

use crate::recipe::{Fields, Origin, RecipeError, parse};
use crate::store::hex;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/layers.rs"));

/// More than any patch; a layer is no place for sources that are larger.
const LARGEST: u64 = 16 << 20;
/// Folders in folders.
const DEEPEST: usize = 16;

/// A layer's files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The layer.
    pub layer: String,
    /// How messages name its folder.
    pub prefix: PathBuf,
    /// Its folder on this machine; `None` for a carried one.
    pub folder: Option<PathBuf>,
    /// By path below it.
    pub all: BTreeMap<PathBuf, Cow<'static, [u8]>>,
}

impl Files {
    /// The layers that underpin carries.
    #[must_use]
    pub fn carried() -> Vec<Files> {
        let mut layers: BTreeMap<&str, Files> = BTreeMap::new();
        for (path, bytes) in LAYERS {
            let Some((layer, rest)) = path.split_once('/') else { continue };
            let files = layers.entry(layer).or_insert_with(|| Files {
                layer: layer.to_owned(),
                prefix: Path::new("layers").join(layer),
                folder: None,
                all: BTreeMap::new(),
            });
            files.all.insert(PathBuf::from(rest), Cow::Borrowed(*bytes));
        }
        layers.into_values().collect()
    }

    /// A folder of the user's.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(folder: &Path) -> Result<Files, RecipeError> {
        let io = |file: &Path| {
            let file = file.to_owned();
            move |source| RecipeError::Io { file, source }
        };
        let absolute = folder.canonicalize().map_err(io(folder))?;
        let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut files =
            Files { layer: name, prefix: folder.to_owned(), folder: Some(absolute.clone()), all: BTreeMap::new() };
        let mut folders = vec![(absolute.clone(), 0)];
        while let Some((current, depth)) = folders.pop() {
            for entry in fs::read_dir(&current).map_err(io(&current))? {
                let path = entry.map_err(io(&current))?.path();
                let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                let data = fs::metadata(&path).map_err(io(&path))?;
                if data.is_dir() && depth < DEEPEST && !hidden {
                    folders.push((path, depth + 1));
                } else if data.is_file() && data.len() <= LARGEST {
                    let bytes = fs::read(&path).map_err(io(&path))?;
                    let below = path.strip_prefix(&absolute).unwrap_or(&path).to_owned();
                    files.all.insert(below, Cow::Owned(bytes));
                }
            }
        }
        Ok(files)
    }

    /// How messages name a file of it.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        self.prefix.join(path)
    }

    /// Whether a file is a recipe, an append or an image: it ends in `.toml`, at the top or one folder below it. Sources
    /// with files of the same ending are deeper, or in a folder without a recipe.
    pub(super) fn is_ours(&self, path: &Path) -> bool {
        let depth = path.components().count();
        let toml = path.extension().is_some_and(|ending| ending == "toml");
        toml && (depth == 1
            || depth == 2
                && path.file_name().is_some_and(|name| {
                    // `PACKAGE/PACKAGE.toml` and appends: a layer may have a folder for each package.
                    let (name, folder) =
                        (name.to_string_lossy(), path.parent().map(|folder| folder.to_string_lossy().into_owned()));
                    name.ends_with(".append.toml")
                        || name.ends_with(".image.toml")
                        || folder.is_some_and(|folder| name == format!("{folder}.toml"))
                }))
    }

    /// The fields of a file.
    ///
    /// # Errors
    /// If it is not TOML.
    pub(crate) fn fields(&self, path: &Path) -> Result<Fields, RecipeError> {
        let bytes = self.all.get(path).map(AsRef::as_ref).unwrap_or_default();
        parse(&self.layer, &self.shown(path), bytes)
    }

    /// The content of a file that another names.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn bytes(&self, path: &Path, by: &Origin) -> Result<Vec<u8>, RecipeError> {
        let found = self.all.get(path).map(|bytes| bytes.to_vec());
        found.ok_or_else(|| RecipeError::of(by, format!("{} is not in the layer", self.shown(path).display())))
    }

    /// SHA-256 of a file.
    pub(crate) fn sha256(&self, path: &Path) -> String {
        hex(&Sha256::digest(self.all.get(path).map(AsRef::as_ref).unwrap_or_default()))
    }
}
