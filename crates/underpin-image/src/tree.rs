//! The files of an image as data, sorted by path.
//!
//! Every format is written from a tree. What differs between hosts does not get in: owners are 0:0 unless set, modes of files
//! that come from a folder are 0755 or 0644 whatever the umask was, and one time stands for all.

use crate::ImageError;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use underpin_sys::end_requests;

/// Linux's limits for a path and for one name in it.
const LONGEST_PATH: usize = 4095;
const LONGEST_NAME: usize = 255;

/// What a regular file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// A file of the host, read when the image is written.
    Host {
        /// Where it is.
        path: PathBuf,
        /// Its size when it was added; another size later is an error.
        size: u64,
    },
}

impl Content {
    /// A file of the host, or what a link there leads to. A FIFO or a device is refused without being opened.
    ///
    /// # Errors
    /// If it is not a regular file.
    pub fn host(path: impl Into<PathBuf>) -> Result<Content, ImageError> {
        let path = path.into();
        let data = fs::metadata(&path).map_err(ImageError::io(&path))?;
        if data.is_file() {
            Ok(Content::Host { path, size: data.len() })
        } else {
            Err(ImageError::Kind { found: kind_name(data.file_type()), path })
        }
    }

    /// How many bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Host { size, .. } => *size,
        }
    }

    /// Writes all bytes somewhere; `to` names the place in errors.
    ///
    /// # Errors
    /// If the file of the host has another size than before, one of the two files fails, or this process was asked to end.
    pub fn copy(&self, out: &mut dyn io::Write, to: &Path) -> Result<(), ImageError> {
        if end_requests() > 0 {
            return Err(ImageError::Interrupted);
        }
        match self {
            Content::Bytes(bytes) => out.write_all(bytes).map_err(ImageError::io(to)),
            Content::Host { path, size } => {
                let mut file = File::open(path).map_err(ImageError::io(path))?;
                let (mut buffer, mut done) = (vec![0; 1 << 16], 0);
                loop {
                    let read = file.read(&mut buffer).map_err(ImageError::io(path))?;
                    done += read as u64;
                    if read == 0 || done > *size {
                        break;
                    }
                    if end_requests() > 0 {
                        return Err(ImageError::Interrupted);
                    }
                    out.write_all(&buffer[..read]).map_err(ImageError::io(to))?;
                }
                if done == *size {
                    return Ok(());
                }
                let found = file.metadata().map_or(done, |data| data.len());
                Err(ImageError::Changed { path: path.clone(), expected: *size, found })
            }
        }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content::Bytes(bytes.into())
    }
}

impl From<&'static [u8]> for Content {
    fn from(bytes: &'static [u8]) -> Content {
        Content::Bytes(bytes.into())
    }
}

/// The two classes of device nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceClass {
    /// A character device.
    Character,
    /// A block device.
    Block,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File(Content),
    /// A directory.
    Directory,
    /// A symbolic link, with the bytes that it holds.
    Symlink(PathBuf),
    /// A device node.
    Device {
        /// Character or block.
        class: DeviceClass,
        /// The driver.
        major: u32,
        /// The device of that driver.
        minor: u32,
    },
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::File(_) => "a file",
            Kind::Directory => "a directory",
            Kind::Symlink(_) => "a symbolic link",
            Kind::Device { .. } => "a device",
        }
    }
}

/// One file, directory, link or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// The permission bits with set-user-id, set-group-id and sticky: at most 0o7777.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Entry {
    /// A file of root's.
    #[must_use]
    pub fn file(content: impl Into<Content>, mode: u32) -> Entry {
        Entry { kind: Kind::File(content.into()), mode: mode & 0o7777, uid: 0, gid: 0 }
    }

    /// A directory of root's.
    #[must_use]
    pub fn directory(mode: u32) -> Entry {
        Entry { kind: Kind::Directory, mode: mode & 0o7777, uid: 0, gid: 0 }
    }

    /// A symbolic link.
    #[must_use]
    pub fn symlink(to: impl Into<PathBuf>) -> Entry {
        Entry { kind: Kind::Symlink(to.into()), mode: 0o777, uid: 0, gid: 0 }
    }

    /// A device node of root's.
    #[must_use]
    pub fn device(class: DeviceClass, major: u32, minor: u32, mode: u32) -> Entry {
        Entry { kind: Kind::Device { class, major, minor }, mode: mode & 0o7777, uid: 0, gid: 0 }
    }

    /// The same with another owner.
    #[must_use]
    pub fn owned(self, uid: u32, gid: u32) -> Entry {
        Entry { uid, gid, ..self }
    }
}

