//! Where groups begin, what is in front of their data, and which blocks are taken.

use super::inode::{self, Inode};
use super::superblock::{self, Counts, Fields};
use super::{BLOCK, Demand, FIRST, Place, Settings};
use crate::ImageError;

/// Blocks whose bits fill one block.
pub(super) const PER_GROUP: u64 = BLOCK * 8;
/// The journal that mke2fs gives a small and a larger file system.
const SMALLEST_JOURNAL: u64 = 1024;
pub(super) const LARGEST_JOURNAL: u64 = 4096;
const MIB: u64 = 1 << 20;
/// A last group with less room than this is left out.
const WORTH: u64 = 64;
const INODES_PER_BLOCK: u64 = BLOCK / inode::SIZE as u64;
const DESCRIPTOR: usize = 32;

/// The geometry.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub blocks: u64,
    pub inodes_per_group: u64,
    /// Blocks of the journal; 0: none.
    pub journal: u64,
}

impl Layout {
    pub fn new(demand: &Demand, settings: &Settings) -> Result<Layout, ImageError> {
        let wanted = (demand.blocks * 5 / 4 + 4 * MIB / BLOCK).next_multiple_of(MIB / BLOCK);
        let Some(bytes) = settings.bytes else {
            // Groups have parts of their own in front, so it takes a few rounds.
            let mut blocks = wanted;
            loop {
                let layout = Layout::with(blocks, demand, settings);
                if layout.blocks == blocks && layout.free() >= wanted - MIB / BLOCK {
                    return Ok(layout);
                }
                blocks += 4 * MIB / BLOCK;
            }
        };
        let layout = Layout::with((bytes / BLOCK).min(u32::MAX.into()), demand, settings);
        if layout.free() < demand.blocks {
            let needed = Layout::new(demand, &Settings { bytes: None, ..settings.clone() })?.blocks * BLOCK;
            return Err(ImageError::TooSmall { needed: needed.div_ceil(MIB), given: bytes / MIB });
        }
        Ok(layout)
    }

    fn with(blocks: u64, demand: &Demand, settings: &Settings) -> Layout {
        let journal = match settings.journal {
            false => 0,
            true if blocks <= PER_GROUP => SMALLEST_JOURNAL,
            true => LARGEST_JOURNAL,
        };
        // One for 16 KiB, as mke2fs has it, and a quarter more than there are.
        let inodes = (demand.inodes * 5 / 4 + 16).max(blocks / 4);
        let per_group = |blocks: u64| {
            inodes.div_ceil(blocks.div_ceil(PER_GROUP).max(1)).next_multiple_of(INODES_PER_BLOCK).min(PER_GROUP)
        };
        let mut layout = Layout { blocks, inodes_per_group: per_group(blocks), journal };
        let last = layout.groups() - 1;
        if last > 0 && layout.end(last) - last * PER_GROUP < layout.front(last) + WORTH {
            layout.blocks = last * PER_GROUP;
            layout.inodes_per_group = per_group(layout.blocks);
        }
        layout
    }

    pub fn groups(&self) -> u64 {
        self.blocks.div_ceil(PER_GROUP).max(1)
    }

    fn end(&self, group: u64) -> u64 {
        ((group + 1) * PER_GROUP).min(self.blocks)
    }

    fn descriptor_blocks(&self) -> u64 {
        (self.groups() * DESCRIPTOR as u64).div_ceil(BLOCK)
    }

    fn table_blocks(&self) -> u64 {
        self.inodes_per_group / INODES_PER_BLOCK
    }

    /// The superblock and the descriptors, if this group has them.
    fn copies(&self, group: u64) -> u64 {
        if has_copy(group) { 1 + self.descriptor_blocks() } else { 0 }
    }

    /// All blocks of a group that are no data.
    fn front(&self, group: u64) -> u64 {
        self.copies(group) + 2 + self.table_blocks()
    }

    fn free(&self) -> u64 {
        let used: u64 = (0..self.groups()).map(|group| self.front(group)).sum();
        if self.groups() * self.inodes_per_group < u64::from(FIRST) { 0 } else { self.blocks.saturating_sub(used) }
    }

