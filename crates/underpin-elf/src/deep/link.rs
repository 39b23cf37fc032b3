//! The part of the deep facts that a closure is checked with, for a fraction of their cost: versions needed and
//! defined, and whether certain functions are imported. A few small reads; the symbols and their names are read only if
//! the versions leave the question open.

use crate::budget::Budget;
use crate::deep::count;
use crate::deep::versions::{self, Names, Versions};
use crate::raw::Encoding;
use crate::strings::{Nearby, StringTable, read_strings};
use crate::window::Window;
use crate::{Dynamic, Elf, ElfError, LinkFacts, Source, Vaddr, VersionNeed};
use bstr::{BString, ByteSlice};

/// First read of a version table: most fit.
const GUESS: u64 = 512;

pub(crate) fn read<S: Source + ?Sized>(
    source: &S,
    elf: &Elf,
    wanted: &[&[u8]],
    worth: impl FnOnce(&[VersionNeed]) -> bool,
) -> Result<LinkFacts, ElfError> {
    let mut facts = LinkFacts::default();
    let Some(dynamic) = elf.dynamic.as_ref() else { return Ok(facts) };
    let Some((at, size)) = dynamic.string_table else { return Ok(facts) };
    let encoding = Encoding { class: elf.ident.class, endian: elf.ident.endian };
    let (start, end) = tables_of(elf, dynamic, at, size);
    let window = Window::around(source, start, end, "the version tables")?;
    let mut budget = Budget::of(window.len());
    let mut tables = Versions::default();
    if let Some(table) = StringTable::new(elf, at) {
        let mut strings = Nearby::new(&window, table);
        let mut names = Names { strings: &mut strings, budget: &mut budget };
        if let Some((vaddr, count)) = dynamic.verneed.filter(|(_, count)| *count > 0) {
            let mut region = count::table(&window, elf, vaddr, "DT_VERNEED", GUESS)?;
            versions::read_needs(&mut tables, encoding, &mut region, count, &mut names)?;
        }
        if let Some((vaddr, count)) = dynamic.verdef.filter(|(_, count)| *count > 0) {
            let mut region = count::table(&window, elf, vaddr, "DT_VERDEF", GUESS)?;
            versions::read_definitions(&mut tables, encoding, &mut region, count, &mut names)?;
        }
    }
    facts.version_needs = tables.needs;
    facts.version_definitions = tables.definitions;
    facts.need_of = tables.need_of;
    if worth(&facts.version_needs) {
        let mut strings = count::table(&window, elf, at, "the dynamic string table", size)?;
        let held = strings.size().min(size);
        let places = places_of(strings.get(0, held)?, wanted);
        if !places.is_empty() {
            facts.imports = Symbols { window: &window, encoding, elf, dynamic }.imported(&places)?;
        }
    }
    Ok(facts)
}

/// Whether an undefined symbol bound to one of the versions `indices`, in ascending order, has one of the names.
///
/// The entries of DT_VERSYM show which symbols are bound to these versions: two bytes each, whereas a symbol with its
/// name takes forty or more. Only these symbols are read.
pub(crate) fn imports_under<S: Source + ?Sized>(
    source: &S,
    elf: &Elf,
    wanted: &[&[u8]],
    indices: &[u16],
) -> Result<bool, ElfError> {
    let Some(dynamic) = elf.dynamic.as_ref().filter(|_| !indices.is_empty()) else { return Ok(false) };
    let (Some(versym), Some(symbols), Some((strings, _))) =
        (dynamic.versym, dynamic.symbol_table, dynamic.string_table)
    else {
        return Ok(false);
    };
    let Some(table) = StringTable::new(elf, strings) else { return Ok(false) };
    let encoding = Encoding { class: elf.ident.class, endian: elf.ident.endian };
    let window = Window::around(source, 0, 0, "the symbol versions")?;
    let count = match count::between_tables(dynamic, encoding).filter(|count| *count <= FEW) {
        Some(count) => count,
        None => count::dynamic_symbols(&window, encoding, elf, dynamic, &[])?,
    };
    // The count in a DT_HASH with words of 64 bits can be any number.
    let size = count.saturating_mul(2);
    let mut versions = count::table(&window, elf, versym, "DT_VERSYM", size)?;
    let held = versions.size().min(size);
    // Bit 15 hides a version from the linker. A crafted file names thousands of versions: they are not checked one by
    // one.
    let is_meant =
        |bytes: &[u8; 2]| encoding.u16(bytes, 0).is_some_and(|index| indices.binary_search(&(index & 0x7fff)).is_ok());
    let entries = (0u64..).zip(versions.get(0, held)?.as_chunks::<2>().0);
    let bound: Vec<u64> = entries.filter(|(_, bytes)| is_meant(bytes)).map(|(at, _)| at).collect();
    let (Some(first), Some(last)) = (bound.first(), bound.last()) else { return Ok(false) };
    let entry = encoding.symbol_size() as u64;
    let region = count::table(&window, elf, symbols, "the dynamic symbol table", 0)?;
    let behind = |at: u64| at.saturating_sub(*first).saturating_mul(entry);
    let bytes = region.piece(first.saturating_mul(entry), behind(last.saturating_add(1)))?;
    let names: Vec<u64> = bound
        .iter()
        .filter_map(|at| {
            let at = usize::try_from(behind(*at)).ok()?;
            let symbol = encoding.symbol(bytes.get(at..)?.get(..encoding.symbol_size())?)?;
            (symbol.section == 0).then_some(u64::from(symbol.name))
        })
        .collect();
    let names = read_strings(&window, table, &names)?;
    Ok(names.iter().any(|name| wanted.contains(&name.as_slice())))
}

