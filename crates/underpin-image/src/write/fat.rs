//! A FAT32 file system with a few files in its root: what the firmware of a board reads.
//!
//! Its dates are FAT's first day, 1980-01-01: no file of a tree is in it, only what starts the board.

use super::Place;
use crate::{Content, ImageError};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// FAT32 has at least 65525 clusters, here of one sector.
const SMALLEST: u64 = 34 << 20;
const MIB: u64 = 1 << 20;

/// The size that these files need: whole MiB, with some room for a file that is changed.
#[must_use]
pub fn size<'a>(files: impl IntoIterator<Item = &'a Content>) -> u64 {
    let content: u64 = files.into_iter().map(|content| content.size().next_multiple_of(64 << 10)).sum();
    (content + content / 8 + 2 * MIB).max(SMALLEST).next_multiple_of(4 * MIB)
}

/// Writes the file system into a part of a file, of this size.
///
/// # Errors
/// If the files do not fit, or a file cannot be read or written.
pub fn write(place: &Place<'_>, bytes: u64, identifier: u32, files: &[(&str, Content)]) -> Result<(), ImageError> {
    let failed = |error: io::Error| ImageError::Io { path: place.path.to_owned(), source: error };
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat32)
        .volume_id(identifier)
        .volume_label(*b"BOOT       ")
        .total_sectors(u32::try_from(bytes / super::mbr::SECTOR).unwrap_or(u32::MAX));
    let mut part = Part { place, bytes, at: 0 };
    fatfs::format_volume(&mut part, options).map_err(failed)?;
    let system = FileSystem::new(part, FsOptions::new()).map_err(failed)?;
    {
        let root = system.root_dir();
        for (name, content) in files {
            let file = root.create_file(name).map_err(failed)?;
            let mut file = io::BufWriter::with_capacity(1 << 16, file);
            content.copy(&mut file, place.path)?;
            file.flush().map_err(failed)?;
        }
    }
    system.unmount().map_err(failed)
}

/// A part of a file as if it were a disk.
struct Part<'a> {
    place: &'a Place<'a>,
    bytes: u64,
    at: u64,
}

impl Part<'_> {
    fn fits(&self, wanted: usize) -> usize {
        usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX).min(wanted)
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let fits = self.fits(buffer.len());
        let read = self.place.file.read_at(&mut buffer[..fits], self.place.offset + self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for Part<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = self.fits(bytes.len());
        let written = self.place.file.write_at(&bytes[..fits], self.place.offset + self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Part<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.bytes, by),
        };
        self.at = from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
