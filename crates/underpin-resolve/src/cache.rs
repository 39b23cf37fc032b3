//! `/etc/ld.so.cache`, the binary format of ldconfig (glibc sysdeps/generic/dl-cache.h, elf/dl-cache.c).
//!
//! The file is searched in place, by the loader's own binary search and comparison, so that a damaged or unsorted file
//! gives the same answer as the loader. Every offset is checked before it is used.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use crate::environment::Environment;
use crate::loader::{CacheRules, Loader, glibc};
use bstr::{BStr, BString, ByteSlice};
use std::cmp::Ordering;
use underpin_elf::{Endian, Ident, IsaLevel};

const MAGIC_OLD: &[u8] = b"ld.so-1.7.0";
const MAGIC_NEW: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_OLD: usize = 16;
const HEADER_NEW: usize = 48;
const ENTRY_OLD: usize = 12;
const ENTRY_NEW: usize = 24;
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
const TAG_GLIBC_HWCAPS: u32 = 1;
const HWCAP_EXTENSION: u64 = 1 << 62;
const ISA_LEVEL_MASK: u64 = (1 << 10) - 1;
const HWCAP_TLS: u64 = 1 << 63;

/// Why a file is not a usable cache; the loader then behaves as if there were none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Neither magic string is present.
    #[error("not an ld.so.cache: no magic string at offset 0")]
    BadMagic,
    /// The table of entries does not fit into the file.
    #[error("ld.so.cache ends inside its table of {entries} entries")]
    Truncated {
        /// How many entries the header promises.
        entries: u32,
    },
    /// Written for the other byte order.
    #[error("ld.so.cache was written for the other byte order")]
    WrongByteOrder,
}

/// A parsed cache.
#[derive(Clone, Debug)]
pub struct Cache {
    bytes: Vec<u8>,
    big_endian: bool,
    entries: Entries,
}

#[derive(Clone, Copy, Debug)]
struct Entries {
    /// Offset of the table.
    start: usize,
    count: usize,
    size: usize,
    /// What string offsets count from.
    strings: usize,
    /// String offsets must stay below this.
    limit: usize,
}

/// One entry of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEntry<'c> {
    /// ABI flags, as `ldconfig -p` decodes them.
    pub flags: i32,
    /// The soname.
    pub name: &'c BStr,
    /// The path.
    pub path: &'c BStr,
    /// The glibc-hwcaps subdirectory, for entries that have one.
    pub hwcaps: Option<&'c BStr>,
}

/// What decides between several entries of one name.
struct Context {
    /// Flags and byte order that the loader accepts.
    rules: CacheRules,
    /// Active glibc-hwcaps names, best first.
    active: Vec<BString>,
    /// The processor's level, for the ISA bits of an entry.
    level: IsaLevel,
    /// Legacy capability bits that the loader has and is allowed to use.
    legacy_bits: u64,
    /// Bit of the legacy platform, if it has one.
    platform_bit: Option<u64>,
}

/// A cache as one loader reads it on one processor.
pub(crate) struct CacheView {
    cache: Cache,
    context: Context,
}

impl CacheView {
    /// A view of the cache in `bytes` for a loader of the given machine.
    ///
    /// # Errors
    /// [`CacheError`] if the loader would not use the file.
    pub fn new(
        bytes: Vec<u8>,
        ident: &Ident,
        loader: &Loader,
        environment: &Environment,
    ) -> Result<CacheView, CacheError> {
        let context = Context {
            rules: CacheRules::of(ident),
            active: loader.active_hwcaps.clone(),
            level: environment.processor.level,
            legacy_bits: glibc::legacy_bits(ident, loader, environment),
            platform_bit: glibc::platform_bit(loader.platform.as_ref()),
        };
        Ok(CacheView { cache: Cache::parse(bytes, ident.endian == Endian::Big)?, context })
    }

