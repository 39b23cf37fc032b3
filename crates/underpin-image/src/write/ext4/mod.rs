//! An ext4 file system from a tree: no root rights, no loop device, no tool.
//!
//! `mke2fs -d` copies inode times of the host and so gives other bytes on each (11 of them with 1.47.0); it is the test's
//! oracle, not the writer. Same tree, same settings, same bytes: inode numbers count from 12 in the tree's order, blocks are
//! given out in that order too, all times are the tree's.
//!
//! Blocks have 4 KiB, inodes 256 bytes; each group has its own bitmaps and inode table, with copies of the superblock in
//! groups 0, 1 and powers of 3, 5 and 7. Files are mapped by extents. There are no checksums of metadata: an image is
//! written whole, and its own checksum covers it.

mod directory;
mod inode;
mod layout;
mod superblock;

use super::Place;
use crate::{Content, DeviceClass, Entry, ImageError, Kind, Tree};
use inode::{Inode, Mapped};
use layout::{Allocator, Layout};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of a block.
pub(crate) const BLOCK: u64 = 4096;
const ROOT: u32 = 2;
const JOURNAL: u32 = 8;
const LOST_AND_FOUND: u32 = 11;
/// The first inode of the tree's own entries.
const FIRST: u32 = 12;
/// A directory's link count is 16 bits, of which the kernel uses this much.
const LINKS: u32 = 65_000;

/// What a tree does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The identifier by which a kernel's command line or a first process finds it. Hashes of names begin with it too.
    pub uuid: [u8; 16],
    /// A name of at most 16 bytes.
    pub label: &'static str,
    /// The size in bytes; if it is not given, what the files take, a quarter more and 4 MiB.
    pub bytes: Option<u64>,
    /// Whether there is a journal. A disk of an emulator is thrown away after the run and needs none; a card in a board whose
    /// power is cut does.
    pub journal: bool,
}

/// How large it will be.
///
/// # Errors
/// If the tree does not fit into the size that was asked for, or into the format.
pub fn size(tree: &Tree, settings: &Settings) -> Result<u64, ImageError> {
    Ok(Layout::new(&Demand::new(tree, settings)?, settings)?.blocks * BLOCK)
}

/// Writes the file system and returns its size; the file is at least that long afterwards.
///
/// # Errors
/// As for [`size`], and if a file cannot be read or written.
pub fn write(tree: &Tree, settings: &Settings, place: &Place<'_>) -> Result<u64, ImageError> {
    let layout = Layout::new(&Demand::new(tree, settings)?, settings)?;
    let bytes = layout.blocks * BLOCK;
    let end = place.offset + bytes;
    if place.file.metadata().map_err(ImageError::io(place.path))?.len() < end {
        place.file.set_len(end).map_err(ImageError::io(place.path))?;
    }
    let mut system = System { tree, place, allocator: Allocator::new(&layout), inodes: Vec::new() };
    let journal = system.journal(layout.journal, settings)?;
    system.tree()?;
    let System { allocator, inodes, .. } = system;
    layout.write(place, &allocator, &inodes, &superblock::Fields { settings, journal, time: tree.time() })?;
    Ok(bytes)
}

/// What a tree takes.
struct Demand {
    /// Blocks of content, directories and long links; blocks of extents are among the room that is added.
    blocks: u64,
    inodes: u64,
}

impl Demand {
    fn new(tree: &Tree, settings: &Settings) -> Result<Demand, ImageError> {
        let mut blocks = 1 + if settings.journal { layout::LARGEST_JOURNAL } else { 0 };
        let mut names: HashMap<&Path, Vec<&[u8]>> = HashMap::new();
        names.insert(Path::new(""), vec![b"lost+found"]);
        for (path, entry) in tree.entries() {
            match &entry.kind {
                Kind::File(content) => blocks += data_blocks(content.size()) + content.size() / (100 << 20),
                Kind::Symlink(to) => blocks += u64::from(to.as_os_str().len() >= inode::INLINE),
                Kind::Directory => drop(names.entry(path).or_default()),
                Kind::Device { .. } => {}
            }
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                names.entry(parent).or_default().push(name.as_bytes());
            }
        }
        blocks += names.values().map(|names| directory::blocks(names.iter().copied())).sum::<u64>();
        let inodes = tree.len() as u64 + u64::from(FIRST);
        let limit = u64::from(u32::MAX);
        if inodes > limit / 2 || blocks > limit / 2 {
            let what = "what the tree takes in blocks or inodes".to_owned();
            return Err(ImageError::Limit { what, value: inodes.max(blocks), format: "an ext4 file system", limit });
        }
        Ok(Demand { blocks, inodes })
    }
}

