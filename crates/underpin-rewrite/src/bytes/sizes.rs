//! Sizes of what is in a file, in bytes. A size that does not fit into 64 bits is beyond any file.

use std::ops::Range;

/// A string and its NUL.
pub(super) fn with_nul(text: &[u8]) -> u64 {
    (text.len() as u64).saturating_add(1)
}

/// A table.
pub(super) fn table_size(count: usize, entry: usize) -> u64 {
    count.saturating_mul(entry) as u64
}

/// A range of addresses or offsets; 0 if the end is before the start.
pub(super) fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// The largest multiple of a step that is not greater than a size.
pub(super) fn whole_steps(size: u64, step: u64) -> u64 {
    size.saturating_sub(size.checked_rem(step).unwrap_or(0))
}
