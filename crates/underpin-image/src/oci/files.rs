//! The files that layers leave, by path; nothing is unpacked. Links are followed inside, as in a chroot: no path leads out.

use super::spool::Slice;
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use underpin_elf::Source;
use underpin_resolve::root::{FileKind as RootKind, Meta, Opened};
use underpin_resolve::{FileId, PathError, Root};

/// Links that are followed on one way (path_resolution(7)).
const LINKS: u32 = 40;

/// What an entry is.
#[derive(Clone, Debug)]
pub enum FileKind {
    /// A regular file.
    Regular(Bytes),
    /// A directory.
    Directory,
    /// A symbolic link and what it holds.
    Symlink(BString),
    /// A FIFO.
    Fifo,
    /// A device.
    Device,
}

/// Where the bytes of a file are.
#[derive(Clone, Debug)]
pub struct Bytes(pub(super) Place);

#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In a tar.
    Part(Slice),
    /// A file of a folder.
    Host { path: PathBuf, size: u64 },
    /// In memory, for an image that is not written yet.
    Memory(Arc<[u8]>),
}

impl Bytes {
    /// How many.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.0 {
            Place::Part(slice) => slice.size,
            Place::Host { size, .. } => *size,
            Place::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn open(&self) -> Result<Arc<dyn Source + Send + Sync>, PathError> {
        match &self.0 {
            Place::Part(slice) => Ok(Arc::new(slice.clone())),
            Place::Host { path, .. } => {
                let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
                let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
                let slice = file.and_then(Slice::of).map_err(|error| PathError::of(&error))?;
                Ok(Arc::new(slice))
            }
            Place::Memory(bytes) => Ok(Arc::new(bytes.to_vec())),
        }
    }
}

/// One entry.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits, with set-user-id, set-group-id and sticky.
    pub mode: u32,
    /// The owner.
    pub uid: u64,
    /// The group.
    pub gid: u64,
    /// The same for names of one file.
    pub inode: u64,
    /// Which layer it is of.
    pub layer: usize,
}

/// All files of an image.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// By path without a slash in front.
    nodes: BTreeMap<BString, Node>,
    inodes: u64,
}