/// The files of an image; see the module.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Below the root, without a slash in front. The order is that of path components, so a directory is before what it holds.
    entries: BTreeMap<PathBuf, Entry>,
    /// Directories that nobody added: they became necessary for something in them.
    implied: std::collections::BTreeSet<PathBuf>,
    time: u32,
}

impl Tree {
    /// An empty root; all files will have this time, in seconds since 1970.
    #[must_use]
    pub fn new(time: u32) -> Tree {
        Tree { time, ..Tree::default() }
    }

    /// What is in a folder of the host, with modes and owners made independent of it: files are 0755 or 0644 by the
    /// owner's right to execute, directories 0755, or 1777 if they are sticky. Set-user-id and set-group-id of files are kept.
    /// Links stay links.
    ///
    /// # Errors
    /// If something cannot be read or is a FIFO or a socket.
    pub fn from_folder(folder: &Path, time: u32) -> Result<Tree, ImageError> {
        let mut tree = Tree::new(time);
        tree.add_folder(folder, Path::new(""))?;
        Ok(tree)
    }

    /// Adds what is in a folder of the host, as [`Tree::from_folder`] does, below a directory of the image.
    ///
    /// # Errors
    /// As for [`Tree::from_folder`], and if something is there already.
    pub fn add_folder(&mut self, folder: &Path, below: &Path) -> Result<(), ImageError> {
        for entry in fs::read_dir(folder).map_err(ImageError::io(folder))? {
            let entry = entry.map_err(ImageError::io(folder))?;
            let (path, name) = (entry.path(), below.join(entry.file_name()));
            let found = host_entry(&path)?;
            let is_directory = found.kind == Kind::Directory;
            self.add(&name, found)?;
            if is_directory {
                self.add_folder(&path, &name)?;
            }
        }
        Ok(())
    }

    /// Adds one entry, with the directories above it (0755) if they are missing. A slash in front means the image's root.
    ///
    /// # Errors
    /// If the name has `..`, a NUL byte or more bytes than Linux allows, if it is there already, or if what should be a
    /// directory above it is not one: a link there would lead elsewhere.
    pub fn add(&mut self, path: impl AsRef<Path>, entry: Entry) -> Result<(), ImageError> {
        let path = inside(path.as_ref())?;
        let mut parents: Vec<&Path> = path.ancestors().skip(1).filter(|parent| *parent != Path::new("")).collect();
        parents.reverse();
        for &parent in &parents {
            match self.entries.get(parent) {
                Some(Entry { kind: Kind::Directory, .. }) | None => {}
                Some(other) => {
                    let found = other.kind.name();
                    return Err(ImageError::NotDirectory { path: path.clone(), parent: parent.to_owned(), found });
                }
            }
        }
        let replaces_implied = entry.kind == Kind::Directory && self.implied.remove(&path);
        if self.entries.contains_key(&path) && !replaces_implied {
            return Err(ImageError::Duplicate { path });
        }
        for parent in parents {
            if !self.entries.contains_key(parent) {
                self.entries.insert(parent.to_owned(), Entry::directory(0o755));
                self.implied.insert(parent.to_owned());
            }
        }
        self.entries.insert(path, entry);
        Ok(())
    }

    /// Gives the directories that nobody added the mode and owner that they have in a layer below: unpacked over it, they
    /// would replace those.
    pub fn lie_over(&mut self, below: &Tree) {
        for path in &self.implied {
            if let Some(entry) = below.entries.get(path).filter(|entry| entry.kind == Kind::Directory) {
                self.entries.insert(path.clone(), entry.clone());
            }
        }
    }

