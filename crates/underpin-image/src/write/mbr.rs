//! The partition table in the first sector of a card, as firmware of boards reads it.

use super::Place;
use crate::ImageError;

/// The unit of the table.
pub const SECTOR: u64 = 512;

/// One partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// What is in it.
    pub kind: Kind,
    /// Its first byte, a multiple of [`SECTOR`].
    pub start: u64,
    /// Its size, a multiple of [`SECTOR`].
    pub bytes: u64,
}

/// What is in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FAT32, which a board starts from.
    Boot,
    /// A file system of Linux.
    Linux,
}

/// Writes the table; `identifier` is what PARTUUID begins with.
///
/// # Errors
/// If a partition is beyond what 32 bits count (2 TiB), or the file cannot be written.
pub fn write(place: &Place<'_>, identifier: u32, partitions: [Partition; 2]) -> Result<(), ImageError> {
    let mut sector = [0; SECTOR as usize];
    sector[440..444].copy_from_slice(&identifier.to_le_bytes());
    for (index, partition) in partitions.into_iter().enumerate() {
        let end = partition.start + partition.bytes;
        let too_large = |_| ImageError::Limit {
            what: "the end of a partition".to_owned(),
            value: end,
            format: "a table of partitions (MBR)",
            limit: u64::from(u32::MAX) * SECTOR,
        };
        u32::try_from(end / SECTOR).map_err(too_large)?;
        let (active, code) = match partition.kind {
            Kind::Boot => (0x80, 0x0c),
            Kind::Linux => (0, 0x83),
        };
        let entry = &mut sector[446 + index * 16..462 + index * 16];
        // Cylinders, heads and sectors: the value that says that only the numbers behind count.
        entry[..8].copy_from_slice(&[active, 0xfe, 0xff, 0xff, code, 0xfe, 0xff, 0xff]);
        entry[8..12].copy_from_slice(&((partition.start / SECTOR) as u32).to_le_bytes());
        entry[12..].copy_from_slice(&((partition.bytes / SECTOR) as u32).to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    place.put(0, &sector)
}
