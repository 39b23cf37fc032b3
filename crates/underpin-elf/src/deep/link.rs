//! The part of the deep facts that a closure is checked with, for a fraction of their cost: versions needed and
//! defined, and whether certain functions are imported. A few small reads; the symbols and their names are read only
//! where the versions leave the question open.

use crate::deep::count;
use crate::deep::versions::{self, Names, Versions};
use crate::raw::Layout;
use crate::read::read_ident;
use crate::region::Region;
use crate::strings::{Budget, Nearby, StringTable};
use crate::window::Window;
use crate::{Dynamic, Elf, ElfError, LinkFacts, Source, VersionNeed};
use bstr::ByteSlice;

/// First read of a version table: most fit.
const GUESS: u64 = 512;

pub(crate) fn read<S: Source + ?Sized>(
    source: &S,
    elf: &Elf,
    wanted: &[&[u8]],
    worth: impl FnOnce(&[VersionNeed]) -> bool,
) -> Result<LinkFacts, ElfError> {
    let window = Window::without_head(source);
    let mut head = [0; 64];
    let size = head.len().min(usize::try_from(window.len()).unwrap_or(64));
    window.fill(0, head.get_mut(..size).unwrap_or_default(), "the ELF header")?;
    let (layout, _) = read_ident(&head)?;
    let mut facts = LinkFacts::default();
    let Some(dynamic) = elf.dynamic.as_ref() else { return Ok(facts) };
    let Some((at, size)) = dynamic.string_table else { return Ok(facts) };
    let mut budget = Budget::of(window.len());
    let mut tables = Versions::default();
    if let Some(table) = elf
        .load_of(at)
        .map(|(load, limit)| StringTable { start: load.offset.0.saturating_add(at.0 - load.vaddr.0), limit })
    {
        let mut strings = Nearby::new(&window, table);
        let mut names = Names { strings: &mut strings, budget: &mut budget };
        if let Some((vaddr, count)) = dynamic.verneed.filter(|(_, count)| *count > 0) {
            let mut region = count::table(&window, elf, vaddr, "DT_VERNEED", GUESS)?;
            versions::read_needs(&mut tables, layout, &mut region, count, &mut names)?;
        }
        if let Some((vaddr, count)) = dynamic.verdef.filter(|(_, count)| *count > 0) {
            let mut region = count::table(&window, elf, vaddr, "DT_VERDEF", GUESS)?;
            versions::read_definitions(&mut tables, layout, &mut region, count, &mut names)?;
        }
    }
    facts.version_needs = tables.needs;
    facts.version_definitions = tables.definitions;
    if worth(&facts.version_needs) {
        let mut strings = count::table(&window, elf, at, "the dynamic string table", size)?;
        let present: Vec<&[u8]> = {
            let held = strings.size().min(size);
            let bytes = strings.get(0, held)?;
            wanted.iter().copied().filter(|name| bytes.find([*name, b"\0"].concat()).is_some()).collect()
        };
        if !present.is_empty() {
            let symbols = Symbols { window: &window, layout, elf, dynamic };
            facts.imports = symbols.imported(&mut strings, &present)?;
        }
    }
    Ok(facts)
}

struct Symbols<'a, 's, S: ?Sized> {
    window: &'a Window<'s, S>,
    layout: Layout,
    elf: &'a Elf,
    dynamic: &'a Dynamic,
}

impl<S: Source + ?Sized> Symbols<'_, '_, S> {
    /// Which of the names belong to undefined symbols.
    fn imported(&self, strings: &mut Region<'_, '_, S>, names: &[&[u8]]) -> Result<Vec<bstr::BString>, ElfError> {
        let Some(table) = self.dynamic.symbol_table else { return Ok(Vec::new()) };
        let count = count::dynamic_symbols(self.window, self.layout, self.elf, self.dynamic, &[])?;
        let entry = self.layout.symbol_size();
        let needed = count.saturating_mul(entry as u64);
        let mut region = count::table(self.window, self.elf, table, "the dynamic symbol table", needed)?;
        let mut found = Vec::new();
        for bytes in region.get(0, needed)?.chunks_exact(entry).skip(1) {
            let Some(symbol) = self.layout.symbol(bytes).filter(|symbol| symbol.section == 0) else { continue };
            for name in names {
                let held = strings.get(u64::from(symbol.name), <[u8]>::len(name) as u64 + 1);
                let matches = held.is_ok_and(|text| text.strip_suffix(b"\0") == Some(*name));
                if matches && !found.iter().any(|known: &bstr::BString| known == name) {
                    found.push((*name).into());
                }
            }
        }
        Ok(found)
    }
}
