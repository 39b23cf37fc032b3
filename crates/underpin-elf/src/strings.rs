//! NUL-terminated strings of a string table, fetched in as few reads as possible.
//!
//! Loaders trust DT_STRTAB and never look at DT_STRSZ (`glibc elf/dl-load.c`, `musl ldso/dynlink.c`): neither does this
//! reader. A string ends where the PT_LOAD that holds the table ends in the file, at the latest.
//! The sum of all strings is bounded by a small multiple of the file's size, since entries may share bytes.

use crate::window::Window;
use crate::{ElfError, Fault, FileOffset, Source};
use bstr::BString;

/// Strings closer than this are fetched by one read.
const GAP: u64 = 4096;
/// Longest span fetched at once for the sake of saving reads.
const SPAN: u64 = 8192;
/// How much is read behind the start of a string at first; library names and most search paths fit.
const FIRST: u64 = 256;

/// Where a string table lies in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringTable {
    /// File offset of its first byte.
    pub start: u64,
    /// File offset behind its last possible byte.
    pub limit: u64,
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

/// The strings at `offsets` (relative to the table), in the order asked for.
///
/// # Errors
/// A string that starts outside the table's segment or that no NUL ends.
pub(crate) fn read_strings<S: Source + ?Sized>(
    window: &Window<'_, S>,
    table: StringTable,
    offsets: &[u64],
) -> Result<Vec<BString>, ElfError> {
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_by_key(|index| offsets.get(*index).copied());
    let mut strings = vec![BString::default(); offsets.len()];
    let mut budget = Budget::of(window.len());
    let mut rest = order.as_slice();
    while let Some(first) = rest.first().and_then(|index| offsets.get(*index)).copied() {
        let (group, behind) = rest.split_at(group_len(rest, offsets, first));
        rest = behind;
        let last = group.last().and_then(|index| offsets.get(*index)).copied().unwrap_or(first);
        let start = position(table, first)?;
        let bytes = window.up_to(start, last - first + FIRST, table.limit, "the dynamic string table")?;
        for index in group {
            let offset = offsets.get(*index).copied().unwrap_or(first);
            let at = position(table, offset)?;
            let tail = usize::try_from(offset - first).ok().and_then(|skip| bytes.get(skip..)).unwrap_or_default();
            let string = match tail.iter().position(|byte| *byte == 0) {
                Some(end) => BString::from(tail.get(..end).unwrap_or_default()),
                None => read_long(window, at, table.limit)?,
            };
            budget.take(string.len(), "the dynamic string table", at)?;
            if let Some(slot) = strings.get_mut(*index) {
                *slot = string;
            }
        }
    }
    Ok(strings)
}

/// How many of the sorted `rest` are fetched together with the first one.
fn group_len(rest: &[usize], offsets: &[u64], first: u64) -> usize {
    let mut previous = first;
    rest.iter()
        .take_while(|index| {
            let offset = offsets.get(**index).copied().unwrap_or(first);
            let near = offset - previous <= GAP && offset - first <= SPAN;
            previous = offset;
            near
        })
        .count()
        .max(1)
}

/// Something that gives the strings of a table one by one.
pub(crate) trait Strings {
    /// The NUL-terminated string at `at`, without its NUL; its length counts against the budget.
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError>;
}

/// Strings that lie near to each other, as those of version tables do: a piece of the table is kept at hand.
pub(crate) struct Nearby<'w, 's, S: ?Sized> {
    window: &'w Window<'s, S>,
    table: StringTable,
    /// Offset in the table of what is at hand.
    base: u64,
    bytes: Vec<u8>,
}

impl<'w, 's, S: Source + ?Sized> Nearby<'w, 's, S> {
    pub(crate) fn new(window: &'w Window<'s, S>, table: StringTable) -> Self {
        Nearby { window, table, base: 0, bytes: Vec::new() }
    }

    /// The string at `at`, as far as it lies whole in what is at hand.
    fn held(&self, at: u64) -> Option<(usize, usize)> {
        let start = usize::try_from(at.checked_sub(self.base)?).ok()?;
        let length = self.bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        Some((start, length))
    }
}

impl<S: Source + ?Sized> Strings for Nearby<'_, '_, S> {
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError> {
        let what = "the dynamic string table";
        let mut size = FIRST * 2;
        while self.held(at).is_none() {
            let base = at.saturating_sub(size);
            let start = position(self.table, base)?;
            let bytes = self.window.up_to(start, size * 2, self.table.limit, what)?.into_owned();
            if size > self.window.len() {
                return Err(ElfError { fault: Fault::BadTable { what }, offset: FileOffset(start) });
            }
            (self.base, self.bytes) = (base, bytes);
            size *= 4;
        }
        let (start, length) = self.held(at).unwrap_or_default();
        budget.take(length, what, self.table.start.saturating_add(at))?;
        Ok(self.bytes.get(start..start + length).unwrap_or_default())
    }
}

fn position(table: StringTable, offset: u64) -> Result<u64, ElfError> {
    table.start.checked_add(offset).filter(|at| *at < table.limit).ok_or(ElfError {
        fault: Fault::BadTable { what: "a string offset of the dynamic section" },
        offset: FileOffset(table.start.saturating_add(offset)),
    })
}

/// A string that did not end within the first read: reads on in doubling steps.
fn read_long<S: Source + ?Sized>(window: &Window<'_, S>, at: u64, limit: u64) -> Result<BString, ElfError> {
    let mut size = FIRST * 4;
    loop {
        let bytes = window.up_to(at, size, limit, "the dynamic string table")?;
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            return Ok(BString::from(bytes.get(..end).unwrap_or_default()));
        }
        if (bytes.len() as u64) < size {
            let fault = Fault::BadTable { what: "a string of the dynamic section (no NUL ends it)" };
            return Err(ElfError { fault, offset: FileOffset(at) });
        }
        size = size.saturating_mul(4);
    }
}