/// Up to this many symbols their number is taken from the distance between tables, which costs no read and may be too
/// high.
const FEW: u64 = 1 << 14;

/// A range that one read covers: linkers put the version tables right after the strings, and the names of versions at
/// the end of these. Empty if the tables are too far apart.
fn tables_of(elf: &Elf, dynamic: &Dynamic, strings: Vaddr, size: u64) -> (u64, u64) {
    const NAMES: u64 = 1024;
    const TABLE: u64 = 2048;
    const FAR: u64 = 32 * 1024;
    let Some(strings) = elf.offset_of(strings) else { return (0, 0) };
    let tables = [dynamic.verneed, dynamic.verdef].into_iter().flatten();
    let Some(last) = tables.filter_map(|(vaddr, _)| elf.offset_of(vaddr)).max() else { return (0, 0) };
    let start = strings.0.saturating_add(size).saturating_sub(NAMES).max(strings.0);
    let end = last.0.saturating_add(TABLE);
    if start <= last.0 && end.saturating_sub(start) <= FAR { (start, end) } else { (0, 0) }
}

struct Symbols<'a, 's, S: ?Sized> {
    window: &'a Window<'s, S>,
    encoding: Encoding,
    elf: &'a Elf,
    dynamic: &'a Dynamic,
}

impl<S: Source + ?Sized> Symbols<'_, '_, S> {
    /// Which of the names belong to undefined symbols. `places` are the offsets of the names among the strings.
    fn imported(&self, places: &[(u64, &[u8])]) -> Result<Vec<BString>, ElfError> {
        let Some(table) = self.dynamic.symbol_table else { return Ok(Vec::new()) };
        let entry = self.encoding.symbol_size();
        let count = count::dynamic_symbols(self.window, self.encoding, self.elf, self.dynamic, &[])?;
        let needed = count.saturating_mul(entry as u64);
        let mut region = count::table(self.window, self.elf, table, "the dynamic symbol table", needed)?;
        let mut found: Vec<BString> = Vec::new();
        for bytes in region.get(0, needed)?.chunks_exact(entry).skip(1) {
            let Some(symbol) = self.encoding.symbol(bytes).filter(|symbol| symbol.section == 0) else { continue };
            let hit = places.iter().find(|(at, _)| *at == u64::from(symbol.name));
            if let Some((_, name)) = hit.filter(|(_, name)| !found.iter().any(|known| known == name)) {
                found.push((*name).into());
            }
        }
        Ok(found)
    }
}

/// Where the names are among the strings, as whole strings or as the tail of others.
fn places_of<'n>(strings: &[u8], wanted: &[&'n [u8]]) -> Vec<(u64, &'n [u8])> {
    let places = wanted.iter().flat_map(|name| {
        let text = [*name, b"\0"].concat();
        strings.find_iter(&text).map(|at| (at as u64, *name)).collect::<Vec<_>>()
    });
    places.collect()
}
