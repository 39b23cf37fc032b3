//! Reads the symbol tables: the dynamic one as a loader sees it, `.symtab` for what only debuggers see.

use crate::budget::{Budget, Strings};
use crate::deep::count;
use crate::deep::traces::{Seen, Traces};
use crate::deep::versions::{self, Names, Versions};
use crate::raw::{Encoding, RawSymbol};
use crate::region::Region;
use crate::strings::{Nearby, Reaching, StringTable};
use crate::window::Window;
use crate::{Dynamic, Elf, ElfError, Export, Fault, FileOffset, Import, Section, SectionKind, Source, SymbolBinding};
use crate::{SymbolKind, SymbolSource, Vaddr, VersionedSymbol};
use bstr::BString;

/// What was read from the symbol tables.
#[derive(Default)]
pub(crate) struct Symbols {
    pub imports: Vec<Import>,
    pub exports: Vec<Export>,
    pub from: SymbolSource,
    pub versions: Versions,
}

/// Everything needed to read a table.
pub(crate) struct Reader<'a, 's, S: ?Sized> {
    pub window: &'a Window<'s, S>,
    pub encoding: Encoding,
    pub elf: &'a Elf,
    pub sections: &'a [Section],
}

/// Symbols of a table that are read at once.
const BATCH: usize = 4096;

impl<S: Source + ?Sized> Reader<'_, '_, S> {
    /// The dynamic symbols with their versions; none if there is no dynamic section.
    pub(crate) fn dynamic(&self, traces: &mut Traces) -> Result<Symbols, ElfError> {
        let mut symbols = Symbols::default();
        let Some(dynamic) = self.elf.dynamic.as_ref() else {
            return Ok(symbols);
        };
        let (Some(table), Some((strings, size))) = (dynamic.symbol_table, dynamic.string_table) else {
            return Ok(symbols);
        };
        let far = StringTable::new(self.elf, strings).map(|table| Nearby::new(self.window, table));
        let near = count::table(self.window, self.elf, strings, "the dynamic string table", size)?;
        let mut strings = Reaching { near, far };
        let mut budget = Budget::of(self.window.len());
        let mut names = Names { strings: &mut strings, budget: &mut budget };
        self.read_versions(dynamic, &mut symbols.versions, &mut names)?;
        let count = count::dynamic_symbols(self.window, self.encoding, self.elf, dynamic, self.sections)?;
        let indices = self.version_indices(dynamic, count)?;
        let entry = self.encoding.symbol_size();
        let bytes_needed = count.saturating_mul(entry as u64);
        let mut region = count::table(self.window, self.elf, table, "the dynamic symbol table", bytes_needed)?;
        let bytes = region.get(0, bytes_needed)?;
        for (index, bytes) in bytes.chunks_exact(entry).enumerate().skip(1) {
            if let Some(raw) = self.encoding.symbol(bytes) {
                let name = names.strings.string(u64::from(raw.name), names.budget)?;
                let name = BString::from(name);
                let version = indices.get(index).copied().unwrap_or(1);
                symbols.add(&raw, name, version, traces);
            }
        }
        if count > 1 {
            symbols.from = SymbolSource::Dynamic;
        }
        Ok(symbols)
    }

    fn read_versions(&self, dynamic: &Dynamic, versions: &mut Versions, names: &mut Names<'_>) -> Result<(), ElfError> {
        const GUESS: u64 = 4096;
        if let Some((vaddr, count)) = dynamic.verneed.filter(|(_, count)| *count > 0) {
            let mut region = count::table(self.window, self.elf, vaddr, "DT_VERNEED", GUESS)?;
            versions::read_needs(versions, self.encoding, &mut region, count, names)?;
        }
        if let Some((vaddr, count)) = dynamic.verdef.filter(|(_, count)| *count > 0) {
            let mut region = count::table(self.window, self.elf, vaddr, "DT_VERDEF", GUESS)?;
            versions::read_definitions(versions, self.encoding, &mut region, count, names)?;
        }
        Ok(())
    }

