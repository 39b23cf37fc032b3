//! Bytes of the formats that images have, each computed from a [`Tree`](crate::Tree) alone.
pub mod cpio;
pub mod device_tree;
pub mod ext4;
pub mod fat;
pub mod mbr;

use crate::{Content, ImageError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The part of a file that a file system is written to. Blocks of zeroes are not written: the file is new, and reads as
/// zeroes where nothing is.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a File,
    /// Where the part begins.
    pub offset: u64,
    /// What the file is called in errors.
    pub path: &'a Path,
}

impl Place<'_> {
    fn put(&self, at: u64, bytes: &[u8]) -> Result<(), ImageError> {
        self.file.write_all_at(bytes, self.offset + at).map_err(ImageError::io(self.path))
    }

    /// A file's content from one place on, in parts: where each begins and how much it takes.
    fn spread(&self, content: &Content, runs: &[(u64, u64)]) -> Result<(), ImageError> {
        content.copy(&mut Spread { place: self, runs, done: 0 }, self.path)
    }
}

/// Writes what comes to one run after the other.
struct Spread<'a> {
    place: &'a Place<'a>,
    runs: &'a [(u64, u64)],
    done: u64,
}

impl io::Write for Spread<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(&(start, length)) = self.runs.first() else {
            return if bytes.is_empty() { Ok(0) } else { Err(io::ErrorKind::WriteZero.into()) };
        };
        static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
        let fits = usize::try_from(length - self.done).unwrap_or(usize::MAX).min(bytes.len()).min(ZEROES.len());
        if bytes[..fits] != ZEROES[..fits] {
            self.place.file.write_all_at(&bytes[..fits], self.place.offset + start + self.done)?;
        }
        self.done += fits as u64;
        if self.done == length {
            (self.runs, self.done) = (&self.runs[1..], 0);
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
