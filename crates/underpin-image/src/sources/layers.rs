//! The files of layers by their names and by their content.

use crate::image::ManifestChange;
use crate::layer::Files;
use crate::recipe::RecipeError;
use crate::store::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What layers are made of.
#[derive(Clone, Debug, Default)]
pub struct LayerFiles {
    all: Vec<Files>,
    /// By checksum: of which layer, and where in it.
    sums: BTreeMap<String, (usize, PathBuf)>,
}

impl LayerFiles {
    /// underpin's own layers, and folders of the user's.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn read(folders: &[impl AsRef<Path>]) -> Result<LayerFiles, RecipeError> {
        let mut all = Files::carried();
        for folder in folders {
            all.push(Files::read(folder.as_ref())?);
        }
        let mut sums = BTreeMap::new();
        for (index, files) in all.iter().enumerate() {
            for (path, bytes) in &files.all {
                sums.entry(hex(&Sha256::digest(bytes))).or_insert_with(|| (index, path.clone()));
            }
        }
        Ok(LayerFiles { all, sums })
    }

    /// The layers, to be read as recipes.
    #[must_use]
    pub fn layers(&self) -> &[Files] {
        &self.all
    }

    /// Where a content is (the layer's name first), and the content.
    #[must_use]
    pub fn of(&self, sha256: &str) -> Option<(PathBuf, &[u8])> {
        let (index, path) = self.sums.get(sha256)?;
        let files = &self.all[*index];
        Some((Path::new(&files.layer).join(path), files.all.get(path)?))
    }

    /// The head of the layer that has a content, by which a folder is a layer.
    #[must_use]
    pub fn head(&self, sha256: &str) -> Option<(PathBuf, &[u8])> {
        let (index, _) = self.sums.get(sha256)?;
        let (files, head) = (&self.all[*index], Path::new("layer.toml"));
        Some((Path::new(&files.layer).join(head), files.all.get(head)?))
    }

    /// A file by the name that messages have for it, as a manifest has it.
    #[must_use]
    pub fn named(&self, shown: &Path) -> Option<ManifestChange> {
        let found = self.all.iter().find_map(|files| files.all.get(shown.strip_prefix(&files.prefix).ok()?));
        Some(ManifestChange { file: shown.display().to_string(), sha256: hex(&Sha256::digest(found?)) })
    }

    /// A file by its content, as a manifest has it.
    #[must_use]
    pub fn with(&self, content: &[u8]) -> Option<ManifestChange> {
        let sha256 = hex(&Sha256::digest(content));
        let (index, path) = self.sums.get(&sha256)?;
        Some(ManifestChange { file: self.all[*index].shown(path).display().to_string(), sha256 })
    }
}