    fn version_indices(&self, dynamic: &Dynamic, count: u64) -> Result<Vec<u16>, ElfError> {
        let Some(vaddr) = dynamic.versym else {
            return Ok(Vec::new());
        };
        let size = count.saturating_mul(2);
        let mut region = count::table(self.window, self.elf, vaddr, "DT_VERSYM", size)?;
        let bytes = region.get(0, size)?;
        Ok(bytes.chunks_exact(2).filter_map(|bytes| self.encoding.u16(bytes, 0)).collect())
    }

    /// `.symtab`: always searched for traces; kept as imports and exports only if there are no dynamic symbols.
    /// `Ok(false)` if the file has none.
    pub(crate) fn static_table(&self, symbols: &mut Symbols, traces: &mut Traces) -> Result<bool, ElfError> {
        let Some(table) = self.sections.iter().find(|section| section.kind == SectionKind::SymbolTable) else {
            return Ok(false);
        };
        let what = "the symbol table (.symtab)";
        let missing = || ElfError { fault: Fault::BadTable { what }, offset: table.offset };
        let names = usize::try_from(table.link).ok().and_then(|link| self.sections.get(link)).ok_or_else(missing)?;
        let limit = names.offset.0.saturating_add(names.size);
        let mut names = Region::new(self.window, "the symbol names (.strtab)", names.offset.0, limit, names.size)?;
        let mut budget = Budget::of(self.window.len());
        let keep = symbols.from == SymbolSource::None;
        let entry = self.encoding.symbol_size();
        let mut at = table.offset.0;
        let end = at.checked_add(table.size).filter(|end| *end <= self.window.len()).ok_or_else(missing)?;
        while at < end {
            let size = end.saturating_sub(at).min(BATCH.saturating_mul(entry) as u64);
            let bytes = self.window.range(at, size, what)?;
            for raw in bytes.chunks_exact(entry).filter_map(|bytes| self.encoding.symbol(bytes)) {
                let name = names.string(u64::from(raw.name), &mut budget)?;
                if keep {
                    let name = BString::from(name);
                    symbols.add(&raw, name, 1, traces);
                } else {
                    traces.see(name, &seen(&raw));
                }
            }
            at = at.saturating_add(size);
        }
        if keep {
            symbols.from = SymbolSource::Static;
        }
        Ok(true)
    }

    /// Bytes of the file at an address, as many as there are.
    pub(crate) fn bytes_at(&self, vaddr: Vaddr, size: u64) -> Option<Vec<u8>> {
        let (_, limit) = self.elf.load_of(vaddr)?;
        let FileOffset(offset) = self.elf.offset_of(vaddr)?;
        self.window.up_to(offset, size, limit, "a symbol's bytes").ok().map(|bytes| bytes.into_owned())
    }
}

fn seen(raw: &RawSymbol) -> Seen {
    Seen { defined: raw.section != 0, value: Vaddr(raw.value), size: raw.size }
}

impl Symbols {
    fn add(&mut self, raw: &RawSymbol, name: BString, version: u16, traces: &mut Traces) {
        traces.see(&name, &seen(raw));
        let binding = SymbolBinding::from_raw(raw.binding);
        let kind = SymbolKind::from_raw(raw.kind);
        if binding == SymbolBinding::Local || name.is_empty() || matches!(kind, SymbolKind::Section | SymbolKind::File)
        {
            return;
        }
        // 0 and 1 are VER_NDX_LOCAL and VER_NDX_GLOBAL: no version, even if the base definition has index 1.
        let index = Some(version & 0x7fff).filter(|index| *index > 1);
        let need = index.and_then(|index| self.versions.need_of.get(&index).copied());
        if let Some(need) = need.and_then(|need| self.versions.needs.get_mut(need)) {
            need.symbols.push(VersionedSymbol { name: name.clone(), binding });
        }
        // STV_HIDDEN and STV_INTERNAL symbols are bound inside the file.
        let visible = !matches!(raw.visibility, 1 | 2);
        if raw.section == 0 {
            self.imports.push(Import { name, binding, kind, version: need });
        } else if visible {
            self.exports.push(Export {
                name,
                binding,
                kind,
                value: Vaddr(raw.value),
                size: raw.size,
                version: index.and_then(|index| self.versions.definition_of.get(&index).copied()),
                hidden_version: version & 0x8000 != 0,
            });
        }
    }
}
