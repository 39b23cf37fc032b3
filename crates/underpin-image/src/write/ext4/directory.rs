//! The content of a directory: records of names, none of which crosses a block.

use super::BLOCK;

const HEAD: usize = 8;
const KIND_DIRECTORY: u8 = 2;

/// A directory on its way.
pub(super) struct Directory {
    /// 2, and one for each directory in it.
    pub links: u32,
    bytes: Vec<u8>,
    /// Where the last record begins.
    last: usize,
}

impl Directory {
    pub fn new(number: u32, above: u32) -> Directory {
        let mut directory = Directory { links: 0, bytes: Vec::new(), last: 0 };
        directory.add(b".", number, KIND_DIRECTORY);
        directory.add(b"..", above, KIND_DIRECTORY);
        directory
    }

    /// Adds a name of at most 255 bytes.
    pub fn add(&mut self, name: &[u8], number: u32, kind: u8) {
        let size = record(name.len());
        if self.bytes.len() % BLOCK as usize + size > BLOCK as usize {
            self.fill();
        }
        self.last = self.bytes.len();
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend((size as u16).to_le_bytes());
        self.bytes.extend([name.len() as u8, kind]);
        self.bytes.extend(name);
        self.bytes.resize(self.last + size, 0);
        self.links += u32::from(kind == KIND_DIRECTORY && name != b"..");
        // The directory's own name is above it, and `..` of those in it leads here.
        self.links += u32::from(name == b".");
    }

    /// Whole blocks.
    pub fn finish(mut self) -> Vec<u8> {
        self.fill();
        self.bytes
    }

    /// The last record of a block reaches to its end.
    fn fill(&mut self) {
        let whole = self.bytes.len().next_multiple_of(BLOCK as usize);
        if whole > self.bytes.len() {
            let size = (whole - self.last) as u16;
            self.bytes[self.last + 4..self.last + 6].copy_from_slice(&size.to_le_bytes());
            self.bytes.resize(whole, 0);
        }
    }
}

fn record(name: usize) -> usize {
    (HEAD + name).next_multiple_of(4)
}

/// How many blocks a directory with these names takes.
pub(super) fn blocks<'a>(names: impl Iterator<Item = &'a [u8]>) -> u64 {
    let (mut blocks, mut used) = (1, record(1) + record(2));
    for name in names {
        let size = record(name.len());
        if used + size > BLOCK as usize {
            (blocks, used) = (blocks + 1, 0);
        }
        used += size;
    }
    blocks
}
