//! The superblock, and that of the journal.

use super::layout::{Layout, PER_GROUP};
use super::{BLOCK, JOURNAL, Settings, inode};

/// What the superblock says that the geometry does not.
pub(super) struct Fields<'a> {
    pub settings: &'a Settings,
    /// The map in the journal's inode.
    pub journal: Option<[u8; 60]>,
    pub time: u32,
}

/// What is left.
#[derive(Default)]
pub(super) struct Counts {
    pub free_blocks: u64,
    pub free_inodes: u64,
}

/// Features that a system may ignore: attributes, and indexes of directories, which the kernel makes when one grows.
const COMPATIBLE: u32 = 0x8 | 0x20;
const HAS_JOURNAL: u32 = 0x4;
/// Needed to read: kinds in directories, extents.
const INCOMPATIBLE: u32 = 0x2 | 0x40;
/// Needed to write: few copies of the superblock, files above 2 GiB, large inodes.
const READ_ONLY: u32 = 0x1 | 0x2 | 0x40;

pub(super) fn bytes(layout: &Layout, counts: &Counts, group: u64, fields: &Fields<'_>) -> [u8; 1024] {
    let settings = fields.settings;
    let mut bytes = [0; 1024];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let inodes = layout.inodes_per_group * layout.groups();
    let features = COMPATIBLE | if fields.journal.is_some() { HAS_JOURNAL } else { 0 };
    for (at, value) in [
        (0, inodes as u32),
        (4, layout.blocks as u32),
        (12, counts.free_blocks as u32),
        (16, counts.free_inodes as u32),
        (24, 2), // 1024 << 2
        (28, 2),
        (32, PER_GROUP as u32),
        (36, PER_GROUP as u32),
        (40, layout.inodes_per_group as u32),
        (48, fields.time),
        (64, fields.time),
        (76, 1), // the revision with features
        (84, 11),
        (92, features),
        (96, INCOMPATIBLE),
        (100, READ_ONLY),
        (264, fields.time),
        (352, 1), // hashes of names take bytes as signed, whatever the processor does
    ] {
        put(at, &value.to_le_bytes());
    }
    // Never checked because of a count of mounts; clean; go on after errors.
    for (at, value) in [(54, 0xffff), (56, 0xef53), (58, 1), (60, 1), (88, inode::SIZE as u16), (90, group as u16)] {
        put(at, &u16::to_le_bytes(value));
    }
    put(348, &32u16.to_le_bytes());
    put(350, &32u16.to_le_bytes());
    put(104, &settings.uuid);
    put(120, &settings.label.as_bytes()[..settings.label.len().min(16)]);
    put(236, &settings.uuid);
    put(252, &[1]); // half of MD4
    if let Some(map) = &fields.journal {
        put(224, &JOURNAL.to_le_bytes());
        // A copy of the journal's inode: its map, then its size.
        put(253, &[1]);
        put(268, map);
        put(268 + 64, &((layout.journal * BLOCK) as u32).to_le_bytes());
    }
    bytes
}

/// The first block of an empty journal; its numbers have the most significant byte first.
pub(super) fn journal(blocks: u64, uuid: &[u8; 16]) -> [u8; 1024] {
    let mut bytes = [0; 1024];
    let numbers = [0xc03b_3998, 4, 0, BLOCK as u32, blocks as u32, 1, 1];
    for (index, number) in numbers.into_iter().enumerate() {
        bytes[index * 4..index * 4 + 4].copy_from_slice(&u32::to_be_bytes(number));
    }
    bytes[48..64].copy_from_slice(uuid);
    bytes[64..68].copy_from_slice(&1u32.to_be_bytes());
    bytes
}
