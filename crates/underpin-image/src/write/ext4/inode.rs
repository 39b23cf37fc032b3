//! Inodes and the maps of blocks in them.

use crate::{Entry, ImageError};

/// The size of an inode.
pub(super) const SIZE: usize = 256;
/// Links of fewer bytes are in the inode.
pub(super) const INLINE: usize = 60;
/// What [`SIZE`] has beyond the first 128 bytes and is in use.
const EXTRA: u16 = 32;
const EXTENTS: u32 = 0x8_0000;

/// The bits of a mode that say what a file is (inode(7)).
pub(super) const FILE: u16 = 0o100_000;
pub(super) const DIRECTORY: u16 = 0o040_000;
pub(super) const LINK: u16 = 0o120_000;
pub(super) const CHARACTER_DEVICE: u16 = 0o020_000;
pub(super) const BLOCK_DEVICE: u16 = 0o060_000;

/// Extents in an inode, and in a block.
const IN_INODE: usize = 4;
const IN_BLOCK: usize = (super::BLOCK as usize - 12) / 12;
const MAGIC: u16 = 0xf30a;

/// Blocks of a file, and how its inode says which.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    /// First block and number of blocks.
    pub runs: Vec<(u64, u64)>,
    /// What the inode holds.
    pub map: [u8; 60],
    /// With the map's own.
    blocks: u64,
}

impl Default for Mapped {
    fn default() -> Mapped {
        Mapped { runs: Vec::new(), map: [0; 60], blocks: 0 }
    }
}

/// One inode.
#[derive(Clone, Debug)]
pub(super) struct Inode {
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub links: u32,
    pub flags: u32,
    pub map: [u8; 60],
    pub blocks: u64,
}

impl Inode {
    pub fn new(entry: &Entry, kind: u16, mapped: Mapped) -> Inode {
        Inode {
            mode: kind | (entry.mode & 0o7777) as u16,
            uid: entry.uid,
            gid: entry.gid,
            size: 0,
            links: 0,
            flags: EXTENTS,
            map: mapped.map,
            blocks: mapped.blocks,
        }
    }

    pub fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == DIRECTORY
    }

    pub fn bytes(&self, time: u32) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &self.mode.to_le_bytes());
        put(2, &(self.uid as u16).to_le_bytes());
        put(4, &(self.size as u32).to_le_bytes());
        for at in [8, 12, 16, 144] {
            put(at, &time.to_le_bytes());
        }
        put(24, &(self.gid as u16).to_le_bytes());
        put(26, &(self.links as u16).to_le_bytes());
        let sectors = self.blocks * (super::BLOCK / 512);
        put(28, &(sectors as u32).to_le_bytes());
        put(32, &self.flags.to_le_bytes());
        put(40, &self.map);
        put(108, &((self.size >> 32) as u32).to_le_bytes());
        put(116, &((sectors >> 32) as u16).to_le_bytes());
        put(120, &((self.uid >> 16) as u16).to_le_bytes());
        put(122, &((self.gid >> 16) as u16).to_le_bytes());
        put(128, &EXTRA.to_le_bytes());
        // The first 32 bits are signed: from 2038 on, the next two count 2^32.
        let epoch = time >> 31;
        for at in [132, 136, 140, 148] {
            put(at, &epoch.to_le_bytes());
        }
        bytes
    }
}

/// A device's numbers: the old form if they fit, as every kernel writes them.
pub(super) fn device(major: u32, minor: u32) -> [u8; 60] {
    let mut map = [0; 60];
    if major < 256 && minor < 256 {
        map[..4].copy_from_slice(&(major << 8 | minor).to_le_bytes());
    } else {
        let number = minor & 0xff | major << 8 | (minor & !0xff) << 12;
        map[4..8].copy_from_slice(&number.to_le_bytes());
    }
    map
}

/// How many blocks of extents so many runs need besides the inode.
pub(super) fn pieces(runs: usize) -> u64 {
    if runs <= IN_INODE { 0 } else { runs.div_ceil(IN_BLOCK) as u64 }
}

/// The inode's map, and the content of each leaf.
pub(super) fn map(runs: Vec<(u64, u64)>, leaves: &[u64]) -> Result<(Mapped, Vec<Vec<u8>>), ImageError> {
    let blocks = runs.iter().map(|run| run.1).sum::<u64>() + leaves.len() as u64;
    let mut logical = 0;
    let mut extents = Vec::new();
    for &(start, count) in &runs {
        extents.push((logical, start, count));
        logical += count;
    }
    let mut map = [0; 60];
    if leaves.is_empty() {
        let bytes = node(0, IN_INODE, extents.iter().map(|&extent| leaf_entry(extent)));
        map[..bytes.len()].copy_from_slice(&bytes);
        return Ok((Mapped { runs, map, blocks }, Vec::new()));
    }
    if leaves.len() > IN_INODE {
        return Err(ImageError::Limit {
            what: "the number of parts of a file".to_owned(),
            value: extents.len() as u64,
            format: "an ext4 file system of underpin's",
            limit: (IN_INODE * IN_BLOCK) as u64,
        });
    }
    let chunks: Vec<_> = extents.chunks(IN_BLOCK).collect();
    let index = chunks.iter().zip(leaves).map(|(chunk, &leaf)| index_entry(chunk[0].0, leaf));
    let bytes = node(1, IN_INODE, index);
    map[..bytes.len()].copy_from_slice(&bytes);
    let contents = chunks.iter().map(|chunk| node(0, IN_BLOCK, chunk.iter().map(|&extent| leaf_entry(extent))));
    let contents = contents.collect();
    Ok((Mapped { runs, map, blocks }, contents))
}

fn node(depth: u16, room: usize, entries: impl ExactSizeIterator<Item = [u8; 12]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [MAGIC, entries.len() as u16, room as u16, depth, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(entries.flatten());
    bytes
}

fn leaf_entry((logical, start, count): (u64, u64, u64)) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&(logical as u32).to_le_bytes());
    bytes[4..6].copy_from_slice(&(count as u16).to_le_bytes());
    bytes[6..8].copy_from_slice(&((start >> 32) as u16).to_le_bytes());
    bytes[8..].copy_from_slice(&(start as u32).to_le_bytes());
    bytes
}

fn index_entry(logical: u64, leaf: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&(logical as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&(leaf as u32).to_le_bytes());
    bytes[8..10].copy_from_slice(&((leaf >> 32) as u16).to_le_bytes());
    bytes
}
