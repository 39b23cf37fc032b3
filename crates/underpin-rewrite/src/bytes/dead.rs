//! Names in dead bytes of the string table: those that nothing refers to once the edit is made.
//!
//! Linkers merge strings that end alike, so a byte is live if any referenced string covers it, up to its NUL. Unless
//! every reference is known for certain, nothing is dead.

use super::builder::PatchBuilder;
use super::image::Image;
use super::wanted::{Value, Wanted};
use super::{Strategy, tags};
use bstr::BString;
use std::ops::Range;

/// Places all strings; `None` if there is no room.
pub(super) fn place(builder: &mut PatchBuilder<'_, '_>, wanted: &Wanted, texts: &[BString]) -> Option<()> {
    let mut live = live(builder.image, wanted)?;
    for (text, offset) in &builder.offsets {
        mark(&mut live, usize::try_from(*offset).ok()?, text.len())?;
    }
    let mut runs = runs(&live);
    let mut order: Vec<&BString> = texts.iter().collect();
    order.sort_by_key(|text| std::cmp::Reverse(text.len()));
    for text in order {
        let size = text.len().checked_add(1)?;
        let run = runs.iter_mut().filter(|run| run.len() >= size).min_by_key(|run| run.len())?;
        let at = run.start as u64;
        run.start = run.start.checked_add(size)?;
        let offset = builder.offset_of(builder.strtab)?.checked_add(at)?;
        builder.place(text, builder.strtab.checked_add(at)?, offset, Strategy::DeadStrings);
    }
    Some(())
}

/// Marks a string of `length` bytes and its NUL.
fn mark(live: &mut [bool], start: usize, length: usize) -> Option<()> {
    live.get_mut(start..=start.checked_add(length)?)?.fill(true);
    Some(())
}

fn runs(live: &[bool]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for (at, is_live) in live.iter().enumerate() {
        if *is_live {
            if start < at {
                runs.push(start..at);
            }
            start = at.saturating_add(1);
        }
    }
    if start < live.len() {
        runs.push(start..live.len());
    }
    runs
}

/// Which bytes of the table are in use after the edit; `None` if that cannot be known.
fn live(image: &Image<'_>, wanted: &Wanted) -> Option<Vec<bool>> {
    sections_agree(image)?;
    let table = image.strings.counted();
    // Offset 0 is the empty string, used by everything without a name.
    let mut referred: Vec<u64> = vec![0];
    for (tag, value) in &wanted.entries {
        if let Value::Number(value) = value
            && (tags::STRING_TAGS.contains(tag) || !tags::holds_no_string(*tag))
        {
            referred.push(*value);
        }
    }
    let renamed = |field: u64| wanted.needs.iter().any(|(need, _)| need.field == field);
    referred.extend(image.needs.iter().filter(|need| !renamed(need.field)).map(|need| u64::from(need.file)));
    referred.extend(image.version_names.iter().copied().map(u64::from));
    referred.extend(symbol_names(image)?);
    referred.sort_unstable();
    referred.dedup();
    let mut live = vec![false; table.len()];
    // Where the current string ends: one that starts inside it ends there too, so no byte is looked at twice.
    let mut covered = 0;
    for at in referred {
        let Some(start) = usize::try_from(at).ok().filter(|start| *start < table.len()) else { continue };
        if start < covered {
            continue;
        }
        let length = table.get(start..)?.iter().position(|byte| *byte == 0)?;
        mark(&mut live, start, length)?;
        covered = start.checked_add(length)?.checked_add(1)?;
    }
    Some(live)
}