    /// Adds the entries of a layer that lies over this one. Its directories replace those that are here already.
    ///
    /// # Errors
    /// If something else is there already.
    pub fn overlay(&mut self, layer: &Tree) -> Result<(), ImageError> {
        for (path, entry) in &layer.entries {
            let below = self.entries.get(path).map(|below| &below.kind);
            if below.is_some_and(|below| (below, &entry.kind) != (&Kind::Directory, &Kind::Directory)) {
                return Err(ImageError::Duplicate { path: path.clone() });
            }
            self.entries.insert(path.clone(), entry.clone());
        }
        Ok(())
    }

    /// The entry of a path, with or without a slash in front. Links are not followed.
    #[must_use]
    pub fn get(&self, path: impl AsRef<Path>) -> Option<&Entry> {
        self.entries.get(&inside(path.as_ref()).ok()?)
    }

    /// All entries with their paths below the root (no slash in front), a directory before what it holds.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// The names in a directory; its path has no slash in front and is empty for the root.
    pub(crate) fn names_in<'t>(&'t self, directory: &'t Path) -> impl Iterator<Item = &'t OsStr> {
        // Everything below a directory follows it.
        let after = self.entries.range::<Path, _>((Bound::Excluded(directory), Bound::Unbounded));
        let below = after.take_while(move |(path, _)| path.starts_with(directory));
        below.filter(move |(path, _)| path.parent() == Some(directory)).filter_map(|(path, _)| path.file_name())
    }

    /// All entries, taken out.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (PathBuf, Entry)> {
        self.implied.clear();
        std::mem::take(&mut self.entries).into_iter()
    }

    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The time of all files, in seconds since 1970.
    #[must_use]
    pub fn time(&self) -> u32 {
        self.time
    }
}

/// The time that an image's files have: the value of SOURCE_DATE_EPOCH, 0 if it is not set.
///
/// # Errors
/// If the value is not a number of seconds that every format can hold.
pub fn source_date_epoch(variable: Option<&OsStr>) -> Result<u32, ImageError> {
    let Some(text) = variable else { return Ok(0) };
    let time = text.to_str().and_then(|text| text.parse().ok());
    time.ok_or_else(|| ImageError::Epoch(text.to_string_lossy().into_owned()))
}

/// A path below the root: no slash in front, no `.`, no `..`.
fn inside(path: &Path) -> Result<PathBuf, ImageError> {
    let refused = |reason| ImageError::Name { path: path.to_owned(), reason };
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if name.as_bytes().contains(&0) => {
                return Err(refused("the name holds a NUL byte: rename the file"));
            }
            Component::Normal(name) if name.len() > LONGEST_NAME => {
                return Err(refused("one name in it has more than 255 bytes: rename the file"));
            }
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => return Err(refused("`..` could lead out of the image: give the path without it")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if clean.as_os_str().is_empty() {
        return Err(refused("expected the path of a file, not the root itself"));
    }
    if clean.as_os_str().len() > LONGEST_PATH {
        return Err(refused("the path has more than 4095 bytes: shorten it"));
    }
    Ok(clean)
}

/// One file of the host with what no host decides.
pub(crate) fn host_entry(path: &Path) -> Result<Entry, ImageError> {
    let data = fs::symlink_metadata(path).map_err(ImageError::io(path))?;
    let kind = data.file_type();
    if kind.is_symlink() {
        return Ok(Entry::symlink(fs::read_link(path).map_err(ImageError::io(path))?));
    }
    if kind.is_dir() {
        return Ok(Entry::directory(if data.mode() & 0o1000 == 0 { 0o755 } else { 0o1777 }));
    }
    if kind.is_file() {
        let rights = if data.mode() & 0o100 == 0 { 0o644 } else { 0o755 };
        let content = Content::Host { path: path.to_owned(), size: data.len() };
        return Ok(Entry::file(content, rights | data.mode() & 0o6000));
    }
    Err(ImageError::Kind { path: path.to_owned(), found: kind_name(kind) })
}

fn kind_name(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device of the host"
    } else {
        "what is neither file, directory nor link"
    }
}

#[cfg(test)]
mod tests;