fn data_blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK)
}

/// A file system on its way.
struct System<'a> {
    tree: &'a Tree,
    place: &'a Place<'a>,
    allocator: Allocator,
    /// With their numbers.
    inodes: Vec<(u32, Inode)>,
}

impl System<'_> {
    /// The journal, empty; returns its map, of which the superblock keeps a copy.
    fn journal(&mut self, blocks: u64, settings: &Settings) -> Result<Option<[u8; 60]>, ImageError> {
        if blocks == 0 {
            return Ok(None);
        }
        let mapped = self.map(blocks)?;
        let map = mapped.map;
        self.place.put(mapped.runs[0].0 * BLOCK, &superblock::journal(blocks, &settings.uuid))?;
        let entry = Entry::file(Vec::new(), 0o600);
        self.push(JOURNAL, Inode { links: 1, size: blocks * BLOCK, ..Inode::new(&entry, inode::FILE, mapped) });
        Ok(Some(map))
    }

    fn tree(&mut self) -> Result<(), ImageError> {
        let tree = self.tree;
        let numbers: HashMap<&Path, u32> = tree.entries().map(|(path, _)| path).zip(FIRST..).collect();
        let root = Entry::directory(0o755);
        let lost = Entry::directory(0o700);
        let mut folders: HashMap<&Path, directory::Directory> = HashMap::new();
        folders.insert(Path::new(""), directory::Directory::new(ROOT, ROOT));
        for (path, entry) in tree.entries() {
            let (number, parent) = (numbers[path], path.parent().unwrap_or(Path::new("")));
            let name = path.file_name().unwrap_or_default();
            let above = numbers.get(parent).copied().unwrap_or(ROOT);
            if let Some(folder) = folders.get_mut(parent) {
                folder.add(name.as_bytes(), number, kind_code(&entry.kind));
            }
            if entry.kind == Kind::Directory {
                folders.insert(path, directory::Directory::new(number, above));
            }
        }
        match tree.get("lost+found") {
            None => {
                // Where e2fsck puts what has lost its name.
                if let Some(folder) = folders.get_mut(Path::new("")) {
                    folder.add(b"lost+found", LOST_AND_FOUND, kind_code(&Kind::Directory));
                }
                self.directory(LOST_AND_FOUND, &lost, directory::Directory::new(LOST_AND_FOUND, ROOT), Path::new(""))?;
            }
            Some(Entry { kind: Kind::Directory, .. }) => {}
            Some(_) => {
                let reason = "in an ext4 file system this name is a directory's: rename the file";
                return Err(ImageError::Name { path: PathBuf::from("lost+found"), reason });
            }
        }
        if let Some(folder) = folders.remove(Path::new("")) {
            self.directory(ROOT, &root, folder, Path::new("/"))?;
        }
        for (path, entry) in tree.entries() {
            self.entry(numbers[path], path, entry, folders.remove(path))?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        number: u32,
        path: &Path,
        entry: &Entry,
        folder: Option<directory::Directory>,
    ) -> Result<(), ImageError> {
        match &entry.kind {
            Kind::File(content) => self.file(number, entry, content),
            Kind::Directory => match folder {
                Some(folder) => self.directory(number, entry, folder, path),
                None => Ok(()),
            },
            Kind::Symlink(to) => self.link(number, path, entry, to.as_os_str().as_bytes()),
            Kind::Device { class, major, minor } => {
                let kind = if *class == DeviceClass::Block { inode::BLOCK_DEVICE } else { inode::CHARACTER_DEVICE };
                let map = inode::device(*major, *minor);
                self.push(number, Inode { map, flags: 0, links: 1, ..Inode::new(entry, kind, Mapped::default()) });
                Ok(())
            }
        }
    }

    fn file(&mut self, number: u32, entry: &Entry, content: &Content) -> Result<(), ImageError> {
        let size = content.size();
        let mapped = self.map(data_blocks(size))?;
        let mut runs: Vec<_> = mapped.runs.iter().map(|&(start, count)| (start * BLOCK, count * BLOCK)).collect();
        if let Some(last) = runs.last_mut() {
            last.1 -= data_blocks(size) * BLOCK - size;
        }
        self.place.spread(content, &runs)?;
        self.push(number, Inode { links: 1, size, ..Inode::new(entry, inode::FILE, mapped) });
        Ok(())
    }

    fn directory(
        &mut self,
        number: u32,
        entry: &Entry,
        folder: directory::Directory,
        path: &Path,
    ) -> Result<(), ImageError> {
        if folder.links > LINKS {
            return Err(ImageError::Limit {
                what: format!("the number of directories in {}", path.display()),
                value: u64::from(folder.links) - 2,
                format: "a directory of ext4",
                limit: u64::from(LINKS) - 2,
            });
        }
        let (links, bytes) = (folder.links, folder.finish());
        let mapped = self.map(bytes.len() as u64 / BLOCK)?;
        self.blocks(&mapped, &bytes)?;
        self.push(number, Inode { links, size: bytes.len() as u64, ..Inode::new(entry, inode::DIRECTORY, mapped) });
        Ok(())
    }

    fn link(&mut self, number: u32, path: &Path, entry: &Entry, to: &[u8]) -> Result<(), ImageError> {
        let size = to.len() as u64;
        if to.is_empty() || size >= BLOCK {
            let reason = "a link of ext4 holds between 1 and 4095 bytes: shorten what it leads to";
            return Err(ImageError::Name { path: path.to_owned(), reason });
        }
        let inode = if to.len() < inode::INLINE {
            let mut map = [0; 60];
            map[..to.len()].copy_from_slice(to);
            Inode { map, flags: 0, ..Inode::new(entry, inode::LINK, Mapped::default()) }
        } else {
            let mapped = self.map(1)?;
            self.blocks(&mapped, to)?;
            Inode::new(entry, inode::LINK, mapped)
        };
        self.push(number, Inode { links: 1, size, ..inode });
        Ok(())
    }

    fn blocks(&self, mapped: &Mapped, bytes: &[u8]) -> Result<(), ImageError> {
        let mut rest = bytes;
        for &(start, count) in &mapped.runs {
            let (now, later) = rest.split_at(rest.len().min((count * BLOCK) as usize));
            self.place.put(start * BLOCK, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Blocks for content, with the map that an inode holds. Long maps have leaves of their own.
    fn map(&mut self, blocks: u64) -> Result<Mapped, ImageError> {
        let runs = self.allocator.take(blocks)?;
        let pieces = inode::pieces(runs.len());
        let leaves = if pieces == 0 { Vec::new() } else { self.allocator.take(pieces)? };
        let leaves: Vec<u64> = leaves.iter().flat_map(|&(start, count)| start..start + count).collect();
        let (mapped, contents) = inode::map(runs, &leaves)?;
        for (leaf, content) in leaves.iter().zip(contents) {
            self.place.put(leaf * BLOCK, &content)?;
        }
        Ok(mapped)
    }

    fn push(&mut self, number: u32, inode: Inode) {
        self.inodes.push((number, inode));
    }
}

/// What a directory says of an entry's kind.
fn kind_code(kind: &Kind) -> u8 {
    match kind {
        Kind::File(_) => 1,
        Kind::Directory => 2,
        Kind::Device { class: DeviceClass::Character, .. } => 3,
        Kind::Device { class: DeviceClass::Block, .. } => 4,
        Kind::Symlink(_) => 7,
    }
}
