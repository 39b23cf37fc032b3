//! Several sets of files as one.

use super::{Content, FileError, Files, VPath};
use std::path::PathBuf;
use std::sync::Arc;

/// Tries each set in turn; the first that has the file answers. The sets in use have separate roots.
#[derive(Clone, Debug, Default)]
pub struct Layers(Vec<Arc<dyn Files>>);

impl Layers {
    /// The sets, the first one first.
    #[must_use]
    pub fn new(sets: Vec<Arc<dyn Files>>) -> Layers {
        Layers(sets)
    }
}

impl Files for Layers {
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
        for files in &self.0 {
            if let Some(content) = files.read(path)? {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    fn identity(&self, path: &VPath) -> Option<VPath> {
        self.0.iter().find_map(|files| files.identity(path))
    }

    fn real_folder(&self, path: &VPath) -> VPath {
        self.0.iter().map(|files| files.real_folder(path)).find(|real| real != path).unwrap_or_else(|| path.clone())
    }

    fn hash(&self, path: &VPath) -> Option<[u8; 32]> {
        self.0.iter().find_map(|files| files.hash(path))
    }

    fn on_disk(&self, path: &VPath) -> Option<PathBuf> {
        self.0.iter().find_map(|files| files.on_disk(path))
    }
}