impl Files {
    /// All entries with their paths (no slash in front), sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&BStr, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_bstr(), node))
    }

    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The entry of a path, links followed, with the path where it is.
    ///
    /// # Errors
    /// As open(2) would fail.
    pub fn find(&self, path: &BStr) -> Result<(BString, &Node), PathError> {
        let key = self.walk(path, true, false)?;
        let node = if key.is_empty() { &TOP } else { self.nodes.get(&key).ok_or(PathError::NotFound)? };
        Ok((key, node))
    }

    /// The entry of a path, the last name not followed.
    pub(super) fn find_unfollowed(&self, path: &BStr) -> Option<&Node> {
        self.nodes.get(&self.walk(path, false, false).ok()?)
    }

    /// The entries of a directory: names in it and what they are.
    ///
    /// # Errors
    /// If it is none.
    pub fn names(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        let (key, node) = self.find(directory)?;
        if !matches!(node.kind, FileKind::Directory) {
            return Err(PathError::NotDirectory);
        }
        let prefix: BString = if key.is_empty() { key } else { [key.as_slice(), b"/"].concat().into() };
        let below = self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let names = below.map(|(path, _)| &path[prefix.len()..]).filter(|rest| !rest.is_empty());
        Ok(names.filter(|rest| !rest.contains(&b'/')).map(BString::from).collect())
    }

    pub(super) fn fresh_inode(&mut self) -> u64 {
        self.inodes += 1;
        self.inodes
    }

    /// Puts an entry where its path leads, the directories above it made if they are missing. A directory that is there stays
    /// with what it holds; anything else is replaced.
    pub(super) fn put(&mut self, path: &BStr, node: Node) -> Result<(), PathError> {
        let key = self.place(path, node.layer)?;
        if key.is_empty() {
            return Ok(());
        }
        if !matches!(node.kind, FileKind::Directory) {
            self.remove_below(&key, usize::MAX);
        }
        self.nodes.insert(key, node);
        Ok(())
    }

    /// Removes what lower layers have at a path: a whiteout.
    pub(super) fn whiteout(&mut self, path: &BStr, layer: usize) -> Result<(), PathError> {
        let key = self.walk(path, false, false)?;
        if self.nodes.get(&key).is_some_and(|node| node.layer < layer) {
            self.nodes.remove(&key);
        }
        self.remove_below(&key, layer);
        Ok(())
    }

    /// Removes what lower layers have in a directory: an opaque whiteout.
    pub(super) fn opaque(&mut self, directory: &BStr, layer: usize) -> Result<(), PathError> {
        let key = self.walk(directory, true, false)?;
        self.remove_below(&key, layer);
        Ok(())
    }

    /// Removes what is below a path and of a layer under `layer`.
    fn remove_below(&mut self, key: &BString, layer: usize) {
        let prefix: BString = if key.is_empty() { key.clone() } else { [key.as_slice(), b"/"].concat().into() };
        let below = self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let gone: Vec<BString> = below.filter(|(_, node)| node.layer < layer).map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.nodes.remove(&path);
        }
    }

    /// Where an entry goes: links above it are followed, directories are made.
    fn place(&mut self, path: &BStr, layer: usize) -> Result<BString, PathError> {
        let Some(slash) = path.rfind_byte(b'/') else { return Ok(path.to_owned()) };
        let mut key = self.walk(path[..slash].as_bstr(), true, true)?;
        let ends: Vec<usize> = key.find_iter(b"/").chain([key.len()]).filter(|end| *end > 0).collect();
        for end in ends {
            let directory = key[..end].as_bstr();
            match self.nodes.get(directory).map(|node| &node.kind) {
                Some(FileKind::Directory) => {}
                Some(_) => return Err(PathError::NotDirectory),
                None => {
                    let inode = self.fresh_inode();
                    let node = Node { kind: FileKind::Directory, mode: 0o755, uid: 0, gid: 0, inode, layer };
                    self.nodes.insert(directory.to_owned(), node);
                }
            }
        }
        push(&mut key, &path[slash + 1..]);
        Ok(key)
    }

    /// The path with its links followed, `..` of the root being the root; the last name need not exist, and with `missing` none
    /// need.
    fn walk(&self, path: &BStr, follow_last: bool, missing: bool) -> Result<BString, PathError> {
        let mut todo: Vec<BString> = path.split(|byte| *byte == b'/').rev().map(BString::from).collect();
        let (mut key, mut links) = (BString::default(), 0);
        while let Some(name) = todo.pop() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    let cut = key.rfind_byte(b'/').unwrap_or(0);
                    key.truncate(cut);
                    continue;
                }
                _ => push(&mut key, &name),
            }
            let is_last = todo.iter().all(|name| name.is_empty() || name == ".");
            match self.nodes.get(&key).map(|node| &node.kind) {
                Some(FileKind::Symlink(target)) if follow_last || !is_last => {
                    links += 1;
                    if links > LINKS {
                        return Err(PathError::Loop);
                    }
                    let cut = if target.starts_with(b"/") { 0 } else { key.rfind_byte(b'/').unwrap_or(0) };
                    key.truncate(cut);
                    todo.extend(target.split(|byte| *byte == b'/').rev().map(BString::from));
                }
                Some(FileKind::Directory) => {}
                Some(_) if !is_last => return Err(PathError::NotDirectory),
                None if !is_last && !missing => return Err(PathError::NotFound),
                _ => {}
            }
        }
        Ok(key)
    }
}

fn push(key: &mut BString, name: &[u8]) {
    if !key.is_empty() {
        key.push(b'/');
    }
    key.extend_from_slice(name);
}

static TOP: Node = Node { kind: FileKind::Directory, mode: 0o755, uid: 0, gid: 0, inode: 0, layer: 0 };

fn meta(node: &Node) -> Meta {
    let (kind, size) = match &node.kind {
        FileKind::Regular(bytes) => (RootKind::Regular, bytes.size()),
        FileKind::Directory => (RootKind::Directory, 0),
        FileKind::Fifo => (RootKind::Fifo, 0),
        FileKind::Symlink(_) | FileKind::Device => (RootKind::Other, 0),
    };
    let set_user_id = node.mode & 0o4000 != 0;
    Meta {
        id: FileId { device: 1, inode: node.inode },
        kind,
        size,
        modified: 0,
        set_user_id,
        secure_execution: node.mode & 0o6000 != 0,
    }
}

impl Root for Files {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let (_, node) = self.find(path)?;
        let source = match &node.kind {
            FileKind::Regular(bytes) => bytes.open()?,
            _ => Arc::new(Vec::new()),
        };
        Ok(Opened { meta: meta(node), source })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        self.find(path).map(|(_, node)| meta(node))
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        self.find(path).map(|(key, _)| [b"/", key.as_slice()].concat().into())
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        match &self.nodes.get(&self.walk(path, false, false).ok()?)?.kind {
            FileKind::Symlink(target) => Some(target.clone()),
            _ => None,
        }
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        self.names(directory)
    }

    fn current_directory(&self) -> BString {
        "/".into()
    }
}

/// The path of an entry of a folder, as a key.
pub(super) fn key_of(path: &std::path::Path) -> BString {
    path.as_os_str().as_bytes().into()
}
