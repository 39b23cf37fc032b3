//! NUL-terminated strings of a string table, fetched in as few reads as possible.
//!
//! Loaders trust DT_STRTAB and never look at DT_STRSZ (`glibc elf/dl-load.c`, `musl ldso/dynlink.c`): neither does this
//! reader. They add an offset to the table's address, wherever that leads: a string may be in another PT_LOAD than the
//! table, and ends at the end of that PT_LOAD in the file at the latest. The sum of all strings is bounded by a small
//! multiple of the file's size, since entries may share bytes.

use crate::budget::{Budget, Strings};
use crate::region::Region;
use crate::window::Window;
use crate::{Class, Elf, ElfError, Fault, FileOffset, Source, Vaddr};
use bstr::{BString, ByteSlice};

/// Strings closer than this are fetched by one read.
const GAP: u64 = 4096;
/// Longest span fetched at once to save reads.
const SPAN: u64 = 8192;
/// How much is read at first from the start of a string; library names and most search paths fit.
const FIRST: u64 = 256;

/// A string table: an address, and the segments that map the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringTable<'e> {
    elf: &'e Elf,
    start: Vaddr,
}

/// Where in the file a string starts, and between which offsets the file is mapped there.
#[derive(Clone, Copy, Debug)]
struct Place {
    begin: u64,
    at: u64,
    limit: u64,
}

impl<'e> StringTable<'e> {
    /// The table at an address; `None` if no PT_LOAD holds it.
    pub(crate) fn new(elf: &'e Elf, start: Vaddr) -> Option<StringTable<'e>> {
        elf.load_of(start).map(|_| StringTable { elf, start })
    }

    /// Addresses wrap around, as the sum of a pointer and a number does.
    fn place(self, offset: u64) -> Result<Place, ElfError> {
        let sum = self.start.0.wrapping_add(offset);
        let vaddr = Vaddr(if self.elf.ident.class == Class::Elf32 { sum & u64::from(u32::MAX) } else { sum });
        let place = self.elf.load_of(vaddr).and_then(|(load, limit)| {
            let at = load.offset.0.checked_add(vaddr.0.checked_sub(load.vaddr.0)?)?;
            Some(Place { begin: load.offset.0, at, limit })
        });
        place.ok_or_else(|| {
            let table = self.elf.offset_of(self.start).unwrap_or_default();
            let fault = Fault::BadTable { what: "a string offset of the dynamic section" };
            ElfError { fault, offset: FileOffset(table.0.saturating_add(offset)) }
        })
    }
}

/// The strings at `offsets` (relative to the table), in the given order.
///
/// # Errors
/// A string that starts outside the table's segment or that no NUL ends.
pub(crate) fn read_strings<S: Source + ?Sized>(
    window: &Window<'_, S>,
    table: StringTable<'_>,
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
        let Place { at: start, limit, .. } = table.place(first)?;
        let span = last.saturating_sub(first).saturating_add(FIRST);
        let bytes = window.up_to(start, span, limit, "the dynamic string table")?;
        for index in group {
            let offset = offsets.get(*index).copied().unwrap_or(first);
            let place = table.place(offset)?;
            let skip = place.at.checked_sub(start).and_then(|skip| usize::try_from(skip).ok());
            let tail = skip.and_then(|skip| bytes.get(skip..)).unwrap_or_default();
            let string = match tail.find_byte(0) {
                Some(end) => BString::from(tail.get(..end).unwrap_or_default()),
                None => read_long(window, place.at, place.limit)?,
            };
            budget.take(string.len(), "the dynamic string table", place.at)?;
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
            let near = offset.saturating_sub(previous) <= GAP && offset.saturating_sub(first) <= SPAN;
            previous = offset;
            near
        })
        .count()
        .max(1)
}

/// Strings that are close to each other, as those of version tables are: a piece of the table is kept in memory.
pub(crate) struct Nearby<'w, 's, 'e, S: ?Sized> {
    window: &'w Window<'s, S>,
    table: StringTable<'e>,
    /// File offset of that piece.
    base: u64,
    bytes: Vec<u8>,
}

impl<'w, 's, 'e, S: Source + ?Sized> Nearby<'w, 's, 'e, S> {
    pub(crate) fn new(window: &'w Window<'s, S>, table: StringTable<'e>) -> Self {
        Nearby { window, table, base: 0, bytes: Vec::new() }
    }

    /// The string at a file offset, if that piece holds all of it.
    fn held(&self, at: u64) -> Option<(usize, usize)> {
        let start = usize::try_from(at.checked_sub(self.base)?).ok()?;
        let length = self.bytes.get(start..)?.find_byte(0)?;
        Some((start, length))
    }
}

impl<S: Source + ?Sized> Strings for Nearby<'_, '_, '_, S> {
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError> {
        let what = "the dynamic string table";
        let place = self.table.place(at)?;
        let mut size = FIRST * 2;
        while self.held(place.at).is_none() {
            let base = place.at.saturating_sub(size).max(place.begin);
            let bytes = self.window.up_to(base, size.saturating_mul(2), place.limit, what)?.into_owned();
            if size > self.window.len() {
                return Err(ElfError { fault: Fault::BadTable { what }, offset: FileOffset(base) });
            }
            (self.base, self.bytes) = (base, bytes);
            size = size.saturating_mul(4);
        }
        let (start, length) = self.held(place.at).unwrap_or_default();
        budget.take(length, what, place.at)?;
        Ok(self.bytes.get(start..).and_then(|rest| rest.get(..length)).unwrap_or_default())
    }
}

/// Strings of a table whose own segment is in memory; those in other segments are fetched on demand.
pub(crate) struct Reaching<'w, 's, 'e, S: ?Sized> {
    /// From the table's start to the end of its segment.
    pub near: Region<'w, 's, S>,
    /// Everywhere else.
    pub far: Option<Nearby<'w, 's, 'e, S>>,
}

impl<S: Source + ?Sized> Strings for Reaching<'_, '_, '_, S> {
    fn string(&mut self, at: u64, budget: &mut Budget) -> Result<&[u8], ElfError> {
        match &mut self.far {
            Some(far) if at >= self.near.size() => far.string(at, budget),
            _ => self.near.string(at, budget),
        }
    }
}

/// A string that did not end within the first read: reads on in doubling steps.
fn read_long<S: Source + ?Sized>(window: &Window<'_, S>, at: u64, limit: u64) -> Result<BString, ElfError> {
    let mut size = FIRST * 4;
    loop {
        let bytes = window.up_to(at, size, limit, "the dynamic string table")?;
        if let Some(end) = bytes.find_byte(0) {
            return Ok(BString::from(bytes.get(..end).unwrap_or_default()));
        }
        if (bytes.len() as u64) < size {
            let fault = Fault::BadTable { what: "a string of the dynamic section (no NUL ends it)" };
            return Err(ElfError { fault, offset: FileOffset(at) });
        }
        size = size.saturating_mul(4);
    }
}
