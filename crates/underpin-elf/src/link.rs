//! What a closure is checked with: a small part of [`crate::Details`], at a small part of its cost.

use crate::{Elf, ElfError, Source, VersionDefinition, VersionNeed};
use bstr::BString;
use serde::Serialize;
use std::collections::BTreeMap;

/// Versions of one file, and which of some functions it imports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkFacts {
    /// Versions that the loader demands, in file order; their symbols are not read.
    pub version_needs: Vec<VersionNeed>,
    /// Versions that this file defines, in file order.
    pub version_definitions: Vec<VersionDefinition>,
    /// Those of the wanted names that are undefined symbols here.
    pub imports: Vec<BString>,
    /// Index into `version_needs` by index in DT_VERSYM.
    #[serde(skip)]
    pub(crate) need_of: BTreeMap<u16, usize>,
}

impl LinkFacts {
    /// Reads the version tables, and looks for imports of the wanted names if `worth` says that the versions needed
    /// leave the question open.
    ///
    /// # Errors
    /// [`ElfError`] if a table that a loader relies on is malformed.
    pub fn read<S: Source + ?Sized>(
        source: &S,
        elf: &Elf,
        wanted: &[&[u8]],
        worth: impl FnOnce(&[VersionNeed]) -> bool,
    ) -> Result<LinkFacts, ElfError> {
        crate::deep::read_link(source, elf, wanted, worth)
    }

    /// Reads the version tables alone: neither the symbols nor, beyond the names of versions, the strings.
    ///
    /// # Errors
    /// [`ElfError`] if a table that a loader relies on is malformed.
    pub fn versions<S: Source + ?Sized>(source: &S, elf: &Elf) -> Result<LinkFacts, ElfError> {
        crate::deep::read_link(source, elf, &[], |_| false)
    }

    /// Whether one of the wanted names is an undefined symbol bound to one of the versions for which `of` holds. The
    /// symbols of other versions are not read; these facts must be those of the same file.
    ///
    /// # Errors
    /// [`ElfError`] if a table that a loader relies on is malformed.
    pub fn imports_under<S: Source + ?Sized>(
        &self,
        source: &S,
        elf: &Elf,
        wanted: &[&[u8]],
        of: impl Fn(&VersionNeed) -> bool,
    ) -> Result<bool, ElfError> {
        let meant = |need: &usize| self.version_needs.get(*need).is_some_and(&of);
        let indices: Vec<u16> = self.need_of.iter().filter(|(_, need)| meant(need)).map(|(index, _)| *index).collect();
        crate::deep::imports_under(source, elf, wanted, &indices)
    }

    /// Whether the file defines a name in its dynamic symbol table, so that a loader may bind other objects to it.
    ///
    /// # Errors
    /// [`ElfError`] if a table that a loader relies on is malformed.
    pub fn defines<S: Source + ?Sized>(source: &S, elf: &Elf, name: &[u8]) -> Result<bool, ElfError> {
        crate::deep::defines(source, elf, name)
    }
}
