//! Where the bytes of a file come from: a slice, an open file, anything with random access.
//!
//! The reader asks for ranges and never for a whole file, and checks each range against [`Source::len`] before it
//! allocates, so a hostile size field cannot make it reserve memory.

use std::io;

/// Random access to the bytes of one file.
pub trait Source {
    /// Size in bytes. Reads past it fail.
    fn len(&self) -> u64;

    /// Fills `buf` from `offset`, or fails with `UnexpectedEof` where the file is shorter.
    ///
    /// # Errors
    /// Whatever the underlying medium reports.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Source for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..)?.get(..buf.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        Source::len(self.as_slice())
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_exact_at(offset, buf)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        S::len(self)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        S::read_exact_at(self, offset, buf)
    }
}