    /// The path that the loader takes for `name`.
    pub fn lookup(&self, name: &[u8]) -> Option<&BStr> {
        self.cache.lookup(name, &self.context)
    }
}

impl Cache {
    /// Reads either format, or the old one with the new one inside.
    ///
    /// # Errors
    /// [`CacheError`] if the loader would not use the file.
    pub fn parse(bytes: Vec<u8>, big_endian: bool) -> Result<Cache, CacheError> {
        let entries = if bytes.starts_with(MAGIC_NEW) && bytes.len() > HEADER_NEW {
            new_entries(&bytes, 0, big_endian)?
        } else if bytes.starts_with(MAGIC_OLD) && bytes.len() > HEADER_OLD {
            old_entries(&bytes, big_endian)?
        } else {
            return Err(CacheError::BadMagic);
        };
        Ok(Cache { bytes, big_endian, entries })
    }

    /// All entries with readable strings, in file order.
    pub fn entries(&self) -> impl Iterator<Item = CacheEntry<'_>> {
        (0..self.entries.count).filter_map(|index| {
            let (flags, key, value, hwcap) = self.entry(index)?;
            let extension = is_extension(hwcap);
            Some(CacheEntry {
                flags,
                name: self.string(key)?,
                path: self.string(value)?,
                hwcaps: extension.then(|| self.hwcaps_name(hwcap as u32)).flatten(),
            })
        })
    }

    fn u32(&self, offset: usize) -> Option<u32> {
        word(&self.bytes, offset, self.big_endian)
    }

    fn entry(&self, index: usize) -> Option<(i32, u32, u32, u64)> {
        let at = self.entries.start.checked_add(index.checked_mul(self.entries.size)?)?;
        let field = |offset: usize| self.u32(at.checked_add(offset)?);
        let hwcap = if self.entries.size == ENTRY_NEW {
            let (first, second) = (u64::from(field(16)?), u64::from(field(20)?));
            if self.big_endian { first << 32 | second } else { second << 32 | first }
        } else {
            0
        };
        Some((field(0)?.cast_signed(), field(4)?, field(8)?, hwcap))
    }

    fn string(&self, offset: u32) -> Option<&BStr> {
        let offset = offset as usize;
        if offset >= self.entries.limit {
            return None;
        }
        let rest = self.bytes.get(self.entries.strings.checked_add(offset)?..)?;
        terminated(rest)
    }

    /// The name of a glibc-hwcaps subdirectory by its index in the extension section.
    fn hwcaps_name(&self, index: u32) -> Option<&BStr> {
        let (offset, size) = self.hwcaps_section()?;
        let at = (index as usize).checked_mul(4).filter(|at| at.saturating_add(4) <= size)?;
        let string = self.u32(offset.checked_add(at)?)? as usize;
        terminated(self.bytes.get(string..)?)
    }

    fn hwcaps_section(&self) -> Option<(usize, usize)> {
        if self.entries.size != ENTRY_NEW {
            return None;
        }
        let directory = self.u32(self.entries.strings.checked_add(32)?)? as usize;
        if directory == 0 || self.u32(directory)? != EXTENSION_MAGIC {
            return None;
        }
        let count = self.u32(directory.checked_add(4)?)? as usize;
        let sections = self.bytes.get(directory.checked_add(8)?..)?.chunks_exact(16).take(count);
        let field = |section, at| word(section, at, self.big_endian);
        sections.into_iter().find_map(|section| {
            let is_hwcaps = field(section, 0)? == TAG_GLIBC_HWCAPS;
            is_hwcaps.then_some((field(section, 8)? as usize, field(section, 12)? as usize))
        })
    }

    /// The path that the loader takes for `name` (`search_cache`).
    fn lookup(&self, name: &[u8], context: &Context) -> Option<&BStr> {
        // The candidates are `left..right`, halved as glibc does: of several entries of one name the same is found.
        let (mut left, mut right) = (0, self.entries.count);
        while left < right {
            let last = right.saturating_sub(1);
            let middle = usize::midpoint(left, last);
            let (_, key, ..) = self.entry(middle)?;
            match compare(name, self.string(key)?) {
                Ordering::Less => left = middle.saturating_add(1),
                Ordering::Greater => right = middle,
                Ordering::Equal => return self.best(name, middle, last, context),
            }
        }
        None
    }

    fn best(&self, name: &[u8], hit: usize, last: usize, context: &Context) -> Option<&BStr> {
        let named = |index: usize| {
            let key = self.entry(index).map(|entry| entry.1);
            key.and_then(|key| self.string(key)).is_some_and(|found| compare(name, found).is_eq())
        };
        let first = (0..hit).rev().take_while(|index| named(*index)).last().unwrap_or(hit);
        let mut best: Option<&BStr> = None;
        let mut best_priority = usize::MAX;
        for index in first..=last {
            if index > hit && !named(index) {
                break;
            }
            let (flags, _, value, hwcap) = self.entry(index)?;
            let Some(path) = self.string(value).filter(|_| context.rules.accepts(flags)) else { continue };
            if is_extension(hwcap) {
                if (hwcap >> 32 & ISA_LEVEL_MASK) > context.level as u64 {
                    continue;
                }
                let priority = self
                    .hwcaps_name(hwcap as u32)
                    .and_then(|name| context.active.iter().position(|active| active.as_bstr() == name));
                if let Some(priority) = priority.filter(|&priority| priority < best_priority) {
                    best = Some(path);
                    best_priority = priority;
                }
                continue;
            }
            if best.is_some() {
                break;
            }
            if !legacy_matches(hwcap, context) {
                continue;
            }
            best = Some(path);
            if flags == context.rules.default_id {
                break;
            }
        }
        best
    }
}

