//! How many dynamic symbols there are. No tag says so: it follows from the hash tables, as in musl's `count_syms`
//! (`ldso/dynlink.c`), and if these are empty from what follows the symbol table.

use crate::raw::Encoding;
use crate::region::Region;
use crate::window::Window;
use crate::{Class, Dynamic, Elf, ElfError, Machine, Section, SectionKind, Source, Vaddr};

/// The number of dynamic symbols, the null symbol included.
pub(crate) fn dynamic_symbols<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    dynamic: &Dynamic,
    sections: &[Section],
) -> Result<u64, ElfError> {
    if let Some(hash) = dynamic.hash {
        return from_hash(window, encoding, elf, hash);
    }
    if let Some(hash) = dynamic.gnu_hash
        && let Some(count) = from_gnu_hash(window, encoding, elf, hash)?
    {
        return Ok(count);
    }
    Ok(from_section(dynamic, encoding, sections).or_else(|| between_tables(dynamic, encoding)).unwrap_or(0))
}

/// The region of a table that the dynamic section names, to the end of its PT_LOAD.
pub(crate) fn table<'w, 's, S: Source + ?Sized>(
    window: &'w Window<'s, S>,
    elf: &Elf,
    vaddr: Vaddr,
    what: &'static str,
    guess: u64,
) -> Result<Region<'w, 's, S>, ElfError> {
    match elf.load_of(vaddr) {
        Some((load, limit)) => {
            let start = load.offset.0.saturating_add(vaddr.0.saturating_sub(load.vaddr.0));
            Region::new(window, what, start, limit, guess)
        }
        None => Region::new(window, what, u64::MAX, 0, 0),
    }
}

/// DT_HASH has the number of symbols in its second word. Words are 64 bits wide on 64-bit s390 and on Alpha.
fn from_hash<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    hash: Vaddr,
) -> Result<u64, ElfError> {
    const ALPHA: Machine = Machine(0x9026);
    let mut region = table(window, elf, hash, "DT_HASH", 16)?;
    let wide = encoding.class == Class::Elf64 && matches!(elf.ident.machine, Machine::S390 | ALPHA);
    let bytes = region.get(0, if wide { 16 } else { 8 })?;
    let count = if wide { encoding.u64(bytes, 8) } else { encoding.u32(bytes, 4).map(u64::from) };
    Ok(count.unwrap_or(0))
}

/// DT_GNU_HASH covers the defined symbols, which come last: the longest chain ends at the last symbol. Without any
/// chain nothing follows (linkers then write `symoffset` 1, whatever the number of imports).
fn from_gnu_hash<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    hash: Vaddr,
) -> Result<Option<u64>, ElfError> {
    let mut region = table(window, elf, hash, "DT_GNU_HASH", 16 * 1024)?;
    let header = region.get(0, 16)?;
    let field = |at| encoding.u32(header, at).map(u64::from).unwrap_or(0);
    let (buckets, first, bloom) = (field(0), field(4), field(8));
    let buckets_at = bloom.saturating_mul(encoding.word_size() as u64).saturating_add(16);
    let buckets_size = buckets.saturating_mul(4);
    let bytes = region.get(buckets_at, buckets_size)?;
    let last = bytes.chunks_exact(4).filter_map(|bytes| encoding.u32(bytes, 0)).map(u64::from).max().unwrap_or(0);
    if last < first || last == 0 {
        return Ok(None);
    }
    let mut index = last;
    let mut chain_at =
        buckets_at.saturating_add(buckets_size).saturating_add(last.saturating_sub(first).saturating_mul(4));
    loop {
        let value = region.get(chain_at, 4)?;
        (index, chain_at) = (index.saturating_add(1), chain_at.saturating_add(4));
        if encoding.u32(value, 0).is_some_and(|value| value & 1 != 0) {
            return Ok(Some(index));
        }
    }
}

fn from_section(dynamic: &Dynamic, encoding: Encoding, sections: &[Section]) -> Option<u64> {
    let is_table =
        |section: &&Section| section.kind == SectionKind::DynamicSymbols && Some(section.vaddr) == dynamic.symbol_table;
    sections.iter().find(is_table)?.size.checked_div(encoding.symbol_size() as u64)
}

/// Linkers put another table right after the symbols: the distance to the nearest is an upper bound that is exact
/// except for padding, which reads as nameless symbols.
pub(crate) fn between_tables(dynamic: &Dynamic, encoding: Encoding) -> Option<u64> {
    let start = dynamic.symbol_table?;
    let pairs = [dynamic.string_table, dynamic.verneed, dynamic.verdef].map(|pair| pair.map(|(vaddr, _)| vaddr));
    let singles = [dynamic.versym, dynamic.gnu_hash, dynamic.hash];
    let behind = pairs.into_iter().chain(singles).flatten().filter(|vaddr| *vaddr > start).min()?;
    behind.0.checked_sub(start.0)?.checked_div(encoding.symbol_size() as u64)
}
