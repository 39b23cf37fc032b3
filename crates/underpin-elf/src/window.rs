//! Reading ranges of a file with as few calls as possible: the head is read once, and ranges inside it cost nothing.
//!
//! Every range is checked against the length of the source before memory is allocated for it.

use crate::{ElfError, Fault, FileOffset, Source};
use std::borrow::Cow;
use std::cell::Cell;

/// How much of the file is read at first. glibc reads 832 bytes (`elf/dl-load.c`, `struct filebuf`); 1024 also holds
/// the interpreter's name and 17 program headers, and costs the kernel the same.
const HEAD: usize = 1024;

thread_local! {
    /// Memory of the last [`Window::around`] of this thread: zeroing it again for each of a hundred libraries took a
    /// twentieth of the time of `tree`.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Memory above this is released.
const SCRATCH_MAX: usize = 64 * 1024;

/// A source with its first kilobyte in memory.
pub(crate) struct Window<'s, S: ?Sized> {
    source: &'s S,
    len: u64,
    head: [u8; HEAD],
    filled: usize,
    /// Another piece in memory: its offset and bytes.
    piece: (u64, Vec<u8>),
}

impl<'s, S: Source + ?Sized> Window<'s, S> {
    /// Reads the head of the file (less if the file is shorter).
    pub(crate) fn open(source: &'s S) -> Result<Self, ElfError> {
        let len = source.len();
        let mut window = Window { source, len, head: [0; HEAD], filled: 0, piece: (0, Vec::new()) };
        let filled = usize::try_from(len).unwrap_or(HEAD).min(HEAD);
        if let Some(head) = window.head.get_mut(..filled) {
            source.read_exact_at(0, head).map_err(|error| io_fault(&error, 0, "the ELF header"))?;
        }
        window.filled = filled;
        Ok(window)
    }

    /// A window that holds the bytes from `start` to `end`, as far as the file goes, instead of the head.
    pub(crate) fn around(source: &'s S, start: u64, end: u64, what: &'static str) -> Result<Self, ElfError> {
        let len = source.len();
        let size = end.min(len).saturating_sub(start);
        let mut bytes = SCRATCH.take();
        bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        source.read_exact_at(start, &mut bytes).map_err(|error| io_fault(&error, start, what))?;
        Ok(Window { source, len, head: [0; HEAD], filled: 0, piece: (start, bytes) })
    }

    /// The part of a range that the piece in memory covers.
    fn held(&self, offset: u64, size: usize) -> Option<&[u8]> {
        self.piece.1.in_memory(offset.checked_sub(self.piece.0)?, size)
    }

    /// Reads `buf.len()` bytes at `offset` into the caller's buffer.
    pub(crate) fn fill(&self, offset: u64, buf: &mut [u8], what: &'static str) -> Result<(), ElfError> {
        self.source.read_exact_at(offset, buf).map_err(|error| io_fault(&error, offset, what))
    }

    /// Bytes that are in memory.
    pub(crate) fn in_memory(&self, offset: u64, size: usize) -> Option<&[u8]> {
        self.source.in_memory(offset, size)
    }

    /// Size of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes read at first.
    pub(crate) fn head(&self) -> &[u8] {
        self.head.get(..self.filled).unwrap_or_default()
    }

    /// `size` bytes at `offset`; `what` names them in the error.
    pub(crate) fn range(&self, offset: u64, size: u64, what: &'static str) -> Result<Cow<'_, [u8]>, ElfError> {
        let end = offset.checked_add(size).filter(|end| *end <= self.len);
        let (Some(_), Ok(start), Ok(wanted)) = (end, usize::try_from(offset), usize::try_from(size)) else {
            return Err(ElfError { fault: Fault::Truncated { what }, offset: FileOffset(offset) });
        };
        if let Some(bytes) = self.head().get(start..).and_then(|rest| rest.get(..wanted)) {
            return Ok(Cow::Borrowed(bytes));
        }
        if let Some(bytes) = self.held(offset, wanted) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = vec![0; wanted];
        self.source.read_exact_at(offset, &mut bytes).map_err(|error| io_fault(&error, offset, what))?;
        Ok(Cow::Owned(bytes))
    }

    /// Up to `size` bytes at `offset`: fewer if the file or `limit` (a file offset) ends before.
    pub(crate) fn up_to(
        &self,
        offset: u64,
        size: u64,
        limit: u64,
        what: &'static str,
    ) -> Result<Cow<'_, [u8]>, ElfError> {
        let available = limit.min(self.len).saturating_sub(offset);
        self.range(offset, size.min(available), what)
    }
}

impl<S: ?Sized> Drop for Window<'_, S> {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.piece.1);
        if (1..=SCRATCH_MAX).contains(&bytes.capacity()) {
            SCRATCH.set(bytes);
        }
    }
}

/// A failed read as an [`ElfError`]: a file that shrank while it was read is truncated, all else is an I/O error.
fn io_fault(error: &std::io::Error, offset: u64, what: &'static str) -> ElfError {
    let fault = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Fault::Truncated { what },
        _ => Fault::Io(format!("cannot read {what}: {error}")),
    };
    ElfError { fault, offset: FileOffset(offset) }
}
