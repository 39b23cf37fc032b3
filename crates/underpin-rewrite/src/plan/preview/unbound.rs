//! A file system on which nothing is bound: every bound file is read as its original.
//!
//! What a program loaded before anything was bound is computed here and not stored, so it is right even if the bound
//! tree has changed since. A file whose record cannot be undone is returned unchanged, and listed in
//! [`UnboundRoot::lost`].

use super::originals::undone;
use bstr::{BStr, BString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use underpin_resolve::root::{FileKind, Meta, Opened, SharedSource};
use underpin_resolve::{FileId, PathError, Root};

/// Another root, with every bound file read as its original.
pub struct UnboundRoot<'r> {
    base: &'r dyn Root,
    /// Files that were examined; `None` for those that are not bound.
    known: Mutex<HashMap<FileId, Option<SharedSource>>>,
    lost: Mutex<Vec<(BString, String)>>,
}

impl<'r> UnboundRoot<'r> {
    /// A view of the files of `base`.
    #[must_use]
    pub fn new(base: &'r dyn Root) -> UnboundRoot<'r> {
        UnboundRoot { base, known: Mutex::default(), lost: Mutex::default() }
    }

    /// Files that carry a record and could not be undone, with the reason.
    #[must_use]
    pub fn lost(&self) -> Vec<(BString, String)> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn original(&self, path: &BStr, opened: &Opened) -> Option<SharedSource> {
        match undone(&*opened.source)? {
            Ok(bytes) => Some(Arc::new(bytes)),
            Err(error) => {
                self.lost.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), error));
                None
            }
        }
    }
}

impl Root for UnboundRoot<'_> {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let opened = self.base.open(path)?;
        if opened.meta.kind != FileKind::Regular {
            return Ok(opened);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&opened.meta.id).cloned();
        let original = known.unwrap_or_else(|| {
            let original = self.original(path, &opened);
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(opened.meta.id, original.clone());
            original
        });
        Ok(match original {
            Some(source) => Opened { meta: Meta { size: source.len(), ..opened.meta }, source },
            None => opened,
        })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        self.base.stat(path)
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        self.base.real_path(path)
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        self.base.read_link(path)
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        self.base.list(directory)
    }

    fn current_directory(&self) -> BString {
        self.base.current_directory()
    }

    fn kernel(&self) -> Option<[u8; 3]> {
        self.base.kernel()
    }
}
