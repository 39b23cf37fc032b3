//! What `check` reads beyond the loader view: symbols with versions, notes, sections, identification, hardening.
//!
//! Tables that a loader relies on (symbols, versions) are errors if they are malformed. What only tools look at
//! (sections, `.symtab`, notes) is read as far as it is valid, and the rest is listed as defects.

use crate::{Elf, ElfError, Export, Hardening, Identity, Import, Notes, Section, Source, SymbolSource};
use crate::{VersionDefinition, VersionNeed};
use bstr::BStr;
use serde::Serialize;

/// The deep facts of one file.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// The section headers, in file order; empty if there are none.
    pub sections: Vec<Section>,
    /// Undefined dynamic symbols.
    pub imports: Vec<Import>,
    /// Defined global symbols.
    pub exports: Vec<Export>,
    /// Where the exports were taken from.
    pub exports_from: SymbolSource,
    /// Versions that the loader demands, in file order.
    pub version_needs: Vec<VersionNeed>,
    /// Versions that this file defines, in file order.
    pub version_definitions: Vec<VersionDefinition>,
    /// Notes.
    pub notes: Notes,
    /// What the file is.
    pub identity: Identity,
    /// Which measures against exploits it has.
    pub hardening: Hardening,
    /// Invalid parts that only tools look at.
    pub defects: Vec<ElfError>,
}

impl Details {
    /// Reads all of it.
    ///
    /// # Errors
    /// [`ElfError`] if a table that a loader relies on is malformed.
    pub fn read<S: Source + ?Sized>(source: &S, elf: &Elf) -> Result<Details, ElfError> {
        crate::deep::read_details(source, elf)
    }

    /// The version need that an import is bound to.
    #[must_use]
    pub fn version_of(&self, import: &Import) -> Option<&VersionNeed> {
        self.version_needs.get(import.version?)
    }

    /// How many bytes are debugging information: the sections of DWARF (its standard, appendix B), compressed or not.
    #[must_use]
    pub fn debug_bytes(&self) -> u64 {
        let is_so = |section: &&Section| section.name.starts_with(b".debug_") || section.name.starts_with(b".zdebug_");
        self.sections.iter().filter(is_so).fold(0, |sum, section| sum.saturating_add(section.size))
    }

    /// The first definition of a symbol.
    #[must_use]
    pub fn export(&self, name: &BStr) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }
}
