//! Strings read one by one, and the memory that all of them together may take.

use crate::{ElfError, Fault, FileOffset};

/// Something that gives the strings of a table one by one.
pub(crate) trait Strings {
    /// The NUL-terminated string at `at`, without its NUL; its length counts against the budget.
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError>;
}

/// What is left of the memory that strings may take; entries that share bytes cannot multiply them without end.
pub(crate) struct Budget(u64);

impl Budget {
    /// For a file of `len` bytes.
    pub(crate) fn of(len: u64) -> Budget {
        Budget(len.saturating_mul(4).saturating_add(4096))
    }

    /// Takes `bytes`, or fails at `offset`.
    pub(crate) fn take(&mut self, bytes: usize, what: &'static str, offset: u64) -> Result<(), ElfError> {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.ok_or(ElfError { fault: Fault::BadTable { what }, offset: FileOffset(offset) })?;
        Ok(())
    }
}
