//! How the deep facts are read: one module per kind of table, put together here.

mod linkage;

use crate::{Canary, Details, Elf, ElfError, Fortify, FortifyUnknown, Hardening, Identity, Notes, Relro, Source};
use crate::{StackProtection, SymbolSource};

/// Reads everything that [`Details`] holds.
pub(crate) fn read_details<S: Source + ?Sized>(_source: &S, elf: &Elf) -> Result<Details, ElfError> {
    let identity = Identity {
        linkage: linkage::of(elf),
        libc: None,
        allocators: Vec::new(),
        languages: Vec::new(),
        allocation_defined: Vec::new(),
        allocation_imported: Vec::new(),
        stripped: true,
        scan_incomplete: false,
    };
    let hardening = Hardening {
        position_independent: false,
        relro: Relro::None,
        bind_now: false,
        stack: StackProtection::Unstated,
        canary: Canary::Unknown,
        fortify: Fortify::NotApplicable(FortifyUnknown::NoSymbols),
        search_path_risks: Vec::new(),
        text_relocations: false,
        writable_code: false,
        ibt: false,
        shadow_stack: false,
        bti: false,
        pac: false,
    };
    Ok(Details {
        sections: Vec::new(),
        imports: Vec::new(),
        exports: Vec::new(),
        exports_from: SymbolSource::None,
        version_needs: Vec::new(),
        version_definitions: Vec::new(),
        notes: Notes::default(),
        identity,
        hardening,
        defects: Vec::new(),
    })
}
