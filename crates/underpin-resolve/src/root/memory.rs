//! A tree in memory: files by path, symbolic links, nothing else.

use super::path::lexical;
use super::{FileId, FileKind, Meta, Opened, PathError, Root};
use bstr::{BStr, BString};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Files by absolute path. Every parent of a file is a directory.
#[derive(Clone, Debug, Default)]
pub struct MemoryRoot {
    files: BTreeMap<BString, Arc<Vec<u8>>>,
    links: BTreeMap<BString, BString>,
}

impl MemoryRoot {
    /// An empty tree.
    #[must_use]
    pub fn new() -> MemoryRoot {
        MemoryRoot::default()
    }

    /// Adds a file.
    pub fn file(&mut self, path: impl Into<BString>, bytes: impl Into<Vec<u8>>) -> &mut MemoryRoot {
        self.files.insert(path.into(), Arc::new(bytes.into()));
        self
    }

    /// Adds a symbolic link with an absolute target; only the last component of a path may be a link.
    pub fn link(&mut self, path: impl Into<BString>, target: impl Into<BString>) -> &mut MemoryRoot {
        self.links.insert(path.into(), target.into());
        self
    }

    fn follow(&self, path: &BStr) -> Result<BString, PathError> {
        let mut path = lexical(path);
        for _ in 0..40 {
            match self.links.get(&path) {
                Some(target) => path = lexical(target.as_ref()),
                None => return Ok(path),
            }
        }
        Err(PathError::Loop)
    }

    fn is_directory(&self, path: &BString) -> bool {
        let mut prefix = path.clone();
        if prefix != "/" {
            prefix.push(b'/');
        }
        self.files.keys().chain(self.links.keys()).any(|file| file.starts_with(&prefix))
    }

    fn inode(&self, path: &BString) -> u64 {
        self.files.keys().position(|file| file == path).map_or(0, |index| index as u64 + 1)
    }
}

impl Root for MemoryRoot {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let meta = self.stat(path)?;
        let bytes = self.files.get(&self.follow(path)?).cloned().unwrap_or_default();
        Ok(Opened { meta, source: bytes })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        let path = self.follow(path)?;
        let (kind, size) = match self.files.get(&path) {
            Some(bytes) => (FileKind::Regular, bytes.len() as u64),
            None if self.is_directory(&path) => (FileKind::Directory, 0),
            None => return Err(PathError::NotFound),
        };
        let id = FileId { device: 1, inode: self.inode(&path) };
        Ok(Meta { id, kind, size, modified: 0, set_user_id: false, secure_execution: false })
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        self.stat(path)?;
        self.follow(path)
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        self.links.get(&lexical(path)).cloned()
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        let mut prefix = lexical(directory);
        if prefix != "/" {
            prefix.push(b'/');
        }
        let names: BTreeSet<BString> = self
            .files
            .keys()
            .chain(self.links.keys())
            .filter_map(|file| file.strip_prefix(prefix.as_slice()))
            .map(|rest| rest.split(|&byte| byte == b'/').next().unwrap_or_default().into())
            .collect();
        if names.is_empty() { Err(PathError::NotFound) } else { Ok(names.into_iter().collect()) }
    }

    fn current_directory(&self) -> BString {
        "/".into()
    }
}
