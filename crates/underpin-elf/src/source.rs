//! Where the bytes of a file come from: a slice, an open file, anything with random access.
//!
//! The reader asks for ranges and never for a whole file, and checks each range against [`Source::len`] before it
//! allocates, so a hostile size field cannot make it reserve memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Random access to the bytes of one file.
pub trait Source {
    /// Size in bytes. Reads past it fail.
    fn len(&self) -> u64;

    /// Fills `buf` from `offset`, or fails with `UnexpectedEof` if the file is shorter.
    ///
    /// # Errors
    /// The I/O error.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// The same bytes as they are, if all of them are in memory: no copy is made.
    fn in_memory(&self, _offset: u64, _size: usize) -> Option<&[u8]> {
        None
    }

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
        buf.copy_from_slice(self.in_memory(offset, buf.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn in_memory(&self, offset: u64, size: usize) -> Option<&[u8]> {
        self.get(usize::try_from(offset).ok()?..)?.get(..size)
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        Source::len(self.as_slice())
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_exact_at(offset, buf)
    }

    fn in_memory(&self, offset: u64, size: usize) -> Option<&[u8]> {
        self.as_slice().in_memory(offset, size)
    }
}

/// An open file. Its size is queried once, so that the reader costs one system call per range.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    len: u64,
}

impl FileSource {
    /// Takes ownership of an open file.
    ///
    /// # Errors
    /// If its size cannot be queried, or with `InvalidInput` if it is not a regular file: a FIFO or a device has no
    /// random access, and reading it could block.
    pub fn new(file: File) -> io::Result<FileSource> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(FileSource { file, len: metadata.len() })
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        S::len(self)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        S::read_exact_at(self, offset, buf)
    }

    fn in_memory(&self, offset: u64, size: usize) -> Option<&[u8]> {
        S::in_memory(self, offset, size)
    }
}
