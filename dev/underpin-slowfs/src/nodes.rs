//! Node numbers of the mount and the files behind them.
//!
//! A file has one number however many names it has, so that its identity (device and inode) is the same through the
//! mirror as outside. Numbers are never forgotten: the table is bounded by the mirrored folder.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The number of the mount's root (fuse.h, FUSE_ROOT_ID).
const ROOT: u64 = 1;

#[derive(Debug)]
pub(crate) struct Nodes {
    table: RwLock<Table>,
}

#[derive(Debug)]
struct Table {
    paths: Vec<Arc<Path>>,
    numbers: HashMap<(u64, u64), u64>,
}

impl Nodes {
    pub fn new(source: PathBuf, root: &Metadata) -> Nodes {
        let numbers = HashMap::from([((root.dev(), root.ino()), ROOT)]);
        Nodes { table: RwLock::new(Table { paths: vec![source.into()], numbers }) }
    }

    /// Where the file of that number is; `None` for a number never given out.
    pub fn path(&self, number: u64) -> Option<Arc<Path>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.paths.get(usize::try_from(number.checked_sub(ROOT)?).ok()?).cloned()
    }

    /// The number of the file at `path`, a new one if it was never seen.
    pub fn number(&self, path: PathBuf, facts: &Metadata) -> u64 {
        let id = (facts.dev(), facts.ino());
        if let Some(number) = self.table.read().unwrap_or_else(PoisonError::into_inner).numbers.get(&id) {
            return *number;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Table { paths, numbers } = &mut *table;
        *numbers.entry(id).or_insert_with(|| {
            paths.push(path.into());
            ROOT + (paths.len() as u64 - 1)
        })
    }
}
