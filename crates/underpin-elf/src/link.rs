//! What a closure is checked with: a small part of [`crate::Details`] at a small part of its cost.

use crate::{Elf, ElfError, Source, VersionDefinition, VersionNeed};
use bstr::BString;
use serde::Serialize;

/// Versions of one file, and which of some functions it imports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkFacts {
    /// Versions that the loader demands, in file order; their symbols are not read.
    pub version_needs: Vec<VersionNeed>,
    /// Versions that this file defines, in file order.
    pub version_definitions: Vec<VersionDefinition>,
    /// Those of the wanted names that are undefined symbols here.
    pub imports: Vec<BString>,
}

impl LinkFacts {
    /// Reads the version tables, and looks for imports of the wanted names where `worth` says that the versions needed
    /// leave the question open.
    ///
    /// # Errors
    /// [`ElfError`] where a table that a loader relies on is malformed.
    pub fn read<S: Source + ?Sized>(
        source: &S,
        elf: &Elf,
        wanted: &[&[u8]],
        worth: impl FnOnce(&[VersionNeed]) -> bool,
    ) -> Result<LinkFacts, ElfError> {
        crate::deep::read_link(source, elf, wanted, worth)
    }

    /// Whether the file defines a name in its dynamic symbol table, so that a loader may bind other objects to it.
    ///
    /// # Errors
    /// [`ElfError`] where a table that a loader relies on is malformed.
    pub fn defines<S: Source + ?Sized>(source: &S, elf: &Elf, name: &[u8]) -> Result<bool, ElfError> {
        crate::deep::defines(source, elf, name)
    }
}
