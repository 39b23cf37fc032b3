//! Reads the version tables: what DT_VERNEED demands of libraries, what DT_VERDEF defines.
//!
//! Both are linked lists of lists inside one table. Links only lead forward and the number of entries is bounded by
//! what fits into the table, so a hostile table soon ends in an error.

use crate::budget::{Budget, Strings};
use crate::raw::Encoding;
use crate::region::Region;
use crate::{ElfError, Source, VersionDefinition, VersionNeed};
use bstr::BString;
use std::collections::BTreeMap;

/// VER_FLG_BASE.
const FLAG_BASE: u16 = 1;
/// VER_FLG_WEAK.
const FLAG_WEAK: u16 = 2;

/// The two tables, and which index of DT_VERSYM means which entry.
#[derive(Default)]
pub(crate) struct Versions {
    pub needs: Vec<VersionNeed>,
    pub definitions: Vec<VersionDefinition>,
    pub need_of: BTreeMap<u16, usize>,
    pub definition_of: BTreeMap<u16, usize>,
}

/// The source of strings, and their budget.
pub(crate) struct Names<'r> {
    pub strings: &'r mut dyn Strings,
    pub budget: &'r mut Budget,
}

impl Names<'_> {
    fn get(&mut self, at: u32) -> Result<BString, ElfError> {
        self.strings.string(u64::from(at), self.budget).map(BString::from)
    }
}

/// Counts list entries against what fits into the table.
struct Entries(u64);

impl Entries {
    fn next<S: Source + ?Sized>(&mut self, region: &Region<'_, '_, S>, at: u64) -> Result<(), ElfError> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| region.fault(at))?;
        Ok(())
    }
}

/// Reads DT_VERNEED with DT_VERNEEDNUM `count`.
pub(crate) fn read_needs<S: Source + ?Sized>(
    versions: &mut Versions,
    encoding: Encoding,
    region: &mut Region<'_, '_, S>,
    count: u64,
    names: &mut Names<'_>,
) -> Result<(), ElfError> {
    let mut left = Entries(region.size() / 16);
    let mut at = 0;
    for _ in 0..count {
        left.next(region, at)?;
        let entry = region.get(at, 16)?;
        let aux_count = encoding.u16(entry, 2).unwrap_or(0);
        let [file, aux, next] = [4, 8, 12].map(|field| encoding.u32(entry, field).unwrap_or(0));
        let file = names.get(file)?;
        let mut aux_at = at.saturating_add(u64::from(aux));
        for _ in 0..aux_count {
            left.next(region, aux_at)?;
            let entry = region.get(aux_at, 16)?;
            let [flags, index] = [4, 6].map(|field| encoding.u16(entry, field).unwrap_or(0));
            let [name, next] = [8, 12].map(|field| encoding.u32(entry, field).unwrap_or(0));
            versions.need_of.insert(index & 0x7fff, versions.needs.len());
            names.budget.take(file.len(), "DT_VERNEED", aux_at)?;
            versions.needs.push(VersionNeed {
                file: file.clone(),
                version: names.get(name)?,
                weak_flag: flags & FLAG_WEAK != 0,
                symbols: Vec::new(),
            });
            if next == 0 {
                break;
            }
            aux_at = aux_at.saturating_add(u64::from(next));
        }
        if next == 0 {
            break;
        }
        at = at.saturating_add(u64::from(next));
    }
    Ok(())
}

/// Reads DT_VERDEF with DT_VERDEFNUM `count`. Only the first name of an entry is its own; the others are parents.
pub(crate) fn read_definitions<S: Source + ?Sized>(
    versions: &mut Versions,
    encoding: Encoding,
    region: &mut Region<'_, '_, S>,
    count: u64,
    names: &mut Names<'_>,
) -> Result<(), ElfError> {
    let mut left = Entries(region.size() / 20);
    let mut at = 0;
    for _ in 0..count {
        left.next(region, at)?;
        let entry = region.get(at, 20)?;
        let [flags, index] = [2, 4].map(|field| encoding.u16(entry, field).unwrap_or(0));
        let [aux, next] = [12, 16].map(|field| encoding.u32(entry, field).unwrap_or(0));
        let aux_at = at.saturating_add(u64::from(aux));
        let name = encoding.u32(region.get(aux_at, 8)?, 0).unwrap_or(0);
        versions.definition_of.insert(index & 0x7fff, versions.definitions.len());
        versions.definitions.push(VersionDefinition {
            name: names.get(name)?,
            base: flags & FLAG_BASE != 0,
            weak_flag: flags & FLAG_WEAK != 0,
        });
        if next == 0 {
            break;
        }
        at = at.saturating_add(u64::from(next));
    }
    Ok(())
}
