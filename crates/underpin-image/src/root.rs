//! A tree as a loader in the guest will see it, for `underpin_resolve`; what is not in the tree may be looked for in a host's root.

use crate::{Content, Kind, Tree};
use bstr::{BStr, BString, ByteSlice};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use underpin_elf::FileSource;
use underpin_resolve::root::{FileKind, Meta, Opened};
use underpin_resolve::{FileId, PathError, Root};

/// Linux gives up after this many links.
const LINKS: usize = 40;
/// No device of a host has this number: identities in the tree are those of no host file.
const DEVICE: u64 = u64::MAX;

/// See the module.
pub struct GuestRoot<'a> {
    /// What the image will hold.
    pub tree: &'a Tree,
    /// Where the rest is looked for; `None`: nowhere, as in the guest.
    pub host: Option<&'a dyn Root>,
}

impl GuestRoot<'_> {
    /// The entry that a path leads to, links followed; the path is below the root.
    fn find(&self, path: &BStr) -> Result<PathBuf, PathError> {
        let mut rest: VecDeque<PathBuf> = pieces(Path::new(OsStr::from_bytes(path)));
        let (mut at, mut links) = (PathBuf::new(), 0);
        while let Some(piece) = rest.pop_front() {
            if piece == Path::new("..") {
                at.pop();
                continue;
            }
            at.push(&piece);
            match self.tree.get(&at).map(|entry| &entry.kind) {
                None => return Err(PathError::NotFound),
                Some(Kind::Symlink(target)) => {
                    links += 1;
                    if links > LINKS {
                        return Err(PathError::Loop);
                    }
                    at.pop();
                    if target.is_absolute() {
                        at.clear();
                    }
                    for piece in pieces(target).into_iter().rev() {
                        rest.push_front(piece);
                    }
                }
                Some(Kind::Directory) => {}
                Some(_) if rest.is_empty() => {}
                Some(_) => return Err(PathError::NotDirectory),
            }
        }
        Ok(at)
    }

    fn meta(&self, at: &Path) -> Meta {
        // Only names of one entry have one number: no entry of a tree has two.
        let mut hasher = DefaultHasher::new();
        at.hash(&mut hasher);
        let inode = hasher.finish();
        let entry = self.tree.get(at);
        let (kind, size) = match entry.map(|entry| &entry.kind) {
            Some(Kind::File(content)) => (FileKind::Regular, content.size()),
            Some(Kind::Directory) | None => (FileKind::Directory, 0),
            Some(_) => (FileKind::Other, 0),
        };
        let set = |bits: u32| entry.is_some_and(|entry| entry.mode & bits != 0);
        Meta {
            id: FileId { device: DEVICE, inode },
            kind,
            size,
            modified: 0,
            set_user_id: set(0o4000),
            secure_execution: set(0o6000),
        }
    }
}

fn pieces(path: &Path) -> VecDeque<PathBuf> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| PathBuf::from(part.as_os_str())).collect()
}

impl Root for GuestRoot<'_> {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let at = match (self.find(path), self.host) {
            (Ok(at), _) => at,
            (Err(_), Some(host)) => return host.open(path),
            (Err(error), None) => return Err(error),
        };
        let meta = self.meta(&at);
        let source: Arc<dyn underpin_elf::Source + Send + Sync> = match self.tree.get(&at).map(|entry| &entry.kind) {
            Some(Kind::File(Content::Bytes(bytes))) => Arc::new(bytes.to_vec()),
            Some(Kind::File(Content::Host { path, .. })) => {
                let opened = File::open(path).and_then(FileSource::new);
                Arc::new(opened.map_err(|error| PathError::of(&error))?)
            }
            _ => Arc::new(Vec::new()),
        };
        Ok(Opened { meta, source })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        match (self.find(path), self.host) {
            (Ok(at), _) => Ok(self.meta(&at)),
            (Err(_), Some(host)) => host.stat(path),
            (Err(error), None) => Err(error),
        }
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        match (self.find(path), self.host) {
            (Ok(at), _) => Ok([b"/", at.as_os_str().as_bytes()].concat().into()),
            (Err(_), Some(host)) => host.real_path(path),
            (Err(error), None) => Err(error),
        }
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        match self.tree.get(Path::new(OsStr::from_bytes(path))).map(|entry| &entry.kind) {
            Some(Kind::Symlink(target)) => Some(target.as_os_str().as_bytes().as_bstr().into()),
            Some(_) => None,
            None => self.host.and_then(|host| host.read_link(path)),
        }
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        let ours = self
            .find(directory)
            .map(|at| self.tree.names_in(&at).map(|name| name.as_bytes().into()).collect::<Vec<BString>>());
        let theirs = self.host.map(|host| host.list(directory));
        match (ours, theirs) {
            (Ok(mut ours), Some(Ok(theirs))) => {
                ours.extend(theirs);
                ours.sort();
                ours.dedup();
                Ok(ours)
            }
            (Ok(found), _) | (Err(_), Some(Ok(found))) => Ok(found),
            (Err(error), _) => Err(error),
        }
    }

    fn current_directory(&self) -> BString {
        "/".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;

    #[test]
    fn paths_lead_through_links_as_in_a_kernel() {
        let mut tree = Tree::new(0);
        tree.add("usr/lib/x.so.1.2", Entry::file(b"bytes".to_vec(), 0o644)).unwrap();
        tree.add("usr/lib/x.so.1", Entry::symlink("x.so.1.2")).unwrap();
        tree.add("lib", Entry::symlink("/usr/lib")).unwrap();
        tree.add("loop", Entry::symlink("loop")).unwrap();
        let root = GuestRoot { tree: &tree, host: None };
        assert_eq!(root.read("/lib/x.so.1".into(), 100), Ok(b"bytes".to_vec()));
        assert_eq!(root.real_path("/lib/../lib/./x.so.1".into()), Ok("/usr/lib/x.so.1.2".into()));
        assert_eq!(root.stat("/usr/lib".into()).map(|meta| meta.kind), Ok(FileKind::Directory));
        assert_eq!(root.stat("/loop".into()), Err(PathError::Loop));
        assert_eq!(root.stat("/lib/x.so.1/y".into()), Err(PathError::NotDirectory));
        assert_eq!(root.stat("/lib/y".into()), Err(PathError::NotFound));
    }
}