/// The NUL-terminated string at the start. At most PATH_MAX bytes are scanned, which bounds the cost of a hostile file.
fn terminated(bytes: &[u8]) -> Option<&BStr> {
    const PATH_MAX: usize = 4096;
    let bounded = bytes.get(..PATH_MAX).unwrap_or(bytes);
    bounded.get(..bounded.find_byte(0)?).map(ByteSlice::as_bstr)
}

fn is_extension(hwcap: u64) -> bool {
    (hwcap >> 32) & !ISA_LEVEL_MASK == HWCAP_EXTENSION >> 32
}

/// The legacy rule: no bit that the loader does not have; a platform entry only for that platform.
fn legacy_matches(hwcap: u64, context: &Context) -> bool {
    let platform_bits = context.rules.platform_bits;
    if hwcap & !(context.legacy_bits | platform_bits | HWCAP_TLS) != 0 {
        return false;
    }
    hwcap & platform_bits == 0 || Some(hwcap & platform_bits) == context.platform_bit
}

fn word(bytes: &[u8], offset: usize, big_endian: bool) -> Option<u32> {
    let raw = bytes.get(offset..)?.first_chunk::<4>()?;
    Some(if big_endian { u32::from_be_bytes(*raw) } else { u32::from_le_bytes(*raw) })
}

/// How many entries of `size` bytes fit after the header.
fn held(bytes: &[u8], header: usize, size: usize) -> usize {
    bytes.len().saturating_sub(header).checked_div(size).unwrap_or(0)
}

fn new_entries(bytes: &[u8], start: usize, big_endian: bool) -> Result<Entries, CacheError> {
    let table = bytes.get(start..).unwrap_or_default();
    let flags = table.get(28).copied().unwrap_or(0) & 3;
    if flags != 0 && flags != if big_endian { 3 } else { 2 } {
        return Err(CacheError::WrongByteOrder);
    }
    let count = word(table, MAGIC_NEW.len(), big_endian).unwrap_or(0);
    if held(table, HEADER_NEW, ENTRY_NEW) < count as usize {
        return Err(CacheError::Truncated { entries: count });
    }
    Ok(Entries {
        start: start.saturating_add(HEADER_NEW),
        count: count as usize,
        size: ENTRY_NEW,
        strings: start,
        limit: bytes.len(),
    })
}