/// `None` if the table may hold anything but the strings themselves, or if an unexpected section takes its strings from
/// it. In a file that was bound and stripped, DT_STRSZ covers the tables after it too.
fn sections_agree(image: &Image<'_>) -> Option<()> {
    let start = image.offset_of(image.strings.vaddr)?;
    let size = image.strings.counted().len() as u64;
    let end = start.checked_add(size)?;
    let over = |offset: u64, size: u64| size > 0 && offset < end && offset.saturating_add(size) > start;
    let addressed = image.dynamic.entries.iter().filter(|entry| tags::ADDRESS_TAGS.contains(&entry.tag));
    let inside = |vaddr: u64| vaddr.checked_sub(image.strings.vaddr).is_some_and(|within| within > 0 && within < size);
    let covering = [tags::PT_LOAD, tags::PT_GNU_RELRO];
    let segments = image.segments.iter().filter(|segment| !covering.contains(&segment.kind));
    let alone = addressed.into_iter().all(|entry| !inside(entry.value))
        && segments.into_iter().all(|segment| !over(segment.offset, segment.file_size));
    let Some(table) = &image.sections else { return alone.then_some(()) };
    let index = image.string_section()?;
    let (_, strings) = table.entries.get(index)?;
    let usual = [tags::SHT_DYNAMIC, tags::SHT_DYNSYM, tags::SHT_GNU_VERDEF, tags::SHT_GNU_VERNEED];
    let sound = table.entries.iter().enumerate().filter(|(at, _)| *at != index).all(|(_, (_, section))| {
        let linked = section.link as usize == index && !usual.contains(&section.kind);
        let empty = [tags::SHT_NOBITS, tags::SHT_NULL].contains(&section.kind);
        !linked && (empty || !over(section.offset, section.size))
    });
    let same = strings.offset == start && strings.size == size;
    (alone && sound && same && table.names != index).then_some(())
}

/// The names of all dynamic symbols.
fn symbol_names(image: &Image<'_>) -> Option<Vec<u64>> {
    let encoding = image.encoding;
    let Some(vaddr) = image.dynamic.value(tags::DT_SYMTAB) else { return Some(Vec::new()) };
    let count = symbol_count(image, vaddr)?;
    let table = image.bytes_at(vaddr)?.get(..count.checked_mul(encoding.symbol_size())?)?;
    table.chunks_exact(encoding.symbol_size()).map(|symbol| encoding.u32(symbol, 0).map(u64::from)).collect()
}

/// How many dynamic symbols there are: the largest number among DT_HASH, DT_GNU_HASH and the section.
fn symbol_count(image: &Image<'_>, symbols: u64) -> Option<usize> {
    let encoding = image.encoding;
    let sections = image.sections.iter().flat_map(|table| &table.entries).map(|(_, section)| section);
    let by_section = sections
        .filter(|section| section.kind == tags::SHT_DYNSYM && section.addr == symbols)
        .filter_map(|section| usize::try_from(section.size).ok()?.checked_div(encoding.symbol_size()))
        .max();
    let by_hash = image
        .dynamic
        .value(tags::DT_HASH)
        .filter(|_| !image.has_wide_hash())
        .and_then(|hash| encoding.u32(image.bytes_at(hash)?, 4))
        .map(|count| count as usize);
    let by_gnu_hash = image.dynamic.value(tags::DT_GNU_HASH).and_then(|hash| gnu_hash_count(image, hash));
    [by_section, by_hash, by_gnu_hash].into_iter().flatten().max()
}

/// Symbols up to the end of the last chain. A table that hashes nothing does not give the number (which `glibc
/// elf/dl-lookup.c` never needs).
fn gnu_hash_count(image: &Image<'_>, vaddr: u64) -> Option<usize> {
    let encoding = image.encoding;
    let table = image.bytes_at(vaddr)?;
    let field = |at| encoding.u32(table, at).map(|value| value as usize);
    let (buckets, first, bloom) = (field(0)?, field(4)?, field(8)?);
    let start = bloom.checked_mul(encoding.word_size())?.checked_add(16)?;
    let chains = buckets.checked_mul(4)?.checked_add(start)?;
    let last = table.get(start..chains)?.chunks_exact(4).filter_map(|bucket| encoding.u32(bucket, 0)).max()? as usize;
    let chain = table.get(last.checked_sub(first)?.checked_mul(4)?.checked_add(chains)?..)?;
    let length = chain.chunks_exact(4).position(|link| encoding.u32(link, 0).is_some_and(|link| link & 1 != 0))?;
    last.checked_add(length)?.checked_add(1).filter(|_| last != 0)
}