    /// Everything that is no data: superblocks, descriptors, bitmaps and inodes.
    pub fn write(
        &self,
        place: &Place<'_>,
        taken: &Allocator,
        inodes: &[(u32, Inode)],
        fields: &Fields<'_>,
    ) -> Result<(), ImageError> {
        let last = inodes.iter().map(|(number, _)| *number).max().unwrap_or(FIRST - 1).max(FIRST - 1);
        let mut descriptors = Vec::new();
        let mut counts = Counts::default();
        for group in 0..self.groups() {
            let first = group * PER_GROUP;
            let bitmaps = first + self.copies(group);
            let (blocks, free_blocks) = self.block_bitmap(group, taken);
            let used = u64::from(last).saturating_sub(group * self.inodes_per_group).min(self.inodes_per_group);
            place.put(bitmaps * BLOCK, &blocks)?;
            place.put((bitmaps + 1) * BLOCK, &self.inode_bitmap(used))?;
            let of_group = |number: u32| u64::from(number - 1) / self.inodes_per_group == group;
            let mut directories = 0;
            for (number, inode) in inodes.iter().filter(|(number, _)| of_group(*number)) {
                let index = u64::from(number - 1) % self.inodes_per_group;
                place.put((bitmaps + 2) * BLOCK + index * inode::SIZE as u64, &inode.bytes(fields.time))?;
                directories += u16::from(inode.is_directory());
            }
            let free_inodes = self.inodes_per_group - used;
            let mut descriptor = [0; DESCRIPTOR];
            for (index, block) in [bitmaps, bitmaps + 1, bitmaps + 2].into_iter().enumerate() {
                descriptor[index * 4..index * 4 + 4].copy_from_slice(&(block as u32).to_le_bytes());
            }
            for (index, number) in [free_blocks as u16, free_inodes as u16, directories].into_iter().enumerate() {
                descriptor[12 + index * 2..14 + index * 2].copy_from_slice(&number.to_le_bytes());
            }
            descriptors.extend(descriptor);
            counts.free_blocks += free_blocks;
            counts.free_inodes += free_inodes;
        }
        for group in (0..self.groups()).filter(|group| has_copy(*group)) {
            let start = group * PER_GROUP * BLOCK;
            // The first kilobyte of a disk is the boot loader's.
            let at = if group == 0 { 1024 } else { start };
            place.put(at, &superblock::bytes(self, &counts, group, fields))?;
            place.put(start + BLOCK, &descriptors)?;
        }
        Ok(())
    }

    fn block_bitmap(&self, group: u64, taken: &Allocator) -> (Vec<u8>, u64) {
        let first = group * PER_GROUP;
        let mut bits = vec![0xff; BLOCK as usize];
        let mut free = 0;
        for block in first + self.front(group)..self.end(group) {
            if !taken.is_taken(block) {
                bits[((block - first) / 8) as usize] &= !(1 << (block % 8));
                free += 1;
            }
        }
        (bits, free)
    }

    /// Numbers are given out without a gap; what is beyond the table counts as taken.
    fn inode_bitmap(&self, used: u64) -> Vec<u8> {
        let mut bits = vec![0xff; BLOCK as usize];
        for index in used..self.inodes_per_group {
            bits[(index / 8) as usize] &= !(1 << (index % 8));
        }
        bits
    }
}

/// Groups 0, 1 and the powers of 3, 5 and 7.
fn has_copy(group: u64) -> bool {
    let is_power = |base: u64| {
        let mut power = base;
        while power < group {
            power *= base;
        }
        power == group
    };
    group <= 1 || [3, 5, 7].into_iter().any(is_power)
}

/// Gives out blocks in their order.
pub(super) struct Allocator {
    /// What is left for data, as first block and the one after the last.
    free: std::collections::VecDeque<(u64, u64)>,
    /// The first block that was not given out.
    next: u64,
}

impl Allocator {
    pub fn new(layout: &Layout) -> Allocator {
        let free = (0..layout.groups()).map(|group| (group * PER_GROUP + layout.front(group), layout.end(group)));
        Allocator { free: free.collect(), next: 0 }
    }

    /// So many blocks, as runs. None is longer than a group, which is what an extent can be.
    pub fn take(&mut self, mut count: u64) -> Result<Vec<(u64, u64)>, ImageError> {
        let mut runs = Vec::new();
        while count > 0 {
            let Some((start, end)) = self.free.front_mut() else {
                return Err(ImageError::TooSmall { needed: 0, given: 0 });
            };
            let now = count.min(*end - *start);
            if now > 0 {
                runs.push((*start, now));
            }
            *start += now;
            self.next = *start;
            count -= now;
            if start == end {
                self.free.pop_front();
            }
        }
        Ok(runs)
    }

    fn is_taken(&self, block: u64) -> bool {
        block < self.next
    }
}
