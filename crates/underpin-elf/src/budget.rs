//! Strings read one by one, and a limit on the memory of all of them together.

use crate::{ElfError, Fault, FileOffset};

/// A table whose strings are read one by one.
pub(crate) trait Strings {
    /// The NUL-terminated string at `at`, without its NUL; its length counts against the budget.
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError>;
}

/// The remaining memory for strings; without it, entries that share bytes could multiply them without limit.
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