fn old_entries(bytes: &[u8], big_endian: bool) -> Result<Entries, CacheError> {
    let count = word(bytes, 12, big_endian).unwrap_or(0);
    if held(bytes, HEADER_OLD, ENTRY_OLD) < count as usize {
        return Err(CacheError::Truncated { entries: count });
    }
    let end = (count as usize).saturating_mul(ENTRY_OLD).saturating_add(HEADER_OLD);
    let inner = end.next_multiple_of(8);
    if bytes.get(inner..).is_some_and(|rest| rest.len() >= HEADER_NEW && rest.starts_with(MAGIC_NEW)) {
        return new_entries(bytes, inner, big_endian);
    }
    Ok(Entries {
        start: HEADER_OLD,
        count: count as usize,
        size: ENTRY_OLD,
        strings: end,
        limit: bytes.len().saturating_sub(end),
    })
}

/// `_dl_cache_libcmp`: digits compare as numbers. The table is sorted in descending order of it.
fn compare(one: &[u8], two: &[u8]) -> Ordering {
    let (mut one, mut two) = (one, two);
    // Takes the leading digits; a number that is too large wraps around, as glibc's int does.
    let number = |text: &mut &[u8]| {
        let mut value = 0i32;
        while let Some((digit @ b'0'..=b'9', rest)) = text.split_first() {
            value = value.wrapping_mul(10).wrapping_add(i32::from(digit.wrapping_sub(b'0')));
            *text = rest;
        }
        value
    };
    while let Some((left, rest)) = one.split_first() {
        let right = two.first().copied().unwrap_or(0);
        match (left.is_ascii_digit(), right.is_ascii_digit()) {
            (true, true) => {
                let order = number(&mut one).cmp(&number(&mut two));
                if order.is_ne() {
                    return order;
                }
            }
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) if *left != right => return left.cast_signed().cmp(&right.cast_signed()),
            (false, false) => (one, two) = (rest, two.get(1..).unwrap_or_default()),
        }
    }
    0i8.cmp(&two.first().copied().unwrap_or(0).cast_signed())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a panic is the failing assertion")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_compare_as_ldconfig_sorts_them() {
        assert_eq!(compare(b"libx.so.10", b"libx.so.9"), Ordering::Greater);
        assert_eq!(compare(b"libx.so", b"libx.so.1"), Ordering::Less);
        assert_eq!(compare(b"liba1.so", b"liba.so"), Ordering::Greater);
        assert_eq!(compare(b"libz.so.1", b"libz.so.1"), Ordering::Equal);
    }

    #[test]
    fn a_table_longer_than_the_file_is_refused() {
        let mut bytes = MAGIC_NEW.to_vec();
        bytes.extend(1000u32.to_le_bytes());
        bytes.resize(100, 0);
        assert_eq!(Cache::parse(bytes, false).unwrap_err(), CacheError::Truncated { entries: 1000 });
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(Cache::parse(b"#!/bin/sh\n".to_vec(), false).unwrap_err(), CacheError::BadMagic);
        assert_eq!(Cache::parse(Vec::new(), false).unwrap_err(), CacheError::BadMagic);
    }

    proptest! {
        #[test]
        fn any_bytes_behind_the_magic_are_survived(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            let rules = CacheRules { default_id: 0x303, also: Some(1), platform_bits: 0 };
            for magic in [MAGIC_NEW, MAGIC_OLD] {
                let mut bytes = magic.to_vec();
                bytes.extend(&tail);
                if let Ok(cache) = Cache::parse(bytes, false) {
                    let _ = cache.entries().count();
                    let context = Context {
                        rules,
                        active: Vec::new(), level: IsaLevel::V2, legacy_bits: 0, platform_bit: None,
                    };
                    let _ = cache.lookup(b"libc.so.6", &context);
                }
            }
        }
    }
}
