//! A part of the file that is read only as far as needed.
//!
//! Tables of the dynamic section state no size, or one that no loader checks: they end where the PT_LOAD that holds
//! them ends. A region starts with a guess and grows to that limit, at most.

use crate::budget::{Budget, Strings};
use crate::window::Window;
use crate::{ElfError, Fault, FileOffset, Source};
use std::borrow::Cow;

/// Bytes of the file from `start`, at most to `limit`.
pub(crate) struct Region<'w, 's, S: ?Sized> {
    window: &'w Window<'s, S>,
    what: &'static str,
    start: u64,
    limit: u64,
    bytes: Vec<u8>,
}

impl<'w, 's, S: Source + ?Sized> Region<'w, 's, S> {
    /// A region of which `guess` bytes are read at first.
    pub(crate) fn new(
        window: &'w Window<'s, S>,
        what: &'static str,
        start: u64,
        limit: u64,
        guess: u64,
    ) -> Result<Self, ElfError> {
        let limit = limit.min(window.len());
        if start > limit {
            return Err(ElfError { fault: Fault::Truncated { what }, offset: FileOffset(start) });
        }
        let bytes = window.up_to(start, guess, limit, what)?.into_owned();
        Ok(Region { window, what, start, limit, bytes })
    }

    /// How many bytes there can be.
    pub(crate) fn size(&self) -> u64 {
        self.limit.saturating_sub(self.start)
    }

    /// `size` bytes at `at` (relative to the region), read if necessary.
    pub(crate) fn get(&mut self, at: u64, size: u64) -> Result<&[u8], ElfError> {
        let end = at.checked_add(size).filter(|end| *end <= self.size()).ok_or_else(|| self.fault(at))?;
        if end > self.bytes.len() as u64 {
            self.grow(end)?;
        }
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(start..).and_then(|rest| rest.get(..usize::try_from(size).ok()?));
        bytes.ok_or_else(|| self.fault(at))
    }

    /// `size` bytes at `at` (relative to the region) and nothing before them.
    pub(crate) fn piece(&self, at: u64, size: u64) -> Result<Cow<'_, [u8]>, ElfError> {
        let end = at.checked_add(size).filter(|end| *end <= self.size());
        end.ok_or_else(|| self.fault(at))?;
        self.window.range(self.start.saturating_add(at), size, self.what)
    }

    /// Reads on: to `end`, and at least to twice the current size, so that growing costs few reads.
    fn grow(&mut self, end: u64) -> Result<(), ElfError> {
        let have = self.bytes.len() as u64;
        let wanted = end.max(have.saturating_mul(2)).max(4096).min(self.size());
        let more = self.window.range(self.start.saturating_add(have), wanted.saturating_sub(have), self.what)?;
        self.bytes.extend_from_slice(&more);
        Ok(())
    }

    /// The fault of an entry at `at` that is outside.
    pub(crate) fn fault(&self, at: u64) -> ElfError {
        ElfError { fault: Fault::BadTable { what: self.what }, offset: FileOffset(self.start.saturating_add(at)) }
    }
}

impl<S: Source + ?Sized> Strings for Region<'_, '_, S> {
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let length = loop {
            let rest = self.bytes.get(start..).unwrap_or_default();
            if let Some(length) = rest.iter().position(|byte| *byte == 0) {
                break length;
            }
            if at >= self.size() || self.bytes.len() as u64 >= self.size() {
                return Err(self.fault(at));
            }
            self.grow(at.saturating_add(1))?;
        };
        budget.take(length, self.what, self.start.saturating_add(at))?;
        Ok(self.bytes.get(start..).and_then(|rest| rest.get(..length)).unwrap_or_default())
    }
}
